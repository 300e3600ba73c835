"""Reading COCO files: annotations, segments of panoptic COCO and results of detectors."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns, Kind
from bboxqa.formats.document import BYTE_ORDER_MARK, UNUSABLE, RawDocument, Section
from bboxqa.formats.format import Format
from bboxqa.formats.heads import begins, is_lines
from bboxqa.formats.measured import measured, more_rows
from bboxqa.formats.member import Member
from bboxqa.formats.records import (
    LISTS,
    WHOLE,
    AnnotationFile,
    Category,
    Image,
    ReadSettings,
    id_number,
    image_type,
    is_id,
    whole_number,
)
from bboxqa.formats.scanner import BETWEEN_RECORDS, Scanner, begins_with_results
from bboxqa.formats.source import SourcePath, members_with, only_file, read_whole, size_and_digest
from bboxqa.model.annotations import Source

# Bytes in which a file of Hasty, which has a list of images as well, says its version.
_FIRST_KEYS = 4096
# Everything before the first list of images.
_IMAGES = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{.*?"images"\s*:\s*\[', re.DOTALL)
# COCO JSON may begin with any of its lists, or with `info` and the like.
_OTHER_LISTS = re.compile(
    rb'\s*\{.*?"annotations"\s*:\s*\[\s*\{[^{}\[\]]*"image_id"|\s*\{\s*"(?:info|licenses)"\s*:',
    re.DOTALL,
)
# Evenly spread positions in a text, and bytes in all, of which annotations are examined.
_PIECES, _SAMPLED = 32, 1 << 19

_Record = TypeVar("_Record", Image, Category)


def read_file(path: Path, options: ReadSettings) -> AnnotationFile:
    """Read a COCO file."""
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe can be read only once.
        problem = f"{path}: is a pipe or a device; expected a file"
        raise DatasetError([problem], "Write it to a file first.")
    document = read_document(path, options)
    source = _source_of(document, path, options)
    is_model = path == options.predictions
    if is_model and not isinstance(document.top, list):
        raise DatasetError([f"{path}: expected a list of COCO results"], files=[path])
    if is_model or begins_with_results(document.text):
        return _results_file(document, path, options, source)
    _check_lists(document, path, ("images", "categories") if options.tables else LISTS)
    problems: list[str] = []
    images = _converted("images", document, image_type(options.keys), problems)
    categories = _converted("categories", document, Category, problems)
    columns = document.annotations
    found, notes = measured(path, columns, options, problems)
    lists = _loaded(document.text) if options.records else None
    file = AnnotationFile(source, images, categories, found, notes, lists=lists)
    if columns.are_segments:
        return _segments_file(file, columns, path)
    # Annotations from evenly spread positions in the text; all if it has up to 500 kB.
    section = document.sections.get("annotations", Section())
    _, end = document.spans.get("annotations", (0, 0))
    begins = section.offsets[:: max(1, len(section.offsets) // _PIECES)]
    kept: list[Any] = []
    for begin in begins:
        cut = BETWEEN_RECORDS.search(document.text, begin + _SAMPLED // len(begins), end)
        stop = end - 1 if cut is None else cut.start() + 1
        # A piece that ends inside a record is left out of the sample.
        with suppress(ValueError, TypeError, RecursionError):
            records = _loaded(b"[%b]" % document.text[begin:stop])
            kept += [each for each in records if "image_id" in each and "bbox" in each]
    sample = ColumnsBuilder()
    sample.add(kept)
    return replace(file, sample=sample.done())


def _source_of(document: RawDocument, path: Path, options: ReadSettings) -> Source:
    """Return the file of a document; refuse what is not JSON in UTF-8."""
    if not document.size:
        raise DatasetError([f"{path}: the file is empty"], "Export it again.", files=[path])
    is_other = document.encoding != "" and document.text[:3] != BYTE_ORDER_MARK
    ends = (document.trailing, document.not_utf8)
    if document.broken or is_other or ends != (None, None):
        raise DatasetError([f"{path}: is not JSON in UTF-8"], files=[path])
    if document.is_packed:
        return Source(str(path), *size_and_digest(path, digest=options.digest))
    # Of the text that was read: the file may change in the meantime.
    digest = blake2b(document.text).hexdigest() if options.digest else None
    return Source(str(path), len(document.text), digest)


def _loaded(text: bytes) -> Any:
    """Return the content of a document with all its keys."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # Python's decoder accepts NaN, which can only be in values that are not used, and text
        # that follows the first value.
        return json.JSONDecoder().raw_decode(text.decode())[0]


