"""Outlines: shapes that tools draw, and ellipses, rings and lines there and back."""

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from support import cvat_xml
from support.converted import ENDINGS, document, written
from support.masks import encode

import bboxqa
from bboxqa import DatasetError
from bboxqa.formats.translation.shapes import (
    ValueProblemError,
    bounds,
    corners,
    ellipse,
    outer_rings,
)
from bboxqa.formats.writing.outlines import bounds_of


@pytest.mark.parametrize("degrees", [0, 1e-15, 1e-12, 45, 90, 180.0000000000001, -270, -360, 720])
def test_an_ellipse_has_no_point_twice_and_its_exact_bounds(degrees):
    points = ellipse((10, 10), (4, 3), degrees)
    gaps = np.hypot(*(points - np.roll(points, 1, axis=0)).T)
    assert gaps.min() > 1e-3
    # The half sides of the bounds of a rotated ellipse are the lengths of its rotated axes.
    turn = np.deg2rad(degrees)
    half = np.hypot([4 * np.cos(turn), 4 * np.sin(turn)], [3 * np.sin(turn), 3 * np.cos(turn)])
    assert np.allclose(bounds(points), [*(10 - half), *(2 * half)])


def is_inside(point, ring):
    """Return whether a ray to the right crosses a ring an odd number of times, edge by edge.

    A point on an edge is not inside.
    """
    n = 0
    for start, stop in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        (x, y), (right, bottom) = start, stop
        is_between = (np.minimum(start, stop) <= point) & (point <= np.maximum(start, stop))
        if is_between.all() and (right - x) * (point[1] - y) == (bottom - y) * (point[0] - x):
            return False
        if (y > point[1]) != (bottom > point[1]):
            n += x + (point[1] - y) / (bottom - y) * (right - x) > point[0]
    return n % 2 == 1


@pytest.mark.parametrize("seed", range(30))
def test_outer_rings_are_inside_an_even_number_of_others(seed):
    rng = np.random.default_rng(seed)
    # Few coordinates, so that points have equal heights and lie on edges.
    most = rng.choice([4, 10, 1000])
    sizes = rng.integers(1, 8, rng.integers(1, 30))
    rings = [rng.integers(0, most, (n, 2)).astype(np.float64) for n in sizes]
    expected = [
        ring
        for place, ring in enumerate(rings)
        if sum(is_inside(ring[0], other) for k, other in enumerate(rings) if k != place) % 2 == 0
    ]
    found = outer_rings(rings)
    assert [id(each) for each in found] == [id(each) for each in expected]


def test_very_many_nested_rings_are_told_apart():
    # Each is inside of all those before it; more pairs than fit into one block.
    rings = [corners(k, k, 6000 - 2 * k, 6000 - 2 * k) for k in range(1500)]
    assert [ring[0, 0] for ring in outer_rings(rings)] == [*range(0, 1500, 2)]


def test_rings_that_are_too_entangled_are_refused():
    rings = [np.array([[k, 500.0], [k, 0], [k, 1000]]) for k in range(3000)]
    with pytest.raises(ValueProblemError, match="has 3,000 paths; expected an object of its own"):
        outer_rings(rings)


# Outlines of several rings and holes in formats of one ring or mask.
HEIGHT, WIDTH = 60, 80
LEFT, RIGHT = [10, 10, 30, 10, 30, 40, 10, 40], [50.5, 10, 70.5, 12, 60, 40.25]
INNER = [15, 15, 25, 15, 25, 30, 15, 30]


def of(*outlines):
    """Return COCO of outlines of one image, each with its bounds as box."""
    drawn = []
    for outline in outlines:
        left, top, right, bottom = bounds_of({"segmentation": outline})
        box = [left, top, right - left, bottom - top]
        drawn.append((0, "ann", 0, {"bbox": box, "segmentation": outline}))
    return document([("a.jpg", WIDTH, HEIGHT, None)], drawn)


def rle_of(pixels):
    return {"size": [*pixels.shape], "counts": encode(pixels)["counts"].decode()}


