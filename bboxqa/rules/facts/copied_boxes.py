"""Boxes with the same numbers on images of several sizes."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.rules.facts.boxes import Boxes, sized_boxes

ENOUGH_SIZES = 3
# Odd random numbers, whose products with the bits of a box make a hash.
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Boxes, grouped by their numbers.

    Attributes
    ----------
    rows : (H,) int64
        The annotations, sorted.
    group : (H,) int64
        The group of equal boxes of each annotation.
    n_sizes : (G,) int64
        The number of distinct image sizes in each group.
    """

    rows: IndexArray
    group: IndexArray
    n_sizes: IndexArray


def copies_of(boxes: Boxes, usable: BoolArray) -> Copies | None:
    """Return the boxes that are equal on images of several sizes; None if there are none.

    Parameters
    ----------
    boxes : Boxes
    usable : (N,) bool
        The boxes that are compared, if the size of their image is known.
    """
    rows, group = _repeated(np.flatnonzero(usable & sized_boxes(boxes)), boxes.bbox)
    if len(rows) == 0:
        return None
    sizes, size = np.unique(boxes.size[rows], axis=0, return_inverse=True)
    if len(sizes) < ENOUGH_SIZES:
        return None
    pairs = np.unique(group * len(sizes) + size.ravel())
    n_sizes = np.bincount(pairs // len(sizes))
    chosen = n_sizes[group] >= _not_by_chance(n_sizes)
    kept, place = np.unique(group[chosen], return_inverse=True)
    order = np.argsort(rows[chosen])
    return Copies(rows[chosen][order], place[order], n_sizes[kept])


def _repeated(rows: IndexArray, every: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return the rows of boxes that occur more than once, and the group of each."""
    bbox = every[rows]
    # Adding 0 makes -0 equal to 0. Products of unsigned integers wrap around without a warning.
    bits = (bbox + 0.0).view(np.uint64)
    key = ((bits ^ (bits >> np.uint64(31))) * _FACTORS).sum(axis=1, dtype=np.uint64)
    order = np.argsort(key)
    is_same = (key[order[1:]] == key[order[:-1]]) & (bbox[order[1:]] == bbox[order[:-1]]).all(1)
    repeated = np.zeros(len(rows) + 1, np.bool_)
    repeated[1:-1] = is_same
    kept = repeated[1:] | repeated[:-1]
    return rows[order[kept]], np.cumsum(~repeated[:-1], dtype=np.int64)[kept]


def _not_by_chance(n_sizes: IndexArray) -> int:
    """Return the number of image sizes on which boxes are hardly equal by chance.

    If boxes are equal by chance, each further size has fewer groups of equal boxes.

    Examples
    --------
    >>> _not_by_chance(np.array([3, 4, 4, 5])), _not_by_chance(np.array([2, 2, 2, 2, 3, 3, 4]))
    (3, 7)
    """
    number = np.bincount(n_sizes, minlength=ENOUGH_SIZES)[2:]
    falls = np.append((number[1:] < number[:-1]) & (number[1:] > 0), [False])
    longest_by_chance = 2 + int(np.argmin(falls))
    return max(ENOUGH_SIZES, 2 * longest_by_chance - 1)
