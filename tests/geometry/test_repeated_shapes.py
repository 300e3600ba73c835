"""Equal and rectangular shapes, of which a small file may have millions of pairs."""

import tracemalloc

import numpy as np
import pytest
from pycocotools import mask as coco
from support.datasets import dataset
from support.masks import decode

from bboxqa.core.errors import DatasetError
from bboxqa.geometry import outline_similarities as shapes
from bboxqa.geometry.candidates import candidate_pairs, similarity_of_pairs
from bboxqa.geometry.rasters import burn, draw_inclusive, pixel_runs, runs_of, shared_pixels

DRAWN = ("mask", "pixel", "raster")
SIZE = (40, 30)


def canvases(seed, n=12):
    rng = np.random.default_rng(seed)
    result = rng.random((n, 9, 7)) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n)[:, None, None]
    # A box, and a shape that fills its columns.
    result[0] = False
    result[0, 2:5, 1:6] = True
    result[1, :, 3:] = True
    return result


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("left", "top"), [(0, 0), (-4, -5), (2_000_000, 3)])
def test_shared_pixels_are_those_of_both_canvases(seed, left, top):
    drawn = canvases(seed)
    runs = pixel_runs([runs_of(canvas, left, top) for canvas in drawn])
    a, b = (ends.ravel() for ends in np.indices((len(drawn), len(drawn))))
    assert np.array_equal(shared_pixels(runs, a, b), (drawn[a] & drawn[b]).sum((1, 2)))
    assert np.array_equal(runs.area, drawn.sum((1, 2)))
    y, x = np.nonzero(drawn[0])
    assert runs.bounds[0].tolist() == [
        left + x.min(), top + y.min(), left + x.max() + 1, top + y.max() + 1]  # fmt: skip
    assert runs.is_box[0]


def ring(x, y, width=20, height=15):
    return [[x, y, x + width, y, x + width, y + height, x, y + height]]


def diamond(x, y, side=10):
    return [[x, y + side, x + side, y, x + 2 * side, y + side, x + side, y + 2 * side]]


def crowd(n, outline):
    """Return n annotations of two annotators at twelve places of one image."""
    places = [(i % 4, i // 4 % 3) for i in range(n)]
    rows = [(0, i % 2, 0, (*map(float, places[i]), 20.0, 15.0)) for i in range(n)]
    return dataset(rows, [outline(*place) for place in places], size=SIZE)


def drawn_by(name, rings):
    if name == "mask":
        return decode(coco.merge(coco.frPyObjects(rings, *SIZE[::-1]))).astype(bool)
    xy = [np.reshape(each, (-1, 2)).astype(float) for each in rings]
    return (draw_inclusive if name == "pixel" else burn)(xy, *SIZE)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("outline", [ring, diamond])
@pytest.mark.parametrize("n", [12, 400])
def test_pixels_of_a_crowd_are_those_of_the_image(name, outline, n):
    data = crowd(n, outline)
    pairs, _ = candidate_pairs(data, name, 0.01)
    assert len(pairs) == (n // 2) ** 2
    rows = slice(None, None, max(len(pairs) // 200, 1))
    places = [(i % 4, i // 4 % 3) for i in range(n)]
    ids = data.annotations.id
    for a, b, found in zip(
        pairs.left[rows], pairs.right[rows], pairs.similarity[rows], strict=True
    ):
        p, q = (drawn_by(name, outline(*places[ids[end]])) for end in (a, b))
        assert found == (p & q).sum() / (p | q).sum()
    again = similarity_of_pairs(data, name, pairs.left, pairs.right)
    assert np.array_equal(again, pairs.similarity)


@pytest.mark.parametrize("name", ["polygon", *DRAWN])
def test_memory_of_many_equal_shapes_is_that_of_their_pairs(name):
    # A pair took up to 150 bytes; three columns of 8 bytes are needed twice.
    data = crowd(1600, ring)
    candidate_pairs(data, name, 0.5)
    tracemalloc.start()
    pairs, _ = candidate_pairs(data, name, 0.01)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(pairs) == 640_000
    assert most < 72 * len(pairs) + 8e6


@pytest.mark.parametrize("name", DRAWN)
def test_pixels_that_take_minutes_are_refused(name, monkeypatch):
    monkeypatch.setattr(shapes, "_MOST_RUNS", 10_000)
    rows = [(0, i % 2, 0, (10.0, 10.0, 20.0, 20.0)) for i in range(200)]
    outlines = [diamond(i / 50, 0) for i in range(200)]
    with pytest.raises(DatasetError) as caught:
        candidate_pairs(dataset(rows, outlines, size=SIZE), name, 0.01)
    (problem,) = caught.value.problems
    assert problem == (
        "image 'image 0000': too many of its annotations overlap: comparing the pixels of 10,000 "
        "pairs takes minutes"
    )
    assert "compare with --similarity polygon" in str(caught.value)
    # Boxes take no time, and the same shapes are compared once.
    pairs, _ = candidate_pairs(crowd(400, ring), name, 0.01)
    assert len(pairs) == 40_000


@pytest.mark.parametrize("name", ["pixel", "raster"])
def test_an_image_of_too_many_pixels_is_refused(name):
    rows = [(0, i % 2, 0, (0.0, 0.0, 9000.0, 9000.0)) for i in range(30)]
    outlines = [ring(0, 0, 9000 + i, 9000) for i in range(30)]
    with pytest.raises(DatasetError, match="at most 2,147,483,648 px are drawn"):
        candidate_pairs(dataset(rows, outlines), name, 0.5)


@pytest.mark.parametrize("name", ["pixel", "raster"])
def test_a_polygon_far_outside_is_refused(name):
    rows = [(0, i, 0, (3e9, 0.0, 9.0, 9.0)) for i in range(2)]
    with pytest.raises(DatasetError, match="spans 20 × 15 px from 3000000000, 0;"):
        candidate_pairs(dataset(rows, [ring(3e9, 0)] * 2), name, 0.5)


def test_rectangles_of_a_crowded_image_are_compared_exactly(monkeypatch):
    data = crowd(24, lambda x, y: ring(x / 7, y / 3))
    exact, _ = candidate_pairs(data, "polygon", 0.01)
    monkeypatch.setattr(shapes, "_MOST_EDGE_PAIRS", 10)
    found, counts = candidate_pairs(data, "polygon", 0.01)
    assert found.similarity == pytest.approx(exact.similarity, abs=1e-12)
    assert counts["tangled"] == 0
    # Others are compared as pixels, also with rectangles.
    data = crowd(24, lambda x, y: diamond(x, y) if x else ring(x, y))
    _, counts = candidate_pairs(data, "polygon", 0.01)
    assert counts["tangled"] == 18