def _check_lists(document: RawDocument, path: Path, needed: Sequence[str]) -> None:
    """Refuse a document that is not an object with COCO's lists, each of them once."""
    is_object, top = isinstance(document.top, dict), document.top
    lacks_one = any(
        key not in document.sections and (key in needed or key in top) for key in LISTS * is_object
    )
    if not is_object or lacks_one or any(("", key) in document.repeated for key in LISTS):
        lists = " and ".join(needed)
        problem = f"{document.name}: expected an object with the lists {lists}, each of them once"
        raise DatasetError([problem], files=[path])


def _converted(
    key: str, document: RawDocument, kind: type[_Record], problems: list[str]
) -> list[_Record]:
    """Return the records of a list that can be used, with whole numbers as ids."""
    records: list[_Record] = []
    for place, value in enumerate(getattr(document, key)):
        number = whole_number(value.get("id")) if isinstance(value, dict) else None
        problem = f"{document.name}: {key}[{place}] {UNUSABLE}"
        try:
            known = value if number is None else {**value, "id": number}
            record = msgspec.convert(known, kind)
        # A number that is text with half of a surrogate pair is a UnicodeEncodeError.
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            problems.append(f"{problem} ({error})")
            continue
        number = whole_number(record.id)
        if number is not None:
            record.id = number
        elif not is_id(record.id):
            problems.append(problem)
        records.append(record)
    return records


