"""Intervals of the F1 of categories and pairs, against sums over images one by one."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import stdtrit
from support.matched import matched, random_data

from bboxqa.agreement.counts import object_counts
from bboxqa.agreement.objects.f1_intervals import category_f1_intervals, pair_f1_intervals

DATA = random_data(6, n_annotators=4, n_images=40)


def expected(matched_pairs, possible):
    """Return the interval of a ratio of sums over images, (I,) each."""
    kept = possible > 0
    m, p = matched_pairs[kept], possible[kept]
    f1, n = m.sum() / p.sum(), len(m)
    error = np.sqrt(((m - f1 * p) ** 2).sum() * n / (n - 1)) / p.sum()
    # Symmetric on the scale of Fisher's z.
    reach = stdtrit(n - 1, 0.975) * error / (1 - f1**2)
    return tuple(np.tanh(np.arctanh(f1) + reach * side) for side in (-1, 1))


def units_of_images():
    """Return each image with its annotators, and its units as lists of annotations."""
    units = matched(DATA)
    of, unit = units.data.annotations, units.units.unit
    found = [(np.flatnonzero(asked), []) for asked in units.data.assigned]
    for number in range(len(units.units)):
        rows = np.flatnonzero(unit == number)
        found[of.image[rows[0]]][1].append([(of.annotator[r], of.category[r]) for r in rows])
    return units, found


def test_intervals_of_categories():
    units, images = units_of_images()
    n_categories = len(units.data.category_names)
    sums = np.zeros((2, n_categories, len(images)))
    for image, (asked, drawn) in enumerate(images):
        for unit in drawn:
            for _, category in unit:
                sums[:, category, image] += [len(unit) - 1, len(asked) - 1]
    found = category_f1_intervals(
        units.data.annotations, units.units, units.data.assigned, n_categories
    )
    for category in range(n_categories):
        assert found[category] == pytest.approx(expected(*sums[:, category]))


@pytest.mark.parametrize("chunk", [3, 1 << 19])
def test_intervals_of_pairs(chunk, monkeypatch):
    monkeypatch.setattr(object_counts, "_CHUNK", chunk)
    units, images = units_of_images()
    sums = np.zeros((2, 16, len(images)))
    for image, (asked, drawn) in enumerate(images):
        for one, other in combinations(asked, 2):
            both = [sum(who in (one, other) for who, _ in unit) for unit in drawn]
            sums[:, 4 * one + other, image] = [both.count(2), sum(both) / 2]
    pairs = np.array([4 * one + other for one, other in combinations(range(4), 2)])
    found = pair_f1_intervals(units.data.annotations, units.units, units.data.assigned, pairs)
    for place, pair in enumerate(pairs):
        assert found[place] == pytest.approx(expected(*sums[:, pair]))


def test_none_with_few_images_and_where_all_agree():
    data = matched(random_data(6, n_annotators=2, n_images=6, everyone=True))
    found = pair_f1_intervals(data.data.annotations, data.units, data.data.assigned, np.array([1]))
    assert np.isnan(found).all()
