"""IoU of rotated boxes."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute import convex_iou

from bboxqa.geometry.boxes import rotated_iou
from bboxqa.model.rotated_boxes import bounds, corners, smallest_angle

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


def test_iou_is_the_exact_fraction():
    # Fractions take 2 ms a pair: make fuzz SEEDS=1000 compares 10^5.
    left, right = random_pairs(np.random.default_rng(1), max(240, 100 * FUZZ))
    rings = zip(corners(left).tolist(), corners(right).tolist(), strict=True)
    expected = [float(convex_iou(*pair)) for pair in rings]
    assert iou(left, right) == pytest.approx(expected, abs=1e-11)


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


def test_bounds_are_those_of_the_corners():
    boxes = random_boxes(np.random.default_rng(9), 50)
    points = corners(boxes)
    expected = np.concatenate([points.min(1), points.max(1)], axis=1)
    assert bounds(boxes) == pytest.approx(expected)
