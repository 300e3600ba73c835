"""Rotated boxes: five numbers, eight numbers, outlines, and angles beside boxes; there and back."""

import json
import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from msgspec.structs import replace
from support.converted import ENDINGS, document, there_and_back, written

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats.choices import reading
from bboxqa.model.annotations import Choices
from bboxqa.model.rotated_boxes import bounds, corners, smallest_angle
from bboxqa.pipelines.read import AS_COMPARED, agree_settings_from, read_for

# Middle, width, height, degrees clockwise.
BOXES = np.array(
    [[50, 40, 30, 10, 20], [90, 80, 24, 12, 135], [60, 70, 40, 20, 0], [30, 90, 16, 6, 250]], float
)


def five(origin="cxcywh", direction="cw", unit="degrees"):
    """Return the boxes as five numbers of a convention."""
    found = BOXES.copy()
    found[:, 4] = (found[:, 4] + 180) % 360 - 180
    found[:, 4] *= 1 if direction == "cw" else -1
    if unit == "radians":
        found[:, 4] = np.deg2rad(found[:, 4])
    if origin == "xywh":
        found[:, :2] -= found[:, 2:4] / 2
    return [{"bbox": each} for each in found.tolist()]


def rings(order=(0, 1, 2, 3), *, closed=False):
    order = [*order, order[0]] if closed else list(order)
    return corners(BOXES)[:, order].reshape(len(BOXES), -1).round(3).tolist()


def edges():
    """Return the bounds of the boxes as COCO has them."""
    found = bounds(BOXES)
    found[:, 2:] -= found[:, :2]
    return found


def outlined(**more):
    pairs = zip(edges().tolist(), rings(**more), strict=True)
    return [{"bbox": box, "segmentation": [ring]} for box, ring in pairs]


def beside():
    """Return the boxes as CVAT's COCO export has them: upright, and their rotation."""
    return [
        {"bbox": each["bbox"][:4], "segmentation": [], "attributes": {"rotation": degrees}}
        for each, degrees in zip(five("xywh"), BOXES[:, 4].tolist(), strict=True)
    ]


def of_two(shapes):
    """Return a document of shapes that two people drew alike."""
    drawn = [(0, who, 0, dict(shape)) for shape in shapes for who in "ab"]
    return document([("1.png", 200, 150, None)], drawn, ["ship"])


def read(path, shapes, **more):
    settings = agree_settings_from({"similarity": "obb", "checks": False})
    return read_for(written(path, of_two(shapes)), settings, replace(AS_COMPARED, **more))


def rectangles(data):
    """Return the boxes of one annotator, in the order of `BOXES`."""
    own = data.annotations.annotator == 0
    return data.annotations.rotated_box[own][np.argsort(data.annotations.id[own])]


def assert_same(found):
    apart = corners(found)[:, :, None] - corners(BOXES)[:, None]
    assert np.abs(apart).max(3).min(2).max() < 0.01


@pytest.fixture
def path(tmp_path):
    return tmp_path / "export.json"


@pytest.mark.parametrize(
    "shapes",
    [
        outlined(), outlined(order=(2, 3, 0, 1)), outlined(order=(3, 2, 1, 0)),
        outlined(closed=True), [{"bbox": ring} for ring in rings()], beside(),
    ],
)  # fmt: skip
def test_the_same_rectangles_in_many_forms(path, shapes):
    data = read(path, shapes)
    assert_same(rectangles(data))
    assert data.annotations.segmentation is None
    assert data.notes == ()


def test_rotation_says_which_side_is_the_width(path):
    turns = [{"attributes": {"rotation": degrees}} for degrees in BOXES[:, 4].tolist()]
    said = [each | turn for each, turn in zip(outlined(order=(1, 2, 3, 0)), turns, strict=True)]
    assert rectangles(read(path, said)) == pytest.approx(BOXES, abs=0.02)
    assert rectangles(read(path, beside())) == pytest.approx(BOXES)
    unsaid = rectangles(read(path, outlined()))
    assert ((unsaid[:, 4] >= 0) & (unsaid[:, 4] < 90)).all()


@pytest.mark.parametrize("origin", ["cxcywh", "xywh"])
@pytest.mark.parametrize("direction", ["cw", "ccw"])
@pytest.mark.parametrize("unit", ["degrees", "radians"])
def test_the_user_says_what_five_numbers_mean(path, origin, direction, unit):
    shapes, form = five(origin, direction, unit), f"{origin}-{direction}-{unit}"
    assert_same(rectangles(read(path, shapes, choices=Choices(rotated=form))))
    with pytest.raises(DatasetError, match="what five are: --rotated FORM"):
        read(path, shapes)


