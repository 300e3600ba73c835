"""Projects of Supervisely: who drew, shapes, masks, nested datasets, and what is refused."""

import base64
import io
import zlib

import numpy as np
import pytest
from PIL import Image
from support.tool_files import alone, drawn, found, translation_of, write

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError
from bboxqa.formats.supervisely import translate
from bboxqa.model.masks import decode_counts

META = {"classes": [{"title": "cat", "shape": "rectangle"}, {"title": "dog", "shape": "any"}]}
# The example of Supervisely's documentation: the three pixels of the first row, the first of the
# second, and three of the third.
MASK = (
    "eJzrDPBz5+WS4mJgYOD19HAJAtLMIMwIInOeqf8BUmwBPiGuQPr///9Lb86/C2QxlgT5BTM4PLuRBuTwebo4hlTMSa4"
    "4cOHAB6DqY0yORgq8YkAZBk9XP5d1TglNANAFGzA="
)


def image(*objects, **more):
    """Return the annotations of an image of 100 × 80 pixels."""
    size = {"height": 80, "width": 100}
    return {"description": "", "tags": [], "size": size, "objects": list(objects)} | more


def box(who, *corners, label="cat", kind="rectangle", **more):
    """Return a box by two of its corners."""
    return {
        "id": 7,
        "geometryType": kind,
        "labelerLogin": who,
        "createdAt": "2021-05-12T08:53:14.856Z",
        "classTitle": label,
        "points": {"exterior": list(corners), "interior": []},
    } | more


def mask(data=MASK, origin=(10, 20), **more):
    bitmap = {"data": data, "origin": list(origin)}
    return (
        {"geometryType": "bitmap", "labelerLogin": "ann", "classTitle": "cat"}
        | {"bitmap": bitmap}
        | more
    )


ANN = box("ann", [50, 40], [10, 20])
BOB = box("bob", [10, 20], [52, 41], label="dog")


def test_objects_are_by_those_who_drew_them(tmp_path):
    files = {"meta.json": META, "ds0/ann/a.png.json": image(ANN, BOB)}
    data = read_coco(write(tmp_path, **files), time_key="created_at")
    assert drawn(data) == [
        ("a.png", "ann", "cat", 10, 20, 40, 20),
        ("a.png", "bob", "dog", 10, 20, 42, 21),
    ]
    assert data.attribution == "labelerLogin"
    assert data.annotations.times.seconds.min() == 1620809594.856


@pytest.mark.parametrize(
    ("objects", "more"),
    [
        ([ANN], {"tags": [{"name": "checked", "labelerLogin": "boss"}]}),
        ([ANN | {"tags": [{"name": "checked", "labelerLogin": "boss"}]}], {}),
        ([ANN], {"customData": {"labelerLogin": "boss"}}),
        ([ANN, None, 1, "boss", ["boss"]], {}),
    ],
)
def test_only_objects_say_who_was_asked(tmp_path, objects, more):
    files = {"ds0/ann/a.png.json": image(*objects, **more), "ds0/ann/b.png.json": image()}
    translation, records = translation_of(translate, write(tmp_path, **files))
    assert [each["annotators"] for each in translation.images] == [["ann"], ["ann"]]
    assert {each["annotator"] for each in records if "bbox" in each} == {"ann"}


def test_an_object_without_a_name_among_others_is_a_finding(tmp_path):
    write(
        tmp_path, **{"meta.json": META, "ds0/ann/a.png.json": image(ANN, box("", [1, 1], [9, 9]))}
    )
    with pytest.raises(DatasetError, match="does not name its annotator; the others do"):
        read_coco(tmp_path)
    ((file, line, pointer, message),) = found(tmp_path, "T005")
    assert (file, line, pointer) == (f"{tmp_path}/ds0/ann/a.png.json", 1, "/objects/1")
    assert message == "a.png.json, object 2: has no labelerLogin, as others have"


def test_nested_datasets_are_read(tmp_path):
    files = {
        "meta.json": META,
        "ds0/ann/a.png.json": image(ANN),
        "ds0/datasets/ds1/ann/a.png.json": image(ANN),
        "ds0/datasets/ds1/ann/b.png.json": image(ANN),
        "ds0/meta/a.png.json": {"objects": 1},
        "key_id_map.json": {"objects": {}, "tags": {}},
    }
    assert alone(write(tmp_path, **files)).image_names == ("b.png", "ds0/a.png", "ds0/ds1/a.png")


