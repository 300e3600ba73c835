"""Json of LabelMe: a file for each image, a folder for each annotator."""

import base64
import io
import json
from functools import partial

import numpy as np
import pytest
from PIL import Image
from support.tool_files import translation_of

from bboxqa import validate
from bboxqa.formats.labelme.reader import translate
from bboxqa.model.masks import decode_counts


def shape(points, kind="rectangle", **more):
    """Return a shape."""
    return {"label": "cat", "points": points, "shape_type": kind, "flags": {}, **more}


def document(*shapes, **more):
    """Return the text of a file."""
    head = {"version": "5.2.1", "flags": {}, "shapes": shapes, "imagePath": "a.jpg"}
    tail = {"imageData": None, "imageHeight": 80, "imageWidth": 100}
    return json.dumps({**head, **tail, **more})


def written(folder, **files):
    """Write files, named with __ for / and without suffix; return the folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


translated = partial(translation_of, translate)


def png(pixels):
    """Return a PNG of an array in base64."""
    stream = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


BOX = shape([[10, 20], [30, 60]])


@pytest.mark.parametrize(
    ("points", "kind", "box"),
    [
        ([[10, 20], [30, 60]], "rectangle", [10, 20, 20, 40]),
        ([[30, 20], [10, 60]], "rectangle", [10, 20, 20, 40]),
        ([[30, 60], [10, 20]], "rectangle", [10, 20, 20, 40]),
        ([[10, 20], [30, 20], [30, 60], [10, 60]], "rectangle", [10, 20, 20, 40]),
        ([[10, 20], [30, 20], [20, 60]], "polygon", [10, 20, 20, 40]),
        # Files of old versions have polygons only.
        ([[10, 20], [30, 20], [20, 60]], None, [10, 20, 20, 40]),
        # The centre, and a point on the circle, 3 to the right of it and 4 below: a radius of 5.
        ([[50, 40], [53, 44]], "circle", [45, 35, 10, 10]),
        # A square on its corner.
        ([[50, 30], [60, 40], [50, 50], [40, 40]], "rotation", [40, 30, 20, 20]),
    ],
)
def test_shapes_have_bounds(tmp_path, points, kind, box):
    _, (record,) = translated(written(tmp_path, a=document(shape(points, kind))))
    assert np.allclose(record["bbox"], box, atol=1e-9)
    rotated = {"rotation": 45} if kind == "rotation" else {}
    assert {k: v for k, v in record.get("attributes", {}).items() if v} == rotated


def test_a_mask_is_a_picture_between_two_corners(tmp_path):
    mask = shape([[10, 20], [12, 21]], "mask", mask=png([[0, 255, 255], [0, 255, 0]]))
    _, (record,) = translated(written(tmp_path, a=document(mask)))
    # Its first column is empty.
    assert record["bbox"] == [11, 20, 2, 2]
    counts = decode_counts(record["segmentation"]["counts"].encode())
    filled = np.repeat(np.arange(len(counts)) % 2, counts).reshape(100, 80).T
    assert np.argwhere(filled).tolist() == [[20, 11], [20, 12], [21, 11]]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a.jpg", "a.jpg"),
        ("..\\images\\a.jpg", "a.jpg"),
        ("../images/a.jpg", "a.jpg"),
        ("C:\\users\\me\\a.jpg", "a.jpg"),
        ("day/a.jpg", "day/a.jpg"),
        (None, "x"),
    ],
)
def test_the_path_on_the_computer_of_the_annotator_is_left_out(tmp_path, said, name):
    found, _ = translated(written(tmp_path, x=document(imagePath=said)))
    assert found.images[0]["file_name"] == name


def test_a_size_that_is_missing_is_given(tmp_path):
    written(tmp_path, a=document(imageHeight=None))
    assert "width" not in translated(tmp_path)[0].images[0]
    assert translated(tmp_path, image_size=(9, 8))[0].images[0]["width"] == 9


@pytest.mark.parametrize(
    ("wrong", "code", "words"),
    [
        (shape([[1, 2]]), "T001", "a rectangle has 1 point; expected 2"),
        (shape([[1, 2], [3, "x"]]), "T001", "a coordinate is 'x'; expected a number"),
        (shape(None, "polygon"), "T001", "points are missing"),
        (shape([[1, 2], [3, 4]]) | {"label": ""}, "T004", "a shape has no label"),
        (shape([[1, 2], [3, 4]], "mask", mask="x"), "T008", "the mask is not a PNG in base64"),
        (shape([[99, 2], [101, 2]], "mask", mask=png([[9, 9, 9]])), "T008", "beyond the image"),
        (shape([[1, 2], [3, 2]], "mask", mask=png([[0, 0, 0]])), "T011", "has no pixels"),
        (7, "T001", "is not an object"),
    ],
)
def test_a_defect_is_found_where_it_stands(tmp_path, wrong, code, words):
    written(tmp_path, a=document(BOX, wrong))
    (finding,) = validate(tmp_path, select=["T"]).findings
    assert (finding.code, finding.pointer) == (code, "/shapes/1")
    assert words in finding.message
    assert finding.file == f"{tmp_path}/a.json"
