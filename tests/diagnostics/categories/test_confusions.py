"""Confused categories: merging them, against counting again with one name for both."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data
from support.resampled import expanded

from bboxqa.agreement.alpha.nominal import pooled_alpha
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.diagnostics.categories import category_merges, confusions
from bboxqa.diagnostics.rates import annotators


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_merged_alpha_is_that_of_one_category(seed, missing):
    units = matched(random_data(seed, n_images=30, n_categories=4), missing=missing)
    data, names = units.reliability, units.data.category_names
    alpha = pooled_alpha(coincidences(data, missing)).value
    table = confusions(units)
    assert len(table) > 2
    for row in table.records():
        first, second, merged = row["first"], row["second"], row["alpha_merged"]
        one, other = names.index(first), names.index(second)
        value = np.where(data.value == other, one, data.value).astype(np.int32)
        expected = pooled_alpha(coincidences(replace(data, value=value), missing)).value
        assert merged == pytest.approx(expected)
        assert row["gain"] == pytest.approx(expected - alpha)
    assert (np.diff(table["gain"]) <= 0).all()


def test_confusions_by_hand():
    # Two annotators and four objects: a a, a b, a b, c c. In two of the three units with a or b,
    # both were given.
    pairs = [(0, 0), (0, 1), (0, 1), (2, 2)]
    rows = [
        (image, annotator, pair[annotator], (10, 10, 20, 20))
        for image, pair in enumerate(pairs)
        for annotator in range(2)
    ]
    (found,) = confusions(matched(dataset(rows))).records()
    assert (found["first"], found["second"]) == ("category 0000", "category 0001")
    assert (found["n"], found["share"], found["alpha_merged"]) == (2, 2 / 3, 1)
    # D_o = 4 / 8, D_e = (64 - 16 - 4 - 4) / 56, so that alpha is 1 - 0.5 · 56 / 40 = 0.3.
    assert found["gain"] == pytest.approx(0.7)


def test_two_categories_cannot_be_merged_without_missing_ones():
    rows = [(image, a, a * (image % 2), (1, 1, 9, 9)) for image in range(6) for a in range(2)]
    (found,) = confusions(matched(dataset(rows), missing="ignore", bootstrap=20)).records()
    assert (found["alpha_merged"], found["gain"], found["gain_low"]) == (None, None, None)


def test_where_alpha_has_no_meaning_nothing_is_gained():
    # One of 20 objects is confused, and all others are of one category: 59 of 60 annotations.
    rows = [
        (image, a, int(a == 1 and not image), (1, 1, 9, 9)) for image in range(20) for a in range(3)
    ]
    units = matched(dataset(rows))
    (found,) = confusions(units).records()
    assert (found["n"], found["alpha_merged"], found["gain"]) == (1, None, None)
    assert len(category_merges(units)) == 0
    assert np.isnan(annotators(units)["vitality"]).all()


def test_nothing_is_confused():
    rows = [(0, a, c, (1 + 50 * c, 1, 9, 9)) for a in range(2) for c in range(2)]
    assert len(confusions(matched(dataset(rows)))) == 0


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_intervals_are_those_of_drawn_images_measured_alone(missing):
    units = matched(random_data(4, n_images=14, n_categories=3), missing=missing, bootstrap=40)
    data, names = units.reliability, units.data.category_names
    images, image_of = np.unique(data.group[data.unit]), units.data.annotations.image
    rng, drawn = np.random.default_rng(0), []
    for _ in range(40):
        copies = [
            np.flatnonzero(data.group[data.unit] == image)
            for image in images[rng.integers(0, len(images), len(images))]
        ]
        number = np.repeat(np.arange(len(copies)), [len(cells) for cells in copies])
        cells = np.concatenate(copies)
        unit = np.unique(number * len(data.group) + data.unit[cells], return_inverse=True)[1]
        group = np.zeros(unit.max() + 1, np.int32)
        drawn.append(replace(data.take(cells), unit=unit, group=group, n_groups=1))

    def alpha(found, one, other):
        value = np.where(found.value == other, one, found.value).astype(np.int32)
        return pooled_alpha(coincidences(replace(found, value=value), missing), 2).value

    table = confusions(units).records()
    assert len(table) == 3
    for row in table:
        pair = names.index(row["first"]), names.index(row["second"])
        gains = [alpha(each, *pair) - alpha(each, 0, 0) for each in drawn]
        category = units.data.annotations.category
        low, high = expanded(gains, len(np.unique(image_of[np.isin(category, pair)])))
        assert np.isnan(gains).mean() <= 0.05
        assert low <= row["gain"] <= high
        assert (row["gain_low"], row["gain_high"]) == pytest.approx((low, high))


def test_categories_that_are_told_apart_well_lose_by_a_merger():
    # Objects of a and b are confused once in 40 units, those of c and d in every other one.
    pairs = [(0, 0)] * 20 + [(1, 1)] * 19 + [(0, 1)] + [(2, 2), (3, 3), (2, 3), (3, 2)] * 5
    rows = [(image, a, pair[a], (9, 9, 20, 20)) for image, pair in enumerate(pairs) for a in (0, 1)]
    table = {row["first"][-1] + row["second"][-1]: row
             for row in confusions(matched(dataset(rows), bootstrap=200)).records()}  # fmt: skip
    assert table["01"]["gain"] < 0
    assert table["23"]["gain_low"] > 0
    # One of the 40 units with a or b has both.
    assert table["01"]["share"] == pytest.approx(1 / 40)
    assert table["01"]["share_low"] == 0
    assert 1 / 40 < table["01"]["share_high"] < 0.1


def test_objects_are_counted_however_they_are_placed():
    """Of three objects with both categories, two annotators placed one so that it is two units.

    The second box of an annotator for one object, with another category, is no confusion.
    """
    boxes = [(0, 0, 40, 40), (100, 0, 40, 40), (200, 0, 40, 40), (300, 0, 40, 40)]
    rows = [(0, 0, 0, box) for box in boxes]
    rows += [(0, 1, 1, box) for box in boxes[:2]] + [(0, 1, 1, (220, 0, 40, 40))]
    rows += [(0, 1, 0, boxes[3]), (0, 1, 1, (301, 0, 40, 40))]
    (found,) = confusions(matched(dataset(rows))).records()
    assert (found["n"], found["share"]) == (3, 3 / 4)