def _recognises(path: SourcePath) -> int:
    """Return 2 for COCO JSON, and 1 for any other JSON, which no other tool may have written."""
    name, head = path.text_head
    if _IMAGES.match(head) is not None:
        # Others have a list of images as well.
        return 1 if begins("Hasty", head[:_FIRST_KEYS]) or is_lines(head) else 2
    if path.is_packed:
        return 2 if begins_with_results(head) else int(_is_like(head))
    is_json = name.lower().endswith(".json")
    return int(is_json or head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"))


def is_surely_coco(path: Path) -> bool:
    """Return whether a file begins like COCO JSON and unlike JSON of other tools."""
    return SourcePath.at(path).once(_recognises) == 2


def _is_like(head: bytes) -> bool:
    plain = head.removeprefix(b"\xef\xbb\xbf")
    found = _IMAGES.match(plain) or _OTHER_LISTS.match(plain)
    return found is not None or begins_with_results(plain)


def packed_json(path: Path) -> Member | None:
    """Return the COCO JSON of an archive, or of a path into one; None of other files."""
    source = SourcePath.at(path)
    if not source.is_packed:
        return None
    is_json = path.is_file() and path.suffix.lower() == ".json"
    named = members_with(source.readable_members if is_json else source.members, ".json")
    found = [each for each in named if _is_like(each.head())]
    # What is called JSON and is not even an archive is no JSON.
    return None if is_json and not found else only_file(path, found, "COCO JSON")


def read_document(path: Path, settings: ReadSettings = WHOLE) -> RawDocument:
    """Return the content of COCO JSON, maybe in an archive, even if it is broken."""
    packed = packed_json(path)
    if packed is None:
        text, name = read_whole(path, "a COCO JSON file"), str(path)
    else:
        text, name = packed.read(), packed.shown
    document = Scanner(text, name, settings).read()
    document.is_packed = packed is not None
    return document


COCO = Format("coco", (".json",), _recognises, read_file, read_document)
"""COCO files with object annotations."""


def _segments_file(file: AnnotationFile, columns: Columns, path: Path) -> AnnotationFile:
    """Return a panoptic file, whose outlines are in PNG files that are not read."""
    found, own_ids = file.columns, None
    n = len(found.id)
    if len(np.unique(found.id)) < n:
        places = columns.segment_of.tolist()
        at = (f"{path.name}#/annotations/{row}/segments_info/{place}" for row, place in places)
        own_ids = np.array([*at], object)
        found = replace(found, id=np.arange(1, n + 1), text_ids=None)
    silent = {id_number(e.id) for e in file.images if not (e.annotators or e.rater_list)}
    if not silent.isdisjoint(columns.empty_ids):
        problem = "an annotator is named by a record without segments, and not by its image"
        expected = "expected all who were asked about an image in its list `annotators`"
        raise DatasetError([f"{path}: {problem}; {expected}"])
    outlines = f"the outlines of {count(n, 'segment')} are in PNG files, which are not read"
    notes = (*file.notes, *[f"{outlines}: boxes are compared"] * bool(n))
    lists = file.lists
    if lists is not None:
        flat = [
            {**segment, "image_id": record["image_id"]}
            for record in lists["annotations"]
            for segment in record["segments_info"]
        ]
        lists = {**lists, "annotations": flat}
    return replace(
        file, columns=found, lists=lists, notes=notes, records="segments", own_ids=own_ids
    )


def _results_file(
    document: RawDocument, path: Path, options: ReadSettings, source: Source
) -> AnnotationFile:
    """Return the results of at least the lowest score, with boxes of masks or points."""
    lacks_boxes = np.isin(document.annotations.kind["bbox"], (Kind.MISSING, Kind.NULL)).any()
    if lacks_boxes and not options.outlines:
        document = Scanner(document.text, document.name, replace(options, outlines=True)).read()
    columns = _with_boxes_of_masks(document.annotations)
    document.annotations = columns
    problems = []
    if len(rows := np.flatnonzero(np.isnan(columns.score))):
        label = f"{document.name}: results[{rows[0]}]{more_rows(rows)}"
        problems = [f"{label}: score is missing, or no number; expected one from 0 to 1"]
    found, notes = measured(path, columns, options, problems, records="results")
    check_scores(path, columns.score, options.score)
    found = found.take(columns.score[found.id - 1] >= options.score)
    rows = found.id - 1
    records, name = _loaded(document.text) if options.records else [], path.name
    for number, (record, box) in enumerate(zip(records, columns.bbox.tolist(), strict=False), 1):
        record["id"] = number
        if not record.get("bbox") and not np.isnan(box[0]):
            record["bbox"] = box
    return AnnotationFile(
        replace(source, score=options.score),
        [Image(each, f"image {each}") for each in _ids(document, "image_id")],
        [Category(each, f"category {each}") for each in _ids(document, "category_id")],
        found,
        notes,
        records="results",
        n_below=len(columns) - len(rows),
        own_ids=np.array([f"{name}#/{row}" for row in rows.tolist()], object),
        # Images and categories follow from another file.
        lists={"annotations": records} if options.records else None,
    )


def _with_boxes_of_masks(columns: Columns) -> Columns:
    """Return columns with valid ids, and with the bounds of masks as boxes where there are none."""
    bbox = columns.bbox.copy()
    rles = columns.rles
    sound = (rles.problem == 0) & (rles.total == rles.size.prod(axis=1))
    missing = sound & np.isin(columns.kind["bbox"][rles.row], (Kind.MISSING, Kind.NULL))
    bounds = rles.bounds[missing]
    bbox[rles.row[missing]] = np.concatenate([bounds[:, :2], bounds[:, 2:] - bounds[:, :2]], axis=1)
    # Each result is found by its place, so that an id of its own has no use.
    n = len(columns)
    valid = {**columns.valid, "id": np.ones(n, np.bool_)}
    return replace(columns, id=np.arange(1, n + 1), text_ids={}, bbox=bbox, valid=valid)


def check_scores(path: Path | str, score: FloatArray, least: float) -> None:
    """Refuse no scores, scores that are not from 0 to 1, and those that are all below the least."""
    if not len(score):
        raise DatasetError([f"{path}: the list of results is empty; expected results of a model"])
    lowest, highest = float(score.min()), float(score.max())
    if not 0 <= lowest <= highest <= 1:
        problem = f"scores are from {lowest:g} to {highest:g}; expected 0 to 1"
        raise DatasetError([f"{path}: {problem}"], "Convert them: percentages, divided by 100.")
    if highest < least:
        problem = f"none of {count(len(score), 'result')} has a score of {least:g} or more"
        raise DatasetError(
            [f"{path}: {problem}; the highest is {highest:g}"], "Choose a lower --score."
        )


def _ids(document: RawDocument, key: str) -> list[int | str]:
    """Return the ids under a key, also of results that are left out, in order."""
    numbers = np.unique(getattr(document.annotations, key))
    if document.annotations.whole[key].all():
        return list(map(int, numbers.tolist()))
    found: set[int | str] = set()
    for value in _loaded(document.text):
        number = whole_number(value[key])
        found.add(value[key] if number is None else number)
    return sorted(found, key=lambda each: (isinstance(each, str), each))
