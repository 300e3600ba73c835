"""Datumaro JSON: subsets, sizes, shapes, labels."""

import pytest
from support.tool_files import alone, asked, drawn, found, write

from bboxqa import read_coco


def file(*items, labels=("cat", "dog"), **more):
    """Return a file with items."""
    listed = [{"name": name, "parent": "", "attributes": []} for name in labels]
    categories = {"label": {"labels": listed, "attributes": []}, "points": {"items": []}}
    return {"info": {}, "categories": categories, "items": list(items)} | more


def item(*annotations, name="a", **more):
    """Return an item, an image of 100 × 80 pixels."""
    image = {"path": f"{name}.jpg", "size": [80, 100]}
    return {"id": name, "annotations": list(annotations), "image": image} | more


def shape(kind, label=0, attributes=None, **more):
    """Return an annotation."""
    return {"id": 0, "type": kind, "attributes": attributes or {}, "label_id": label} | more


BOX = shape("bbox", bbox=[10, 20, 30, 40])


def test_sizes_are_height_and_width(tmp_path):
    data = alone(write(tmp_path, **{"a.json": file(item(BOX))}) / "a.json")
    assert data.image_size.tolist() == [[100, 80]]
    assert drawn(data) == [("a.jpg", "(not named)", "cat", 10, 20, 30, 40)]


@pytest.mark.parametrize(
    ("given", "box"),
    [
        # Turned by a quarter about its centre (25, 40).
        (shape("bbox", attributes={"rotation": 90.0}, bbox=[10, 20, 30, 40]), [5, 25, 40, 30]),
        (shape("rotated_bbox", points=[25, 40, 30, 40, 90]), [5, 25, 40, 30]),
        (shape("polygon", points=[1, 2, 9, 2, 5, 7]), [1, 2, 8, 5]),
        (shape("ellipse", points=[10, 20, 40, 60]), [10, 20, 30, 40]),
        # COCO's counts of a mask of 2 × 3 pixels whose second column is set: 2, 2 and 2 pixels.
        (shape("mask", rle={"size": [2, 3], "counts": "222"}), [1, 0, 1, 2]),
    ],
)
def test_shapes_are_boxes(tmp_path, given, box):
    data = alone(write(tmp_path, **{"a.json": file(item(given))}) / "a.json")
    assert data.annotations.bbox.round(6).tolist() == [box]


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (shape("bbox", bbox=[1, 2, 3]), "T001", "bbox is [1, 2, 3]; expected 4 numbers"),
        (shape("bbox", bbox=[1, 2, 3, "a"]), "T001", "bbox is 'a'; expected a number"),
        (shape("polygon", points=[1]), "T001", "points are [1]; expected x and y of each point"),
        (shape(""), "T001", "has no type"),
        (shape("mask"), "T008", "the mask does not say its height and width"),
        (shape("mask", rle={"size": [2, 3], "counts": "22"}), "T008", "the mask has 4 pixels"),
        (shape("mask", rle={"size": [2, 3], "counts": "  "}), "T008", "the mask has"),
        (shape("mask", rle={"size": [2, 3], "counts": "6"}), "T011", "the mask has no pixels"),
        (shape("bbox", None, bbox=[1, 2, 3, 4]), "T004", "has no label_id"),
        (shape("bbox", 2, bbox=[1, 2, 3, 4]), "T050", "label_id is 2; the file lists 2 labels"),
    ],
)
def test_defects_stand_in_the_file(tmp_path, given, code, words):
    path = write(tmp_path, **{"a.json": file(item(name="b"), item(BOX, given))}) / "a.json"
    ((_, _, pointer, message),) = found(path, code)
    assert pointer == "/items/1/annotations/1"
    assert message.startswith(f"item a, annotation 2: {words}")


def test_subsets_of_a_folder_are_one_data_set_and_other_files_are_people(tmp_path):
    train, test = file(item(BOX)), file(item(BOX, name="b"))
    write(tmp_path / "set/annotations", **{"train.json": train, "test.json": test})
    assert alone(tmp_path / "set").image_names == ("a.jpg", "b.jpg")
    assert alone(tmp_path / "set/annotations").image_names == ("a.jpg", "b.jpg")
    other = file(item(BOX, BOX))
    write(tmp_path / "people", **{"ann.json": train, "bob.json": other})
    assert asked(read_coco(tmp_path / "people")) == {"a.jpg": ["ann", "bob"]}
    for who, content in (("ann", train), ("bob", other)):
        write(tmp_path / "folders" / who / "annotations", **{"default.json": content})
    assert asked(read_coco(tmp_path / "folders")) == {"a.jpg": ["ann", "bob"]}


def test_annotators_may_be_an_attribute(tmp_path):
    boxes = [
        shape("bbox", attributes={"annotator": who, "occluded": False}, bbox=[10, 20, 30, 40])
        for who in ("ann", "bob")
    ]
    write(tmp_path, **{"a.json": file(item(*boxes))})
    assert read_coco(tmp_path / "a.json").annotator_names == ("ann", "bob")
