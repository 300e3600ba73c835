"""Intervals of the F1 of categories and pairs, against sums over images one by one."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import stdtrit
from support.datasets import dataset
from support.matched import matched, random_data

import bboxqa
from bboxqa.agreement.counts import object_counts
from bboxqa.agreement.objects import category_f1_intervals, pair_f1_intervals

DATA = random_data(6, n_annotators=4, n_images=40)


def expected(matched_pairs, possible):
    """Return the interval of a ratio of sums over images, (I,) each."""
    kept = possible > 0
    m, p = matched_pairs[kept], possible[kept]
    f1, n = m.sum() / p.sum(), len(m)
    error = np.sqrt(((m - f1 * p) ** 2).sum() * n / (n - 1)) / p.sum()
    # Symmetric on the scale of log odds.
    reach = stdtrit(n - 1, 0.975) * error / (f1 * (1 - f1))
    return tuple(1 / (1 + np.exp(-np.log(f1 / (1 - f1)) - reach * side)) for side in (-1, 1))


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


def test_a_low_f1_has_an_interval_of_shares():
    """1 of 12 objects, one in an image, was drawn by the other one, too."""
    rows = [(image, 0, 0, (10, 10, 20, 20)) for image in range(12)]
    units = matched(dataset([*rows, (0, 1, 0, (10, 10, 20, 20))], n_annotators=2))
    annotations, assigned = units.data.annotations, units.data.assigned
    for found in (
        category_f1_intervals(annotations, units.units, assigned, 1),
        pair_f1_intervals(annotations, units.units, assigned, np.array([1])),
    ):
        low, high = found[0]
        assert 0 < low < 1 / 6.5 < high < 1


def test_one_pair_in_the_table_of_several_has_its_own_interval():
    """p0 and p1 drew objects that nobody else drew; they match with nobody."""
    rows = [(image, 0, 0, (10, 10, 20, 20)) for image in range(12)]
    rows += [(image, 1, 0, (10, 10, 20, 20)) for image in range(9)]
    rows += [(image, 2, 0, (60, 60, 20, 20)) for image in range(12)]
    part = bboxqa.agree(dataset(rows, n_annotators=3), bootstrap=100, missing="ignore").thresholds[
        0
    ]
    (row,) = part.pairs.records()
    assert (row["annotator_1"], row["annotator_2"]) == ("annotator 0000", "annotator 0001")
    # In 9 of 12 images both drew one object that matches; in 3, the first drew one alone.
    of_pair = expected(np.repeat([1.0, 0.0], [9, 3]), np.repeat([1.0, 0.5], [9, 3]))
    assert (row["f1_low"], row["f1_high"]) == pytest.approx(of_pair)
    assert row["f1_low"] < row["f1"] < row["f1_high"]


def test_the_only_pair_and_category_have_the_interval_of_existence():
    data = random_data(3, n_annotators=2, n_images=30)
    one = replace(data.annotations, category=np.zeros(len(data.annotations), np.int32))
    part = bboxqa.agree(replace(data, annotations=one), bootstrap=100).thresholds[0]
    for table in (part.pairs, part.categories):
        assert (table["f1_low"][0], table["f1_high"][0]) == part.existence.interval
