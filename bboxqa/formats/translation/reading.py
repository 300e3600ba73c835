"""Reading a source of another tool: as annotations to measure, or as a document for rules."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, overload

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import count
from bboxqa.formats.column_builder import ColumnsBuilder, RecordDecoder
from bboxqa.formats.document import STOPPING, Origin, RawDocument, Section, Where
from bboxqa.formats.measured import author_problems, measured
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    WRITTEN_ANGLE,
    AnnotationFile,
    Category,
    ReadSettings,
    image_type,
)
from bboxqa.formats.scanner import read_bytes, read_path
from bboxqa.formats.source import MeasuredFiles, archive_around, members_of, size_and_digest
from bboxqa.formats.translation.collector import (
    Boxes,
    BrokenTextError,
    Lines,
    Record,
    Translate,
    Translated,
    Wanted,
    rings_of,
)
from bboxqa.formats.translation.json_files import json_stop, no_number_in
from bboxqa.formats.translation.places import OwnIds, Places, shown_file
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import place_in_words

_LIST = b', "annotations": ['
_BETWEEN = b", "
# The code of the defect that someone annotated an image again, and keys that no format has.
_AGAIN = "T007"
_OF_TOOLS = ("session", WRITTEN_ANGLE)


@gc_paused()
def read_file(translate: Translate, path: Path, options: ReadSettings) -> AnnotationFile:
    """Return the annotations of a source; see `bboxqa.formats.format.Reader`.

    Raises DatasetError with all defects that would falsify a result.
    """
    parts = Parts(path, options)
    files = MeasuredFiles(path, digest=options.digest) if path.is_dir() else None
    needs_records = not {*options.keys} <= {*ANNOTATOR_KEYS} or options.keypoints
    wanted = Wanted(
        outlines=options.outlines or options.rotated,
        keypoints=options.keypoints,
        sessions="session" in options.keys,
        in_full=options.records,
        progress=options.progress,
        choices=options.choices,
        add_boxes=None if needs_records or options.records else parts.add_boxes,
        files=files,
    )
    found = translate(path, parts.add, wanted)
    columns = parts.builder.done()
    of = measured(columns, options, boxes_are_outlines=True)
    problems = [f"{path}: {each.message}" for each in found.defects if each.code in STOPPING]
    problems += (
        f"{path}: annotation {columns.id[row]} has a value that cannot be used: see bboxqa validate"
        for row in of.bad.tolist()
    )
    problems += (f"{path}: {problem}" for problem in author_problems(columns))
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    if files is not None:
        size, blake2b = files.size_and_digest()
    else:
        size, blake2b = size_and_digest(path, digest=options.digest)
    notes = [*found.notes, *parts.boxed.notes(are_upright=not wanted.outlines), *of.notes]
    of_images = list[image_type(options.keys)]  # type: ignore[misc, valid-type]
    return AnnotationFile(
        Source(str(path), size, blake2b),
        msgspec.convert(found.images, of_images),
        msgspec.convert(found.categories, list[Category]),
        of.columns,
        tuple(notes),
        found.named_by,
        title=found.title,
        lists_images=found.lists_images,
        numbers_categories=True,
        own_ids=parts.own_ids.done(),
        numbered_images=found.numbered_images,
        n_apart=parts.boxed.n_apart,
        repeat_notes=tuple(found.repeat_notes),
        nobody_notes=tuple(found.nobody_notes),
        lists=_lists(path, found, parts) if options.records else None,
    )


def _lists(path: Path, found: Translated, parts: "Parts") -> dict[str, Any]:
    """Return the records with all their keys; see `AnnotationFile.lists`."""
    repeats = [
        place_in_words(shown_file(path, each.where.member), each.where.at)
        for each in found.defects
        if each.code == _AGAIN
    ]
    return {
        "images": found.images,
        "categories": found.categories,
        "annotations": parts.records,
        "apart": parts.apart,
        "repeats": repeats,
    }


def read_document(translate: Translate, path: Path, settings: ReadSettings) -> RawDocument:
    """Return the records of a source as a COCO document with the origin of each record.

    Of a broken JSON file, the syntax errors are returned.
    """
    parts = Parts(path, settings)
    try:
        with gc_paused():
            wanted = Wanted(
                keypoints=True,
                progress=settings.progress,
                choices=settings.choices,
                add_boxes=parts.add_boxes,
            )
            found = translate(path, parts.add, wanted)
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        if archive_around(path) is None:
            return _syntax_of(read_path(path))
        (member,) = members_of(path)
        return _syntax_of(read_bytes(member.read(), str(path)))
    lists = msgspec.json.encode({"images": found.images, "categories": found.categories})
    reading = read_bytes(lists, str(path))
    with gc_paused():
        parts.put_into(reading)
    reading.size, _ = size_and_digest(path, digest=False)
    reading.origin = _origin(path, found, parts)
    return reading


def _origin(path: Path, found: Translated, parts: "Parts") -> Origin:
    """Return what is known of the records of a source beside their content."""
    of_lists = {
        "annotations": parts.places,
        "images": found.image_places,
        "categories": found.category_places,
        "defects": [defect.where for defect in found.defects],
    }
    places = Places(path, of_lists)
    return Origin(
        found.title,
        found.defects,
        places.find,
        places.of_annotation,
        places.regions_of,
        {
            image["id"]: image["file_name"]
            for image in found.images
            if image["id"] in found.unshown_images and image.get("file_name")
        },
        found.notes,
        parts.boxed.n_apart,
        frozenset(parts.boxed.categories_apart),
    )


def _syntax_of(read: RawDocument) -> RawDocument:
    """Return the syntax errors of a file, without its content, which is not that of COCO."""
    broken = read.broken or [_stopped_at(read)]
    return RawDocument(
        read.name,
        read.text,
        read.size,
        top={},
        encoding=read.encoding if read.broken else "",
        not_utf8=read.not_utf8,
        broken=broken,
        stopped=True,
    )


def _stopped_at(read: RawDocument) -> tuple[int, str]:
    """Return where and why the readers of tools stop at a text, though not that of COCO."""
    if read.not_utf8 is None:
        text = bytes(read.text[:])
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            if (found := no_number_in(text, error)) is not None:
                place, name = found
                return place, f"the number {name}, which JSON does not have"
            return json_stop(text, error)
    return read.not_utf8 or 0, "a text that is not UTF-8"


class Parts:
    """Collects annotations as columns, and as the text of a document if all is read."""

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        self.boxed = _Boxed()
        self.builder = ColumnsBuilder(settings)
        self.own_ids = OwnIds(path)
        self.places = _Places()
        self.records: list[Record] = []
        self.apart: list[Record] = []
        self._is_whole, self._are_kept = settings.whole, settings.records
        self._decoder = RecordDecoder(settings)
        self._encoder = msgspec.json.Encoder()
        self._texts: list[bytes] = []
        self._section = Section()
        self._size = 0

    def add(self, records: Sequence[Record], where: Sequence[Where]) -> None:
        """Add annotations; see `bboxqa.formats.translation.collector.Add`."""
        kept, places = self.boxed.take(records, where)
        if self._are_kept:
            self.apart += (_without_keys(each) for each in records if "bbox" not in each)
        if kept:
            self._add_records(kept)
            if self._are_kept:
                self.records += map(_without_keys, kept)
            if self._is_whole:
                self.places.append(places)
            else:
                self.own_ids.add(kept, places)

    def _add_records(self, records: Sequence[Record]) -> None:
        for record in records if self._is_whole else ():
            if "keypoints" in record:
                _complete(record)
        # Decoded from the text again, as encoding changes infinite numbers, which JSON lacks.
        text = self._encoder.encode(records)
        self.builder.add(self._decoder.decode(text) or ())
        self._add_text(text, len(records))

    def add_boxes(self, boxes: Boxes) -> None:
        """Add annotations that are columns."""
        first = self.boxed.take_columns(boxes)
        if not len(boxes):
            return
        ids = (np.arange(first, first + len(boxes)), boxes.image_id, boxes.category_id)
        authors = (boxes.annotator, boxes.annotators)
        corners, degrees = boxes.corners, boxes.degrees
        self.builder.add_boxes(ids, boxes.bbox, authors, corners=corners, degrees=degrees)
        if self._is_whole:
            self._add_text(self._encoder.encode(_plain_records(boxes, first)), len(boxes))
            self.places.append(boxes.lines)
        else:
            self.own_ids.add_boxes(boxes)

    def _add_text(self, text: bytes, n: int) -> None:
        if self._is_whole:
            self._section.rows.append(self._section.n)
            self._section.offsets.append(self._size)
            self._section.n += n
            self._texts.append(text[1:-1])
            self._size += len(text) - 2 + len(_BETWEEN)

    def put_into(self, reading: RawDocument) -> None:
        """Append the annotations to the other lists of a document."""
        head = reading.text.rstrip().removesuffix(b"}")
        begin = len(head) + len(_LIST)
        reading.text = b"".join([head, _LIST, _BETWEEN.join(self._texts), b"]}"])
        self._texts = []
        self._section.offsets = [begin + offset for offset in self._section.offsets]
        reading.sections["annotations"] = self._section
        reading.spans["annotations"] = (len(head) + 2, begin - 1, len(reading.text) - 1)
        reading.annotations = self.builder.done()


def _without_keys(record: Record) -> Record:
    return {key: each for key, each in record.items() if key not in _OF_TOOLS}


def _complete(record: Record) -> None:
    """Add the number of labelled key points; remove a box that is only their extent."""
    record.setdefault("num_keypoints", sum(seen > 0 for seen in record["keypoints"][2::3]))
    if "shape" in record:
        del record["bbox"]


class _Boxed:
    """Numbers the annotations with boxes, and counts the others."""

    def __init__(self) -> None:
        self.n = 0
        self._n_rotated = 0
        self.n_apart: Counter[str] = Counter()
        self.categories_apart: set[int] = set()

    def take(
        self, records: Sequence[Record], places: Sequence[Where]
    ) -> tuple[list[Record], list[Where]]:
        """Return the annotations with boxes, and their locations."""
        kept, kept_places = list(records), list(places)
        if not all("bbox" in record for record in records):
            has_box = ["bbox" in record for record in records]
            kept = [*compress(records, has_box)]
            kept_places = [*compress(places, has_box)]
            apart = [record for record in records if "bbox" not in record]
            self.n_apart.update(record["shape"] for record in apart)
            self.categories_apart.update(
                record["category_id"] for record in apart if "category_id" in record
            )
        for number, record in enumerate(kept, start=self.n + 1):
            record.setdefault("id", number)
            if "attributes" in record:
                self._n_rotated += bool(record["attributes"].get("rotation"))
        self.n += len(kept)
        return kept, kept_places

    def take_columns(self, boxes: Boxes) -> int:
        """Count annotations with boxes; return the number of the first one."""
        first = self.n + 1
        self.n += len(boxes)
        self._n_rotated += boxes.n_rotated
        return first

    def notes(self, *, are_upright: bool) -> Iterator[str]:
        """Yield a note if rotated boxes are not compared as drawn."""
        if self._n_rotated and are_upright:
            some = count(self._n_rotated, "rotated box", "rotated boxes")
            is_ = "is" if self._n_rotated == 1 else "are"
            yield (
                f"{some} {is_} compared by the upright bounds; --similarity obb compares rotated "
                "boxes"
            )


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
