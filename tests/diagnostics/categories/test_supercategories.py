"""What merging the categories of a supercategory would gain, against counting again."""

import numpy as np
import pytest
from msgspec.structs import replace
from support.matched import drawn_again, matched, random_data
from support.resampled import expanded

from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import supercategories

ABOVE = ("animal", "", "thing", "animal", "thing", "", "animal")


def alpha_with(units, above, reliability=None):
    """Return alpha with one name for all categories of some supercategories."""
    reliability = units.reliability if reliability is None else reliability
    value = reliability.value.copy()
    for name in above:
        members = [place for place, other in enumerate(ABOVE) if other == name]
        value[np.isin(value, members)] = members[0]
    data = replace(reliability, value=value)
    return pooled_alpha(coincidences(data, units.missing)).value


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_merged_alpha_is_that_of_one_category(missing):
    data = random_data(3, n_images=40, n_categories=7)
    units = matched(replace(data, supercategories=ABOVE), missing=missing)
    alpha = pooled_alpha(coincidences(units.reliability, missing)).value
    rows = {row["supercategory"]: row for row in supercategories(units).records()}
    expected = {"animal": ["animal"], "thing": ["thing"], "(all)": ["animal", "thing"]}
    assert rows.keys() == expected.keys()
    drawn = np.bincount(units.data.annotations.category)
    for name, above in expected.items():
        merged = alpha_with(units, above)
        assert rows[name]["alpha_merged"] == pytest.approx(merged)
        assert rows[name]["gain"] == pytest.approx(merged - alpha)
        members = [place for place, other in enumerate(ABOVE) if other in above]
        assert (rows[name]["n_categories"], rows[name]["n"]) == (len(members), drawn[members].sum())


def test_the_interval_is_that_of_drawn_images_measured_alone():
    data = random_data(3, n_images=15, n_categories=7, everyone=True)
    units = matched(replace(data, supercategories=ABOVE), bootstrap=40)
    above = (["animal"], ["thing"], ["animal", "thing"])
    gains = [
        [alpha_with(units, each, drawn) - alpha_with(units, [], drawn) for each in above]
        for drawn in drawn_again(units, 40)
    ]
    n_images = len(np.unique(units.reliability.group[units.reliability.unit]))
    rows = {row["supercategory"]: row for row in supercategories(units).records()}
    expected = expanded(gains, n_images).T
    for name, bounds in zip(("animal", "thing", "(all)"), expected, strict=True):
        assert bounds[0] <= rows[name]["gain"] <= bounds[1]
        assert (rows[name]["gain_low"], rows[name]["gain_high"]) == pytest.approx(tuple(bounds))
