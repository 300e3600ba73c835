"""Exports of SageMaker Ground Truth, Labelbox and Zooniverse: images, people, boxes, refusals."""

import csv
import json

import pytest
from support.tool_files import alone, asked, drawn, found, write

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.formats.registry import format_of

BOX = {"left": 40, "top": 50, "width": 100, "height": 80}
RING = [{"x": 1, "y": 1}, {"x": 9, "y": 1}, {"x": 9, "y": 5}]


def lines(*objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def answer(who, *boxes, form="boundingBox", key="boundingBoxes"):
    size = {"width": 640, "height": 480}
    content = {form: {key: [*boxes], "inputImageProperties": size}}
    return {"workerId": who, "answerContent": content}


def manifest(name, *boxes, job="job", kind="groundtruth/object-detection", **more):
    labels = {"image_size": [{"width": 640, "height": 480}], "annotations": [*boxes]}
    about = {"class-map": {"0": "cat"}, "type": kind}
    return {"source-ref": f"s3://b/{name}", job: labels, f"{job}-metadata": about, **more}


def test_answers_of_workers_are_of_the_folder_of_their_image(tmp_path):
    box = {**BOX, "label": "cat"}
    first, second = answer("aa", box), answer("bb", box, {**box, "label": "dog", "left": 41})
    write(tmp_path, **{
        "worker-response/iteration-1/0/t1.json": {"answers": [first]},
        "worker-response/iteration-1/0/t2.json": {"answers": [second]},
        "worker-response/iteration-1/1/t1.json": {"answers": [answer("bb"), answer("aa")]},
    })  # fmt: skip
    assert format_of(tmp_path).name == "sagemaker"
    data = read_coco(tmp_path)
    image, other = (f"worker-response/iteration-1/{number}" for number in "01")
    assert drawn(data) == [
        (image, "aa", "cat", 40, 50, 100, 80),
        (image, "bb", "cat", 40, 50, 100, 80),
        (image, "bb", "dog", 41, 50, 100, 80),
    ]
    assert asked(data) == {image: ["aa", "bb"], other: ["aa", "bb"]}


def test_requests_of_consolidation_name_their_images_and_hold_json_in_texts(tmp_path):
    polygon = {"label": "cat", "vertices": RING}
    people = [
        {"workerId": who, "annotationData": {"content": json.dumps(given["answerContent"])}}
        for who in "ab"
        for given in [answer(who, polygon, form="own", key="polygons")]
    ]
    people.append({"workerId": "c", "annotationData": {"content": "no JSON"}})
    request = {"annotations": people, "dataObject": {"s3Uri": "s3://b/d/a.jpg"}}
    write(tmp_path, **{"a.json": [request | {"datasetObjectId": "0"}]})
    data = read_coco(tmp_path / "a.json")
    assert drawn(data) == [("d/a.jpg", who, "cat", 1, 1, 8, 4) for who in "ab"]
    assert any(note.startswith("1 answer left out: neither") for note in data.notes)


def test_a_manifest_has_the_labels_of_the_last_job_and_images_without_objects(tmp_path):
    one, two = {**BOX, "class_id": 0}, {**BOX, "class_id": 0, "left": 7}
    adjusted = manifest("b.jpg", two, job="adjusted")
    unlabelled = {"source-ref": "s3://b/c.jpg"}
    text = lines(manifest("a.jpg"), manifest("b.jpg", one, **adjusted), unlabelled)
    data = alone(write(tmp_path, **{"output.manifest": text}) / "output.manifest")
    assert [each[0] + each[2] for each in drawn(data)] == ["b.jpgcat"]
    assert drawn(data)[0][3] == 7
    assert data.image_names == ("a.jpg", "b.jpg")
    notes = " / ".join(data.notes)
    assert "1 label of earlier jobs left out" in notes
    assert "1 image left out: the manifest has no labels of it" in notes


def test_a_manifest_of_other_labels_is_refused_by_their_type(tmp_path):
    text = lines(*[manifest("a.jpg", kind="groundtruth/image-classification")] * 2)
    path = write(tmp_path, **{"output.manifest": text}) / "output.manifest"
    with pytest.raises(DatasetError, match="its labels are of groundtruth/image-classification"):
        alone(path)


def data_row(name, *labels, **more):
    made = [
        {"label_details": {"created_by": who}, "annotations": {"objects": objects}}
        for who, objects in labels
    ]
    row = {"id": f"r-{name}", "external_id": "img_1", "global_key": name, **more}
    size = {"width": 640, "height": 480}
    return {"data_row": row, "media_attributes": size, "projects": {"p": {"labels": made}}}


def test_data_rows_of_labelbox(tmp_path):
    box = {"feature_id": "f", "name": "cat", "bounding_box": BOX}
    outline = {"name": "dog", "polygon": RING}
    mask = {"name": "dog", "mask": {"url": "https://x"}}
    rows = [
        data_row("a.jpg", ("ann", [box]), ("bob", [outline, mask]), ("bob", [box])),
        data_row("b.jpg", ("ann", [])),
        data_row("a.jpg", id="other"),
    ]
    path = write(tmp_path, **{"export.ndjson": lines(*rows)}) / "export.ndjson"
    data = read_coco(path)
    assert drawn(data) == [
        ("a.jpg", "ann", "cat", 40, 50, 100, 80), ("a.jpg", "bob", "dog", 1, 1, 8, 4),
    ]  # fmt: skip
    assert asked(data) == {"a.jpg": ["ann", "bob"], "a.jpg (other)": [], "b.jpg": ["ann"]}
    ((_, line, _, said),) = found(path, "T007")
    assert (line, said) == (1, "a.jpg: bob annotated it 2 times; the first counts")


def test_lines_that_are_cut_off_are_refused(tmp_path):
    text = lines(data_row("a.jpg"), {"data_row": 7}, data_row("b.jpg"))
    path = write(tmp_path, **{"export.ndjson": text}) / "export.ndjson"
    ((_, line, _, said),) = found(path, "T001")
    assert (line, said) == (2, "has no data_row with an id or a name")
    path.write_text(text[:-9])
    with pytest.raises(DatasetError, match="cannot be read"):
        read_coco(path)


def classification(who, values, *, subject="900", name="a.jpg", metadata=None):
    size = {"subject_dimensions": [{"naturalWidth": 640, "naturalHeight": 480}]}
    return [
        "1", who, json.dumps(size) if metadata is None else metadata,
        json.dumps([{"task": "T0", "value": values}, {"task": "T1", "value": "yes"}]),
        json.dumps({subject: {"#Filename": name}}), subject,
    ]  # fmt: skip


def classifications(path, *rows):
    header = ["classification_id", "user_name", "metadata", "annotations", "subject_data"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*header, "subject_ids"], *rows])
    return path


