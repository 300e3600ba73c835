"""Tables of plain cells, the usual kind, read many rows at a time into arrays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.box_tables.parquet_rows import Row
from bboxqa.formats.box_tables.table_columns import FORMS, Columns
from bboxqa.formats.box_tables.table_rows import cells_of, delimiter_of, header_in, rows_of
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.opening import decoded
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.plain.plain_words import PlainWords, plain_words
from bboxqa.formats.translation.untrusted import LARGEST

_WINDOW = 1 << 19
_BLANK = ord(" ")
# Python's csv module refuses longer cells, which only longer lines can have.
_LONGEST = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class PlainRows:
    """Consecutive rows with one box each."""

    words: PlainWords
    place: dict[str, int]
    """The columns, by the keys of `NAMES`."""
    line: int
    """The line of the first row."""
    boxes: FloatArray
    """(N, 4) float64. The numbers of the boxes."""

    def begins(self, keys: Sequence[str]) -> IndexArray:
        """Return the rows in which any of the columns differs from the previous row."""
        changes = [self.words.changes(self.place[key]) for key in keys]
        return np.flatnonzero(np.logical_or.reduce(changes))

    def cells(self, keys: Sequence[str], rows: IndexArray) -> list[dict[str, str]]:
        """Return the cells of some columns in some rows, by key."""
        chosen = self.words.rows(rows)
        columns = [chosen.texts(self.place[key]) for key in keys]
        return [dict(zip(keys, each, strict=True)) for each in zip(*columns, strict=True)]

    def numbered(self, key: str) -> tuple[IndexArray, list[str]]:
        """Return (N,) codes of the texts of a column, and the texts; "" for a missing column."""
        if key in self.place:
            return self.words.numbered(self.place[key])
        return np.zeros(len(self.boxes), np.int64), [""]


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """A part of a table."""

    rows: Callable[[], Iterator[Row]]
    plain: PlainRows | None = None
    """The same rows as arrays; None if any of them may hold more than a box."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table of cells with one row per line."""

    member: Member
    text: str
    header: list[str]
    delimiter: str
    place: dict[str, int]
    numbers: tuple[str, ...]

    def parts(self) -> Iterator[TablePart]:
        """Yield the rows below the header."""
        text, line, begin = self.text, 2, self.text.find("\n") + 1
        while 0 < begin < len(text):
            end = text.rfind("\n", begin, begin + _WINDOW) + 1
            end = end or text.find("\n", begin) + 1 or len(text)
            part = text[begin:end]
            rows = partial(cells_of, self.member, part, self.delimiter, self.header, line - 1)
            yield TablePart(rows, self._plain(part.removesuffix("\n"), line))
            begin, line = end, line + part.count("\n")

    def _plain(self, text: str, line: int) -> PlainRows | None:
        words = plain_words(text.encode(), len(self.header), self.delimiter.encode())
        if words is None or np.diff(words.end[-1], prepend=0).max() >= _LONGEST:
            return None
        # Blanks before a cell do not belong to it.
        if (np.frombuffer(words.text, np.uint8)[words.begin] == _BLANK).any():
            return None
        try:
            numbers = np.stack([words.numbers(self.place[key]) for key in self.numbers])
        except ValueError:
            return None
        boxes = np.ascontiguousarray(numbers.T)
        with np.errstate(over="ignore"):
            is_sound = (np.abs(numbers).sum(0) < LARGEST).all()
        return PlainRows(words, self.place, line, boxes) if is_sound else None


def parts_of(
    member: Member, columns: Columns, *, plain: bool, in_full: bool
) -> Callable[[], Iterator[TablePart]]:
    """Return a function that yields the parts of a table, with arrays if `plain`.

    With `in_full`, rows with a score or a time are not plain.
    """
    used = list(dict.fromkeys(columns.of.values()))
    table = _table_of(member, columns) if plain and columns.form else None
    says_more = in_full and not columns.of.keys().isdisjoint(("score", "created_at", "track"))
    if table is None or says_more:
        return lambda: iter([TablePart(partial(rows_of, member, used))])
    return table.parts


def _table_of(member: Member, columns: Columns) -> _Table | None:
    """Return a table of cells; None if cells may span lines, or the file is not such a table."""
    if member.head().startswith(PARQUET):
        return None
    text = decoded(member.shown, member.read())
    end = text.find("\n")
    first = text if end < 0 else text[:end]
    if first.lstrip()[:1] in ("", "{") or '"' in text:
        return None
    if "\r" in text:
        if text.count("\r") != text.count("\r\n"):
            return None
        text = text.replace("\r\n", "\n")
    delimiter = delimiter_of(first)
    header = header_in(first.removesuffix("\r"), delimiter)
    place = {name: number for number, name in enumerate(header)}
    of = {key: place[name] for key, name in columns.of.items() if name in place}
    return _Table(member, text, header, delimiter, of, FORMS[columns.form])
