"""Reading many label files with only boxes, the usual kind, at a time into arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.translation.plain.plain_words import plain_words
from bboxqa.formats.yolo.label_lines import MOST_BEYOND

_COLUMNS = 5
_MOST_CLASSES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class PlainLabels:
    """The boxes of several files."""

    n_boxes: IndexArray
    """(F,) int64. The number of boxes in each file."""
    number: IndexArray
    """(N,) int64. The number of the class."""
    shares: FloatArray
    """(N, 4) float64. Centre, width and height, relative to the image."""


def plain_labels(texts: Sequence[bytes]) -> PlainLabels | None:
    r"""Return the boxes of files; None if any line may not be a plain box.

    A plain line is a class and four relative coordinates, separated by single blanks.

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
    rows = _rows(whole) if whole else np.zeros((_COLUMNS, 0))
    if rows is None or not np.isfinite(rows).all():
        return None
    first, shares = rows[0], np.ascontiguousarray(rows[1:].T)
    is_inside = (shares >= -MOST_BEYOND) & (shares <= 1 + MOST_BEYOND)
    # Columns of categories cannot hold larger numbers.
    if not is_inside.all() or not ((first >= 0) & (first < _MOST_CLASSES)).all():
        return None
    number = first.astype(np.int64)
    if (number != first).any():
        return None
    return PlainLabels(n_boxes, number, shares)


def _rows(whole: bytes) -> FloatArray | None:
    """Return the (5, N) numbers of lines; None if a line is not five numbers."""
    words = plain_words(whole, _COLUMNS)
    try:
        return None if words is None else np.stack([words.numbers(k) for k in range(_COLUMNS)])
    except ValueError:
        return None
