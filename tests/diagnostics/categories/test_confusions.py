"""Confused categories: merging them, against counting again with one name for both."""

import numpy as np
import pytest
from msgspec.structs import replace
from support.matched import drawn_again, matched, random_data
from support.resampled import expanded

from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import confusions


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


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_intervals_are_those_of_drawn_images_measured_alone(missing):
    units = matched(random_data(4, n_images=14, n_categories=3), missing=missing, bootstrap=40)
    names, drawn = units.data.category_names, [*drawn_again(units, 40)]

    def alpha(found, one, other):
        value = np.where(found.value == other, one, found.value).astype(np.int32)
        return pooled_alpha(coincidences(replace(found, value=value), missing), 2).value

    table = confusions(units).records()
    assert len(table) == 3
    for row in table:
        pair = names.index(row["first"]), names.index(row["second"])
        gains = [alpha(each, *pair) - alpha(each, 0, 0) for each in drawn]
        category = units.data.annotations.category
        images = units.data.annotations.image[np.isin(category, pair)]
        low, high = expanded(gains, len(np.unique(images)))
        assert np.isnan(gains).mean() <= 0.05
        assert low <= row["gain"] <= high
        assert (row["gain_low"], row["gain_high"]) == pytest.approx((low, high))
