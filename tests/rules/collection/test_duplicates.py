"""D001 to D003: one object that one annotator annotated twice."""

import json

import numpy as np
import pytest
from support.reference import data_file
from support.validation import as_corners, document_of, findings

from bboxqa.geometry.kernels.boxes import rotated_iou
from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.model.shapes.rotated_boxes import corners
from bboxqa.rules import collection as duplicates
from bboxqa.rules.facts import box_overlaps, turned_overlaps
from bboxqa.rules.fixes import fix
from bboxqa.rules.registry import RULES
from bboxqa.rules.runner import validate_documents

NEAR = [10, 10, 20, 31]
TWO_CLASSES = [{}, {"name": "dog"}]


def found(code, *annotations, **more):
    return findings({"annotations": list(annotations), **more}, code=code)


def pointers(code, *annotations, **more):
    return [finding.pointer for finding in found(code, *annotations, **more)]


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"note": [1, {"a": None}]},
        {"rater": "ann"},
        {"segmentation": [[10, 10, 30, 10, 30, 40]]},
        {"bbox": "none", "segmentation": [[10, 10, 30, 10, 30, 40]]},
        {"bbox": [0, 0, 0, 0]},
        {"image_id": "a"},
        {"iscrowd": 1},
    ],
)
def test_a_record_that_is_there_again_is_found(extra):
    assert pointers("D001", extra, {"bbox": [50, 10, 9, 9]}, extra) == ["/annotations/2"]


@pytest.mark.parametrize(
    "other",
    [
        {"rater": "bob"},
        {"note": "b"},
        {"category_id": 2},
        {"image_id": 2},
        {"bbox": [10, 10, 20, 30.5]},
        {"segmentation": [[10, 10, 30, 10, 30, 41]]},
        {"area": 599},
    ],
)
def test_a_record_that_differs_anywhere_is_another_one(other):
    one = {"rater": "ann", "note": "a", "segmentation": [[10, 10, 30, 10, 30, 40]]}
    assert not found("D001", one, {**one, **other}, images=[{}, {}], categories=TWO_CLASSES)


def test_each_repetition_is_found_once_and_says_of_what():
    first, second = found("D001", {"id": 7}, {"id": 8}, {"id": 8})
    assert (
        first.message == "annotation is equal to annotation 7 in all but the id; expected it once"
    )
    assert (first.edits, first.fix) == ((Edit("/annotations/1", "remove"),), "safe")
    assert second.pointer == "/annotations/2"
    assert first.ids == {"annotation": 8, "image": 1, "category": 1}


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


def test_an_iou_is_told_from_its_limit():
    boxes = ({"bbox": [1, 1, 10, 90.03]}, {"bbox": [1, 1, 10, 100]})
    (finding,) = found("D002", *boxes)
    assert finding.message.startswith("bbox has an IoU of 0.9003 with ")


def test_what_is_there_exactly_is_not_there_nearly():
    assert not found("D002", {}, {})
    assert not found("D003", {}, {})
    assert pointers("D002", {"note": "a"}, {"note": "b"}) == ["/annotations/1/bbox"]


@pytest.mark.parametrize("code", ["D002", "D003"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"rater": "ann"}, {"rater": "bob"}),
        ({"image_id": 1}, {"image_id": 2}),
        ({"iscrowd": 1}, {}),
        ({}, {"bbox": [10, 10, 20, 34]}),
        ({"bbox": [10, 10, 0, 30]}, {"bbox": [10, 10, 0, 30], "note": 1}),
        ({"image_id": 9}, {"image_id": 9, "note": 1}),
        ({"image_id": 9}, {"image_id": [9]}),
        ({"bbox": None}, {"bbox": ["10", 10, 20, 30]}),
    ],
)
def test_other_boxes_are_no_duplicates(code, left, right):
    kind = 2 if code == "D003" else 1
    annotations = [left, {"bbox": NEAR, "category_id": kind, **right}]
    assert not found(code, *annotations, images=[{}, {}], categories=TWO_CLASSES)


def test_boxes_nobody_is_named_for_are_one_annotators_unless_the_image_has_several():
    assert found("D002", {}, {"bbox": NEAR})
    assert found("D002", {}, {"bbox": NEAR}, images=[{"rater_list": ["ann"]}])
    assert not found("D002", {}, {"bbox": NEAR}, images=[{"rater_list": ["ann", "bob"]}])


def test_repeated_image_records_are_different_annotators():
    images = [{"annotator": "ann"}, {"annotator": "bob", "file_name": "a.jpg"}]
    assert not found("D002", {}, {"image_id": 2, "bbox": NEAR}, images=images)
    assert found("D002", {"image_id": 2}, {"image_id": 2, "bbox": NEAR}, images=images)


@pytest.mark.parametrize("step", [0, 0.01])
def test_many_boxes_of_one_object_are_one_finding_less(step):
    boxes = [{"bbox": [10 + step * place, 10, 20, 30], "note": place} for place in range(9)]
    (finding,) = found("D002", *boxes)
    assert finding.count == 8


