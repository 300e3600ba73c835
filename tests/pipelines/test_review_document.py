"""Documents of a diagnosis: objects to review, and the worst images with their reasons."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from pycocotools.coco import COCO
from support.datasets import annotation, dataset, document, document_of, image, write
from support.reference import data_file

import bboxqa
from bboxqa.geometry.rasters import mask_rings
from bboxqa.report.pictures import shown_images


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


def found(data, **settings):
    return bboxqa.agree(data, bootstrap=0, **settings).diagnose().worst_images


def simulated(**errors):
    options = {"images": 12, "annotators": 3, "categories": ("cow", "sheep"), "seed": 3}
    return bboxqa.read_coco(bboxqa.simulate(errors={"*": errors}, **options).document())


def test_every_annotation_is_a_shape_of_its_image():
    data = simulated(miss=0.3, jitter=0.1)
    shapes = Counter(
        (image["file_name"], shape["annotator"], shape["category"], tuple(shape["bbox"]))
        for image in found(data)["images"]
        for shape in image["shapes"]
    )
    of = data.annotations
    expected = Counter(
        (data.image_names[i], data.annotator_names[a], data.category_names[c], tuple(box))
        for i, a, c, box in zip(of.image, of.annotator, of.category, of.bbox.tolist(), strict=True)
    )
    assert shapes == expected


def test_reasons_by_hand():
    # Equal boxes of all; one that the third annotator misses; one that the second
    # names otherwise.
    boxes = [[10, 10, 20, 20], [50, 50, 20, 20], [90, 90, 20, 20]]
    rows = [(0, who, 0, box) for who in range(3) for box in boxes]
    rows.remove((0, 2, 0, boxes[1]))
    rows[rows.index((0, 1, 0, boxes[2]))] = (0, 1, 1, boxes[2])
    (image,) = found(dataset(rows))["images"]
    by_box = {tuple(shape["bbox"]): shape["object"] for shape in image["shapes"]}
    told = {each["object"]: (each["kind"], each["reason"]) for each in image["objects"]}
    assert [told[by_box[tuple(box)]] for box in boxes] == [
        ("all agree", ""),
        ("missed by some", "not drawn by annotator 0002"),
        (
            "class conflict",
            "category 0000 by annotator 0000 and annotator 0002, category 0001 by annotator 0001",
        ),
    ]
    similarity = {each["object"]: each["similarity"] for each in image["objects"]}
    assert similarity[by_box[tuple(boxes[0])]] == 1.0


def test_key_points_are_visible_or_hidden_and_joined_by_lines():
    keypoints = [10, 10, 2, 20, 10, 1, 5, 5, 0, *[0] * 42]
    rows = [(1, who, 1, (5, 5, 30, 30), {"keypoints": keypoints}) for who in "ab"]
    data = bboxqa.read_coco(document_of(rows), keypoints=True)
    (image,) = found(data, similarity="keypoints")["images"]
    shape = image["shapes"][0]
    assert shape["visible_points"] == [[10, 10]]
    assert shape["hidden_points"] == [[20, 10]]
    # Of nose and left eye; the right eye is not labelled.
    assert shape["lines"] == [[10, 10, 20, 10]]
    (picture,) = shown_images(None, [image], {}).pictures
    drawn = picture["shapes"][0]
    assert drawn["d"] == "M5 5h30v30H5zM10 10L20 10"
    assert (drawn["dots"], drawn["hidden"]) == ("M10 10h0M20 10h0", "M20 10h0")


@pytest.mark.parametrize("seed", range(3))
def test_rings_of_a_mask_enclose_its_pixels(seed):
    from pycocotools import mask

    pixels = np.random.default_rng(seed).random((9, 12)) < 0.4
    rings = mask_rings(mask.encode(np.asfortranarray(pixels.astype(np.uint8))))
    # The even-odd rule at the centre of each pixel.
    y, x = np.mgrid[:9, :12] + 0.5
    inside = np.zeros(pixels.shape, bool)
    for ring in rings:
        for (x0, y0), (x1, y1) in pairwise(ring):
            crosses = (y0 > y) != (y1 > y)
            at = x0 + (y - y0) * (x1 - x0) / (y1 - y0) if y1 != y0 else np.inf
            inside ^= crosses & (x < at)
    np.testing.assert_array_equal(inside, pixels)
