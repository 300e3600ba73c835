"""Reading many label files with only boxes, the usual kind, at a time into arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.translation.plain.plain_words import plain_words
from bboxqa.formats.translation.untrusted import MOST_BEYOND

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
    # Neither is true of NaN; columns of categories cannot hold larger numbers.
    if rows is None or not _are_within(rows[0], 0, _MOST_CLASSES - 1):
        return None
    number = rows[0].astype(np.int64)
    if not _are_within(rows[1:], -MOST_BEYOND, 1 + MOST_BEYOND) or (number != rows[0]).any():
        return None
    return PlainLabels(n_boxes, number, np.ascontiguousarray(rows[1:].T))


def _are_within(values: FloatArray, low: float, high: float) -> bool:
    return bool(values.min(initial=low) >= low and values.max(initial=high) <= high)


def _rows(whole: bytes) -> FloatArray | None:
    """Return the (5, N) numbers of lines; None if a line is not five numbers."""
    words = plain_words(whole, _COLUMNS)
    try:
        return None if words is None else np.stack([words.numbers(k) for k in range(_COLUMNS)])
    except ValueError:
        return None
