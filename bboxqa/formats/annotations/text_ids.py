"""Annotation ids that are text, as written in a file."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray, TextArray
from bboxqa.formats.annotations.records import whole_number

_LONGEST = 100


class TextIds:
    """Keeps the ids of windows of annotations that contain text ids."""

    def __init__(self) -> None:
        self._n = 0
        self._parts: list[tuple[int, TextArray]] = []

    def add(self, values: Sequence[object]) -> None:
        """Add the ids of a window."""
        # Most files have only integers.
        if set(map(type, values)) - {int} and None in map(whole_number, values):
            shown = [str(value)[:_LONGEST] for value in values]
            self._parts.append((self._n, np.array(shown, np.str_)))
        self._n += len(values)

    def absorb(self, n: int, texts: TextArray | None) -> None:
        """Append the text ids of `n` further annotations."""
        if texts is not None:
            self._parts.append((self._n, texts))
        self._n += n

    def done(self, ids: IndexArray) -> TextArray | None:
        """Return all ids as text, numbers from `ids`; None if no id is text.

        Examples
        --------
        >>> kept = TextIds()
        >>> kept.add([7, "a 7"])
        >>> kept.done(np.array([7, 123]))
        array(['7', 'a 7'], dtype='<U20')
        """
        if not self._parts:
            return None
        width = max(20, *(texts.dtype.itemsize // 4 for _, texts in self._parts))
        found = ids.astype(f"U{width}")
        for start, texts in self._parts:
            found[start : start + len(texts)] = texts
        return found
