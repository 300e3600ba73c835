"""The document of objects to review is sound COCO, and says why each is reviewed."""

import json

import pytest
from pycocotools.coco import COCO
from support.datasets import annotation, dataset, document, image, write
from support.reference import data_file

import bboxqa


def square(x, side=20):
    return [x, 10, side, side]


def outlined(number, x, category, **more):
    """Return a record with an outline and keys that only its own tools know."""
    ring = [x, 10, x + 20, 10, x + 20, 30, x, 30]
    own = {
        "segmentation": [ring],
        "area": 400,
        "attributes": {"occluded": True},
        "note": "von Hand",
    }
    return annotation(number, 7, category, square(x), **own, **more)


def test_records_of_one_file_are_those_of_the_file(tmp_path):
    categories = [{"id": 4, "name": "cat", "supercategory": "pet"}, {"id": 9, "name": "dog"}]
    own = [
        outlined(30, 10, 4, user="ann"),
        outlined(31, 10, 9, user="bob"),
        outlined(32, 100, 4, user="ann"),
        outlined(33, 100, 4, user="bob"),
        outlined(34, 200, 9, user="ann"),
        outlined(35, 200, 9, user="bob"),
    ]
    path = write(
        tmp_path / "export.json",
        document(own, [image(7, "a.jpg", width=640, height=480, date="1.1.")], categories),
    )
    data = bboxqa.read_coco(path, annotator_key="user")
    told = bboxqa.agree(data, bootstrap=0).diagnose()
    found = told.review_document
    why = {"reason": "cat by ann, dog by bob", "gain": told.review["alpha_gain"][0]}
    # The objects that were named alike are not to be reviewed.
    assert found["annotations"] == [
        {"iscrowd": 0, **record, "annotator": record["user"], **why} for record in own[:2]
    ]
    assert found["categories"] == categories
    (picture,) = found["images"]
    assert picture.items() >= {"id": 7, "date": "1.1.", "width": 640}.items()
    assert sorted(picture["annotators"]) == ["ann", "bob"]
    path.write_text("{}")
    changed = bboxqa.agree(data, bootstrap=0).diagnose().review_document
    assert [each["bbox"] for each in changed["annotations"]] == [square(10)] * 2
    assert not any("note" in each for each in changed["annotations"])


def test_records_of_several_files_are_numbered_anew(tmp_path):
    paths = []
    for name, cat, dog, first in (("ann", 1, 2, 1), ("bob", 5, 3, 3)):
        own = [outlined(n, 100 * n, each) for n, each in enumerate((first, cat, dog))]
        own = [each | {"note": name} for each in own]
        categories = [{"id": cat, "name": "cat"}, {"id": dog, "name": "dog"}]
        content = document(own, [image(7, "a.jpg", width=640, height=480)], categories)
        paths.append(write(tmp_path / f"{name}.json", content))
    found = bboxqa.agree(bboxqa.read_coco(paths), bootstrap=0).diagnose().review_document
    read = bboxqa.read_coco(found)
    assert (read.annotator_names, read.category_names) == (("ann", "bob"), ("cat", "dog"))
    assert sorted(each["id"] for each in found["annotations"]) == [1, 2]
    # Both have the same id and box.
    assert {each["annotator"]: each["note"] for each in found["annotations"]} == {
        "ann": "ann",
        "bob": "bob",
    }
    assert all(each["attributes"] == {"occluded": True} for each in found["annotations"])
    assert all(each["segmentation"] for each in found["annotations"])


@pytest.mark.parametrize("name", ["lvis_double_100", "several/asthma_round2"])
def test_the_document_opens_elsewhere(name, tmp_path):
    source = data_file(f"{name}.json")
    found = bboxqa.agree(bboxqa.read_coco(source), bootstrap=0).diagnose().review_document
    path = tmp_path / "review.json"
    path.write_text(json.dumps(found))
    assert not [each for each in bboxqa.validate(path).findings if each.severity == "error"]
    opened = COCO(path)
    records = {each["id"]: each for each in json.loads(source.read_text())["annotations"]}
    assert len(opened.getAnnIds()) == len(found["annotations"]) > 100
    assert all(each.items() >= records[each["id"]].items() for each in found["annotations"])


def test_tasks_have_the_gain_of_all_objects_of_their_image(tmp_path):
    # Three objects of image 0 have one gain and one reason: c did not draw them.
    rows = [
        (image, who, n % 2, (100.0 * n, 0.0, 30.0, 30.0))
        for image in range(3)
        for n in range(6)
        for who in range(3)
        if not (who == 2 and n < 3 - image)
    ]
    told = bboxqa.agree(dataset(rows, n_images=3, size=(640, 480)), bootstrap=0).diagnose()
    expected = dict(zip(told.review["image"], [0.0] * len(told.review), strict=True))
    for name, gain in zip(told.review["image"], told.review["alpha_gain"], strict=True):
        expected[name] += gain
    source = write(tmp_path / "review.json", told.review_document)
    bboxqa.convert(source, tmp_path / "tasks.json", to="label-studio", as_predictions=True)
    tasks = json.loads((tmp_path / "tasks.json").read_bytes())
    assert len({each["reason"] for each in told.review_document["annotations"]}) == 1
    found = {each["data"]["image"].replace("%20", " "): each["data"]["gain"] for each in tasks}
    assert found == pytest.approx(expected)
    for task in tasks:
        assert {each["score"] for each in task["predictions"]} == {task["data"]["gain"]}
        assert len(task["predictions"]) == 3
