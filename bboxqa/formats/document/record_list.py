"""Lists of records that are decoded on access, so that only one window is in memory."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, overload

from bboxqa.core.errors import DatasetError
from bboxqa.formats.document.plain_records import decoded
from bboxqa.formats.windows import Text


class RecordList(Sequence[Any]):
    """A sequence of records of any type, with one window in memory at a time.

    Iteration, and access to neighbouring records, decode each window once.

    Examples
    --------
    >>> records = RecordList(b'[{"id": 1}, {"id": 2}, {"id": 3}]')
    >>> records.add_text(1, 21, 2)
    >>> records.add([{"id": 3}])
    >>> records[1], records[-1], [record["id"] for record in records]
    ({'id': 2}, {'id': 3}, [1, 2, 3])
    """

    def __init__(self, text: Text, name: str = "") -> None:
        self._text = text
        self._name = name
        self._n = 0
        self._first: list[int] = []
        self._parts: list[tuple[int, int] | list[Any]] = []
        self._now = -1
        self._held: list[Any] = []

    def add(self, records: Sequence[Any]) -> None:
        """Add records that the text does not contain as plain JSON; they stay in memory."""
        self._add([*records], len(records))

    def add_text(self, start: int, stop: int, n_records: int) -> None:
        """Add the records between two offsets of the text."""
        self._add((start, stop), n_records)

    def _add(self, part: tuple[int, int] | list[Any], n_records: int) -> None:
        self._first.append(self._n)
        self._parts.append(part)
        self._n += n_records

    def _part(self, number: int) -> list[Any]:
        part = self._parts[number]
        if isinstance(part, list):
            return part
        if number != self._now:
            # Release one window before the next is decoded.
            self._held, self._now = [], -1
            self._held, self._now = self._decoded(number, *part), number
        return self._held

    def _decoded(self, number: int, start: int, stop: int) -> list[Any]:
        following = self._first[number + 1] if number + 1 < len(self._first) else self._n
        records = decoded(self._text[start:stop]) or []
        if len(records) != following - self._first[number]:
            raise DatasetError(
                [f"{self._name}: the file was changed while it was read"], "Run the command again."
            )
        return records

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.windows())

    def windows(self) -> Iterator[list[Any]]:
        """Yield the records window by window."""
        return map(self._part, range(len(self._parts)))

    @overload
    def __getitem__(self, row: int) -> Any: ...

    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self[place] for place in range(self._n)[row]]
        place = range(self._n)[row]
        number = bisect_right(self._first, place) - 1
        return self._part(number)[place - self._first[number]]
