"""Diagnostics find the errors that simulated annotators were given, and no others."""

from functools import cache

import pytest
from support.wrong_shapes import people

import bboxqa
from bboxqa.diagnostics.registry import diagnostic
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units


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


@pytest.mark.parametrize("error", ["scatter", "omit"])
def test_each_error_of_key_points_lowers_their_similarity(error):
    steps = []
    for level in (0, 0.5, 1) if error == "scatter" else (0, 0.05, 0.1):
        document = people(bboxqa.simulate(images=12).document(), **{error: level})
        data = bboxqa.read_coco(document, keypoints=True)
        (found,) = bboxqa.agree(data, similarity="keypoints", bootstrap=0).thresholds
        steps.append((found.existence.f1, found.class_agreement.share, found.place.mean_iou))
    assert steps[0] == pytest.approx((1, 1, 1))
    assert 1 > steps[1][2] > steps[2][2]
    assert min(min(step[:2]) for step in steps) >= 0.99


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


def diagnosed(names, **options):
    found = bboxqa.simulate(**options)
    data = bboxqa.read_coco(found.document())
    matched = matched_units(compared_images(data), bboxqa.AgreeSettings())
    tables = {name: diagnostic(name)(matched) for name in names}
    return found, {
        name: [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
        for name, table in tables.items()
    }


def test_an_offset_is_no_miss():
    names = ("annotators", "offsets", "confusions")
    found, tables = diagnosed(
        names,
        categories="cow,sheep,horse",
        errors=["p*: jitter=1", "p03: miss=0.1 offset=5,0 confuse=cow/sheep:0.2"],
    )
    worst = min(tables["annotators"], key=lambda row: row["f1"])
    n_drawn = sum(each["annotator"] == "p03" for each in found.document()["annotations"])
    assert worst["annotator"] == "p03"
    assert worst["n_missed"] == len(found.scene) - n_drawn
    assert worst["n_extra"] == 0
    (pair,) = tables["confusions"]
    assert {pair["first"], pair["second"]} == {"cow", "sheep"}
    offsets = {each["edge"]: each for each in tables["offsets"] if each["annotator"] == "p03"}
    assert {edge for edge, each in offsets.items() if each["p_value"] < 1e-6} == {"left", "right"}
    for edge, true in (("left", 5), ("right", 5), ("top", 0), ("bottom", 0)):
        # The standard error is about 1.2 px / √450.
        assert offsets[edge]["offset_px"] == pytest.approx(true, abs=0.25)
