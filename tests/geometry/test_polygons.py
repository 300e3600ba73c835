"""Exact areas of polygons, against shapely and against fine rasterising."""

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.datasets import segmentations
from support.rings import slanted_comb

from bboxqa.geometry.polygons import polygon_iou, polygon_outlines, tangled_iou

SQUARE = [0, 0, 10, 0, 10, 10, 0, 10]
BOW_TIE = [0, 0, 10, 10, 10, 0, 0, 10]
# A frame: out along the border, in through a slit, round the hole, and back.
KEYHOLE = [0, 0, 10, 0, 10, 10, 0, 10, 0, 5, 3, 5, 3, 7, 7, 7, 7, 3, 3, 3, 3, 5, 0, 5]
REPEATED = [0, 0, 0, 0, 10, 0, 10, 10, 10, 10, 10, 10, 0, 10, 0, 0]
COLLINEAR = [0, 0, 5, 0, 10, 0, 10, 5, 10, 10, 5, 10, 0, 10, 0, 5]
COMB = [0, 0, 10, 0, 10, 10, 8, 10, 8, 2, 6, 2, 6, 10, 4, 10, 4, 2, 2, 2, 2, 10, 0, 10]
ZIGZAG = [0, 0, 4, 9, 4, 1, 8, 10, 12, 1, 12, 9, 16, 0]
PENTAGRAM = [5, 0, 8, 10, 0, 4, 10, 4, 2, 10]
SHAPES = {
    "square": [SQUARE],
    "square, the other way round": [[0, 10, 10, 10, 10, 0, 0, 0]],
    "triangle": [[1, 1, 11, 2, 4, 9]],
    "comb": [COMB],
    "zigzag": [ZIGZAG],
    "collinear points": [COLLINEAR],
    "repeated points": [REPEATED],
    "two parts": [[0, 0, 4, 0, 4, 4, 0, 4], [6, 6, 9, 6, 9, 9, 6, 9]],
    "two parts, one turned": [[0, 0, 4, 0, 4, 4, 0, 4], [6, 6, 6, 9, 9, 9, 9, 6]],
    "parts that touch at a corner": [[0, 0, 5, 0, 5, 5, 0, 5], [5, 5, 9, 5, 9, 9, 5, 9]],
    "parts that share an edge": [[0, 0, 5, 0, 5, 5, 0, 5], [5, 0, 9, 0, 9, 5, 5, 5]],
    "parts that overlap": [[0, 0, 7, 0, 7, 7, 0, 7], [3, 3, 10, 3, 10, 10, 3, 10]],
    "one part twice": [SQUARE, SQUARE],
    "nested rings": [SQUARE, [3, 3, 7, 3, 7, 7, 3, 7]],
    "nested rings, the inner one turned": [SQUARE, [3, 3, 3, 7, 7, 7, 7, 3]],
    "bow tie": [BOW_TIE],
    "pentagram": [PENTAGRAM],
    "keyhole": [KEYHOLE],
    "spike": [[0, 0, 10, 0, 10, 10, 10, 14, 10, 10, 0, 10]],
}


def shape_of(rings):
    """Return rings by COCO's rule: each filled by even and odd, all of them united."""
    polygons = [shapely.Polygon(np.reshape(ring, (-1, 2))) for ring in rings]
    return shapely.union_all([shapely.make_valid(polygon) for polygon in polygons])


def shapely_iou(left, right):
    a, b = shape_of(left), shape_of(right)
    union = a.union(b).area
    return a.intersection(b).area / union if union else 0.0


def ious(outlines, pairs):
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return polygon_iou(polygon_outlines(segmentations(outlines)), left, right)


def moved(rings, x, y):
    return [[value + (x, y)[place % 2] for place, value in enumerate(ring)] for ring in rings]


def star(rng, points, *, grid=False):
    """Return a ring that goes once round a centre, so that it never crosses itself."""
    angle = np.sort(rng.choice(360, points, replace=False)) * np.pi / 180
    ring = rng.uniform(-8, 8, 2) + rng.uniform(4, 15, points)[:, None] * np.transpose(
        [np.cos(angle), np.sin(angle)]
    )
    return (np.rint(ring) if grid else ring).ravel().tolist()


@pytest.mark.parametrize("name", SHAPES)
def test_area_is_that_of_shapely(name):
    outlines = polygon_outlines(segmentations([SHAPES[name]]))
    assert outlines.area[0] == pytest.approx(shape_of(SHAPES[name]).area, abs=1e-9)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("shift", [(0, 0), (3, 0), (0, 5), (2.5, -1.25), (20, 0), (10, 0)])
def test_every_shape_with_every_other_one(name, shift):
    others = [moved(rings, *shift) for rings in SHAPES.values()]
    pairs = [(0, place + 1) for place in range(len(others))]
    found = ious([SHAPES[name], *others], pairs)
    assert found == pytest.approx([shapely_iou(SHAPES[name], o) for o in others], abs=1e-6)


@given(st.integers(0, 2**32), st.integers(3, 40), st.integers(3, 40), st.booleans())
def test_random_stars_are_as_shapely_says(seed, n, m, grid):
    rng = np.random.default_rng(seed)
    rings = [[star(rng, n, grid=grid)], [star(rng, m, grid=grid)]]
    assert ious(rings, [(0, 1)])[0] == pytest.approx(shapely_iou(*rings), abs=1e-6)


@given(
    st.lists(
        st.lists(
            st.lists(st.integers(0, 6).map(float), min_size=6, max_size=16).map(
                lambda ring: ring[: len(ring) // 2 * 2]
            ),
            min_size=1,
            max_size=3,
        ),
        min_size=2,
        max_size=2,
    )
)
def test_any_rings_on_a_coarse_grid_are_as_shapely_says(outlines):
    """Nearly all of these cross themselves, repeat points, or enclose nothing."""
    assert ious(outlines, [(0, 1)])[0] == pytest.approx(shapely_iou(*outlines), abs=1e-6)


def scribble(n, seed=1):
    """Return a ring of n random points, which crosses itself about n² / 8 times."""
    return np.random.default_rng(seed).random((n, 2)) * [640, 480]


def test_a_polygon_with_too_many_crossings_is_compared_in_pixels():
    tangle, box = scribble(60).ravel(), [100, 100, 500, 100, 500, 400, 100, 400]
    many = segmentations([[tangle], [box], [tangle + 5]])
    outlines = polygon_outlines(many)
    assert outlines.tangled.tolist() == [False, False, False]
    exact = polygon_iou(outlines, np.array([0, 0, 0]), np.array([0, 1, 2]))
    all_tangled = replace(outlines, tangled=np.array([True, False, True]))
    compare = tangled_iou(many, all_tangled, np.zeros(3, np.int64), all_tangled.tangled)
    assert compare(np.array([0, 0, 0]), np.array([0, 1, 2])) == pytest.approx(exact, abs=0.01)
    assert polygon_outlines(segmentations([[scribble(150).ravel()]])).tangled.all()


def test_edges_of_several_rings_are_counted_together():
    strips = [slanted_comb(400).ravel() + 1000 * i for i in range(9)]
    crowded = [slanted_comb(400).ravel() for _ in range(9)]
    outlines = polygon_outlines(segmentations([strips, crowded]))
    assert outlines.tangled.tolist() == [False, True]
