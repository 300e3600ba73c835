"""Rotated boxes are the same rectangles after they were in another format."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.converted import ENDINGS, document, there_and_back, written

import bboxqa
from bboxqa.model.rotated_boxes import bounds, corners, smallest_angle

DATA = Path(__file__).parents[4] / "shared/data/formats"
# Formats in which rotated boxes are written and read.
FORMATS = [
    "coco", "label-studio", "cvat", "yolo-obb", "voc", "labelme", "dota", "csv", "parquet",
]  # fmt: skip
# The largest error of two formats: ten digits of shares of an image, or six decimals.
ROUNDED = 1e-5


def _rotated(box, **more):
    points, (left, top, right, bottom) = corners(box[None])[0], bounds(box[None])[0].tolist()
    return {
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": [points.ravel().tolist()],
        "attributes": {"rotation": float(box[4])},
        **more,
    }


def _read(path):
    boxes = smallest_angle(bboxqa.read_coco(path, min_annotators=1).annotations.rotated_box)
    # A square is the same with any angle of its sides; others have one below 90 degrees.
    return boxes[np.lexsort(boxes[:, 1::-1].round(2).T)]


@pytest.mark.parametrize(("to", "then"), [*product(FORMATS, repeat=2)])
def test_centre_size_and_angle_stay(to, then, tmp_path):
    random = np.random.default_rng([FORMATS.index(to), FORMATS.index(then)])
    sides, middles = random.uniform(5, 300, (12, 2)), random.uniform(200, 700, (12, 2))
    boxes = np.column_stack([middles, sides, random.uniform(1, 360, 12)])
    boxes[:4, 4] = 0, 90, 180, 270
    boxes[4, 2] = boxes[4, 3]
    drawn = [(0, "ab"[n % 2], n % 2, _rotated(box)) for n, box in enumerate(boxes)]
    source = written(tmp_path / "source.json", document([("a.png", 900, 900, ["a", "b"])], drawn))
    expected = _read(source)
    there_and_back(source, tmp_path, to, then)
    found = _read(tmp_path / "step2.json")
    np.testing.assert_allclose(found, expected, atol=ROUNDED)


def _one(tmp_path, record, to, **options):
    content = document([("a.png", 200, 200, ["ann"])], [(0, "ann", 0, record)])
    out = tmp_path / f"out{ENDINGS.get(to, '')}"
    bboxqa.convert(written(tmp_path / "source.json", content), out, to=to, **options)
    return out


def test_numbers_without_an_outline_become_corners(tmp_path):
    # A box of 40 × 20 about (100, 100), a quarter turn clockwise: 20 × 40.
    records = {
        "turned beside it": {"bbox": [80, 90, 40, 20], "attributes": {"rotation": 90}},
        "eight": {"bbox": [110, 80, 110, 120, 90, 120, 90, 80]},
        "five": {"bbox": [100, 100, 40, 20, math.pi / 2]},
    }
    for name, record in records.items():
        (tmp_path / name).mkdir()
        content = json.loads(_one(tmp_path / name, record, "coco").read_bytes())
        (found,) = content["annotations"]
        assert found["bbox"] == pytest.approx([90, 80, 20, 40]), name
        assert found["area"] == pytest.approx(800), name
        ring = np.array(found["segmentation"]).reshape(4, 2)
        order = np.lexsort(ring.round(6).T)
        assert ring[order].ravel().tolist() == pytest.approx([90, 80, 110, 80, 90, 120, 110, 120])
        assert found["attributes"]["rotation"] % 90 == pytest.approx(0, abs=1e-9), name


@pytest.mark.skipif(not DATA.is_dir(), reason="shared data is absent")
@pytest.mark.parametrize("to", ["cvat", "labelme", "voc", "csv"])
def test_rotated_boxes_of_label_studio_stay(to, tmp_path):
    first = tmp_path / "first.json"
    bboxqa.convert(DATA / "label_studio/rotated_boxes/data_obb.json", first, to="coco")
    content = json.loads(first.read_bytes())
    for each in content["annotations"]:
        # Keys of Label Studio that other formats do not have.
        for key in ("own_id", "source", "created_at", "updated_at", "lead_time", "score"):
            each.pop(key, None)
    assert all(each["attributes"]["rotation"] for each in content["annotations"])
    there_and_back(written(first, content), tmp_path, to)
    np.testing.assert_allclose(_read(tmp_path / "step1.json"), _read(first), atol=1e-4)
