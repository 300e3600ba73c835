"""Boxes with the same numbers on images of several sizes."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.boxes import Boxes, boxes_of, sized_boxes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import in_other_layout

ENOUGH_SIZES = 3


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


def copies_in(document: Document) -> Copies | None:
    """Return the boxes of a document that are equal on images of several sizes; None for none."""
    return copies_of(document.once(boxes_of), ~document.once(in_other_layout))


def copies_of(boxes: Boxes, usable: BoolArray) -> Copies | None:
    """Return the `usable` boxes, (N,) bool, that are equal on images of several sizes."""
    rows = np.flatnonzero(usable & sized_boxes(boxes))
    bbox = boxes.bbox[rows]
    first = first_equal(len(rows), [side.__getitem__ for side in bbox.T])
    repeated = np.bincount(first, minlength=len(rows))[first] > 1
    rows, group = rows[repeated], np.unique(first[repeated], return_inverse=True)[1]
    sizes, size = np.unique(boxes.size[rows], axis=0, return_inverse=True)
    if len(sizes) < ENOUGH_SIZES:
        return None
    pairs = np.unique(group * len(sizes) + size.ravel())
    n_sizes = np.bincount(pairs // len(sizes))
    chosen = n_sizes[group] >= _not_by_chance(n_sizes)
    if not chosen.any():
        return None
    kept, place = np.unique(group[chosen], return_inverse=True)
    return Copies(rows[chosen], place, n_sizes[kept])


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
    return max(ENOUGH_SIZES, 2 * (2 + int(np.argmin(falls))) - 1)
