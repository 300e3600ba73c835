"""How images and annotations are called that have no name or no id."""

import re
from collections.abc import Iterator, Sequence
from typing import cast, overload

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, TextArray

_ID_AS_NAME = re.compile(r"\(id .*\)", re.DOTALL)


def id_as_name(number: object) -> str:
    """Return how an image is called that has no file name.

    Examples
    --------
    >>> id_as_name(7)
    '(id 7)'
    """
    return f"(id {number})"


def is_id_as_name(name: str) -> bool:
    """Return whether an image is called by its id.

    Examples
    --------
    >>> is_id_as_name("(id 7)"), is_id_as_name("(id 7).jpg")
    (True, False)
    """
    return _ID_AS_NAME.fullmatch(name) is not None


class FilePlaces(msgspec.Struct, frozen=True, eq=False):
    """Places of annotations, which are put into words when they are shown.

    Examples
    --------
    >>> places = FilePlaces(("a.txt",), np.zeros(2, np.int32), np.array([3, 5]))
    >>> places[1], places[np.array([1, 0])].tolist()
    ('a.txt:5', ['a.txt:5', 'a.txt:3'])
    """

    files: tuple[str, ...]
    file: IntArray
    """(N,) int32. Index into `files`."""
    at: IndexArray | TextArray
    """(N,). Lines from 1 on, or JSON pointers."""

    def __len__(self) -> int:
        return len(self.file)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | IndexArray | BoolArray | list[int]) -> "FilePlaces": ...
    def __getitem__(
        self, index: int | slice | IndexArray | BoolArray | list[int]
    ) -> "str | FilePlaces":
        if isinstance(index, int):
            return place_in_words(self.files[self.file[index]], self.at[index].item())
        return FilePlaces(self.files, self.file[index], self.at[index])

    def __iter__(self) -> Iterator[str]:
        files = map(self.files.__getitem__, self.file.tolist())
        return map(place_in_words, files, self.at.tolist())

    def tolist(self) -> list[str]:
        """Return all places in words."""
        return [*self]


def place_in_words(file: str, at: str | int) -> str:
    """Return a line, or what a JSON pointer leads to, as it is written behind a file.

    Examples
    --------
    >>> place_in_words("a.xml", 12), place_in_words("b.json", "/shapes/3"), place_in_words("c", "")
    ('a.xml:12', 'b.json#/shapes/3', 'c')
    """
    if isinstance(at, int):
        return f"{file}:{at}"
    return f"{file}#{at}" if at else file


ShownIds = TextArray | IndexArray | FilePlaces
"""What users find annotations by: ids of the file or its tool, or places."""


def joined_ids(parts: "Sequence[ShownIds]") -> "TextArray | FilePlaces":
    """Return the ids of several lists of annotations as one: places only if all are lines.

    Examples
    --------
    >>> lines = FilePlaces(("a.txt",), np.zeros(1, np.int32), np.array([3]))
    >>> joined_ids([lines, np.array([7])]).tolist(), joined_ids([lines, lines]).files
    (['a.txt:3', '7'], ('a.txt', 'a.txt'))
    """
    places = [part for part in parts if isinstance(part, FilePlaces)]
    if len(parts) == 1:
        return places[0] if places else _as_texts(parts[0])
    if not parts or len(places) < len(parts) or len({part.at.dtype.kind for part in places}) > 1:
        return np.concatenate([np.zeros(0, np.str_), *map(_as_texts, parts)])
    firsts = np.cumsum([0, *(len(part.files) for part in places[:-1])])
    return FilePlaces(
        tuple(file for part in places for file in part.files),
        np.concatenate(
            [part.file + np.int32(first) for part, first in zip(places, firsts, strict=True)]
        ),
        np.concatenate([part.at for part in places]),
    )


def _as_texts(ids: ShownIds) -> TextArray:
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "U":
        return cast("TextArray", ids)
    return np.array([*map(str, ids.tolist())], np.str_)
