"""Confused categories: merging them, against counting again with one name for both."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data

from bboxqa.agreement.alpha.nominal import pooled_alpha
from bboxqa.agreement.counts.coincidences import coincidences
from bboxqa.diagnostics.annotators.rates import annotators
from bboxqa.diagnostics.categories.category_merges import category_merges
from bboxqa.diagnostics.categories.confusions import confusions


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_merged_alpha_is_that_of_one_category(seed, missing):
    units = matched(random_data(seed, n_images=30, n_categories=4), missing=missing)
    data, names = units.reliability, units.data.category_names
    alpha = pooled_alpha(coincidences(data, missing)).value
    table = confusions(units)
    assert len(table) > 2
    for first, second, _, _, merged, gain in table.rows():
        one, other = names.index(first), names.index(second)
        value = np.where(data.value == other, one, data.value).astype(np.int32)
        expected = pooled_alpha(coincidences(replace(data, value=value), missing)).value
        assert merged == pytest.approx(expected)
        assert gain == pytest.approx(expected - alpha)
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
    ((first, second, n, share, merged, gain),) = confusions(matched(dataset(rows))).rows()
    assert (first, second, n, share, merged) == ("category 0000", "category 0001", 2, 2 / 3, 1)
    # D_o = 4 / 8, D_e = (64 - 16 - 4 - 4) / 56, so that alpha is 1 - 0.5 · 56 / 40 = 0.3.
    assert gain == pytest.approx(0.7)


def test_two_categories_cannot_be_merged_without_missing_ones():
    rows = [(image, a, a * (image % 2), (1, 1, 9, 9)) for image in range(6) for a in range(2)]
    ((*_, merged, gain),) = confusions(matched(dataset(rows), missing="ignore")).rows()
    assert (merged, gain) == (None, None)


def test_where_alpha_has_no_meaning_nothing_is_gained():
    # One of 20 objects is confused, and all others are of one category: 59 of 60 annotations.
    rows = [
        (image, a, int(a == 1 and not image), (1, 1, 9, 9)) for image in range(20) for a in range(3)
    ]
    units = matched(dataset(rows))
    ((*_, n, _, merged, gain),) = confusions(units).rows()
    assert (n, merged, gain) == (1, None, None)
    assert len(category_merges(units)) == 0
    assert np.isnan(annotators(units)["vitality"]).all()


def test_nothing_is_confused():
    rows = [(0, a, c, (1 + 50 * c, 1, 9, 9)) for a in range(2) for c in range(2)]
    assert len(confusions(matched(dataset(rows)))) == 0
