"""Units that overlap loosely, joined to objects."""

import numpy as np
import pytest
from support.datasets import annotations, dataset, random_rows

from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.matching.objects import loose_objects
from bboxqa.model.units import CandidatePairs, UnitTable


def brute_objects(of, units, near):
    """Join the sets of annotations of the most similar pair first, one pair at a time."""
    home = [set(np.flatnonzero(units.unit == unit).tolist()) for unit in range(len(units))]
    for place in np.argsort(-near.similarity):
        one, other = (
            next(members for members in home if int(side[place]) in members)
            for side in (near.left, near.right)
        )
        authors = [of.annotator[list(members)].tolist() for members in (one, other)]
        if one is not other and not set(authors[0]) & set(authors[1]):
            home.remove(other)
            one |= other
    return {frozenset(members) for members in home}


def as_sets(units, objects):
    of = objects[units.unit]
    return {frozenset(np.flatnonzero(of == each).tolist()) for each in range(objects.max() + 1)}


@pytest.mark.parametrize("seed", range(6))
def test_units_are_joined_by_falling_similarity(seed):
    rng = np.random.default_rng(seed)
    data = dataset(random_rows(rng, n_annotators=4))
    near, _ = candidate_pairs(data, "bbox", 0.05)
    # No ties, whose order is tested below.
    near = CandidatePairs(near.left, near.right, near.similarity + 1e-6 * rng.random(len(near)))
    units = match(data.annotations, near.take(near.similarity >= 0.5), "greedy", 0.5)
    found = loose_objects(data.annotations, units, near)
    assert found.max() < len(units) - 1
    assert np.array_equal(np.unique(found, return_index=True)[1], np.sort(first_units(found)))
    assert as_sets(units, found) == brute_objects(data.annotations, units, near)


def first_units(objects):
    return [int(np.flatnonzero(objects == each)[0]) for each in range(objects.max() + 1)]


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


def test_an_annotator_is_in_an_object_once():
    """b overlaps both boxes of a by hand: the nearer one, 0.4, is joined, the other stays."""
    of = annotations([(0, 0, 0, (0, 0, 9, 9)), (0, 0, 0, (9, 0, 9, 9)), (0, 1, 0, (4, 0, 9, 9))])
    units = UnitTable(np.arange(3), np.zeros(3, np.int32))
    near = CandidatePairs(np.array([0, 1]), np.array([2, 2]), np.array([0.3, 0.4]))
    assert loose_objects(of, units, near).tolist() == [0, 1, 1]


def test_no_annotations():
    none = np.zeros(0, np.int64)
    units = UnitTable(none, none.astype(np.int32))
    near = CandidatePairs(none, none, np.zeros(0))
    assert loose_objects(annotations([]), units, near).shape == (0,)
