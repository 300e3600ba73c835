"""Outlines of several rings and holes in formats of one ring or mask."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from support.converted import written
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.writing.outlines import bounds_of
from bboxqa.model.masks import compress_counts, runs_of_spans, spans_of_pixels

HEIGHT, WIDTH = 60, 80
LEFT, RIGHT = [10, 10, 30, 10, 30, 40, 10, 40], [50.5, 10, 70.5, 12, 60, 40.25]
INNER = [15, 15, 25, 15, 25, 30, 15, 30]


def of(*outlines):
    """Return COCO of outlines of one image, each with its bounds as box."""
    annotations = []
    for number, outline in enumerate(outlines, 1):
        left, top, right, bottom = bounds_of({"segmentation": outline})
        box = [left, top, right - left, bottom - top]
        annotations.append(annotation(number, bbox=box, segmentation=outline))
    return document(annotations, [image(1, width=WIDTH, height=HEIGHT)])


def rle_of(pixels):
    runs = runs_of_spans(spans_of_pixels(pixels.T), pixels.size)
    counts = compress_counts(runs, *pixels.shape).decode()
    return {"size": list(pixels.shape), "counts": counts}


def back(tmp_path, content, to):
    """Return the conversion, and the annotations as COCO has them after it."""
    end = {"label-studio": ".json"}.get(to, "")
    out = tmp_path / f"out{end}"
    found = bboxqa.convert(written(tmp_path / "source.json", content), out, to=to)
    sizes = written(tmp_path / "sizes.json", content)
    with bboxqa.reading(image_size=sizes):
        bboxqa.convert(out, tmp_path / "back.json", to="coco")
    return found, json.loads((tmp_path / "back.json").read_bytes())["annotations"]


@pytest.mark.parametrize("to", ["cvat", "labelme", "label-studio"])
def test_rings_become_the_masks_of_pycocotools(tmp_path, to):
    outlines = [[LEFT, RIGHT], [LEFT, INNER]]
    found, annotations = back(tmp_path, of(*outlines), to)
    assert not found.losses
    assert "2 outlines of several rings became masks in" in "".join(found.notes)
    for each, outline in zip(annotations, outlines, strict=True):
        expected = mask.merge(mask.frPyObjects(outline, HEIGHT, WIDTH))["counts"].decode()
        assert each["segmentation"] == {"size": [HEIGHT, WIDTH], "counts": expected}


def area(ring):
    x, y = np.array(ring).reshape(-1, 2).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_rings_are_bridged_in_yolo(tmp_path):
    hole = np.zeros((HEIGHT, WIDTH), bool)
    hole[10:40, 10:50] = True
    hole[20:30, 20:30] = hole[45:50, 20:30] = False
    hole[45:50, 60:70] = True
    found, annotations = back(
        tmp_path, of([LEFT, RIGHT], [LEFT, INNER], rle_of(hole)), "yolo-segment"
    )
    assert not found.losses
    areas = [area(each["segmentation"][0]) for each in annotations]
    assert areas == pytest.approx([area(LEFT) + area(RIGHT), area(LEFT), hole.sum()], abs=1e-4)
    assert [len(each["segmentation"]) for each in annotations] == [1, 1, 1]
    # All points of rings that are apart are kept.
    points = np.array(annotations[0]["segmentation"][0]).reshape(-1, 2)
    given = np.array(LEFT + RIGHT, float).reshape(-1, 2)
    assert np.abs(points[:, None] - given).max(2).min(0).max() < 1e-4


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
def test_the_bridged_ring_of_a_mask_covers_its_pixels(tmp_path_factory, seed, share):
    pixels = np.zeros((HEIGHT, WIDTH), bool)
    pixels[20:28, 30:40] = np.random.default_rng(seed).random((8, 10)) < share
    pixels[20, 30] = pixels[27, 39] = True
    _, (one,) = back(tmp_path_factory.mktemp("mask"), of(rle_of(pixels)), "yolo-segment")
    (ring,) = one["segmentation"]
    assert area(ring) == pytest.approx(pixels.sum(), abs=1e-3)
    # By the even-odd rule, exactly the middles of the pixels of the mask lie inside.
    x, y = np.array(ring).reshape(-1, 2).T
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.47
    x2, y2 = np.roll(x, -1), np.roll(y, -1)
    crosses = (y[:, None, None] > rows) != (y2[:, None, None] > rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x[:, None, None] + (rows - y[:, None, None]) * ((x2 - x) / (y2 - y))[:, None, None]
    assert (((crosses & (at > columns)).sum(0) % 2 == 1) == pixels).all()


def test_what_cannot_be_joined_is_a_loss(tmp_path):
    dots = np.zeros((HEIGHT, WIDTH), bool)
    dots[::2, ::3] = True
    path = written(tmp_path / "source.json", of(rle_of(dots)))
    with pytest.raises(DatasetError, match=r"1 mask .*: the box is written"):
        bboxqa.convert(path, tmp_path / "out", to="yolo-segment")
    far = of([LEFT, [10, 10, 1e8, 10, 10, 40]])
    path = written(tmp_path / "source.json", far)
    with pytest.raises(DatasetError, match=r"1 polygon of several rings .*: the box is written"):
        bboxqa.convert(path, tmp_path / "out", to="cvat")