@pytest.mark.parametrize("code", ["D002", "D003"])
def test_findings_in_a_crowd_are_those_of_any_other_image(code, monkeypatch):
    heaps = [
        {"image_id": image, "category_id": 1 + place // 3 % 2, "bbox": [10, 10 + place / 2, 20, 30]}
        for image in (1, 2)
        for place in range(30)
    ]
    more = {"images": [{}, {}], "categories": TWO_CLASSES}
    document = {"annotations": [{"bbox": [50, 10, 9, 9]}, *heaps], **more}
    settings = ValidateSettings(select=(code,))
    expected = validate_documents([document_of(document)], settings, 0).findings
    assert len(expected) > 1 or expected[0].count > 10
    monkeypatch.setattr(box_overlaps, "_MOST_STEPS", 2)
    assert validate_documents([document_of(document)], settings, 0).findings == expected


def test_two_categories_of_one_box_are_found():
    (finding,) = found("D003", {}, {"category_id": 2, "bbox": NEAR}, categories=TWO_CLASSES)
    assert 'with annotation 1, which is "cat" and not "dog"' in finding.message
    assert not found("D002", {}, {"category_id": 2, "bbox": NEAR}, categories=TWO_CLASSES)


def test_the_threshold_is_a_setting():
    example = {"annotations": [{}, {"bbox": [10, 10, 20, 40]}]}
    assert not findings(example, code="D002")
    assert findings(example, code="D002", duplicate_iou=0.7)


@pytest.mark.parametrize("code", ["D002", "D003"])
def test_boxes_in_another_format_are_not_compared(code):
    kind = 2 if code == "D003" else 1
    boxes = [{"bbox": [10, 10, 20, 30]}, {"bbox": NEAR, "category_id": kind}]
    assert found(code, *boxes, categories=TWO_CLASSES)
    assert not found(code, *map(as_corners, boxes), categories=TWO_CLASSES)


@pytest.mark.parametrize("text", ["{}", "[]", '{"annotations": [1, null, [], {}, {}]}', ""])
def test_odd_files_are_no_trouble(text):
    assert not findings(text, select=("D",))


def test_only_pairs_of_one_annotator_are_repetitions():
    content = json.loads(data_file("simulated.json").read_bytes())
    first, last = content["annotations"][0], content["annotations"][-1]
    twice = {**first, "id": last["id"] + 1, "bbox": [first["bbox"][0] + 1, *first["bbox"][1:]]}
    content["annotations"].append(twice)
    (found,) = findings(json.dumps(content), select=("D",))
    assert (found.code, found.ids["annotation"]) == ("D002", twice["id"])


def test_pairs_of_two_real_annotators_are_agreement():
    text = data_file("lvis_double_100.json").read_bytes()
    records = {record["id"]: record for record in json.loads(text)["annotations"]}
    assert not findings(text, code="D001")
    assert not findings(text, code="D002")
    for finding in findings(text, code="D003"):
        other = int(finding.message.partition("annotation ")[2].partition(",")[0])
        assert records[other]["rater_id"] == finding.ids["annotator"]


def test_looking_for_repetitions_changes_no_record():
    """A record is kept when it was looked at last, and the next rule looks at the same."""
    document = document_of({"annotations": [{}, {"score": 1}]})
    list(RULES["D001"].check(document, ValidateSettings()))
    assert document.ids(1)["annotation"] == document.record(1)["id"]


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        # An X of two boxes: their bounds are equal, and they share a quarter of their area.
        ({"rotation": 45}, {"rotation": 135}, 0),
        ({"rotation": 45}, {"rotation": 225}, 1),
        ({"rotation": 45}, {"rotation": 47}, 1),
    ],
)
def test_rotated_boxes_are_compared_as_they_are_turned(first, second, n):
    pair = [{"bbox": [20, 30, 40, 10], "attributes": each} for each in (first, second)]
    assert len(found("D002", *pair)) == n


def test_outlines_of_crossing_boxes_are_no_duplicates():
    ring, mirrored = [20, 20, 27, 13, 67, 53, 60, 60], [20, 53, 27, 60, 67, 20, 60, 13]
    box = {"bbox": [20, 13, 47, 47], "area": 560}
    turned = [box | {"segmentation": [each]} for each in (ring, mirrored)]
    assert not found("D002", *turned)


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


def test_rotated_boxes_are_compared_with_few_of_those_in_one_place(monkeypatch):
    # 35,000 boxes of as many classes in one place took 19 s.
    n_boxes, n_asked, n_compared = 100, 0, 0

    def asked(document, left, right):
        nonlocal n_asked
        n_asked += len(left)
        return turned_overlaps.box_iou(document, left, right)

    def compared(left, right):
        nonlocal n_compared
        n_compared += len(left)
        return rotated_iou(left, right)

    monkeypatch.setattr(duplicates, "box_iou", asked)
    monkeypatch.setattr(turned_overlaps, "rotated_iou", compared)
    places = np.random.default_rng(5).permutation(n_boxes).tolist()
    drawn = [
        {**as_eight(1000 + place / 10, 1000, 900, 800, 30), "category_id": number + 1}
        for number, place in enumerate(places)
    ]
    content = {
        "images": [{"width": 2000, "height": 2000}],
        "categories": [{"name": f"c{number}"} for number in range(n_boxes)],
        "annotations": drawn,
    }
    found_in = findings(content, code="D003")
    assert sum(each.count for each in found_in) == n_boxes - 1
    assert n_asked < n_boxes * n_boxes / 4
    # Eight numbers have one direction: a pair is compared once.
    assert n_compared == n_asked


@pytest.mark.parametrize("name", ["images", "categories"])
def test_repeats_stay_where_two_records_share_the_id_that_they_refer_to(name):
    """Each of the two annotations may belong to another of the images or categories."""
    content = {name: [{}, {"id": 1, "file_name": "b.jpg", "name": "dog"}], "annotations": [{}, {}]}
    (found,) = findings(content, code="D001")
    assert not found.edits
