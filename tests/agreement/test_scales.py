"""Words for coefficients at and between their bounds, and how probable each word is."""

from math import nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.agreement.registry import SCALES, Bin, Scale, label, membership_probabilities
from bboxqa.core.errors import DatasetError

names = st.sampled_from(sorted(SCALES))

LABELS = {
    "landis_koch": [
        (-3, "poor"), (-0.01, "poor"), (0, "slight"), (0.2, "slight"), (0.205, "fair"),
        (0.21, "fair"), (0.4, "fair"), (0.41, "moderate"), (0.6, "moderate"),
        (0.61, "substantial"), (0.8, "substantial"), (0.81, "almost perfect"),
        (1, "almost perfect"),
    ],
    "krippendorff": [
        (-1, "unreliable"), (0.666, "unreliable"), (0.667, "tentative conclusions only"),
        (0.799, "tentative conclusions only"), (0.8, "reliable"), (1, "reliable"),
    ],
    "fleiss": [
        (-1, "poor"), (0.39, "poor"), (0.4, "fair to good"), (0.75, "fair to good"),
        (0.76, "excellent"), (1, "excellent"),
    ],
    "altman": [
        (-1, "poor"), (0.2, "poor"), (0.21, "fair"), (0.4, "fair"), (0.41, "moderate"),
        (0.6, "moderate"), (0.61, "good"), (0.8, "good"), (0.81, "very good"), (1, "very good"),
    ],
    "cicchetti_sparrow": [
        (-1, "poor"), (0.39, "poor"), (0.4, "fair"), (0.599, "fair"), (0.6, "good"),
        (0.749, "good"), (0.75, "excellent"), (1, "excellent"),
    ],
}  # fmt: skip

# Coefficients 0.77544 ± 0.14295 and 0.67 ± 0.15, best step first, as irrCAC prints them.
PUBLISHED = [
    (0.77544, 0.14295, "landis_koch", [0.39674, 0.88336, 0.99542, 0.99997, 1, 1]),
    (0.77544, 0.14295, "altman", [0.39674, 0.88336, 0.99542, 0.99997, 1]),
    (0.77544, 0.14295, "fleiss", [0.54414, 0.99542, 1]),
    (0.67, 0.15, "landis_koch", [0.18168, 0.67511, 0.96356, 0.99912, 1, 1]),
    (0.67, 0.15, "altman", [0.18168, 0.67511, 0.96356, 0.99912, 1]),
    (0.67, 0.15, "fleiss", [0.28699, 0.96356, 1]),
]


def test_every_scale_is_tested():
    assert sorted(LABELS) == sorted(SCALES)
    for name, cases in LABELS.items():
        assert {word for _, word in cases} == {step.label for step in SCALES[name].bins}


@given(names, st.floats(-2, 1))
def test_a_better_value_has_no_worse_label(name, value):
    words = [step.label for step in SCALES[name].bins]
    better = min(1.0, value + 0.05)
    assert words.index(label(SCALES[name], better)) <= words.index(label(SCALES[name], value))


@given(names, st.data())
def test_a_rounding_error_does_not_move_a_value_over_a_bound(name, data):
    bounds = [step.lower for step in SCALES[name].bins[:-1]]
    bound = data.draw(st.sampled_from(bounds))
    at = label(SCALES[name], bound)
    assert label(SCALES[name], nextafter(bound, 2)) == at
    assert label(SCALES[name], nextafter(bound, -2)) == at
    assert {label(SCALES[name], bound + 1e-9), label(SCALES[name], bound - 1e-9)} > {at}


def test_undefined_has_no_label():
    assert all(label(scale, nan) == "" for scale in SCALES.values())


def test_scales_cannot_be_changed_and_say_their_source():
    with pytest.raises(TypeError):
        SCALES["own"] = Scale("Own", (Bin("any", -1, includes_lower=True),), "")
    years = {"landis_koch": 1977, "krippendorff": 2004, "fleiss": 1981, "altman": 1991,
             "cicchetti_sparrow": 1981}  # fmt: skip
    assert all(f"({years[name]})" in scale.source for name, scale in SCALES.items())


@pytest.mark.parametrize(("value", "standard_error", "name", "expected"), PUBLISHED)
def test_published_membership(value, standard_error, name, expected):
    found = membership_probabilities(SCALES[name], value, standard_error)
    assert found.round(5).tolist() == expected


@given(names, st.floats(-1, 1), st.floats(1e-6, 10))
def test_membership_grows_to_one(name, value, standard_error):
    found = membership_probabilities(SCALES[name], value, standard_error)
    assert np.all(np.diff(found) >= -1e-15)
    assert found[0] >= 0
    assert found[-1] == 1


def test_without_error_the_label_is_certain():
    at_bound = membership_probabilities(SCALES["fleiss"], 0.75, 0.0)
    assert at_bound.tolist() == [0, 1, 1]
    assert membership_probabilities(SCALES["krippendorff"], 1 - 0.2, 0.0).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("value", "error"), [(nan, 0.1), (0.5, nan), (-1.5, 0.1), (1.5, 0.0)])
def test_membership_is_undefined(value, error):
    assert np.isnan(membership_probabilities(SCALES["fleiss"], value, error)).tolist() == [True] * 3


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            lambda: label(SCALES["fleiss"], 81.0),
            "scale Fleiss: coefficient is 81.0; expected at most 1, or NaN\nGive the coefficient",
        ),
        (
            lambda: membership_probabilities(SCALES["altman"], 0.5, -0.1),
            "scale Altman: standard error is -0.1; expected 0 or more",
        ),
    ],
)
def test_percentages_and_negative_errors_are_refused(act, said):
    with pytest.raises(DatasetError, match=f"^{said}"):
        act()
