"""Boxes and areas of whole files, and of any values."""

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from support.validation import codes, document_of, edits_of, findings, mended, only

from bboxqa import reading, validate
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.shapes import clipped_area

PLAIN = [[60, 50, 20, 10], [50, 60, 25, 18], [76, 30, 22, 10], [8, 60, 30, 19], [75, 65, 24, 14]]


def boxes(*many, **more):
    return {"annotations": [{"bbox": list(box), **more} for box in many]}


def test_a_box_at_the_border_is_outside_beside_others_that_are():
    assert "B002" in codes(boxes([100, 10, 1e-10, 5], [110, 10, 5, 5]))


def test_a_box_is_clipped_with_its_outline():
    outline = [[85, 10, 110, 10, 110, 40, 85, 40]]
    fixed = mended(boxes([85, 10, 25, 30], segmentation=outline), "B", "P")
    (annotation,) = fixed["annotations"]
    assert (annotation["bbox"], annotation["area"]) == ([85, 10, 15, 30], 450)


def test_one_area_for_boxes_of_different_sizes_is_no_area():
    """A tool wrote 2500 for 62 of 100 boxes of a public file, and no finding named it."""
    sizes = [(10 + n, 20) for n in range(12)]
    same = [[5, 5, *size] for size in sizes]
    found = only(boxes(*same, area=149), code="B011")
    assert (found.count, [*found.edits]) == (12, [])
    # As no others are areas of boxes, these may be areas of one shape that is turned.
    content = boxes(*same, *PLAIN, area=149)
    for record in content["annotations"][len(same) :]:
        record["area"] = record["bbox"][2] * record["bbox"][3]
    found = only(content, code="B011")
    assert found.message.startswith("12 of 17 annotations; the first: area is 149; expected 200")
    assert sorted(edit.value for edit in found.edits) == [w * h for w, h in sizes]


@pytest.mark.parametrize("value", [0, 1])
def test_among_other_areas_1_may_be_a_share_or_a_unit(value):
    drawn = [{"bbox": [10, 10, 20 + n, 30], "area": value} for n in range(12)]
    drawn += [{"bbox": [10, 10, 50, 30 + n], "area": 2} for n in range(12)]
    assert bool(findings({"annotations": drawn}, code="B011")[0].edits) == (value == 0)


@pytest.mark.parametrize("unit", [0.25, 4])
def test_areas_that_differ_by_one_factor_are_not_changed(unit):
    content = boxes(*PLAIN, [5, 5, 20, 10])
    for record in content["annotations"]:
        x, y, w, h = record["bbox"]
        ring = [x, y, x + w, y, x + w, y + h, x, y + h]
        record |= {"segmentation": [ring], "area": w * h * unit}
    found = only(content, code="B011")
    assert (found.count, [*found.edits]) == (6, [])


NUMBER = st.one_of(
    st.integers(-20, 130), st.floats(-20, 130), st.sampled_from([0, 1e-9, 1e300, -1e300])
)
BOX = st.one_of(
    st.lists(NUMBER, min_size=4, max_size=4), st.sampled_from([None, [], "box", {}, [1, 2]])
)


@given(st.lists(st.tuples(BOX, NUMBER), max_size=8))
@example([([0, 0, 1e-200, 1e-200], 0)])
@example([([0, 0, 1e-200, 1e-200], 0.3)])
def test_any_boxes_can_be_looked_at_and_what_can_be_mended_stays_mended(many):
    content = {"annotations": [{"bbox": box, "area": area} for box, area in many]}
    text = fix(document_of(content), ValidateSettings(select=("B",)), unsafe=True).text
    left = findings(bytes(text).decode(), select=("B",))
    assert [finding.message for finding in left if finding.fix] == []


def test_a_box_near_the_border_is_clipped_among_sound_ones():
    inside = [[10 * n, 10, 20, 30] for n in range(6)]
    assert len(edits_of(boxes([80.5, 10, 20, 30], *inside), "B004")) == 2


@given(st.lists(st.tuples(st.integers(-50, 150), st.integers(-50, 130)), min_size=3, max_size=9))
def test_the_visible_area_is_that_of_the_intersection(points):
    polygon = shapely.Polygon(points)
    if polygon.is_valid:
        expected = polygon.intersection(shapely.box(0, 0, 100, 80)).area
        area = clipped_area(np.array(points, float), np.array([100.0, 80]))
        assert area == pytest.approx(expected)


@pytest.mark.parametrize(("width", "severity"), [(280, Severity.WARNING), (270, Severity.ERROR)])
def test_what_follows_from_copied_boxes_is_hidden_for_them_only(width, severity):
    images = [{"width": 300 + n, "height": 200} for n in range(20)]
    images[0]["width"] = width
    drawn = [{"image_id": n + 1, "bbox": [n, 3, 20, 30]} for n in range(20)]
    drawn += [{"image_id": n, "bbox": [270, 50, 30, 40]} for n in range(1, 5)]
    drawn.append({"image_id": 2, "bbox": [290, 180, 40, 40]})
    found = findings({"images": images, "annotations": drawn}, select=("B",))
    by_code = {each.code: each for each in found}
    assert by_code["B003"].pointer == "/annotations/24/bbox"
    assert by_code["B014"].severity == severity
    assert len(found) == 2


@pytest.mark.parametrize(("width", "is_small"), [("0.133333", False), ("0.133330", True)])
def test_the_decimals_of_yolo_make_no_box_small(tmp_path, width, is_small):
    # 0.133333 of 15 px is 1.999995 px, and was 2 px before it was written.
    (tmp_path / "a.txt").write_text(f"0 0.266667 0.45 {width} 0.3\n")
    with reading(image_size=(15, 10)):
        found = {each.code for each in validate(tmp_path).findings}
    assert ("B008" in found) == is_small
