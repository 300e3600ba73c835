"""Rates of annotators, against counting object by object."""

from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from support.brute_objects import BruteObjects
from support.matched import matched, random_data

from bboxqa.diagnostics.rates import RATES, annotators


def counted(units):
    """Return numerator and denominator by rate and annotator."""
    of, names = units.data.annotations, units.data.annotator_names
    found = {rate: defaultdict(lambda: np.zeros(2)) for rate in RATES}
    brute = BruteObjects(units)
    for home, drawn in brute.objects.items():
        single = home not in brute.again and home not in brute.whole
        parted = any((home, who) in brute.odd for who in drawn)
        asked = brute.asked[home]
        for who in asked:
            others = [drawn[other][1] for other in drawn if other != who]
            if single and 2 * len(others) > len(asked) - 1:
                missed = who not in drawn and who not in brute.merged[home]
                found["miss_rate"][who] += (missed, 1)
            if who not in drawn:
                continue
            found["extra_rate"][who] += (single and 2 * len(others) < len(asked) - 1, 1)
            for category in others:
                if not parted:
                    found["class_share"][who] += (category == drawn[who][1], 1)
    drawn = np.zeros(units.data.assigned.shape)
    np.add.at(drawn, (of.image, of.annotator), 1)
    for one, other in permutations(range(len(names)), 2):
        both = units.data.assigned[:, one] & units.data.assigned[:, other]
        found["f1"][one] += (0, drawn[both][:, [one, other]].sum())
    by_unit = defaultdict(list)
    for row, unit in enumerate(units.units.unit.tolist()):
        by_unit[unit].append(row)
    similar = {
        pair: s
        for *pair, s in zip(units.near.left, units.near.right, units.near.similarity, strict=True)
        for pair in [tuple(pair)]
    }
    for rows in by_unit.values():
        for one, other in permutations(rows, 2):
            found["f1"][int(of.annotator[one])] += (2, 0)
            odd = any((brute.home[row], of.annotator[row]) in brute.odd for row in (one, other))
            if (
                not odd
                and (found_one := similar.get((min(one, other), max(one, other)))) is not None
            ):
                found["mean_similarity"][int(of.annotator[one])] += (found_one, 1)
    return found


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 4), (4, 6)])
def test_rates_are_those_of_objects_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    table, expected = annotators(units), counted(units)
    for rate in RATES:
        quotients = [found[0] / found[1] for _, found in sorted(expected[rate].items())]
        assert table[rate] == pytest.approx(np.array(quotients)), rate
    assert table["n_missed"].tolist() == [expected["miss_rate"][a][0] for a in range(n_annotators)]
    assert table["n_extra"].tolist() == [expected["extra_rate"][a][0] for a in range(n_annotators)]
