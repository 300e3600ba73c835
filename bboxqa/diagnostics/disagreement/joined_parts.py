"""Split and merged objects: the object that a part is joined with, and who lacks it."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays, run_starts
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects
from bboxqa.diagnostics.disagreement.parts import Parts


@frozen_arrays
class JoinedParts:
    """O objects, and E pairs of an object and an annotator who split or merged it."""

    object: IndexArray
    annotator: IndexArray
    """(E,) int64."""
    merged: IndexArray
    """Sorted numbers of an object and an annotator who merged it."""
    n_merged: IndexArray
    """(O,) int64. How many annotators merged it."""
    n_filled: IndexArray
    """(O,) int64. How many of them have no box that is joined with it."""
    is_part: BoolArray
    """(O,) bool. Whether it is joined with another object: a part, or a box around several."""


def joined_parts(
    objects: DrawnObjects, drawn: Parts, root: IndexArray, n_annotators: int
) -> JoinedParts:
    """Return split and merged objects, and set in `root` the objects that parts are joined with."""
    n, split, merge = len(objects), ~drawn.is_merge, drawn.is_merge
    is_again = root != np.arange(n)
    joint, joint_author, joint_part = _joint_boxes(objects, drawn, is_again)
    root[joint] = joint_part
    half = 2 * objects.n_drawn >= objects.n_asked
    # Parts are joined to what more annotators drew, so that there are no circles.
    minor = np.flatnonzero(split & ~(half | is_again)[drawn.part])
    minor = minor[objects.n_drawn[drawn.whole[minor]] > objects.n_drawn[drawn.part[minor]]]
    whole, part = drawn.whole[minor], drawn.part[minor]
    minor = minor[np.lexsort((whole, -objects.n_drawn[whole], part))]
    first = minor[run_starts(drawn.part[minor])]
    root[drawn.part[first]] = drawn.whole[first]
    is_part = np.zeros(n, np.bool_)
    is_part[joint] = True
    is_part[drawn.part[first]] = True
    merged = np.unique(drawn.part[merge] * n_annotators + drawn.annotator[merge])
    n_merged = np.bincount(merged // n_annotators, minlength=n)
    most = merge & (drawn.whole >= 0) & (2 * objects.n_drawn > objects.n_asked)[drawn.part]
    return JoinedParts(
        object=np.concatenate([drawn.part, drawn.whole[most], joint]),
        annotator=np.concatenate([drawn.annotator, drawn.annotator[most], joint_author]),
        merged=merged,
        n_merged=n_merged,
        n_filled=n_merged - np.bincount(joint_part, minlength=n),
        is_part=is_part,
    )


def _joint_boxes(
    objects: DrawnObjects, drawn: Parts, is_again: BoolArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return boxes around several objects that nobody else drew: object, annotator, a part."""
    part, of = drawn.part, objects.of[drawn.box]
    single = (objects.n_drawn == 1) & ~is_again
    alone = np.flatnonzero(drawn.is_merge & (drawn.whole < 0) & single[of])
    # Of the objects in the box, the one that most annotators drew; in a tie, the first.
    order = alone[np.lexsort((part[alone], -objects.n_drawn[part[alone]], of[alone]))]
    first = order[run_starts(of[order])]
    return of[first], drawn.annotator[first], part[first]
