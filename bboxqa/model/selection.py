"""Selecting and joining annotations."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.outlines import Segmentations

OF_ANNOTATIONS = ("kind", "part_start", "part_stop", "counts_start", "counts_stop", "size")
"""The columns of outlines with one row per annotation."""


def select_annotations(annotations: Annotations, index: IndexArray) -> Annotations:
    """Return the annotations at `index`, in that order.

    Equals `Annotations.take`.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> from bboxqa import read_coco
    >>> annotations = read_coco(example_file("fruits")).annotations
    >>> len(select_annotations(annotations, np.array([2, 0])))
    2
    """
    outlines = annotations.segmentation
    if outlines is not None:
        outlines = replace(outlines, **_rows_of(outlines, OF_ANNOTATIONS, index))
    times = annotations.times
    if times is not None:
        times = times.take(index)
    own_id = None if annotations.own_id is None else annotations.own_id[index]
    keypoints = None if annotations.keypoints is None else annotations.keypoints.take(index)
    others = ("segmentation", "times", "own_id", "keypoints")
    names = [field.name for field in fields(annotations) if field.name not in others]
    read = [name for name in names if getattr(annotations, name) is not None]
    columns = _rows_of(annotations, read, index)
    return replace(
        annotations,
        **columns,
        segmentation=outlines,
        times=times,
        own_id=own_id,
        keypoints=keypoints,
    )


def _rows_of(holder: Any, names: Iterable[str], index: IndexArray) -> dict[str, Any]:
    return {name: getattr(holder, name)[index] for name in names}


def join_columns(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    """Concatenate columns; None if one of them was not read.

    Examples
    --------
    >>> join_columns([np.zeros((1, 5)), None]) is None
    True
    """
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def join_outlines(parts: Sequence[Segmentations], rows: Sequence[IndexArray]) -> Segmentations:
    """Join the outlines of several files in order; `rows` are the rows to take from each.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> from bboxqa import read_coco
    >>> outlines = read_coco(example_file("landscape")).annotations.segmentation
    >>> len(join_outlines([outlines, outlines], [np.array([0]), np.array([0, 1])]))
    3
    """
    rings = _before(len(part.ring_offsets) - 1 for part in parts)
    points = _before(len(part.xy) for part in parts)
    letters = _before(len(part.counts) for part in parts)
    shifts = {"part_start": rings, "part_stop": rings}
    shifts |= {"counts_start": letters, "counts_stop": letters}

    def column(name: str) -> NDArray[Any]:
        columns = (getattr(part, name)[index] for part, index in zip(parts, rows, strict=True))
        if name in shifts:
            columns = (each + shift for each, shift in zip(columns, shifts[name], strict=True))
        return np.concatenate(list(columns))

    offsets = (p.ring_offsets[1:] + n for p, n in zip(parts, points, strict=True))
    return Segmentations(
        **{name: column(name) for name in OF_ANNOTATIONS},
        xy=np.concatenate([part.xy for part in parts]),
        ring_offsets=np.concatenate([np.zeros(1, np.int64), *offsets]),
        counts=np.concatenate([part.counts for part in parts]),
    )


def _before(counts: Iterable[int]) -> list[int]:
    """Return the sum of the counts that precede each count."""
    return list(accumulate(counts, initial=0))[:-1]


class Joints(NamedTuple):
    """The names of the key points of each category, and the pairs that lines join."""

    names: tuple[tuple[str, ...], ...]
    limbs: tuple[tuple[tuple[int, int], ...], ...]


def joints_of(categories: Sequence[str], datasets: Sequence[Dataset]) -> Joints:
    """Return the key points of each category, from the data set that has the most of them."""
    names: dict[str, tuple[str, ...]] = {}
    limbs: dict[str, tuple[tuple[int, int], ...]] = {}
    for data in datasets:
        parts = zip(data.category_names, data.joint_names, data.limbs, strict=False)
        for category, joints, lines in parts:
            if len(joints) > len(names.get(category, ())):
                names[category], limbs[category] = joints, lines
    if not any(data.joint_names for data in datasets):
        return Joints((), ())
    return Joints(
        tuple(names.get(category, ()) for category in categories),
        tuple(limbs.get(category, ()) for category in categories),
    )
