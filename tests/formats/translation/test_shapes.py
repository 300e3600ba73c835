"""Outlines of shapes that tools draw."""

import numpy as np
import pytest

from bboxqa.formats.translation.shapes import (
    ValueProblemError,
    bounds,
    corners,
    ellipse,
    outer_rings,
)


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
    """Return whether a ray to the right crosses a ring an odd number of times, edge by edge."""
    n = 0
    for (x, y), (right, bottom) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
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
    with pytest.raises(ValueProblemError, match="has 3,000 paths, which are too entangled"):
        outer_rings(rings)