def test_a_convention_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="rotated is 'degrees'"):
        reading(rotated="degrees").__enter__()


@pytest.mark.parametrize("shapes", [five(direction="ccw"), [{"bbox": ring} for ring in rings()]])
def test_boxes_are_the_bounds(path, shapes):
    with reading(rotated="cxcywh-ccw-degrees"):
        data = bboxqa.read_coco(written(path, of_two(shapes)), segmentation=False)
    assert data.annotations.rotated_box is None
    assert "8 annotations with a rotated box compared by the upright bounds" in data.notes[-1]
    found = data.annotations.bbox[np.argsort(data.annotations.id)][::2]
    assert found == pytest.approx(edges(), abs=0.01)


def test_shapes_that_are_no_rectangles_are_told(path):
    trapezium = {"bbox": [10, 10, 40, 20], "segmentation": [[10, 10, 50, 10, 40, 30, 20, 30]]}
    triangle = {"bbox": [60, 60, 40, 20], "segmentation": [[60, 60, 100, 60, 80, 80]]}
    data = read(path, [*outlined()[:1], trapezium, triangle])
    assert rectangles(data)[1:].tolist() == [[30, 20, 40, 20, 0], [80, 70, 40, 20, 0]]
    of_four, others = data.notes
    assert of_four.startswith("2 outlines with four corners compared by the rectangle around")
    assert others.startswith("2 other outlines compared by the upright box")


# Formats in which rotated boxes are written and read.
FORMATS = [
    "coco", "label-studio", "cvat", "yolo-obb", "voc", "labelme", "dota", "csv", "parquet",
]  # fmt: skip
# The largest error of these formats: ten digits of shares of an image, or six decimals.
ROUNDED = 1e-5


def turned(box):
    points, (left, top, right, bottom) = corners(box[None])[0], bounds(box[None])[0].tolist()
    return {
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": [points.ravel().tolist()],
        "attributes": {"rotation": float(box[4])},
    }


def sorted_boxes(path):
    boxes = smallest_angle(bboxqa.read_coco(path, min_annotators=1).annotations.rotated_box)
    # A square is the same with any angle of its sides; others have one below 90 degrees.
    return boxes[np.lexsort(boxes[:, 1::-1].round(2).T)]


@pytest.mark.parametrize(("to", "then"), [*combinations_with_replacement(FORMATS, 2)])
def test_centre_size_and_angle_stay(to, then, tmp_path):
    random = np.random.default_rng([FORMATS.index(to), FORMATS.index(then)])
    sides, middles = random.uniform(5, 300, (12, 2)), random.uniform(200, 700, (12, 2))
    boxes = np.column_stack([middles, sides, random.uniform(1, 360, 12)])
    boxes[:4, 4] = 0, 90, 180, 270
    boxes[4, 2] = boxes[4, 3]
    drawn = [(0, "ab"[n % 2], n % 2, turned(box)) for n, box in enumerate(boxes)]
    source = written(tmp_path / "source.json", document([("a.png", 900, 900, ["a", "b"])], drawn))
    expected = sorted_boxes(source)
    there_and_back(source, tmp_path, to, then, to)
    np.testing.assert_allclose(sorted_boxes(tmp_path / "step3.json"), expected, atol=ROUNDED)


@pytest.mark.parametrize(
    "record",
    [
        # A box of 40 × 20 about (100, 100), a quarter turn clockwise: 20 × 40.
        {"bbox": [80, 90, 40, 20], "attributes": {"rotation": 90}},
        {"bbox": [110, 80, 110, 120, 90, 120, 90, 80]},
        {"bbox": [100, 100, 40, 20, math.pi / 2]},
    ],
    ids=["turned beside it", "eight", "five"],
)
def test_numbers_without_an_outline_become_corners(tmp_path, record):
    content = document([("a.png", 200, 200, ["ann"])], [(0, "ann", 0, record)])
    out = tmp_path / f"out{ENDINGS['coco']}"
    with reading(rotated="cxcywh-cw-radians"):
        bboxqa.convert(written(tmp_path / "source.json", content), out, to="coco")
    (found,) = json.loads(out.read_bytes())["annotations"]
    assert found["bbox"] == pytest.approx([90, 80, 20, 40])
    assert found["area"] == pytest.approx(800)
    ring = np.array(found["segmentation"]).reshape(4, 2)
    order = np.lexsort(ring.round(6).T)
    assert ring[order].ravel().tolist() == pytest.approx([90, 80, 110, 80, 90, 120, 110, 120])
    assert found["attributes"]["rotation"] % 90 == pytest.approx(0, abs=1e-9)
