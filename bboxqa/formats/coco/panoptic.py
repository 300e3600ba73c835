"""Reading the segments of panoptic COCO as annotations with boxes and categories."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, find
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.author_columns import inside
from bboxqa.formats.annotations.columns import AnnotationFile, Columns, ColumnsBuilder
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import (
    ANNOTATOR_KEYS,
    Annotation,
    Category,
    Id,
    Image,
    annotator_name,
    id_number,
    ids_of,
    is_id,
    record_field,
)
from bboxqa.formats.coco.decoding import MalformedError, decode_rest, decode_windows, numbered
from bboxqa.formats.coco.fallback import (
    ABSENT,
    Report,
    annotation_of,
    check_lists,
    check_text,
    labelled,
    read_tables,
)
from bboxqa.formats.document.tolerant import read_records
from bboxqa.formats.windows import Text
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import FilePlaces

# Segments have none of these keys, so that a cut is between two records.
_BETWEEN = re.compile(rb'\}\s*,\s*\{(?=\s*"(?:segments_info|file_name|image_id)")')
# Values of a key that name nobody.
_NOTHING = (None, "")


def read_panoptic(
    text: Text, first: int, path: Path, options: ReadOptions
) -> Callable[[Source], AnnotationFile]:
    """Read panoptic COCO, whose annotations begin at `first`; see `strict.read_text`.

    The outlines of segments are in PNG files, which are not read.
    """
    name = str(path)
    segments = _Segments(name, options)
    try:
        place = decode_windows(
            text, first, segments.type, segments.add, options.progress, between=_BETWEEN
        )
        images, categories = decode_rest(
            text, first, place, segments.type, segments.add, segments.builder.image_type
        )
    except MalformedError:
        segments = _Segments(name, options)
        images, categories = _read_one_by_one(text, path, segments)
    problems = [
        *segments.builder.problems,
        *segments.builder.author_problems(),
        *numbered("images", name, images),
        *numbered("categories", name, categories),
    ]
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))

    def file(source: Source) -> AnnotationFile:
        columns, own_ids = segments.done(path.name)
        segments.name_asked(columns, images)
        notes = (*_outline_notes(len(columns.id)), *_stuff_notes(columns, categories))
        return AnnotationFile(
            source, images, categories, columns, notes, records="segments", own_ids=own_ids
        )

    return file


class _Segments:
    """Collects the segments of records about whole images."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        self.builder = ColumnsBuilder(name, options)
        fields = msgspec.structs.fields(self.builder.type)
        keys = [key for key in options.keys if key in ANNOTATOR_KEYS] or options.keys[:1]
        self._fields = {key: record_field(key) for key in options.keys}
        self._annotator_keys = keys
        # A segment has no image_id: it is that of its record.
        own: Any = [("image_id", Id, 0)]
        self._segment: type[Annotation] = msgspec.defstruct(
            "Segment", own, bases=(self.builder.type,), gc=False, kw_only=True
        )  # type: ignore[assignment]
        of_keys = [
            (each.name, each.type, msgspec.field(default=None, name=each.encode_name))
            for each in fields
            if each.name in {*self._fields.values()}
        ]
        self.type = msgspec.defstruct(
            "Record",
            [("image_id", Id), ("segments_info", list[self._segment]), *of_keys],  # type: ignore[name-defined]
        )
        self._counts: list[int] = []
        self._empty: list[Any] = []

    def add(self, records: Sequence[Any]) -> None:
        """Add the segments of some records, with the annotator that the record names."""
        segments: list[Annotation] = []
        fields = {*self._fields.values()}
        for record in records:
            given = [
                (field, each)
                for field in fields
                if (each := getattr(record, field)) not in _NOTHING
            ]
            for segment in record.segments_info:
                segment.image_id = record.image_id
                for field, value in given:
                    if getattr(segment, field) in _NOTHING:
                        setattr(segment, field, value)
            segments += record.segments_info
            self._counts.append(len(record.segments_info))
            if given and not record.segments_info:
                self._empty.append(record)
        self.builder.add(segments)

    def add_record(self, label: str, record: Mapping[str, Any], report: Report) -> None:
        """Add the segments of a record that was decoded without types."""
        number, listed = record.get("image_id", ABSENT), record.get("segments_info", ABSENT)
        if not is_id(number):
            report.add(label, "image_id", number, "a whole number, or text")
        if not isinstance(listed, list):
            report.add(label, "segments_info", listed, "a list of segments")
            listed = []
        segments = []
        for name, segment in labelled(listed, 0, f"{label}.segments_info", report):
            whole = {**segment, "image_id": number if is_id(number) else 0}
            found = annotation_of(name, whole, report, self._segment, self.builder.box_lengths)
            segments += [] if found is None else [found]
        own = {each.name: record.get(each.encode_name) for each in self._own_fields()}
        self.add([self.type(image_id=number, segments_info=segments, **own)])

    def _own_fields(self) -> Iterator[msgspec.structs.FieldInfo]:
        fixed = ("image_id", "segments_info")
        return (each for each in msgspec.structs.fields(self.type) if each.name not in fixed)

    def done(self, file: str) -> tuple[Columns, FilePlaces | None]:
        """Return the segments, and their places in the file if their ids are not unique."""
        columns = self.builder.done()
        n = len(columns.id)
        if (np.diff(np.sort(columns.id)) > 0).all():
            return columns, None
        of = np.repeat(np.arange(len(self._counts)), self._counts)
        firsts = np.cumsum([0, *self._counts[:-1]])
        pairs = zip(of.tolist(), (np.arange(n) - firsts[of]).tolist(), strict=True)
        at = np.array([f"/annotations/{row}/segments_info/{place}" for row, place in pairs])
        places = FilePlaces((file,), np.zeros(n, np.int32), at)
        return replace(columns, id=np.arange(1, n + 1), text_ids=None), places

    def name_asked(self, columns: Columns, images: Sequence[Image]) -> None:
        """List the annotators of images about which a record without segments names one."""
        asked: dict[int, set[str]] = {}
        for key in self._annotator_keys:
            for record in self._empty:
                value = getattr(record, self._fields[key])
                for part in key.split(".")[1:]:
                    value = inside(value, part)
                if value not in _NOTHING:
                    asked.setdefault(id_number(record.image_id), set()).add(annotator_name(value))
            if not asked:
                continue
            authors = columns.authors[key]
            for number, names in asked.items():
                codes = np.unique(authors.code[columns.image_id == number]).tolist()
                names |= {authors.names[code] for code in codes if code >= 0}
            break
        for image in images if asked else ():
            if not (image.annotators or image.rater_list) and (
                given := asked.get(id_number(image.id))
            ):
                image.annotators = sorted(given)


