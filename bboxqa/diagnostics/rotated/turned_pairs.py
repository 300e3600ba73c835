"""Pairs of rotated boxes of the same object by two annotators."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.edge_differences import shared_boxes
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import MatchedUnits

# Boxes whose sides differ by less say nothing about quarter turns.
_ELONGATED = 1.25


@frozen_arrays
class TurnedPairs:
    """P pairs of annotations of one object, described with angles as near as possible.

    Rectangles are the same with width and height exchanged and a quarter turn. Those of a pair are
    described with angles that differ by at most 45 degrees.
    """

    left: IndexArray
    right: IndexArray
    """(P,) int64. Indices of the annotations."""
    centre: FloatArray
    """(P, 2) float64. The centre of the left box minus that of the right box, in px."""
    angle: FloatArray
    """(P,) float64. The clockwise angle from the right box to the left box, in degrees."""
    left_sides: FloatArray
    right_sides: FloatArray
    """(P, 2) float64. The long and the short side; their mean twice if a pair is nearly square, as
    the sides cannot be distinguished."""
    is_elongated: BoolArray
    """(P,) bool. Whether the sides of both differ enough to recognise a quarter turn."""
    is_across: BoolArray
    """(P,) bool. Whether the long side of one lies along the short side of the other."""
    is_renamed: BoolArray
    """(P,) bool. Whether the long sides are parallel, and one annotator calls it width, the other
    height."""


@remembered
def turned_pairs(matched: MatchedUnits) -> TurnedPairs:
    """Return the pairs of annotations of one object by two annotators, without odd boxes."""
    return compared_pairs(matched.data, *shared_boxes(matched))


def compared_pairs(data: Dataset, left: IndexArray, right: IndexArray) -> TurnedPairs:
    """Return pairs of annotations, described with angles as close as possible."""
    boxes = data.annotations.rotated_box
    if boxes is None:
        raise ValueError("the rotated boxes were not read")
    one, two = boxes[left], boxes[right]
    turns = np.rint((two[:, 4] - one[:, 4]) / 90)
    is_odd = np.mod(turns, 2) == 1
    sides = np.where(is_odd[:, None], one[:, [3, 2]], one[:, 2:4]), two[:, 2:4]
    ways = np.stack([_way(each) for each in sides])
    is_elongated: BoolArray = (ways != 0).all(0)
    # If sides of nearly square boxes were compared in order of length, annotators with more scatter
    # would seem to draw longer long sides.
    long_first = [
        np.where(is_elongated[:, None], np.sort(each, 1)[:, ::-1], each.mean(1, keepdims=True))
        for each in sides
    ]
    is_across = is_elongated & (ways[0] != ways[1])
    return TurnedPairs(
        left=left,
        right=right,
        centre=one[:, :2] - two[:, :2],
        angle=one[:, 4] + 90 * turns - two[:, 4],
        left_sides=long_first[0],
        right_sides=long_first[1],
        is_elongated=is_elongated,
        is_across=is_across,
        is_renamed=is_elongated & ~is_across & is_odd,
    )


def _way(sides: FloatArray) -> IndexArray:
    """Return 1 where the first side is clearly longer, -1 where the second is, and 0 elsewhere."""
    first, second = sides.T
    way: IndexArray = (first > _ELONGATED * second) * 1 - (second > _ELONGATED * first) * 1
    return way
