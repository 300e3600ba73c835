"""P: how outlines are written, and their geometry."""

import json
from random import Random

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of, findings

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

SQUARE = [10, 10, 30, 10, 30, 40, 10, 40]


def outline(segmentation, **more):
    return {"annotations": [{"segmentation": segmentation, **more}]}


def edits_of(content, code):
    return [
        (edit.pointer, edit.action, edit.value)
        for finding in findings(content, code=code)
        for edit in finding.edits
    ]


def mended(content, *select):
    fixed = fix(document_of(content), ValidateSettings(select=select), unsafe=True)
    return json.loads(fixed.text)["annotations"]


def test_a_ring_of_two_points_is_dropped_from_the_others():
    (found,) = findings(outline([SQUARE, [1, 2, 3, 4]]), code="P001")
    assert found.message == (
        "polygon has 4 numbers, which pycocotools reads as a box; expected at least 6 (3 points)"
    )
    assert [(e.pointer, e.action) for e in found.edits] == [
        ("/annotations/0/segmentation/1", "remove")
    ]
    assert findings(outline([[7]]), code="P001")[0].message.startswith("polygon has 1 number;")


@pytest.mark.parametrize(("code", "ring"), [("P001", [1, 2, 3, 4]), ("P004", [])])
def test_the_last_ring_leaves_an_empty_list_only_where_that_is_usual(code, ring):
    assert edits_of(outline([ring]), code) == [("/annotations/0/segmentation", "replace", [])]
    content = {"annotations": [{"segmentation": s} for s in ([ring], [SQUARE], [SQUARE])]}
    assert edits_of(content, code) == []
    content["annotations"][0]["segmentation"] = [ring, SQUARE]
    assert edits_of(content, code) == [("/annotations/0/segmentation/0", "remove", None)]


@pytest.mark.parametrize(
    ("segmentation", "what"),
    [
        (SQUARE, "a flat list of numbers"),
        ([[10, 10], [30, 10], [30, 40], [10, 40]], "a list of points"),
        ([[[10, 10], [30, 10], [30, 40], [10, 40]]], "lists of points"),
    ],
)
def test_other_ways_of_writing_become_rings(segmentation, what):
    (found,) = findings(outline(segmentation), code="P003")
    assert found.message.startswith(f"segmentation is {what}; expected a list of rings")
    assert [edit.value for edit in found.edits] == [[SQUARE]]
    assert "P003" not in codes(outline([SQUARE]))


@pytest.mark.parametrize(
    "odd",
    ["[[10,10,30,10,30,40,10,40]]", "POLYGON ((1 2))", [1, 2, 3, 4], "[[", "[" * 99_999, "1 2 x"],
)
def test_what_is_not_certain_is_not_rewritten(odd):
    (found,) = findings(outline(odd), code="P003")
    assert not found.edits


def test_a_ring_that_crosses_itself_is_divided():
    (found,) = findings(outline([[10, 10, 30, 40, 30, 10, 10, 40]]), code="P005")
    assert found.message == (
        "polygon crosses itself at (20, 25); expected a ring that does not cross or touch itself"
    )
    assert found.pointer == "/annotations/0/segmentation/0"
    (edit,) = found.edits
    assert len(edit.value) == 2
    assert sum(shapely.Polygon(list(zip(r[::2], r[1::2], strict=True))).area for r in edit.value)


def test_the_rings_of_an_outline_are_mended_together_and_sound_ones_kept():
    bow = [10, 10, 30, 40, 30, 10, 10, 40]
    content = outline([bow, [50, 50.0, 60, 50, 60, 60], [12, *bow[1:]]])
    found = findings(content, code="P005")
    assert len(found) == 2
    (annotation,) = mended(content, "P005")
    assert len(annotation["segmentation"]) == 5
    assert annotation["segmentation"][2] == [50, 50.0, 60, 50, 60, 60]


def test_a_ring_that_crosses_itself_very_often_is_found_and_left():
    values = Random(1)
    ring = [values.random() * side for _ in range(400) for side in (640, 480)]
    (found,) = findings(outline([ring]), code="P005")
    assert found.message.startswith("polygon crosses itself at (")
    assert not found.edits


def test_a_ring_around_a_hole_is_not_mended():
    hole = [0, 0, 40, 0, 40, 40, 0, 40, 0, 0, 10, 10, 10, 20, 20, 20, 20, 10, 10, 10]
    (found,) = findings(outline([hole]), code="P005")
    assert not found.edits


def test_an_outline_is_cut_at_the_border():
    wide = [[85, 10, 110, 10, 110, 40, 85, 40]]
    (found,) = findings(outline(wide), code="P006")
    assert found.message == (
        "outline extends 10 px beyond the right edge of its image (100 x 80); "
        "expected an outline inside the image"
    )
    (ring,) = found.edits[0].value
    assert sorted(zip(ring[::2], ring[1::2], strict=True)) == [
        (85, 10), (85, 40), (100, 10), (100, 40),
    ]  # fmt: skip
    assert "P006" not in codes(outline(wide), overshoot_px=10)


