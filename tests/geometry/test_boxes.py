"""IoU, GIoU and nearness of centres of boxes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute import box_iou
from support.reference import WORKED

from bboxqa.geometry.boxes import bbox_centroid, bbox_giou, bbox_iou, corners

SIMILARITIES = [bbox_iou, bbox_giou, bbox_centroid]

number = st.integers(-40, 40).map(float)
side = st.integers(0, 30).map(float)
boxes = st.lists(st.tuples(number, number, side, side), min_size=1, max_size=8)


def compare(similarity, left, right):
    return similarity(corners(np.array(left, float)), corners(np.array(right, float)))


@pytest.mark.parametrize("example", WORKED["boxes"])
def test_worked_examples(example):
    (iou,) = compare(bbox_iou, [example["left"]], [example["right"]])
    assert iou == pytest.approx(example["iou"], abs=5e-5)


@given(boxes, boxes)
def test_iou_is_the_exact_fraction(left, right):
    n = min(len(left), len(right))
    left, right = left[:n], right[:n]
    expected = [float(box_iou(a, b)) for a, b in zip(left, right, strict=True)]
    assert compare(bbox_iou, left, right) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@given(boxes)
def test_symmetric_bounded_and_one_for_itself(similarity, these):
    those = these[::-1]
    values = compare(similarity, these, those)
    assert np.array_equal(values, compare(similarity, those, these))
    assert (values >= (-1 if similarity is bbox_giou else 0)).all()
    assert (values <= 1).all()
    solid = [box[2] > 0 and box[3] > 0 for box in these]
    assert np.array_equal(compare(similarity, these, these)[solid], np.ones(sum(solid)))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_translation_and_scaling_change_nothing(similarity, factor):
    rng = np.random.default_rng(5)
    left, right = rng.integers(1, 40, (2, 50, 4)).astype(float)
    move = np.array([1024.0, -512.0, 0.0, 0.0])
    expected = compare(similarity, left, right)
    assert np.array_equal(compare(similarity, left + move, right + move), expected)
    assert np.array_equal(compare(similarity, left * factor, right * factor), expected)


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ([0, 0, 10, 10], 1),
        ([10, 0, 10, 10], 0),  # side by side: nothing shared, nothing empty
        ([20, 0, 10, 10], -1 / 3),
        ([5, 0, 10, 10], 1 / 3),
        ([5, 5, 10, 10], 25 / 175 - 50 / 225),
        ([90, 90, 10, 10], -0.98),
    ],
)
def test_known_gious(right, expected):
    (giou,) = compare(bbox_giou, [[0, 0, 10, 10]], [right])
    assert giou == pytest.approx(expected, abs=1e-12)


@given(boxes)
def test_giou_is_never_above_the_iou(these):
    those = these[::-1]
    assert (compare(bbox_giou, these, those) <= compare(bbox_iou, these, those)).all()


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ([0, 0, 3, 4], 1),
        ([3, 4, 3, 4], 0),  # one diagonal apart
        ([1.5, 2, 3, 4], 0.5),
        ([-1.5, -2, 6, 8], 1),  # the same centre
        ([0, 0, 6, 8], 0.75),  # the longer diagonal counts
        ([50, 0, 3, 4], 0),
    ],
)
def test_known_centroids(right, expected):
    (nearness,) = compare(bbox_centroid, [[0, 0, 3, 4]], [right])
    assert nearness == pytest.approx(expected, abs=1e-12)