def test_rectangles_of_volunteers(tmp_path):
    old = {"x": 40, "y": 50, "width": 100, "height": 80, "tool": 0, "frame": 0, "tool_label": "cat"}
    new = {"x_center": 90, "y_center": 90, "width": 100, "height": 80, "toolIndex": 1}
    long = [{"x": 1, "y": 1, "tool": 2, "details": "d" * 150_000}]
    path = classifications(
        tmp_path / "a.csv",
        classification("ann", [old]),
        classification("bob", [new, {**old, "frame": 1}]),
        classification("ann", [old]),
        classification("cid", long),
    )
    data = read_coco(path)
    assert drawn(data) == [
        ("a.jpg", "ann", "cat", 40, 50, 100, 80), ("a.jpg", "bob", "tool 1", 40, 50, 100, 80),
    ]  # fmt: skip
    assert asked(data) == {"a.jpg": ["ann", "bob", "cid"]}
    assert len(found(path, "T007")) == 1
    assert csv.field_size_limit() == 131_072
    broken = classifications(tmp_path / "b.csv", classification("ann", [], metadata="{"))
    assert [(line, said[-11:]) for _, line, _, said in found(broken, "T001")] == [
        (2, "is not JSON")
    ]


def test_points_and_circles_of_volunteers_are_told_apart_and_not_advised_as_key_points(tmp_path):
    point = {"x": 40, "y": 50, "toolIndex": 0}
    people = [classification(who, [point, {**point, "r": 9}]) for who in ("ann", "bob")]
    path = classifications(tmp_path / "a.csv", *people)
    box = classification("ann", [{**point, "width": 9, "height": 9}], subject="901", name="b.jpg")
    for rows, where in (people, ""), ([*people, box], " in images with two annotators"):
        classifications(path, *rows)
        with pytest.raises(NothingToCompareError, match="nothing to measure") as error:
            read_coco(path, keypoints=True)
        assert f"no annotations that have a box{where};" in str(error.value)
        said, todo = error.value.advice.split("\n")
        assert said == "2 points and 2 other shapes are not compared"
        assert "--similarity" not in todo
        assert "bboxqa stats FILE.csv" in todo
