"""What the user finds the annotations of a source by: ids of their tool, else places."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, TextArray
from bboxqa.formats.document import Where
from bboxqa.formats.translation.collector import OWN_ID, Boxes, Record
from bboxqa.model.file_places import FilePlaces, ShownIds, joined_ids, place_in_words

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
