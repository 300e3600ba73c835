"""Boxes that overlap strongly, against a search of all pairs."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.rules.collection import overlapping

NUMBER = st.sampled_from([0.0, 1.0, 1.5, 2.0, 9.0, 9.5, 10.0, 10.5, 11.0])
SIDE = st.sampled_from([-1.0, 0.0, 8.5, 9.0, 9.5, 10.0, 10.5, float("nan")])
BOXES = st.lists(
    st.tuples(NUMBER, NUMBER, SIDE, SIDE, st.integers(-1, 1), st.integers(0, 1)), max_size=12
)


def pairs(bbox, group, kind, threshold):
    bbox = np.array(bbox, float).reshape(-1, 4)
    parts = overlapping(bbox, np.array(group), np.array(kind), threshold)
    return sorted(pair for part in parts for pair in zip(*part, strict=True))


def all_pairs(bbox, group, kind, threshold):
    """Compare every box with every other; equal boxes of a kind count with their first only."""
    same = list(zip(map(tuple, bbox), group, kind, strict=True))
    result = []
    for left, right in combinations(range(len(bbox)), 2):
        first_of = [same.index(same[row]) for row in (left, right)]
        # Of equal boxes the first stands for all, and is paired with each of the others.
        wanted = first_of in ([left, left], [left, right])
        box = corners(np.array([bbox[left], bbox[right]], float))
        sound = all(side > 0 for row in (left, right) for side in bbox[row][2:])
        iou = bbox_iou(box[:1], box[1:])[0] if sound else 0
        if wanted and group[left] == group[right] >= 0 and iou >= threshold:
            result.append((left, right))
    return result


@given(BOXES, st.sampled_from([0.3, 0.5, 0.8, 0.9, 1.0]))
def test_the_sweep_finds_the_pairs_that_a_search_of_all_pairs_finds(boxes, threshold):
    columns = [list(column) for column in zip(*boxes, strict=True)] or [[]] * 6
    bbox = [list(box[:4]) for box in boxes]
    expected = all_pairs(bbox, columns[4], columns[5], threshold)
    assert pairs(bbox, columns[4], columns[5], threshold) == expected


def test_a_pair_at_the_threshold_exactly_is_found():
    assert pairs([[0, 0, 10, 10], [1, 0, 9, 10]], [0, 0], [0, 0], 0.9) == [(0, 1)]
    assert pairs([[7e5, 0, 10, 10], [7e5 + 1, 0, 9, 10]], [0, 0], [0, 0], 0.9) == [(0, 1)]


def test_equal_boxes_of_one_kind_are_paired_with_the_first_only():
    assert pairs([[1, 1, 5, 5]] * 4, [0] * 4, [0] * 4, 0.9) == [(0, 1), (0, 2), (0, 3)]
    assert pairs([[1, 1, 5, 5]] * 3, [0] * 3, [0, 1, 1], 0.9) == [(0, 1), (1, 2)]
