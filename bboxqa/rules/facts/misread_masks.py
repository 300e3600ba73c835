"""Masks that programs misread: with slashes instead of backslashes, or written row by row."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.shapes.run_lengths import decode_counts, run_bounds
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layouts.box_layout import in_other_layout


@dataclass(frozen=True, slots=True, eq=False)
class SlashedMasks:
    """Masks that become valid if each slash is replaced by a backslash.

    Attributes
    ----------
    row : (H,) int64
        The annotations of the masks.
    has_area : (H,) bool
        Whether the mask then has the area of the annotation.
    """

    row: IndexArray
    has_area: BoolArray


def slashed_masks(document: Document) -> SlashedMasks:
    """Return the masks that are only readable with backslashes instead of slashes."""
    rles, found, proven = document.annotations.rles, [], []
    for mask in np.flatnonzero((rles.problem > 0) & rles.compressed).tolist():
        row = int(rles.row[mask])
        counts = document.record(row)["segmentation"]["counts"]
        runs = _decoded(with_backslashes(counts)) if "/" in counts else None
        if runs is not None and runs.sum() == rles.size[mask].prod():
            found.append(row)
            proven.append(runs[1::2].sum() == document.annotations.area[row])
    return SlashedMasks(np.array(found, np.int64), np.array(proven, np.bool_))


def _decoded(counts: str) -> IndexArray | None:
    """Return run lengths; None if these are none, so that backslashes do not explain the mask."""
    try:
        return decode_counts(counts.encode())
    except ValueError:
        return None


def with_backslashes(counts: str) -> str:
    r"""Return compressed counts with backslashes instead of slashes, which the format never uses.

    Examples
    --------
    >>> print(with_backslashes("m:/k"))
    m:\k
    """
    return counts.replace("/", "\\")


def row_major_masks(document: Document, tolerance: float) -> IndexArray:
    """Return the annotations whose masks fit their box if read row by row, not column by column.

    Parameters
    ----------
    document : Document
    tolerance : float
        Largest distance of equal edges in pixels.

    Returns
    -------
    (H,) int64
    """
    rles, bounds = document.annotations.rles, document.outline_bounds
    box, found = corners(document.annotations.bbox), []
    with np.errstate(invalid="ignore"):
        off = (np.abs(box - bounds) > tolerance).any(axis=1)
    off &= document.has_box & ~document.once(in_other_layout)
    for mask in np.flatnonzero(off[rles.row]).tolist():
        row, (height, width) = int(rles.row[mask]), rles.size[mask].tolist()
        # Most masks span the full width when read in the wrong order, so such a box proves nothing.
        if height != width and box[row, 0] <= tolerance and box[row, 2] >= width - tolerance:
            continue
        top, left, bottom, right = run_bounds(runs_of(document, row), width)
        if (np.abs(box[row] - [left, top, right, bottom]) <= tolerance).all():
            found.append(row)
    return np.array(found, np.int64)


def runs_of(document: Document, row: int) -> IndexArray:
    """Return the run lengths of a mask that can be read."""
    counts = document.record(row)["segmentation"]["counts"]
    return decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)