def test_polygons_have_parts_and_holes(tmp_path):
    ring, hole = [[0, 0], [40, 0], [40, 40]], [[20, 10], [30, 10], [30, 20]]
    part = {"exterior": [[50, 50], [60, 50], [60, 60]], "interior": []}
    whole = {"exterior": ring, "interior": [hole]}
    both = box("ann", kind="multipolygon", parts=[whole, part])
    files = {"a.json": image(box("ann", kind="polygon", points=whole), both)}
    data = alone(write(tmp_path, **files) / "a.json")
    assert data.annotations.bbox.tolist() == [[0, 0, 40, 40], [0, 0, 60, 60]]
    assert [len(data.annotations.segmentation.rings(row)) for row in (0, 1)] == [1, 2]
    assert "2 polygons with holes: the outer outlines are compared" in data.notes


def test_masks_are_read_at_their_origin(tmp_path):
    data = alone(write(tmp_path, **{"a.json": image(mask())}) / "a.json")
    assert data.annotations.bbox.tolist() == [[10, 20, 3, 3]]
    # The whole first column and the rest of the first and third row: seven of nine pixels.
    outlines = data.annotations.segmentation
    counts = outlines.counts[outlines.counts_start[0] : outlines.counts_stop[0]].tobytes()
    runs = decode_counts(counts)
    pixels = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(100, 80).T
    assert pixels[20:23, 10:13].tolist() == [[True] * 3, [True, False, False], [True] * 3]
    assert pixels.sum() == 7


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (mask(MASK[:40]), "T008", "the mask is not a PNG in base64"),
        (mask(None), "T008", "the mask is missing"),
        (mask(origin=(98, 20)), "T008", "the mask is 3 × 3 at 98, 20, beyond the image"),
        (mask(origin=("x", 2)), "T001", "a coordinate is 'x'; expected a number"),
        (box("ann", [1, 2]), "T001", "points.exterior are [[1, 2]]; expected 2 or more [x, y]"),
        (box("ann", [1, 2], [3, None]), "T001", "a coordinate is missing; expected a number"),
        (box("ann", [1, 2], [9, 9], kind=""), "T001", "has no geometryType, and its class"),
        (box("ann", kind="multipolygon"), "T001", "has no parts"),
        ("cat", "T001", "expected an object of JSON"),
    ],
)
def test_what_cannot_be_read_stops_a_measurement(tmp_path, given, code, words):
    path = write(tmp_path, **{"a.json": image(BOB, given)}) / "a.json"
    ((_, _, pointer, message),) = found(path, code)
    assert pointer == "/objects/1"
    assert message.startswith(f"a.json, object 2: {words}")
    with pytest.raises(DatasetError, match="object 2"):
        alone(path)


def test_a_mask_with_more_pixels_than_its_image_is_not_unpacked(tmp_path):
    large = io.BytesIO()
    Image.new("1", (5000, 5000)).save(large, "PNG")
    data = base64.b64encode(zlib.compress(large.getvalue())).decode()
    path = write(tmp_path, **{"a.json": image(mask(data))}) / "a.json"
    ((_, _, _, message),) = found(path, "T008")
    assert message == "a.json, object 1: the mask has 5000 × 5000 pixels; its image has 100 × 80"


def test_a_class_that_the_project_does_not_list_is_a_finding(tmp_path):
    files = {
        "meta.json": META,
        "ds0/ann/a.json": image(ANN, box("ann", [1, 1], [9, 9], label="cow")),
    }
    ((_, _, pointer, message),) = found(write(tmp_path, **files), "T050")
    assert pointer == "/objects/1"
    assert message == "a.json, object 2: 'cow' is not a class of meta.json"


def test_oriented_boxes_turn_clockwise_about_their_centre(tmp_path):
    # A quarter turn of 40 × 20 pixels about (30, 30).
    turned = box("ann", [10, 20], [50, 40], kind="oriented_bbox", angle=1.5707963267948966)
    data = alone(write(tmp_path, **{"a.json": image(turned)}) / "a.json")
    assert data.annotations.bbox.round(6).tolist() == [[20, 10, 20, 40]]
