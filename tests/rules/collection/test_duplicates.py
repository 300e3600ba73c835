"""D001 to D003: one object that one annotator annotated twice."""

import json

import numpy as np
import pytest
from pycocotools import mask as coco_masks
from support.validation import document_of, findings

from bboxqa.model.masks import decode_counts
from bboxqa.model.rotated_boxes import corners
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

NEAR = [10, 10, 20, 31]
TWO_CLASSES = [{}, {"name": "dog"}]


def found(code, *annotations, **more):
    return findings({"annotations": list(annotations), **more}, code=code)


def pointers(code, *annotations, **more):
    return [finding.pointer for finding in found(code, *annotations, **more)]


@pytest.mark.parametrize(
    "extra",
    [
        {}, {"note": [1, {"a": None}]}, {"rater": "ann"},
        {"segmentation": [[10, 10, 30, 10, 30, 40]]},
        {"bbox": "none", "segmentation": [[10, 10, 30, 10, 30, 40]]}, {"bbox": [0, 0, 0, 0]},
        {"image_id": "a"}, {"iscrowd": 1},
    ],
)  # fmt: skip
def test_a_record_that_is_there_again_is_found(extra):
    assert pointers("D001", extra, {"bbox": [50, 10, 9, 9]}, extra) == ["/annotations/2"]


@pytest.mark.parametrize(
    "other",
    [
        {"rater": "bob"}, {"note": "b"}, {"category_id": 2}, {"image_id": 2},
        {"bbox": [10, 10, 20, 30.5]}, {"segmentation": [[10, 10, 30, 10, 30, 41]]}, {"area": 599},
    ],
)  # fmt: skip
def test_a_record_that_differs_anywhere_is_another_one(other):
    one = {"rater": "ann", "note": "a", "segmentation": [[10, 10, 30, 10, 30, 40]]}
    assert not found("D001", one, {**one, **other}, images=[{}, {}], categories=TWO_CLASSES)


def test_the_fix_leaves_the_first_of_each():
    document = document_of({"annotations": [{}, {"bbox": [50, 10, 9, 9]}, {}, {}]})
    settings = ValidateSettings(select=("D001", "D002"))
    fixed = json.loads(fix(document, settings, unsafe=False).text)
    assert [annotation["id"] for annotation in fixed["annotations"]] == [1, 2]


def test_a_box_drawn_twice_is_found_at_the_later_one():
    (finding,) = found("D002", {"id": 5}, {"bbox": NEAR})
    assert finding.message == (
        'bbox has an IoU of 0.968 with annotation 5, of the same category "cat"; '
        "expected less than 0.9 for one annotator"
    )
    assert finding.pointer == "/annotations/1/bbox"
    assert finding.examples == ("/annotations/0", "/annotations/1")
    assert not finding.edits


@pytest.mark.parametrize("code", ["D002", "D003"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"rater": "ann"}, {"rater": "bob"}), ({"image_id": 1}, {"image_id": 2}),
        ({"iscrowd": 1}, {}), ({}, {"bbox": [10, 10, 20, 34]}),
        ({"bbox": [10, 10, 0, 30]}, {"bbox": [10, 10, 0, 30], "note": 1}),
        ({"image_id": 9}, {"image_id": 9, "note": 1}), ({"image_id": 9}, {"image_id": [9]}),
        ({"bbox": None}, {"bbox": ["10", 10, 20, 30]}),
    ],
)  # fmt: skip
def test_other_boxes_are_no_duplicates(code, left, right):
    kind = 2 if code == "D003" else 1
    annotations = [left, {"bbox": NEAR, "category_id": kind, **right}]
    assert not found(code, *annotations, images=[{}, {}], categories=TWO_CLASSES)


def test_boxes_nobody_is_named_for_are_one_annotators_unless_the_image_has_several():
    assert found("D002", {}, {"bbox": NEAR})
    assert found("D002", {}, {"bbox": NEAR}, images=[{"rater_list": ["ann"]}])
    assert not found("D002", {}, {"bbox": NEAR}, images=[{"rater_list": ["ann", "bob"]}])


