"""Units that overlap loosely, joined to objects."""

import numpy as np
import pytest
from support.datasets import dataset, random_rows

from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.matching.objects import loose_objects


@pytest.mark.parametrize("seed", range(6))
def test_names_and_ids_have_no_part_in_it(seed):
    """Boxes lie on a coarse grid, so that many similarities are equal."""
    rng = np.random.default_rng(seed)
    rows = [(*row[:3], tuple(4 * (1 + np.floor(np.array(row[3]) / 8)))) for row in random_rows(rng)]
    results = []
    for renamed in ((0, 1, 2), (2, 0, 1)):
        again = [(row[0], renamed[row[1]], *row[2:]) for row in rows]
        order = rng.permutation(len(again))
        data = dataset([again[place] for place in order])
        near, _ = candidate_pairs(data, "bbox", 0.1)
        units = match(data.annotations, near.take(near.similarity >= 0.5), "greedy", 0.5)
        found = loose_objects(data.annotations, units, near)[units.unit]
        of = {}
        for number, place in enumerate(data.annotations.id.tolist()):
            image, _, category, box = rows[order[place]]
            of.setdefault(int(found[number]), []).append((image, category, box))
        results.append(sorted(sorted(members) for members in of.values()))
    assert results[0] == results[1]
