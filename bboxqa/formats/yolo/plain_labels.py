"""Label files of boxes only, as most are: read many at once, in arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray
from bboxqa.formats.yolo.label_lines import MOST_BEYOND

_COLUMNS = 5
_BLANK, _NEWLINE, _POINT, _ZERO = np.frombuffer(b" \n.0", np.uint8)
_MOST_CLASSES = 1 << 20
_EXACT = 15
"""Decimal digits that are exact as floating point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainLabels:
    """The boxes of several files."""

    n_boxes: IndexArray
    """(F,) int64. Of each file."""
    number: IndexArray
    """(N,) int64. Of the class."""
    shares: FloatArray
    """(N, 4) float64. Centre, width and height in shares of the image."""


def plain_labels(texts: Sequence[bytes]) -> PlainLabels | None:
    r"""Return the boxes of files; None if any line may be something else.

    Lines are a class and four shares with one blank between them.

    Examples
    --------
    >>> plain_labels([b"0 .5 .5 .2 .2\n1 .1 .1 .1 .1", b""]).n_boxes.tolist()
    [2, 0]
    >>> plain_labels([b"0 .5 .5 .2"]) is None
    True
    """
    stripped = [text.rstrip() for text in texts]
    whole = b"\n".join(filter(None, stripped))
    n_boxes = np.array([text.count(b"\n") + 1 if text else 0 for text in stripped], np.int64)
    rows = _rows(whole, int(n_boxes.sum())) if whole else np.zeros((0, _COLUMNS))
    if rows is None:
        return None
    first, shares = rows[:, 0], rows[:, 1:]
    is_inside = (shares >= -MOST_BEYOND) & (shares <= 1 + MOST_BEYOND)
    # Columns of categories have room for so many.
    if not is_inside.all() or not ((first >= 0) & (first < _MOST_CLASSES)).all():
        return None
    number = first.astype(np.int64)
    if (number != first).any():
        return None
    return PlainLabels(n_boxes, number, shares)


def _rows(whole: bytes, n: int) -> FloatArray | None:
    """Return the (n, 5) numbers of n lines; None if one has more or fewer, or other signs."""
    codes = np.frombuffer(whole, np.uint8)
    ends = np.flatnonzero((codes == _BLANK) | (codes == _NEWLINE))
    is_end = codes[ends] == _NEWLINE
    # Each fifth number is the last of a line.
    if len(ends) != _COLUMNS * n - 1 or not is_end[_COLUMNS - 1 :: _COLUMNS].all():
        return None
    if is_end.sum() != n - 1:
        return None
    begins = np.concatenate([[0], ends + 1])
    lengths = np.append(ends, len(whole)) - begins
    values = np.zeros(_COLUMNS * n)
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        chosen = np.flatnonzero(lengths == length)
        try:
            values[chosen] = _numbers(codes[begins[chosen, None] + np.arange(length)])
        except ValueError:
            return None
    return values.reshape(n, _COLUMNS) if np.isfinite(values).all() else None


def _numbers(signs: ByteArray) -> FloatArray:
    """Return the numbers that texts of one length say; raise ValueError if one says none.

    Parameters
    ----------
    signs : (N, L) uint8
    """
    n, length = signs.shape
    if not length:
        raise ValueError("a number is missing")
    points = np.flatnonzero(signs[0] == _POINT).tolist()
    place = points[0] if points else length
    digits = np.delete(signs, place, 1) - _ZERO if points else signs - _ZERO
    is_plain = (digits <= 9).all() and (not points or (signs[:, place] == _POINT).all())
    if not is_plain or not 0 < digits.shape[1] <= _EXACT:
        texts = np.ascontiguousarray(signs).view(f"S{length}").reshape(n)
        written: FloatArray = texts.astype(np.float64)
        return written
    # Whole numbers below 2 ** 53 and their quotients are as precise as they are when read.
    weights = 10.0 ** np.arange(digits.shape[1] - 1, -1, -1)
    found: FloatArray = digits @ weights / 10.0 ** (length - 1 - place if points else 0)
    return found