UPPER, LOWER = [[10, 10, 30, 10, 10, 40]], [[30, 10, 30, 40, 10, 40]]
TRIANGLES = {"segmentation": UPPER}, {"segmentation": LOWER}


def as_mask(outline):
    (ring,) = outline["segmentation"]
    runs = decode_counts(coco_masks.frPyObjects([ring], 80, 100)[0]["counts"])
    return {"segmentation": {"size": [80, 100], "counts": runs.tolist()}}


@pytest.mark.parametrize("form", [dict, as_mask])
def test_outlines_that_share_little_of_one_box_are_no_duplicates(form):
    upper, lower = map(form, TRIANGLES)
    dog = {"category_id": 2}
    for code, more in (("D002", {}), ("D003", dog)):
        assert not found(code, upper, {**lower, **more}, categories=TWO_CLASSES)
        (finding,) = found(code, upper, {**upper, **more, "bbox": NEAR}, categories=TWO_CLASSES)
        assert "an IoU of 0.968, and the outline 1, with annotation 1" in finding.message
        # Without an outline on both, boxes decide.
        assert found(code, upper, {**more, "bbox": NEAR}, categories=TWO_CLASSES)


def test_the_second_and_third_outline_of_one_box_are_compared_as_well():
    annotations = [TRIANGLES[0], *({**TRIANGLES[1], "note": note} for note in range(3))]
    assert [each.ids["annotation"] for each in found("D002", *annotations)] == [3, 4]


def test_two_categories_of_one_box_are_found():
    (finding,) = found("D003", {}, {"category_id": 2, "bbox": NEAR}, categories=TWO_CLASSES)
    assert 'with annotation 1, which is "cat" and not "dog"' in finding.message
    assert not found("D002", {}, {"category_id": 2, "bbox": NEAR}, categories=TWO_CLASSES)


def as_five(cx, cy, w, h, degrees):
    return {"bbox": [cx, cy, w, h, degrees], "area": w * h}


def as_eight(*box):
    ring = corners(np.array([box], float)).reshape(-1)
    return {"bbox": ring.round(2).tolist(), "area": box[2] * box[3]}


def beside_box(cx, cy, w, h, degrees):
    box = [cx - w / 2, cy - h / 2, w, h]
    return {"bbox": box, "area": w * h, "attributes": {"rotation": degrees}}


OTHERS = [(60, 60 + 20 * n, 40, 8, 10 * n + 5) for n in range(5)]


@pytest.mark.parametrize("form", [as_five, as_eight, beside_box])
@pytest.mark.parametrize(
    ("pair", "code"),
    [
        (((300, 300, 200, 20, 30), (300, 300, 200, 20, 30)), "D001"),
        # One rectangle, of which the other side is the width.
        (((300, 300, 200, 20, 1), (300, 300, 20, 200, 91)), "D002"),
        (((300, 300, 200, 30, 30), (301, 300, 200, 30, 30)), "D002"),
        # Of thin boxes, the bounds are less alike than the boxes.
        (((300, 300, 300, 12, 0.1), (300, 300, 300, 12, 0.4)), "D002"),
        (((300, 300, 200, 20, 30), (300, 300, 200, 20, 150)), None),
    ],
)
def test_all_forms_of_rotated_boxes_are_compared(form, pair, code):
    boxes = [form(*box) for box in (*pair, *OTHERS)]
    sizes = [{"width": 600, "height": 600}]
    codes = {code for code in ("D001", "D002") if found(code, *boxes, images=sizes)}
    assert codes == ({code} if code else set())


@pytest.mark.parametrize("name", ["images", "categories"])
def test_repeats_stay_where_two_records_share_the_id_that_they_refer_to(name):
    """Each of the two annotations may belong to another of the images or categories."""
    content = {name: [{}, {"id": 1, "file_name": "b.jpg", "name": "dog"}], "annotations": [{}, {}]}
    (found,) = findings(content, code="D001")
    assert not found.edits