def test_a_box_that_is_not_the_bounds_becomes_them():
    (found,) = findings(outline([SQUARE], bbox=[10, 10, 25.5, 30]), code="P007")
    assert (
        found.message == "right edge of bbox is at 35.5; expected 30, the right edge of its outline"
    )
    assert [edit.value for edit in found.edits] == [[10, 10, 20, 30]]
    assert "P007" not in codes(outline([SQUARE], bbox=[9, 9, 22, 32]))
    assert "P007" not in codes(outline([SQUARE], bbox=[10, 10, 25.5, 30]), bounds_px=6)


def test_a_box_may_be_the_bounds_of_the_part_inside_the_image():
    # The right side is cut at x = 100, where the ring is between y = 20 and y = 40.
    ring = [[80, 10, 120, 30, 120, 40, 80, 40]]
    assert "P007" not in codes(outline(ring, bbox=[80, 10, 20, 30]))
    slanted = [[60, 40, 140, 0, 140, 80]]
    assert "P007" not in codes(outline(slanted, bbox=[60, 20, 40, 40]))
    assert "P007" in codes(outline(slanted, bbox=[60, 10, 40, 60]))
    beyond = [[120, 10, 130, 10, 130, 40]]
    assert "P007" in codes(outline(beyond, bbox=[60, 10, 40, 60]))


NUMBER = st.one_of(st.integers(-20, 130), st.floats(-20, 130), st.sampled_from([1e100, -1e100]))
RING = st.one_of(
    st.lists(NUMBER, max_size=12), st.sampled_from([None, "1 2", {}, 7, [[1, 2]], [True] * 6])
)
OUTLINE = st.one_of(st.lists(RING, max_size=3), RING, st.sampled_from(["", "[]", "1,2,3,4,5,6"]))


@given(st.lists(OUTLINE, max_size=4))
def test_any_outlines_can_be_looked_at_and_what_can_be_mended_stays_mended(many):
    content = {"annotations": [{"segmentation": segmentation} for segmentation in many]}
    chosen = ValidateSettings(select=("B", "P"))
    text = fix(document_of(content), chosen, unsafe=True).text
    left = findings(bytes(text).decode(), select=("B", "P"))
    assert [finding.message for finding in left if finding.fix] == []


def test_boxes_beyond_their_image_follow_if_they_lie_elsewhere_than_their_outlines():
    boxes = [[60 + n, 50, 20, 30] for n in range(8)] + [[95, 10, 20, 30], [99, 50, 20, 30]]
    wrong = [{"segmentation": [SQUARE], "bbox": box, "area": 600} for box in boxes]
    content = {"images": [{"width": 110, "height": 90}], "annotations": wrong}
    assert codes(content, select=("B", "P")) == {"P007"}
    wrong[8]["segmentation"] = [[95, 10, 115, 10, 115, 40, 95, 40]]
    assert codes(content, select=("B",)) == {"B003"}


HOLE = [14, 16, 26, 16, 26, 34, 14, 34]
BESIDE = [20, 10, 40, 10, 40, 40, 20, 40]


@pytest.mark.parametrize(
    ("other", "message", "filled", "shared"),
    [
        (HOLE, "a ring lies inside another: pycocotools fills it, 600 px²; as a hole, 384 px²",
         600, 216),
        (BESIDE, "rings overlap: pycocotools joins them, 900 px²; by the even-odd rule, 600 px²",
         900, 300),
    ],
)  # fmt: skip
def test_rings_that_share_area(other, message, filled, shared):
    bounds = {"bbox": [10, 10, 30 if other is BESIDE else 20, 30]}
    (found,) = findings(outline([SQUARE, other], area=filled, **bounds), code="P010")
    assert found.message == f"{message}; expected rings apart"
    sound = outline([other, SQUARE], area=filled, **bounds)
    assert codes(sound, select=("B011", "P")) == {"P010"}
    # An area without what rings share does not fit the outline that pycocotools fills.
    (area,) = findings(outline([SQUARE, other], area=filled - shared, **bounds), code="B011")
    assert f"expected {filled}, the area of its outline" in area.message
    assert not area.edits


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 2), min_size=2, max_size=6))
def test_the_area_that_rings_share_is_that_of_their_pixels(places):
    rings = [[x, y, x + 8, y, x + 8, y + 8, x, y + 8] for x, y in places]
    pixels = np.zeros((40, 40), int)
    for x, y in places:
        pixels[y : y + 8, x : x + 8] += 1
    shared = findings(outline(rings), code="P010")
    filled, cut = int((pixels > 0).sum()), int((pixels % 2).sum())
    assert bool(shared) == (64 * len(places) - filled > 0.05 * filled + 1)
    assert not shared or f"{filled:,} px²" in shared[0].message
    assert not shared or shared[0].message.endswith(f" {cut:,} px²; expected rings apart")


def test_rings_that_touch_share_nothing():
    assert "P010" not in codes(outline([SQUARE, [30, 10, 50, 10, 50, 40, 30, 40]]))
