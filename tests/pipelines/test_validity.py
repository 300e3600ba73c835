"""Diagnostics find the errors that simulated annotators were given, and no others."""

from functools import cache

import pytest

import bboxqa


@cache
def figures(setting):
    """Return F1, share of equal categories and mean IoU of three annotators with these errors."""
    found = bboxqa.simulate(images=60, errors=["p*: jitter=2%", setting])
    (measured,) = bboxqa.agree(bboxqa.read_coco(found.document()), bootstrap=0).thresholds
    return {
        "existence": measured.existence.f1,
        "class": measured.class_agreement.share,
        "place": measured.place.mean_iou,
    }


@pytest.mark.parametrize(
    ("error", "levels", "falling", "moved"),
    [
        ("p*: miss", ("0.1", "0.3"), {"existence"}, {"place": 0.005}),
        # Two invented boxes may happen to lie in one place.
        ("p*: extra", ("0.1", "0.3"), {"existence"}, {"place": 0.005, "class": 0.005}),
        ("p*: confuse", ("0.1", "0.3"), {"class"}, {}),
        ("p*: jitter", ("4%", "8%"), {"place"}, {"existence": 0.03}),
        ("p03: offset", ("5%,0%", "15%,0%"), {"place"}, {}),
        ("p03: scale", ("1.1", "1.2"), {"place"}, {}),
        # Half a box is also badly placed.
        ("p*: split", ("0.1", "0.3"), {"existence", "place"}, {}),
        # A box that shows two objects has the category of one.
        ("p*: merge", ("0.1", "0.3"), {"existence", "class"}, {"place": 0.02}),
        # The better of two boxes is matched.
        ("p*: duplicate", ("0.1", "0.3"), {"existence"}, {"place": 0.01}),
    ],
)
def test_each_error_lowers_its_own_figures(error, levels, falling, moved):
    none = figures("p*:")
    assert (none["existence"], none["class"]) == (1, 1)
    steps = [none, *(figures(f"{error}={level}") for level in levels)]
    for name in none:
        few, some, many = (step[name] for step in steps)
        if name in falling:
            assert few > some > many
        else:
            assert some == pytest.approx(few, abs=moved.get(name, 0))
            assert many == pytest.approx(few, abs=moved.get(name, 0))


@pytest.mark.parametrize(
    ("errors", "existence", "classes"),
    [
        # Both find 0.9 · 0.9 of the objects, and each draws 0.9: F1 = 0.81 / 0.9.
        ("miss=0.1", 0.9, 1),
        # Each draws 0.9 + 0.2 boxes for each object: F1 = 0.81 / 1.1.
        ("miss=0.1 extra=0.2", 0.81 / 1.1, 1),
        # Both are right in 0.8 · 0.8, and have the same wrong one of 4 in 0.2 · 0.2 / 4.
        ("confuse=0.2", 1, 0.65),
    ],
)
def test_figures_are_those_that_the_errors_imply(errors, existence, classes):
    found = bboxqa.simulate(images=400, errors=[f"p*: jitter=2% {errors}"])
    (measured,) = bboxqa.agree(bboxqa.read_coco(found.document()), bootstrap=0).thresholds
    assert measured.existence.f1 == pytest.approx(existence, abs=0.015)
    assert measured.class_agreement.share == pytest.approx(classes, abs=0.02)