def back(tmp_path, content, to):
    """Return the conversion, and the annotations as COCO has them after it."""
    source, out = written(tmp_path / "source.json", content), tmp_path / f"out{ENDINGS.get(to, '')}"
    found = bboxqa.convert(source, out, to=to)
    with bboxqa.reading(image_size=source):
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
    content = of([LEFT, RIGHT], [LEFT, INNER], rle_of(hole))
    found, annotations = back(tmp_path, content, "yolo-segment")
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
    for outline, to, lost in (
        (rle_of(dots), "yolo-segment", "mask"),
        ([LEFT, [10, 10, 1e8, 10, 10, 40]], "cvat", "polygon of several rings"),
    ):
        path = written(tmp_path / "source.json", of(outline))
        with pytest.raises(DatasetError, match=rf"1 {lost} .*: the box is written"):
            bboxqa.convert(path, tmp_path / "out", to=to)


# Polylines are written where a format holds them, and counted as lost elsewhere.
LANE = {"points": "1.5,2;30,4.25;50,60", "occluded": 0, "z_order": 0}


def lane(key="side"):
    said = f'<attribute name="{key}">left</attribute>'
    return cvat_xml.shape("polyline", "lane", said, **LANE)


def project(folder, *people, shapes):
    for who in people:
        head = cvat_xml.head(who, labels=("car", "lane"))
        drawn = cvat_xml.box(1, 2, 11, 12, "car"), *shapes
        image = cvat_xml.image("a.jpg", *drawn, width=200, height=100)
        cvat_xml.written(folder / f"{who}.xml", head, image)
    return folder


def elements(path, name):
    files = {each.stem: ET.fromstring(each.read_bytes()) for each in path.iterdir()}  # noqa: S314
    return {who: [*root.iter(name)] for who, root in files.items()}


def test_polylines_stay_in_cvat(tmp_path):
    source = project(tmp_path / "in", "ann", "bob", shapes=[lane()])
    found = bboxqa.convert(source, tmp_path / "out", to="cvat")
    assert found.losses == ()
    before, after = (elements(each, "polyline") for each in (source, tmp_path / "out"))
    assert after.keys() == before.keys() == {"ann", "bob"}
    for who, (line,) in after.items():
        (own,) = before[who]
        assert dict(line.items()).items() >= dict(own.items()).items()
    (line,) = elements(tmp_path / "out", "polyline")["ann"]
    assert [each.text for each in line.iter("attribute")] == ["left"]
    # CVAT reads shapes only if their labels and attributes are declared.
    labels = ET.fromstring((tmp_path / "out/ann.xml").read_bytes()).iter("label")  # noqa: S314
    declared = {each.findtext("name"): each.findtext(".//attribute/name") for each in labels}
    assert declared == {"car": None, "lane": "side"}


def test_polylines_are_vectors_of_label_studio(tmp_path):
    source = project(tmp_path / "in", "ann", "bob", shapes=[lane("occluded")])
    studio, back = tmp_path / "out.json", tmp_path / "back"
    with pytest.raises(DatasetError, match=r"line with 'attributes\.side'"):
        bboxqa.convert(
            project(tmp_path / "said", "ann", shapes=[lane()]), studio, to="label-studio"
        )
    bboxqa.convert(source, studio, to="label-studio", lossy=True)
    (task,) = json.loads(studio.read_bytes())
    for work in task["annotations"]:
        (line,) = (each for each in work["result"] if each["type"] == "vectorlabels")
        assert line["value"]["vectorlabels"] == ["lane"]
        assert line["value"]["closed"] is False
        first, second, third = line["value"]["vertices"]
        assert (first["x"], first["y"], first["prevPointId"]) == (0.75, 2, None)
        assert (second["x"], second["y"], second["prevPointId"]) == (15, 4.25, first["id"])
        assert third["prevPointId"] == second["id"]
        assert len({each["id"] for each in work["result"]}) == 2
    bboxqa.convert(studio, back, to="cvat")
    for (line,) in elements(back, "polyline").values():
        assert (line.get("label"), line.get("points")) == ("lane", "1.5,2;30,4.25;50,60")
