"""IoU of rotated boxes."""

import os

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from support.brute import convex_iou

from bboxqa.geometry.kernels.boxes import bbox_iou, rotated_iou
from bboxqa.geometry.kernels.boxes import corners as upright_corners
from bboxqa.model.shapes.rotated_boxes import (
    bounds,
    corners,
    from_corners,
    scaled,
    smallest_angle,
    turned_to,
    upright,
)

FUZZ = int(os.environ.get("BBOXQA_FUZZ", "0"))


def iou(left, right):
    return rotated_iou(*(smallest_angle(np.array(each, float)) for each in (left, right)))


def random_boxes(generator, n, *, side=40.0):
    return np.column_stack(
        [
            generator.uniform(0, 40, (n, 2)),
            generator.uniform(0.1, side, (n, 2)),
            generator.uniform(0, 360, n),
        ]
    )


def random_pairs(generator, n):
    """Return pairs of boxes of which many touch, cover each other or share edges."""
    left, right = random_boxes(generator, n), random_boxes(generator, n)
    kind = np.arange(n) % 6
    turned, stretched, moved, whole = (kind == each for each in range(4))
    right[turned] = left[turned]
    right[turned, 4] += generator.choice([90, 180, 270], turned.sum())
    right[stretched] = left[stretched] * [1, 1, 0.5, 1, 1]
    right[moved] = left[moved]
    right[moved, 4] += generator.normal(0, 1e-7, moved.sum())
    for side in (left, right):
        side[whole] = side[whole].round()
        side[whole, 4] = side[whole, 4] // 90 * 90
    return left, right


def test_a_square_and_a_diamond():
    # A diamond cuts four corners off a square of side 2: triangles with legs of 2 - sqrt(2). The
    # areas are 4 each and share 4 - 2 * (2 - sqrt(2))² = 8 * sqrt(2) - 8 = 3.3137; 3.3137 / 4.6863.
    assert iou([[5, 5, 2, 2, 0]], [[5, 5, 2, 2, 45]]) == pytest.approx([0.70711], abs=1e-5)


def test_iou_is_the_exact_fraction():
    # Fractions take 2 ms a pair: make fuzz SEEDS=1000 compares 10^5.
    left, right = random_pairs(np.random.default_rng(1), max(240, 100 * FUZZ))
    rings = zip(corners(left).tolist(), corners(right).tolist(), strict=True)
    expected = [float(convex_iou(*pair)) for pair in rings]
    assert iou(left, right) == pytest.approx(expected, abs=1e-11)


def test_iou_is_that_of_shapely():
    n = max(2000, 500 * FUZZ)
    left, right = (random_boxes(np.random.default_rng(seed), n) for seed in (2, 3))
    shapes = [shapely.polygons(corners(each)) for each in (left, right)]
    both = shapely.area(shapely.intersection(*shapes))
    union = shapely.area(shapes[0]) + shapely.area(shapes[1]) - both
    assert iou(left, right) == pytest.approx(both / union, abs=1e-10)


number = st.integers(-20, 20).map(float)
side = st.integers(0, 9).map(float)
angle = st.sampled_from([0.0, 15.0, 30.0, 45.0, 90.0, 120.0, 180.0, 270.0])
boxes = st.lists(st.tuples(number, number, side, side, angle), min_size=1, max_size=6)


@given(boxes)
def test_symmetric_bounded_and_one_for_itself(these):
    values = iou(these, these[::-1])
    assert np.array_equal(values, iou(these[::-1], these))
    assert ((values >= 0) & (values <= 1)).all()
    solid = np.array([box[2] * box[3] > 0 for box in these])
    assert np.array_equal(iou(these, these), solid.astype(float))


def test_half_turns_and_turned_squares_change_no_bit():
    left, right = random_pairs(np.random.default_rng(4), 300)
    left[:, 4], right[:, 4] = left[:, 4].round(), right[:, 4].round()
    expected = iou(left, right)
    for turn in (-180, 180, 360):
        assert np.array_equal(iou(left + np.array([0, 0, 0, 0, turn]), right), expected)
    swapped = left[:, [0, 1, 3, 2, 4]] - np.array([0, 0, 0, 0, 90])
    assert np.array_equal(iou(swapped, right), expected)


def test_turning_and_mirroring_the_image_change_nothing():
    left, right = random_pairs(np.random.default_rng(5), 300)
    expected = iou(left, right)

    def turned(boxes, degrees):
        result = corners(boxes) - 20
        cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        return from_corners(result @ [[cosine, sine], [-sine, cosine]])[0]

    for degrees in (17.3, 90, 211):
        assert iou(turned(left, degrees), turned(right, degrees)) == pytest.approx(
            expected, abs=1e-9
        )
    mirrored = [each * [-1, 1, 1, 1, -1] for each in (left, right)]
    assert iou(*mirrored) == pytest.approx(expected, abs=1e-9)


def test_upright_boxes_have_the_iou_of_boxes():
    bbox = np.random.default_rng(6).integers(1, 40, (2, 200, 4)).astype(float)
    expected = bbox_iou(*map(upright_corners, bbox))
    assert iou(upright(bbox[0]), upright(bbox[1])) == pytest.approx(expected, abs=1e-12)


def test_corners_in_any_order_are_one_rectangle():
    boxes = random_boxes(np.random.default_rng(7), 100)
    points = corners(boxes)
    for order in ([0, 1, 2, 3], [2, 3, 0, 1], [1, 2, 3, 0], [3, 2, 1, 0], [0, 3, 2, 1]):
        found, is_rectangle = from_corners(points[:, order])
        assert is_rectangle.all()
        assert found == pytest.approx(smallest_angle(boxes), abs=1e-9)
    assert turned_to(found, boxes[:, 4]) == pytest.approx(boxes, abs=1e-9)


def test_other_quadrilaterals_have_the_smallest_rectangle_around_them():
    points = np.random.default_rng(8).uniform(0, 50, (300, 4, 2))
    found, is_rectangle = from_corners(points)
    others = points[~is_rectangle]
    assert len(others) > 290
    expected = shapely.area(shapely.oriented_envelope(shapely.multipoints(others)))
    assert found[~is_rectangle, 2:4].prod(1) == pytest.approx(expected)
    inside = shapely.buffer(shapely.polygons(corners(found[~is_rectangle])), 1e-6)
    assert shapely.covers(inside, shapely.multipoints(others)).all()


def test_corners_that_fall_together_are_a_rectangle_without_area():
    points = np.array([[[3.0, 3.0]] * 4, [[1.0, 1.0], [1, 1], [4, 5], [4, 5]]])
    found, is_rectangle = from_corners(points)
    assert is_rectangle.all()
    assert found[:, 2:4].min(1) == pytest.approx([0, 0])
    assert found[:, 2:4].max(1) == pytest.approx([0, 5])
    assert np.isfinite(found).all()


def test_bounds_are_those_of_the_corners():
    boxes = random_boxes(np.random.default_rng(9), 50)
    points = corners(boxes)
    expected = np.concatenate([points.min(1), points.max(1)], axis=1)
    assert bounds(boxes) == pytest.approx(expected)


def test_an_enlarged_image_enlarges_its_boxes():
    boxes = random_boxes(np.random.default_rng(10), 50)
    found = scaled(boxes, np.full((50, 2), 2.5))
    assert corners(found) == pytest.approx(corners(boxes) * 2.5)
