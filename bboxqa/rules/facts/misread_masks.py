"""Masks that programs misread: with slashes instead of backslashes, or written row by row."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.shapes.masks import decode_counts, run_bounds
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import in_other_layout

# The least number, and share, of masks whose size shows that they go row by row.
_FEW, _NEARLY_ALL = 5, 0.8


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


@dataclass(frozen=True, slots=True, eq=False)
class RowMajorMasks:
    """Masks that fit their boxes if read row by row, not column by column.

    Attributes
    ----------
    row : (H,) int64
        The annotations of the masks.
    is_shifted : bool
        Whether they have only the size of their boxes, which lie elsewhere.
    """

    row: IndexArray
    is_shifted: bool


def row_major_masks(document: Document, tolerance: float) -> RowMajorMasks:
    """Return the masks that fit their box if read row by row.

    If none does, nearly all that do not fit as they are may have the size of their box, such as in
    images that were cropped later.

    Parameters
    ----------
    document : Document
    tolerance : float
        Largest distance of equal edges in pixels.
    """
    rles, bounds = document.annotations.rles, document.outline_bounds
    box, found, of_size = corners(document.annotations.bbox), [], []
    with np.errstate(invalid="ignore"):
        off = (np.abs(box - bounds) > tolerance).any(axis=1)
    off &= document.has_box & ~document.once(in_other_layout)
    masks = np.flatnonzero(off[rles.row]).tolist()
    for mask in masks:
        row, (height, width) = int(rles.row[mask]), rles.size[mask].tolist()
        # Most masks span the full width when read in the wrong order, so such a box proves nothing.
        if height != width and box[row, 0] <= tolerance and box[row, 2] >= width - tolerance:
            continue
        top, left, bottom, right = run_bounds(runs_of(document, row), width)
        apart = box[row] - [left, top, right, bottom]
        if (np.abs(apart) <= tolerance).all():
            found.append(row)
        elif (np.abs(apart[2:] - apart[:2]) <= tolerance).all() and not _as_large(
            box[row], bounds[row], tolerance
        ):
            of_size.append(row)
    are_most = len(of_size) >= max(_FEW, _NEARLY_ALL * len(masks))
    is_shifted = not found and are_most
    return RowMajorMasks(np.array(of_size if is_shifted else found, np.int64), is_shifted)


def _as_large(box: FloatArray, bounds: FloatArray, tolerance: float) -> bool:
    """Return whether the width and height of a box are those of an outline."""
    apart = box - bounds
    return bool((np.abs(apart[2:] - apart[:2]) <= tolerance).all())


def runs_of(document: Document, row: int) -> IndexArray:
    """Return the run lengths of a mask that can be read."""
    counts = document.record(row)["segmentation"]["counts"]
    return decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)
