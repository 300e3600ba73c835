"""Reading many label files exactly as DOTA writes them at a time, into arrays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.translation.plain_words import PlainWords, plain_words
from bboxqa.formats.translation.untrusted import LARGEST

# Signs that end a line in other places than a newline would shift the lines of labels.
_HEADERS = re.compile(
    rb"(?: *(?:imagesource|gsd) *:[^\n\r\v\f\x1c-\x1e]*(?:\n|\Z))*", re.IGNORECASE
)
_N_NUMBERS = 8


@dataclass(frozen=True, slots=True, eq=False)
class PlainLabels:
    """The labels of several files."""

    n_labels: IndexArray
    """(F,) int64. The number of labels in each file."""
    first: IndexArray
    """(F,) int64. The line of the first label of each file."""
    corners: FloatArray
    """(N, 4, 2) float64. The corners in pixels."""
    category: IndexArray
    """(N,) int64. Index into `names`."""
    names: list[str]
    """Category names in order of first occurrence."""
    difficult: IndexArray
    """(N,) int64."""


def plain_labels(texts: Sequence[bytes]) -> PlainLabels | None:
    r"""Return the labels of files; None if any line may not be a plain label.

    A plain label is eight numbers and a category of one word, with single blanks between them.
    Either all labels or none end with a digit. Header lines with the source and the size of pixels
    may come first.

    Examples
    --------
    >>> found = plain_labels([b"gsd:0.5\n1 1 5 1 5 3 1 3 plane 0\n", b""])
    >>> found.n_labels.tolist(), found.first.tolist(), found.names
    ([1, 0], [2, 1], ['plane'])
    """
    together = b"".join(texts)
    if not together.isascii():
        return None
    has_returns = b"\r" in together
    plain = [text.replace(b"\r\n", b"\n") for text in texts] if has_returns else texts
    ends = [_end_of_headers(text) for text in plain]
    bodies = [text[end:].rstrip() for text, end in zip(plain, ends, strict=True)]
    whole = b"\n".join(filter(None, bodies))
    n_labels = np.array([body.count(b"\n") + 1 if body else 0 for body in bodies], np.int64)
    heads = [text.count(b"\n", 0, end) + 1 for text, end in zip(plain, ends, strict=True)]
    n_words = whole.partition(b"\n")[0].count(b" ") + 1
    words = plain_words(whole, n_words) if n_words in (_N_NUMBERS + 1, _N_NUMBERS + 2) else None
    labels = None if words is None else _labels(words)
    if labels is None:
        return None
    return PlainLabels(n_labels, np.array(heads, np.int64), *labels)


def _end_of_headers(text: bytes) -> int:
    found = _HEADERS.match(text)
    return found.end() if found else 0


def _labels(words: PlainWords) -> tuple[FloatArray, IndexArray, list[str], IndexArray] | None:
    """Return corners, categories, their names and difficult marks; None if not all are plain."""
    try:
        values = np.stack([words.numbers(place) for place in range(_N_NUMBERS)])
    except ValueError:
        return None
    category, names = words.numbered(_N_NUMBERS)
    difficult = np.zeros(len(words), np.int64)
    if len(words.begin) > _N_NUMBERS + 1:
        begin, end = words.begin[-1], words.end[-1]
        difficult = np.frombuffer(words.text, np.uint8)[begin].astype(np.int64) - ord("0")
        if (end - begin != 1).any() or (difficult < 0).any() or (difficult > 9).any():
            return None
    is_sound = (np.abs(values) < LARGEST).all() and all(names)
    return (
        (values.reshape(4, 2, -1).transpose(2, 0, 1), category, names, difficult)
        if is_sound
        else None
    )
