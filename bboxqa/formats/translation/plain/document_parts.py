"""Building a COCO document from a translation: its text, columns and record locations."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.memory import trim_memory
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, ID_KEYS
from bboxqa.formats.document.annotation_columns import (
    AnnotationColumns,
    Form,
    Kind,
    Rings,
    Rotations,
)
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.content import RawDocument, Section
from bboxqa.formats.document.origin import Where
from bboxqa.formats.document.rotation_columns import MOST_NUMBERS
from bboxqa.formats.translation.boxes.box_columns import rings_of
from bboxqa.formats.translation.boxes.boxed import Boxed
from bboxqa.formats.translation.translated import Boxes, Lines, Record

_LIST = b', "annotations": ['
_BETWEEN = b", "
_OTHERS = ("record", "area", "iscrowd", "num_keypoints", "has_caption")
"""Columns that are empty for boxes of tools."""


class DocumentParts:
    """Collects annotations as the text and the columns of a document."""

    def __init__(self) -> None:
        self.places = _Places()
        self.boxed = Boxed()
        self._encoder = msgspec.json.Encoder()
        self._builder = AnnotationsBuilder()
        self._texts: list[bytes] = []
        self._section = Section()
        self._size = 0

    def add(self, records: Sequence[Record], where: Sequence[Where]) -> None:
        """Add annotations; see `bboxqa.formats.translation.translated.Add`."""
        kept, places = self.boxed.take(records, where)
        for record in kept:
            if "keypoints" in record:
                _complete(record)
        if kept:
            text = self._add_text(kept)
            # Decoded from the text again, as encoding changes infinite numbers, which JSON lacks.
            self._builder.add(msgspec.json.decode(text))
            self.places.append(places)

    def add_boxes(self, boxes: Boxes) -> None:
        """Add annotations that are columns."""
        first = self.boxed.take_columns(boxes)
        if len(boxes):
            more = boxes.more() if boxes.more is not None else ()
            # Most boxes have no other keys.
            more = more if any(more) else ()
            self._add_text(records_of(boxes, first) if more else _plain_records(boxes, first))
            self._builder.absorb(_columns_of(boxes, first, more))
            self.places.append(boxes.lines)

    def _add_text(self, records: Sequence[object]) -> bytes:
        text = self._encoder.encode(records)
        self._section.rows.append(self._section.n)
        self._section.offsets.append(self._size)
        self._section.n += len(records)
        self._texts.append(text[1:-1])
        self._size += len(text) - 2 + len(_BETWEEN)
        return text

    def put_into(self, reading: RawDocument) -> None:
        """Append the annotations to the other lists of a document."""
        head = reading.text[:].rstrip().removesuffix(b"}")
        begin = len(head) + len(_LIST)
        reading.text = b"".join([head, _LIST, _BETWEEN.join(self._texts), b"]}"])
        self._texts = []
        self._section.offsets = [begin + offset for offset in self._section.offsets]
        reading.sections["annotations"] = self._section
        reading.spans["annotations"] = (len(head) + 2, begin - 1, len(reading.text) - 1)
        reading.annotations = self._builder.done()
        trim_memory()


def _complete(record: Record) -> None:
    """Add the number of labelled key points; remove a box that is only their extent."""
    record.setdefault("num_keypoints", sum(seen > 0 for seen in record["keypoints"][2::3]))
    if "shape" in record:
        del record["bbox"]


class _Places(Sequence[Where]):
    """The locations of all annotations, part by part."""

    def __init__(self) -> None:
        self._parts: list[Sequence[Where] | Lines] = []
        self._starts: list[int] = []
        self._n = 0

    def append(self, part: Sequence[Where] | Lines) -> None:
        """Add the locations of the next annotations."""
        self._parts.append(part)
        self._starts.append(self._n)
        self._n += len(part)

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, row: int) -> Where: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Where]: ...
    def __getitem__(self, row: int | slice) -> Where | Sequence[Where]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(self._n))]
        place = bisect_right(self._starts, row) - 1
        part, inside = self._parts[place], row - self._starts[place]
        return part.where(inside) if isinstance(part, Lines) else part[inside]


class _Attributes(msgspec.Struct, gc=False, omit_defaults=True):
    """The attributes of a box."""

    rotation: float | None = None
    difficult: int = 0


class _Record(msgspec.Struct, gc=False, omit_defaults=True):
    """An annotation with a box."""

    id: int
    image_id: int
    category_id: int
    bbox: list[float]
    annotator: str = ""
    own_id: str = ""
    segmentation: list[list[float]] = []
    attributes: _Attributes | None = None


def records_of(boxes: Boxes, first: int = 0) -> list[Record]:
    """Return boxes as records, with ids counted from `first`."""
    records: list[Record] = msgspec.to_builtins(_plain_records(boxes, first))
    if boxes.more is None:
        return records
    return [record | more for record, more in zip(records, boxes.more(), strict=True)]


def _plain_records(boxes: Boxes, first: int) -> list[_Record]:
    n = len(boxes)
    names = [*boxes.annotators, ""]
    outlines = [[]] * n if boxes.corners is None else rings_of(boxes)[:, None].tolist()
    columns = (
        range(first, first + n),
        boxes.image_id.tolist(),
        boxes.category_id.tolist(),
        boxes.bbox.tolist(),
        map(names.__getitem__, boxes.annotator.tolist()),
        map(str, boxes.own_ids) if len(boxes.own_ids) else [""] * n,
        outlines,
        _attributes_of(boxes),
    )
    return list(map(_Record, *columns))


def _attributes_of(boxes: Boxes) -> Sequence[_Attributes | None]:
    """Return the attributes of each box; None for boxes without attributes."""
    n = len(boxes)
    found: list[_Attributes | None] = [None] * n
    degrees = np.full(n, np.nan) if boxes.degrees is None else boxes.degrees
    difficult = np.zeros(n, np.int64) if boxes.difficult is None else boxes.difficult
    has_angle = ~np.isnan(degrees)
    rows = np.flatnonzero(has_angle | (difficult != 0))
    columns = (each[rows].tolist() for each in (has_angle, degrees, difficult))
    for row, is_said, angle, mark in zip(rows.tolist(), *columns, strict=True):
        found[row] = _Attributes(angle if is_said else None, mark)
    return found


def _columns_of(boxes: Boxes, first: int, more: Sequence[Record]) -> AnnotationColumns:
    """Return the document columns of boxes."""
    n = len(boxes)
    builder = AnnotationsBuilder()
    builder.add(more or [{}])
    columns = builder.done()
    times = 1 if more else n
    kinds = {name: np.repeat(kind, times) for name, kind in columns.kind.items()}
    for name in (*ID_KEYS, "bbox"):
        kinds[name] = np.full(n, Kind.LIST if name == "bbox" else Kind.INT, np.uint8)
    rings, form = columns.rings, np.repeat(columns.form, times)
    if boxes.corners is not None:
        kinds["segmentation"] = np.full(n, Kind.LIST, np.uint8)
        form, none = np.full(n, Form.RINGS, np.uint8), np.zeros(n, np.int64)
        vertices = boxes.corners.reshape(-1, 2)
        rings = Rings(np.arange(n), none, none + 8, 4 * np.arange(n + 1), vertices)
    nobody = np.full(n, -1, np.int32)
    annotator = dict.fromkeys(columns.annotator, nobody)
    others: dict[str, Any] = {name: np.repeat(getattr(columns, name), times) for name in _OTHERS}
    if boxes.degrees is not None:
        others["rotations"] = _rotations_of(boxes.degrees)
    return replace(
        columns,
        **others,
        kind=kinds,
        id=np.arange(first, first + n),
        image_id=boxes.image_id,
        category_id=boxes.category_id,
        whole=dict.fromkeys(columns.whole, np.ones(n, np.bool_)),
        bbox=boxes.bbox,
        form=form,
        rings=rings,
        annotator=annotator | {ANNOTATOR_KEYS[0]: boxes.annotator.astype(np.int32)},
        annotator_names=tuple(boxes.annotators),
    )


def _rotations_of(degrees: FloatArray) -> Rotations:
    """Return the `Rotations` of boxes of four numbers with an angle."""
    row = np.flatnonzero(np.isfinite(degrees) & (degrees != 0))
    values = np.full((len(row), MOST_NUMBERS), np.nan)
    return Rotations(row, np.zeros(len(row), np.int64), values, degrees[row])
