"""Reading a source of another tool: its annotations, and where its records stand."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray, TextArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_parts
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import count
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.document import (
    STOPPING,
    OwnPlace,
    RawDocument,
    Record,
    Section,
    ToolDefect,
    Where,
    problems_of,
)
from bboxqa.formats.heads import PARQUET, as_list
from bboxqa.formats.measured import measured
from bboxqa.formats.member import is_picture
from bboxqa.formats.positions import JsonPlaces, spots
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    LISTS,
    WRITTEN_ANGLE,
    AnnotationFile,
    Category,
    ReadSettings,
    image_type,
)
from bboxqa.formats.scanner import read_bytes
from bboxqa.formats.source import members_of, size_and_digest
from bboxqa.formats.translation.collector import (
    OWN_ID,
    Boxes,
    BrokenTextError,
    Collector,
    Lines,
    Translate,
)
from bboxqa.formats.translation.files import json_stop
from bboxqa.model.annotations import Source
from bboxqa.model.findings import Spot
from bboxqa.model.table import FilePlaces, ShownIds, joined_ids, place_in_words

# Most characters of an id that are kept, since a column is as wide as its longest.
_LONGEST = 40
_EXCERPT = 160
# The code of the defect that someone annotated an image again, and keys that no format has.
_AGAIN = "T007"
_OF_TOOLS = ("session", WRITTEN_ANGLE)


class ToolOrigin:
    """The annotations of a source, as columns and as asked for, and where its records stand."""

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        self.title = ""
        self.defects: Sequence[ToolDefect] = ()
        self.notes: Sequence[str] = ()
        self.apart: Counter[str] = Counter()
        """The number of annotations without a box, which are not examined, by shape."""
        self.categories_apart: set[int] = set()
        self.image_names: dict[int, str] = {}
        """The file names of images by those ids that their tool does not show."""
        self.builder = ColumnsBuilder(settings)
        self.n = self.n_rotated = 0
        self._path, self._settings = path, settings
        self._found: Collector
        self._records: list[Record] = []
        self._records_apart: list[Record] = []
        self._starts: list[int] = []
        self._places: list[Sequence[Where] | Lines] = []
        self._own: list[Sequence[str] | TextArray] = []
        # Records are kept as JSON, which takes a fifth of the memory.
        self._held: list[bytes | Boxes] = []
        self._last: tuple[int, list[Any]] = (-1, [])

    def finish(self, found: Collector) -> None:
        """Take the images, categories and defects of a translation."""
        found.flush()
        self.title, self.defects, self.notes = found.title, found.defects, found.notes
        self._found, unshown = found, found.unshown_images
        self.image_names = {
            image["id"]: image["file_name"]
            for image in found.images
            if image["id"] in unshown and image.get("file_name")
        }

    def add(self, records: Sequence[Record], places: Sequence[Where]) -> None:
        """Add annotations with their locations; those without a box are counted."""
        has_box = ["bbox" in record for record in records]
        if not all(has_box):
            apart = [record for record in records if "bbox" not in record]
            self.apart.update(record["shape"] for record in apart)
            self.categories_apart |= {r["category_id"] for r in apart if "category_id" in r}
            if self._settings.records:
                self._records_apart += map(_without_keys, apart)
            records, places = [*compress(records, has_box)], [*compress(places, has_box)]
        if not records:
            return
        for number, record in enumerate(records, self.n + 1):
            record.setdefault("id", number)
            if "attributes" in record:
                self.n_rotated += bool(record["attributes"].get("rotation"))
        self._put(len(records), places, [str(record.get(OWN_ID) or "") for record in records])
        if self._settings.whole:
            for record in records:
                if "keypoints" in record:
                    n_seen = sum(seen > 0 for seen in record["keypoints"][2::3])
                    record.setdefault("num_keypoints", n_seen)
                    if "shape" in record:
                        # Its box is only the extent of its points.
                        del record["bbox"]
            self._held.append(msgspec.json.encode(records))
        elif self._settings.records:
            self._records += map(_without_keys, records)
        elif self._settings.on_records is not None:
            self._settings.on_records([*map(_without_keys, records)])
        self.builder.add(records)

    def add_boxes(self, boxes: Boxes) -> None:
        """Add annotations that are columns."""
        if not len(boxes):
            return
        ids = (self.n + 1 + np.arange(len(boxes)), boxes.image_id, boxes.category_id)
        if boxes.degrees is not None:
            self.n_rotated += int((boxes.degrees > 0).sum())
        self._put(len(boxes), boxes.lines, boxes.own_ids)
        if self._settings.whole:
            self._held.append(boxes)
        authors = (boxes.annotator, boxes.annotators)
        corners, degrees = boxes.corners, boxes.degrees
        self.builder.add_boxes(ids, boxes.bbox, authors, corners=corners, degrees=degrees)

    def _put(
        self, n: int, places: Sequence[Where] | Lines, own_ids: Sequence[str] | TextArray
    ) -> None:
        self._starts.append(self.n)
        self._places.append(places)
        self._own.append(own_ids if any(own_ids) else ())
        self.n += n

    def _place(self, row: int) -> Where:
        part = bisect_right(self._starts, row) - 1
        return _at(self._places[part], row - self._starts[part])

    def record(self, row: int) -> Record:
        """Return an annotation as a record of COCO."""
        part = bisect_right(self._starts, row) - 1
        held, inside = self._held[part], row - self._starts[part]
        if isinstance(held, Boxes):
            return {"id": row + 1, **held.record(inside)}
        if self._last[0] != part:
            self._last = part, msgspec.json.decode(held)
        found: Record = self._last[1][inside]
        return found

    def lists(self) -> dict[str, Any]:
        """Return the records with all their keys; see `AnnotationFile.lists`."""
        again = (each.where for each in self.defects if each.code == _AGAIN)
        return {
            "images": self._found.images,
            "categories": self._found.categories,
            "annotations": self._records,
            "apart": self._records_apart,
            "repeats": [*map(self._in_words, again)],
        }

    def place_of(self, row: int) -> str:
        """Return where an annotation stands, such as "a.xml:12"."""
        return self._in_words(self._place(row))

    def regions_of(self, rows: IndexArray) -> IndexArray:
        """Return the first of some annotations in the region of each: at the same JSON pointer.

        A region has several annotations if it has several labels. Several boxes may be on one line.
        """
        first: dict[Where, int] = {}
        found = []
        for row in rows.tolist():
            where = self._place(row)
            found.append(first.setdefault(where, row) if isinstance(where.at, str) else row)
        return np.array(found, np.int64)

    def own_places(self, pointers: Sequence[str]) -> list[OwnPlace]:
        """Return the location of each record, or of the whole source if there is none.

        "/defects/7" stands for the eighth of `defects`.
        """
        of_file: dict[str, list[tuple[int, str | int]]] = {}
        for number, pointer in enumerate(pointers):
            if (where := self._where(pointer)) is not None:
                of_file.setdefault(where.member, []).append((number, where.at))
        members = {member.name: member for member in members_of(self._path)} if of_file else {}
        found: dict[int, OwnPlace] = {}
        for name, wanted in of_file.items():
            try:
                text = members[name].text()
            except (KeyError, DatasetError):
                # It was removed since it was read.
                continue
            places = _places(members[name].shown, text, [at for _, at in wanted])
            found |= zip((number for number, _ in wanted), places, strict=True)
        whole = OwnPlace(str(self._path), "", Spot(1, 1, 0), "")
        return [found.get(number, whole) for number in range(len(pointers))]

    def _where(self, pointer: str) -> Where | None:
        parts = pointer_parts(pointer)
        if len(parts) < 2 or not parts[1].isdecimal():
            return None
        name, row = parts[0], int(parts[1])
        if name == "annotations":
            return self._place(row) if row < self.n else None
        if name == "defects":
            return self.defects[row].where if row < len(self.defects) else None
        listed = {"images": self._found.image_places, "categories": self._found.category_places}
        places = listed.get(name, ())
        return places[row] if row < len(places) else None

    def shown_ids(self) -> ShownIds | None:
        """Return what annotations are found by: the ids of their tool, or places; None if none."""
        parts = [*map(self._shown, self._places, self._own)]
        return joined_ids(parts) if parts else None

    def _shown(
        self, places: Sequence[Where] | Lines, own: Sequence[str] | TextArray
    ) -> FilePlaces | TextArray:
        if len(own):
            texts = (text or self._in_words(_at(places, row)) for row, text in enumerate(own))
            return np.array([text[:_LONGEST] for text in texts], np.str_)
        if isinstance(places, Lines):
            names, file, at = places.members, places.member, places.line
        else:
            known: dict[str, int] = {}
            file = np.array([known.setdefault(each.member, len(known)) for each in places])
            # numpy makes texts of numbers if there are both.
            names, at = [*known], np.array([each.at for each in places])
        files = tuple(_shown_file(self._path, name) for name in names)
        return FilePlaces(files, file.astype(np.int32), at)

    def _in_words(self, where: Where) -> str:
        return place_in_words(_shown_file(self._path, where.member), where.at)


def _at(places: Sequence[Where] | Lines, row: int) -> Where:
    return places.where(row) if isinstance(places, Lines) else places[row]


def _without_keys(record: Record) -> Record:
    return {key: each for key, each in record.items() if key not in _OF_TOOLS}


def _shown_file(path: Path, member: str) -> str:
    """Return a file of a source as it is named beside a line, such as "1.zip/annotations.xml"."""
    if not member:
        return path.name
    return member if path.is_dir() else f"{path.name}/{member}"


def _places(file: str, text: bytes, ats: Sequence[str | int]) -> Iterator[OwnPlace]:
    """Yield the places of values or lines of a file, with excerpts."""
    if text.startswith(PARQUET) or is_picture(file):
        # These files have neither lines nor text.
        yield from [OwnPlace(file, "", Spot(1, 1, 0), "")] * len(ats)
        return
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    listed = as_list(text)
    values, shift = JsonPlaces(listed), int(listed is not text)
    spans = []
    for at in ats:
        if isinstance(at, str):
            begin, end = values.span(at)
            spans.append((max(begin - shift, 0), end - shift))
        else:
            line = min(at - 1, len(ends))
            stop = len(text) if line == len(ends) else int(ends[line])
            spans.append((int(ends[line - 1]) + 1 if line else 0, stop))
    begins = sorted({begin for begin, _ in spans})
    spot_of = dict(zip(begins, spots(text, begins), strict=True))
    for at, (begin, end) in zip(ats, spans, strict=True):
        raw = text[begin : min(end, begin + 4 * _EXCERPT)]
        excerpt = " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
        yield OwnPlace(file, at if isinstance(at, str) else "", spot_of[begin], excerpt)


@gc_paused()
def _read(
    translate: Translate, path: Path, settings: ReadSettings
) -> tuple[RawDocument, ToolOrigin, Collector]:
    """Return the records of a source as a COCO document, and what was read of it besides."""
    origin = ToolOrigin(path, settings)
    needs_records = settings.keypoints or settings.records or settings.on_records is not None
    needs_records |= not {*settings.keys} <= {*ANNOTATOR_KEYS}
    add_boxes = origin.add_boxes if settings.whole or not needs_records else None
    found = Collector(origin.add, settings, add_boxes)
    translate(path, found)
    origin.finish(found)
    images, categories = found.images, found.categories
    if found.advice and not images and not any(each.code in STOPPING for each in found.defects):
        raise DatasetError([f"{path}: is {found.title} without images"], found.advice)
    sizes = (len(images), origin.n, len(categories))
    document = RawDocument(
        str(path),
        b"",
        0,
        {name: [] for name in LISTS},
        images,
        categories,
        origin.builder.done(),
        {name: Section(n=n) for name, n in zip(LISTS, sizes, strict=True)},
        dict.fromkeys(LISTS, (0, 0, 0)),
        origin=origin,
    )
    return document, origin, found


def read_document(translate: Translate, path: Path, settings: ReadSettings) -> RawDocument:
    """Return the records of a source as a COCO document; of broken JSON, its syntax errors."""
    try:
        document, _, _ = _read(translate, path, settings)
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        return _broken(path)
    document.size, _ = size_and_digest(path, digest=False)
    return document


def read_file(translate: Translate, path: Path, options: ReadSettings) -> AnnotationFile:
    """Return the annotations of a source; see `bboxqa.formats.format.Reader`.

    Raises DatasetError with all defects that would falsify a result.
    """
    document, origin, found = _read(translate, path, options)
    of = measured(document.annotations, options, boxes_are_outlines=True)
    problems = [f"{path}: {each.message}" for each in found.defects if each.code in STOPPING]
    problems += problems_of(str(path), document.annotations, of)
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    notes = [*found.notes]
    if origin.n_rotated and not (options.outlines or options.rotated):
        some = count(origin.n_rotated, "rotated box", "rotated boxes")
        notes.append(f"{some} compared by the upright bounds; --similarity obb compares them")
    has_masks = options.choices.mask is not None
    given = size_and_digest(path, digest=options.digest, pictures=has_masks)
    of_images = list[image_type(options.keys)]  # type: ignore[misc, valid-type]
    return AnnotationFile(
        Source(str(path), *given),
        msgspec.convert(document.images, of_images),
        msgspec.convert(document.categories, list[Category]),
        of.columns,
        (*notes, *of.notes),
        found.named_by,
        title=found.title,
        lists_images=found.lists_images,
        numbers_categories=True,
        own_ids=origin.shown_ids(),
        numbered_images=found.numbered_images,
        n_apart=origin.apart,
        repeat_notes=tuple(found.repeat_notes),
        nobody_notes=tuple(found.nobody_notes),
        lists=origin.lists() if options.records else None,
    )


def _broken(path: Path) -> RawDocument:
    """Return the syntax errors of a JSON file, without its content, which is not that of COCO."""
    (member,) = members_of(path)
    read = read_bytes(member.read(), str(path))
    broken, encoding = read.broken, read.encoding
    if not broken:
        # The readers of tools stop at text that is not that of COCO as well.
        encoding = ""
        try:
            msgspec.json.decode(read.text)
        except (msgspec.DecodeError, RecursionError) as error:
            broken = [json_stop(read.text, error)]
        except UnicodeDecodeError as error:
            broken = [(error.start, "a text that is not UTF-8")]
    return RawDocument(
        read.name, read.text, read.size, {}, encoding=encoding, not_utf8=read.not_utf8,
        broken=broken, stopped=True,
    )  # fmt: skip
