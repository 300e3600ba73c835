"""The places of annotations in the user's own files, and the ids that tools show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, TextArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_parts
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.document import OwnPlace, Where
from bboxqa.formats.member import Member
from bboxqa.formats.positions import JsonPlaces, spots
from bboxqa.formats.source import members_of
from bboxqa.formats.translation.collector import OWN_ID, Boxes, Record
from bboxqa.model.file_places import FilePlaces, ShownIds, joined_ids, place_in_words
from bboxqa.model.findings import Spot

LONGEST = 40
"""Most characters of an id that are kept, since a column is as wide as its longest."""


def shown_file(path: Path, member: str) -> str:
    """Return a file of a source as it is named beside a line.

    Examples
    --------
    >>> shown_file(Path("jobs/1.zip"), "annotations.xml"), shown_file(Path("jobs/1.xml"), "")
    ('1.zip/annotations.xml', '1.xml')
    """
    if not member:
        return path.name
    return member if path.is_dir() else f"{path.name}/{member}"


class OwnIds:
    """Collects what annotations are found by, in their order.

    Parameters
    ----------
    path : Path
        The source.
    """

    def __init__(self, path: Path) -> None:
        # What stands before the names of files below the source.
        self._before = shown_file(path, "-").removesuffix("-")
        self._whole = path.name
        self._parts: list[ShownIds] = []

    def add(self, records: Sequence[Record], places: Sequence[Where]) -> None:
        """Add records."""
        if not records:
            return
        if any(record.get(OWN_ID) for record in records):
            texts = [
                str(record.get(OWN_ID) or self._in_words(where))[:LONGEST]
                for record, where in zip(records, places, strict=True)
            ]
            self._parts.append(np.array(texts, np.str_))
            return
        known: dict[str, int] = {}
        file = [known.setdefault(where.member, len(known)) for where in places]
        at = [where.at for where in places]
        if len({*map(type, at)}) > 1:
            at = [str(each) for each in at]
        self._parts.append(self._places([*known], np.array(file, np.int32), np.array(at)))

    def add_boxes(self, boxes: Boxes) -> None:
        """Add boxes, given as columns."""
        lines = boxes.lines
        own_ids = boxes.own_ids
        if isinstance(own_ids, np.ndarray) and (own_ids != "").all():
            self._parts.append(own_ids)
        elif len(own_ids):
            texts = [
                (own or self._in_words(lines.where(row)))[:LONGEST]
                for row, own in enumerate(own_ids)
            ]
            self._parts.append(np.array(texts, np.str_))
        elif len(boxes):
            file = lines.member.astype(np.int32)
            self._parts.append(self._places(lines.members, file, lines.line))

    def done(self) -> ShownIds | None:
        """Return what annotations are found by; None without any."""
        return joined_ids(self._parts) if self._parts else None

    def _file(self, member: str) -> str:
        return self._before + member if member else self._whole

    def _in_words(self, where: Where) -> str:
        return place_in_words(self._file(where.member), where.at)

    def _places(
        self, members: Sequence[str], file: IntArray, at: IndexArray | TextArray
    ) -> FilePlaces:
        names = tuple(map(self._file, members))
        return FilePlaces(names, file, at)


_EXCERPT = 160


@dataclass(frozen=True, slots=True)
class Places:
    """The locations of the records of a document."""

    path: Path
    of_lists: Mapping[str, Sequence[Where]] = field(default_factory=dict)
    """Locations of records, by the name of the list."""

    def find(self, pointers: Sequence[str]) -> list[OwnPlace]:
        """Return the location of each value, or of the whole file if it is not in a record."""
        wheres = [self._where(pointer) for pointer in pointers]
        found: dict[int, OwnPlace] = {}
        members = {member.name: member for member in members_of(self.path)}
        for name in dict.fromkeys(where.member for where in wheres if where is not None):
            rows = [row for row, where in enumerate(wheres) if where and where.member == name]
            text = _text_of(members.get(name))
            if text is None:
                continue
            if text.startswith(PARQUET):
                # These files have neither lines nor text.
                found |= {row: OwnPlace(members[name].shown, "", Spot(1, 1, 0), "") for row in rows}
                continue
            spans = _spans(text, [wheres[row].at for row in rows])  # type: ignore[union-attr]
            order = sorted(range(len(rows)), key=lambda place: spans[place])
            offsets = (spans[place][0] for place in order)
            for place, spot in zip(order, spots(text, offsets), strict=True):
                begin, end = spans[place]
                at = wheres[rows[place]].at  # type: ignore[union-attr]
                found[rows[place]] = OwnPlace(
                    members[name].shown, at if isinstance(at, str) else "", spot,
                    _excerpt(text, begin, end),
                )  # fmt: skip
        whole = OwnPlace(str(self.path), "", Spot(1, 1, 0), "")
        return [found.get(row, whole) for row in range(len(pointers))]

    def of_annotation(self, row: int) -> str:
        """Return the location of an annotation in words, such as "a.xml:12"."""
        where = self.of_lists["annotations"][row]
        return place_in_words(shown_file(self.path, where.member), where.at)

    def regions_of(self, rows: IndexArray) -> IndexArray:
        """Return the first of the rows of annotations that has the location of each."""
        places = self.of_lists["annotations"]
        first: dict[Where, int] = {}
        listed = rows.tolist()
        # Several boxes may be on one line, but not at one pointer.
        found = (
            first.setdefault(where, row) if isinstance(where.at, str) else row
            for row, where in zip(listed, map(places.__getitem__, listed), strict=True)
        )
        return np.fromiter(found, np.int64, len(rows))

    def _where(self, pointer: str) -> Where | None:
        parts = pointer_parts(pointer)
        if len(parts) < 2 or not parts[1].isdecimal():
            return None
        places = self.of_lists.get(parts[0], ())
        row = int(parts[1])
        return places[row] if row < len(places) else None


def _text_of(member: Member | None) -> bytes | None:
    """Return a text; None if it was removed since it was read.

    Its findings then keep the place of the whole source.
    """
    try:
        return None if member is None else member.text()
    except DatasetError:
        return None


def _spans(text: bytes, ats: Sequence[str | int]) -> list[tuple[int, int]]:
    """Return the byte range of each value or line."""
    lines = _LineStarts(text)
    values = JsonPlaces(text)
    return [values.span(at) if isinstance(at, str) else lines.span(at) for at in ats]


class _LineStarts:
    """Finds the byte ranges of lines; efficient for ascending line numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._line, self._begin = 1, 0

    def span(self, line: int) -> tuple[int, int]:
        if line < self._line:
            self._line, self._begin = 1, 0
        while self._line < line:
            end = self._text.find(b"\n", self._begin)
            if end < 0:
                break
            self._line, self._begin = self._line + 1, end + 1
        end = self._text.find(b"\n", self._begin)
        return self._begin, len(self._text) if end < 0 else end


def _excerpt(text: bytes, begin: int, end: int) -> str:
    raw = text[begin : min(end, begin + 4 * _EXCERPT)]
    return " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
