"""Exact areas of polygons, against shapely and against fine rasterising."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from support.brute import fine_iou
from support.datasets import segmentations
from support.rings import slanted_comb

from bboxqa.geometry.kernels.polygons import (
    even_odd_parts,
    intersection_areas,
    n_crossings,
    polygon_iou,
    polygon_iou_limit,
    polygon_outlines,
    tangled_iou,
)

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
def test_one_for_itself(name):
    assert ious([SHAPES[name], SHAPES[name]], [(0, 1)])[0] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("shift", [(0, 0), (3, 0), (0, 5), (2.5, -1.25), (20, 0), (10, 0)])
def test_every_shape_with_every_other_one(name, shift):
    others = [moved(rings, *shift) for rings in SHAPES.values()]
    pairs = [(0, place + 1) for place in range(len(others))]
    found = ious([SHAPES[name], *others], pairs)
    assert found == pytest.approx([shapely_iou(SHAPES[name], o) for o in others], abs=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_against_fine_rasterising(name):
    as_rings = {key: [np.reshape(r, (-1, 2)) for r in rings] for key, rings in SHAPES.items()}
    others = [moved(rings, 2.3, 1.7) for rings in SHAPES.values()]
    found = ious([SHAPES[name], *others], [(0, place + 1) for place in range(len(others))])
    expected = [
        fine_iou(as_rings[name], [np.reshape(ring, (-1, 2)) for ring in other], steps=100)
        for other in others
    ]
    assert found == pytest.approx(expected, abs=0.03)


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


def test_many_pairs_of_many_vertices_in_several_chunks():
    rng = np.random.default_rng(11)
    outlines = [[star(rng, int(n))] for n in rng.integers(3, 200, 32)]
    pairs = [(a, b) for a in range(32) for b in range(a + 1, 32)]
    expected = [shapely_iou(outlines[a], outlines[b]) for a, b in pairs]
    assert ious(outlines, pairs) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_far_from_the_origin(offset):
    rng = np.random.default_rng(3)
    outlines = [[star(rng, 24)] for _ in range(20)]
    far = [moved(rings, offset, -offset) for rings in outlines]
    pairs = [(a, b) for a in range(20) for b in range(a)]
    assert ious(far, pairs) == pytest.approx(ious(outlines, pairs), abs=1e-6)


@pytest.mark.parametrize("factor", [2.0**-6, 2.0**10])
def test_scaling_by_a_power_of_two_changes_nothing(factor):
    rng = np.random.default_rng(4)
    outlines = [[star(rng, 24)] for _ in range(20)]
    scaled = [[[value * factor for value in ring] for ring in rings] for rings in outlines]
    pairs = [(a, b) for a in range(20) for b in range(a)]
    assert np.array_equal(ious(scaled, pairs), ious(outlines, pairs))


def test_symmetric_and_in_bounds():
    outlines = list(SHAPES.values())
    pairs = [(a, b) for a in range(len(outlines)) for b in range(len(outlines))]
    found = ious(outlines, pairs)
    assert found == pytest.approx(ious(outlines, [(b, a) for a, b in pairs]), abs=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


def test_the_limit_is_never_below_the_iou():
    rng = np.random.default_rng(8)
    rings = list(SHAPES.values()) + [[star(rng, 12)] for _ in range(40)]
    outlines = polygon_outlines(segmentations(rings))
    left, right = np.triu_indices(len(rings), 1)
    exact = polygon_iou(outlines, left, right)
    limit = polygon_iou_limit(outlines, left, right)
    assert (limit >= exact - 1e-12).all()
    assert (limit <= 1).all()
    assert (limit < 1).any()


@pytest.mark.parametrize("rings", [[], [[1, 1]], [[1, 1, 5, 5]], [[1, 1, 5, 5, 9, 9]]])
def test_what_encloses_nothing_is_like_nothing(rings):
    outlines = polygon_outlines(segmentations([rings, rings, [SQUARE]]))
    assert outlines.area.tolist() == [0, 0, 100]
    assert ious([rings, rings, [SQUARE]], [(0, 1), (0, 2)]).tolist() == [0, 0]


def test_a_short_ring_beside_a_sound_one_does_not_count():
    assert ious([[SQUARE, [2, 2, 30, 30]], [SQUARE]], [(0, 1)]).tolist() == [1]


def test_only_invalid_polygons_are_repaired():
    names = list(SHAPES)
    outlines = polygon_outlines(segmentations(list(SHAPES.values())))
    repaired = {names[place] for place in np.flatnonzero(outlines.repaired)}
    assert {"bow tie", "pentagram", "keyhole"} <= repaired
    sound = {"square", "triangle", "comb", "collinear points", "repeated points", "two parts"}
    assert not repaired & sound


def test_no_polygons_and_no_pairs():
    none = np.zeros(0, np.int64)
    outlines = polygon_outlines(segmentations([]))
    assert intersection_areas(outlines, none, none).shape == (0,)
    assert polygon_iou(polygon_outlines(segmentations([[SQUARE]])), none, none).shape == (0,)


def scribble(n, seed=1):
    """Return a ring of n random points, which crosses itself about n² / 8 times."""
    return np.random.default_rng(seed).random((n, 2)) * [640, 480]


@pytest.mark.parametrize("name", SHAPES)
def test_crossings_of_short_rings_are_counted(name):
    # A slit is a coincident pair, and three touching pairs at each end; a spike touches its foot.
    expected = {"bow tie": 1, "pentagram": 5, "keyhole": 7, "spike": 3}.get(name, 0)
    rings = [np.reshape(ring, (-1, 2)).astype(float) for ring in SHAPES[name]]
    assert sum(map(n_crossings, rings)) == expected


def test_crossings_of_long_rings_are_estimated():
    ring = scribble(2500)
    edges = shapely.linestrings(np.stack([ring, np.roll(ring, -1, 0)], axis=1))
    pairs = shapely.STRtree(edges).query(edges[::50], predicate="crosses").shape[1] * 50 / 2
    assert n_crossings(ring) == pytest.approx(pairs, rel=0.1)


def test_counting_crossings_stops_when_there_are_too_many():
    # The ring has 250,000 crossings; counting them all took 0.3 s, and 40 MB.
    ring = scribble(1447)
    tracemalloc.start()
    number = n_crossings(ring, 500)
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()
    assert 500 < number < 20_000
    assert n_crossings(ring[:40], 500) == n_crossings(ring[:40])


@pytest.mark.parametrize("seed", range(10))
def test_parts_of_a_scribble_are_those_that_shapely_finds(seed):
    ring = scribble(16, seed)
    parts = shapely.multipolygons(even_odd_parts(ring))
    expected = shapely.make_valid(shapely.Polygon(ring))
    assert parts.is_valid
    assert shapely.area(shapely.symmetric_difference(parts, expected)) < 1e-6


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


def test_an_intricate_polygon_is_compared_in_pixels():
    few, many = slanted_comb(400), slanted_comb(4000)
    assert shapely.is_valid(shapely.polygons(few))
    outlines = polygon_outlines(segmentations([[few.ravel()], [many.ravel()], [SQUARE]]))
    assert outlines.tangled.tolist() == [False, True, False]
    assert outlines.repaired.tolist() == [False, False, False]
    assert outlines.area[[0, 2]].tolist() == [
        pytest.approx(shapely.area(shapely.polygons(few))),
        100.0,
    ]


def test_edges_of_several_rings_are_counted_together():
    strips = [slanted_comb(400).ravel() + 1000 * i for i in range(9)]
    crowded = [slanted_comb(400).ravel() for _ in range(9)]
    outlines = polygon_outlines(segmentations([strips, crowded]))
    assert outlines.tangled.tolist() == [False, True]


def test_a_tangle_without_extent_has_no_area():
    line = np.stack([np.tile([0.0, 9, 3, 7], 300), np.zeros(1200)], axis=1).ravel()
    outlines = polygon_outlines(segmentations([[line], [SQUARE]]))
    compare = tangled_iou(
        segmentations([[line], [SQUARE]]),
        replace(outlines, tangled=np.array([True, False])),
        np.zeros(2, np.int64),
        np.array([True, False]),
    )
    assert compare(np.array([0]), np.array([1])).tolist() == [0.0]
