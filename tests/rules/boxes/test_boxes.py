"""B: boxes, how a whole file writes them, and areas."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.validation import codes, document_of, findings

from bboxqa import reading, validate
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.shapes import clipped_area

SQUARE = [[10, 10, 30, 10, 30, 40, 10, 40]]


def boxes(*many, **more):
    return {"annotations": [{"bbox": list(box), **more} for box in many]}


def edits_of(content, code, **more):
    return [
        (edit.pointer, edit.action, edit.value)
        for finding in findings(content, code=code, **more)
        for edit in finding.edits
    ]


def mended(content, select, *, unsafe=True):
    fixed = fix(document_of(content), ValidateSettings(select=select), unsafe=unsafe)
    return json.loads(fixed.text)["annotations"]


@pytest.mark.parametrize(
    ("record", "edit"),
    [
        ({"bbox": [10, 10, -5, 4]}, Edit("/annotations/0/bbox", "replace", [5, 10, 5, 4])),
        ({"bbox": [10, 10, 0, 4]}, Edit("/annotations/0", "remove")),
        ({"bbox": [10, 10, 0, 4], "segmentation": [[1, 2, 9, 2, 9, 8]]},
         Edit("/annotations/0/bbox", "replace", [1, 2, 8, 6])),
    ],
)  # fmt: skip
def test_a_box_without_area_is_mended_if_it_can_be(record, edit):
    (found,) = findings({"annotations": [record]}, code="B001")
    assert found.message == f"bbox width is {record['bbox'][2]}; expected more than 0"
    assert tuple(found.edits) == (edit,)


@pytest.mark.parametrize(
    ("box", "where"),
    [([100, 10, 5, 5], "right of"), ([-9, 10, 9, 5], "left of"), ([5, -20, 5, 5], "above"),
     ([5, 80, 5, 5], "below")],
)  # fmt: skip
def test_a_box_outside_is_one_finding(box, where):
    (found,) = findings(boxes(box), code="B002")
    assert (
        found.message == f"bbox lies {where} its image (100 x 80); expected a box inside the image"
    )
    assert not {"B003", "B004"} & codes(boxes(box))


def test_a_box_at_the_border_is_outside_only_beside_others_that_are():
    dust = [100, 10, 1e-10, 5]
    assert not {"B002", "B003", "B004"} & codes(boxes(dust))
    assert "B002" in codes(boxes(dust, [110, 10, 5, 5]))


def test_a_box_is_clipped_to_its_image():
    (found,) = findings(boxes([85, -10.5, 20, 30]), code="B003")
    assert found.message == (
        "bbox extends 10.5 px beyond the top edge of its image (100 x 80); "
        "expected a box inside the image"
    )
    assert [edit.value for edit in found.edits] == [[85, 0, 15, 19.5], 292.5]


def test_clipping_does_not_make_a_box_too_small_or_too_long():
    assert edits_of(boxes([99, 10, 20, 30]), "B003") == []
    assert edits_of(boxes([97, 10, 40, 69]), "B003") == []
    assert edits_of(boxes([95, 10, 40, 69]), "B003") != []


def test_a_box_is_not_clipped_where_its_outline_is_not():
    outline = [[85, 10, 110, 10, 110, 40, 85, 40]]
    content = boxes([85, 10, 25, 30], segmentation=outline)
    assert edits_of(content, "B003") == []
    (annotation,) = mended(content, ("B", "P"))
    assert annotation["bbox"] == [85, 10, 15, 30]
    assert annotation["area"] == 450


def test_small_long_and_large_boxes():
    (small,) = findings(boxes([10, 10, 9, 1.5]), code="B008")
    assert small.message == "bbox height is 1.5 px; expected at least 2 px"
    (long,) = findings(boxes([10, 10, 63, 3]), code="B009")
    assert long.message == "bbox of 63 x 3 px is 21 : 1; expected at most 20 : 1"
    (large,) = findings(boxes([0, 0, 100, 80]), code="B010")
    assert large.message.startswith("bbox covers 100.0% of its image (100 x 80)")
    assert {"B008", "B009", "B010"}.isdisjoint(
        codes(boxes([10, 10, 9, 1.5], [0, 0, 100, 3]), min_side_px=1, max_aspect_ratio=50)
    )


PLAIN = [[60, 50, 20, 10], [50, 60, 25, 18], [76, 30, 22, 10], [8, 60, 30, 19], [75, 65, 24, 14]]
READ = {
    "B005": [[x, y, x + w, y + h] for x, y, w, h in PLAIN],
    "B006": [[x + w / 2, y + h / 2, w, h] for x, y, w, h in PLAIN],
    "B007": [[x / 100, y / 80, w / 100, h / 80] for x, y, w, h in PLAIN],
}


def ring(x, y, w, h):
    return [[x, y, x + w, y, x + w, y + h, x, y + h]]


def written(code, *, outlines):
    return {
        "annotations": [
            {"bbox": box, **({"segmentation": ring(*plain)} if outlines else {})}
            for box, plain in zip(READ[code], PLAIN, strict=True)
        ]
    }


def test_an_area_without_an_outline_is_that_of_the_box():
    assert edits_of(boxes([10, 10, 20, 30], area=0), "B011")[0][2] == 600
    assert edits_of(boxes([10, 10, 20, 30], area=700), "B011")[0][2] == 600
    assert edits_of(boxes([10, 10, 0, 30], area=-4), "B011") == []
    assert "B011" not in codes(boxes([10, 10, 20, 30], area=629))


@pytest.mark.parametrize(
    ("box", "area"),
    [
        ([10, 20, 40, 70], 1500),  # x1, y1, x2, y2
        ([10, 40, 20, 70], 1500),  # x1, x2, y1, y2
        ([70, 20, 40, 30], 200),  # extends beyond the image
    ],
)
def test_an_area_is_not_replaced_by_that_of_a_doubtful_box(box, area):
    (found,) = findings(boxes(box, area=area), code="B011")
    assert not found.edits


def test_areas_of_outlines_that_were_left_out_are_no_alarm():
    assert "B011" not in codes(boxes(*PLAIN, area=70))
    (found,) = findings(boxes(*PLAIN, area=7000), code="B011")
    assert found.count == 5


def test_one_area_for_boxes_of_different_sizes_is_no_area():
    """A tool wrote 2500 for 62 of 100 boxes of a public file, and no finding named it."""
    sizes = [(10 + n, 20) for n in range(12)]
    same = [[5, 5, *size] for size in sizes]
    (found,) = findings(boxes(*same, area=149), code="B011")
    assert found.count == 12
    assert not found.edits
    # As no others are areas of boxes, these may be areas of one shape that is turned.
    content = boxes(*same, *PLAIN, area=149)
    for record in content["annotations"][len(same) :]:
        record["area"] = record["bbox"][2] * record["bbox"][3]
    (found,) = findings(content, code="B011")
    assert found.message.startswith("12 of 17 annotations; the first: area is 149; expected 200")
    assert sorted(edit.value for edit in found.edits) == [w * h for w, h in sizes]


@pytest.mark.parametrize("n", [4, 5])
def test_areas_of_boxes_become_those_of_outlines(n):
    triangle = [[10, 10, 30, 10, 10, 40]]
    many = [{"segmentation": triangle, "area": 600}] * n
    (found,) = findings({"annotations": [*many, {"segmentation": SQUARE}]}, code="B011")
    assert found.count == n
    assert {edit.value for edit in found.edits} == {300}


@pytest.mark.parametrize("unit", [0.25, 4])
def test_areas_that_differ_by_one_factor_are_not_changed(unit):
    content = boxes(*PLAIN, [5, 5, 20, 10])
    for record in content["annotations"]:
        x, y, w, h = record["bbox"]
        record |= {"segmentation": ring(x, y, w, h), "area": w * h * unit}
    (found,) = findings(content, code="B011")
    assert found.count == 6
    assert not found.edits


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
    chosen = ValidateSettings(select=("B",))
    text = fix(document_of(content), chosen, unsafe=True).text
    left = findings(bytes(text).decode(), select=("B",))
    assert [finding.message for finding in left if finding.fix] == []


def test_no_number_is_fixed_safely_where_many_boxes_are_in_a_wrong_place():
    inside = [[10 * n, 10, 20, 30] for n in range(6)]
    near = [80.5, 10, 20, 30]
    assert len(edits_of(boxes(near, *inside), "B004")) == 2
    far = [[85, 10 * n, 40, 30] for n in range(5)]
    assert "B004" in codes(boxes(near, *inside, *far))
    assert edits_of(boxes(near, *inside, *far), "B004") == []
    assert edits_of(boxes([10, 10, 20, 30], *far, area=0), "B011") == []


@pytest.mark.parametrize("area", [700, 1000])
def test_the_area_of_an_outline_that_leaves_its_image_is_that_of_the_part_inside(area):
    outline = [[80, 10, 130, 10, 130, 60, 80, 60]]
    content = {"annotations": [{"bbox": [80, 10, 20, 50], "segmentation": outline, "area": area}]}
    assert {finding.code for finding in findings(content, select=("B011", "P006"))} == {
        "P006", *(["B011"] if area == 700 else [])
    }  # fmt: skip
    assert edits_of(content, "B011") == (
        [("/annotations/0/area", "replace", 1000)] if area == 700 else []
    )


@given(st.lists(st.tuples(st.integers(-50, 150), st.integers(-50, 130)), min_size=3, max_size=9))
def test_the_visible_area_is_that_of_the_intersection(points):
    import shapely

    polygon = shapely.Polygon(points)
    if polygon.is_valid:
        expected = polygon.intersection(shapely.box(0, 0, 100, 80)).area
        area = clipped_area(np.array(points, float), np.array([100.0, 80]))
        assert area == pytest.approx(expected)


def scattered(*boxes, n_images=4):
    """Return a file with an image of its own size, and a sound box, for each of some boxes."""
    images = [{"width": 300 + number, "height": 200} for number in range(n_images)]
    annotations = [
        {"image_id": number + 1, "bbox": [number, 3, 20, 30]} for number in range(n_images)
    ]
    annotations += [{"image_id": number, "bbox": list(box)} for number, box in boxes]
    return {"images": images, "annotations": annotations}


BOX = (40.5, 50, 60, 70)


def test_what_follows_from_copied_boxes_is_hidden_for_them_only():
    wide, other = (270, 50, 30, 40), (290, 180, 40, 40)
    content = scattered(*((image, wide) for image in range(1, 5)), (2, other), n_images=20)
    content["images"][0]["width"] = 280
    beyond, found = findings(content, select=("B",))
    assert (beyond.code, beyond.pointer) == ("B003", "/annotations/24/bbox")
    assert (found.code, found.severity) == ("B014", Severity.WARNING)
    content["images"][0]["width"] = 270
    found, beyond = findings(content, select=("B",))
    assert beyond.pointer == "/annotations/24/bbox"
    assert (found.code, found.severity) == ("B014", Severity.ERROR)


@pytest.mark.parametrize(("width", "is_small"), [("0.133333", False), ("0.133330", True)])
def test_the_decimals_of_yolo_make_no_box_small(tmp_path, width, is_small):
    # 0.133333 of 15 px is 1.999995 px, and was 2 px before it was written.
    (tmp_path / "a.txt").write_text(f"0 0.266667 0.45 {width} 0.3\n")
    with reading(image_size=(15, 10)):
        found = {each.code for each in validate(tmp_path).findings}
    assert ("B008" in found) == is_small


@pytest.mark.parametrize("value", [0, 1])
def test_one_area_for_all_is_a_placeholder(value):
    drawn = [{"bbox": [10, 10, 20 + n, 30], "area": value} for n in range(12)]
    (found,) = findings({"annotations": drawn}, code="B011")
    assert [each.value for each in found.edits] == [30 * (20 + n) for n in range(12)]
    # Among other areas, 1 may be a share or a unit.
    drawn += [{"bbox": [10, 10, 50, 30 + n], "area": 2} for n in range(12)]
    assert bool([*findings({"annotations": drawn}, code="B011")[0].edits]) == (value == 0)