def _read_one_by_one(
    text: Text, path: Path, segments: _Segments
) -> tuple[list[Image], list[Category]]:
    """Convert the records of a file that cannot be decoded at once."""
    document, records = read_records(text, str(path))
    check_text(document, path)
    check_lists(document, path)
    report = Report(document.name, segments.builder.problems)
    images, categories = read_tables(records, segments.builder.image_type, report)
    place = 0
    for window in records["annotations"].windows():
        for label, record in labelled(window, place, "annotations", report):
            segments.add_record(label, record, report)
        place += len(window)
    return images, categories


def _outline_notes(n_segments: int) -> Iterator[str]:
    if n_segments:
        outlines = count(n_segments, "segment")
        yield f"the outlines of {outlines} are in PNG files, which are not read: boxes are compared"


def _stuff_notes(columns: Columns, categories: Sequence[Category]) -> Iterator[str]:
    """Yield a note on the segments of stuff, such as sky."""
    stuff = [each for each in categories if each.isthing in (0, False)]
    of_stuff: BoolArray = find(ids_of(stuff), columns.category_id) >= 0
    n_stuff = int(of_stuff.sum())
    if n_stuff:
        used = find(ids_of(stuff), columns.category_id[of_stuff])
        name = one_line(stuff[int(np.bincount(used).argmax())].name)
        yield (
            f"{n_stuff:,} of {count(len(columns.id), 'segment')} are stuff (isthing 0, such as "
            f"{name!r}): boxes around stuff say little, as it has no clear extent; look at the "
            "categories one by one"
        )


def segment_records(records: dict[str, Any]) -> dict[str, Any]:
    """Return the lists of a panoptic file with segments as annotations, in the order of columns.

    Examples
    --------
    >>> segments = [{"id": 7, "bbox": [1, 2, 3, 4]}]
    >>> segment_records({"annotations": [{"image_id": 1, "segments_info": segments}]})
    {'annotations': [{'id': 7, 'bbox': [1, 2, 3, 4], 'image_id': 1}]}
    """
    flat = [
        {**segment, "image_id": record["image_id"]}
        for record in records["annotations"]
        for segment in record["segments_info"]
    ]
    return {**records, "annotations": flat}
