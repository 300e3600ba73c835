"""Rotated boxes of COCO files: five numbers, eight numbers, outlines, and angles beside boxes."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from support.cli import run

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.choices import reading
from bboxqa.model.annotations import Choices
from bboxqa.model.rotated_boxes import bounds, corners
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


def outlined(**more):
    edges = bounds(BOXES)
    edges[:, 2:] -= edges[:, :2]
    return [
        {"bbox": box, "segmentation": [ring]}
        for box, ring in zip(edges.tolist(), rings(**more), strict=True)
    ]


def beside():
    """Return the boxes as CVAT's COCO export has them: upright, and their rotation."""
    return [
        {"bbox": each["bbox"][:4], "segmentation": [], "attributes": {"rotation": degrees}}
        for each, degrees in zip(five("xywh"), BOXES[:, 4].tolist(), strict=True)
    ]


def document(shapes):
    annotations = [
        {"id": 10 * n + who, "image_id": 1, "category_id": 1, "iscrowd": 0, "rater": "ab"[who]}
        | shape
        for n, shape in enumerate(shapes)
        for who in (0, 1)
    ]
    return {
        "images": [{"id": 1, "file_name": "1.png", "width": 200, "height": 150}],
        "categories": [{"id": 1, "name": "ship"}],
        "annotations": annotations,
    }


def read(path, shapes, **more):
    """Return the data set of shapes that two people drew alike."""
    path.write_text(json.dumps(document(shapes)))
    settings = agree_settings_from({"similarity": "obb", "checks": False})
    return read_for(path, settings, replace(AS_COMPARED, **more))


def rectangles(data):
    """Return the corners of the boxes, in the order of `BOXES`, from a fixed one on."""
    found = data.annotations.rotated_box[data.annotations.annotator == 0]
    ids = data.annotations.id[data.annotations.annotator == 0]
    return found[np.argsort(ids)]


def assert_same(found, expected=BOXES):
    apart = corners(found)[:, :, None] - corners(expected)[:, None]
    assert np.abs(apart).max(3).min(2).max() < 0.01


@pytest.fixture
def path(tmp_path):
    return tmp_path / "export.json"


@pytest.mark.parametrize(
    "shapes",
    [
        outlined(),
        outlined(order=(2, 3, 0, 1)),
        outlined(order=(3, 2, 1, 0)),
        outlined(closed=True),
        [{"bbox": ring} for ring in rings()],
        beside(),
    ],
)
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
def test_outlines_beside_five_numbers_show_what_they_mean(path, origin, direction, unit):
    shapes = [
        {**each, "segmentation": [ring]}
        for each, ring in zip(five(origin, direction, unit), rings(), strict=True)
    ]
    data = read(path, shapes)
    assert_same(rectangles(data))
    form = f"{origin}-{direction}-{unit}"
    expected = f"8 boxes of five numbers taken as {form}, as 8 of 8 outlines beside them show"
    assert data.notes == (expected,)


def test_the_user_says_what_five_numbers_mean(path):
    choices = Choices(rotated="xywh-cw-radians")
    data = read(path, five("xywh", unit="radians"), choices=choices)
    assert_same(rectangles(data))
    assert data.notes == ("8 boxes of five numbers taken as xywh-cw-radians, as asked for",)
    with (
        pytest.raises(bboxqa.ConfigError, match="rotated is 'degrees'"),
        reading(rotated="degrees"),
    ):
        pass


@pytest.mark.parametrize("shapes", [five(direction="ccw"), [{"bbox": ring} for ring in rings()]])
def test_boxes_are_the_bounds(path, shapes):
    path.write_text(json.dumps(document(shapes)))
    data = bboxqa.read_coco(path, segmentation=False)
    assert data.annotations.rotated_box is None
    assert data.notes[-1] == (
        '8 boxes of five or eight numbers compared by the upright bounds; similarity="obb" '
        "compares rotated boxes"
    )
    found = data.annotations.bbox[np.argsort(data.annotations.id)][::2]
    expected = bounds(BOXES)
    expected[:, 2:] -= expected[:, :2]
    assert found == pytest.approx(expected, abs=0.01)


def test_sides_below_zero_are_refused(path):
    shapes = five()
    shapes[1]["bbox"][2] = -24
    with pytest.raises(bboxqa.DatasetError, match="width"):
        read(path, shapes)


def test_shapes_that_are_no_rectangles_are_told(path):
    trapezium = {"bbox": [10, 10, 40, 20], "segmentation": [[10, 10, 50, 10, 40, 30, 20, 30]]}
    triangle = {"bbox": [60, 60, 40, 20], "segmentation": [[60, 60, 100, 60, 80, 80]]}
    data = read(path, [*outlined()[:1], trapezium, triangle])
    assert rectangles(data)[1:].tolist() == [[30, 20, 40, 20, 0], [80, 70, 40, 20, 0]]
    assert data.notes == (
        (
            "2 outlines with four corners compared by the smallest rectangle around it, as no "
            "rectangle"
        ),
        "2 other outlines compared by the upright box; --similarity polygon compares outlines",
    )


def test_agreement_of_rotated_boxes(path):
    path.write_text(json.dumps(document(beside())))
    data = bboxqa.read_coco(path)
    result = bboxqa.agree(data, similarity="obb", iou_threshold=0.99, bootstrap=0)
    assert result.thresholds[0].existence.f1 == 1
    moved = document(beside())
    for each in moved["annotations"][::2]:
        each["attributes"] = {"rotation": each["attributes"]["rotation"] + 90}
    path.write_text(json.dumps(moved))
    result = bboxqa.agree(bboxqa.read_coco(path), similarity="obb", bootstrap=0)
    assert result.thresholds[0].existence.f1 == 0
    with pytest.raises(bboxqa.DatasetError, match="the rotated boxes were not read"):
        bboxqa.agree(bboxqa.read_coco(path, segmentation=False), similarity="obb")


def test_cli(path):
    path.write_text(json.dumps(document(five(direction="ccw"))))
    done = run("agree", path, "--similarity", "obb", "--bootstrap", "0")
    lines = done.stdout.splitlines()
    assert "At IoU 0.5 (obb)" in lines
    assert any(line.startswith(" Existence ") and "  1.00  " in line for line in lines)


def test_an_angle_that_is_no_angle_is_refused(path):
    first, *others = five()
    with pytest.raises(
        DatasetError, match=r": S015 error annotation 0 .*: the angle of bbox is 1e\+308; expected"
    ):
        read(path, [{"bbox": [*first["bbox"][:4], 1e308]}, *others])
