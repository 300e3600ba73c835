"""Annotations with the same box and category in both versions."""

import numpy as np

from bboxqa.core.arrays import MIX, BoolArray, FloatArray, IndexArray
from bboxqa.model.annotations import Annotations
from bboxqa.pipelines.versions.similar import Pairs


def content_of(annotations: Annotations) -> list[FloatArray]:
    """Return the columns in which equal annotations are equal, each (N,) float64."""
    columns = [*annotations.bbox.T, annotations.category, annotations.image]
    return [column.astype(np.float64, copy=False) for column in columns]


def open_rows(annotations: Annotations, left: IndexArray, right: IndexArray) -> IndexArray:
    """Return the unmatched annotations in images where both versions have some."""
    is_open: BoolArray = np.ones(len(annotations), np.bool_)
    is_open[left] = is_open[right] = False
    image = annotations.image
    size = int(image.max(initial=-1)) + 1
    present = [
        np.bincount(image[is_open & (annotations.annotator == side)], minlength=size) > 0
        for side in (0, 1)
    ]
    return np.flatnonzero(is_open & (present[0] & present[1])[image])


def equal_pairs(annotations: Annotations, rows: IndexArray) -> Pairs:
    """Return the pairs among `rows` with one image, box and category, those of low ids first."""
    if not len(rows):
        return rows, rows
    content = content_of(annotations)
    key = np.zeros(len(rows), np.uint64)
    for column in content:
        key ^= column[rows].view(np.uint64)
        key *= MIX
        key ^= key >> np.uint64(32)
    # Rows of one key stay in order: those before come first.
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=~key[order[:1]]))
    side = annotations.annotator[rows[order]]
    n_before = np.add.reduceat(1 - side, starts)
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
    first = np.flatnonzero(side == 0)
    partner = first + n_before[run[first]]
    inside = partner < np.append(starts, len(rows))[run[first] + 1]
    left, right = rows[order[first[inside]]], rows[order[partner[inside]]]
    # Different contents have one key very rarely, but then they are not equal.
    same = np.logical_and.reduce([column[left] == column[right] for column in content])
    return left[same], right[same]
