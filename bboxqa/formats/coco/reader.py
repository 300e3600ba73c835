"""Reading COCO files: annotations, segments of panoptic COCO and results of detectors."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, find
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns, Kind
from bboxqa.formats.document import BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.format import Format
from bboxqa.formats.measured import (
    Measured,
    author_problems,
    measured,
    taken,
    turned_note,
)
from bboxqa.formats.member import is_archive
from bboxqa.formats.opening import named_errors, read_whole
from bboxqa.formats.positions import Locator
from bboxqa.formats.problems import (
    ABSENT,
    annotation_problems,
    label_of,
    shortened,
    table_problems,
)
from bboxqa.formats.raw_values import mask_of
from bboxqa.formats.records import (
    ID_EXPECTED,
    LISTS,
    AnnotationFile,
    Category,
    FileColumns,
    Image,
    ReadSettings,
    annotator_name,
    id_number,
    ids_of,
    image_type,
    is_id,
    whole_number,
)
from bboxqa.formats.scanner import (
    ANNOTATIONS,
    BETWEEN_RECORDS,
    Text,
    begins_with_results,
    read_bytes,
    read_path,
)
from bboxqa.formats.source import (
    archive_around,
    head_of,
    members_of,
    members_with,
    only_file,
)
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.shapes.rotated_boxes import from_corners

if TYPE_CHECKING:
    from bboxqa.formats.member import Member

# Everything before the first list of images.
_IMAGES = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{.*?"images"\s*:\s*\[', re.DOTALL)
_RINGS = re.compile(rb'"segmentation"\s*:\s*\[\s*\[([^\[\]]*)\]\s*([\],])')
# Bytes of annotations, and outlines, that show whether these are rotated boxes; a box is rotated
# above an angle in degrees, and at least a share of the boxes has to be.
_BEGINNING, _FEW, _UPRIGHT, _TURNED = 1 << 16, 3, 0.5, 0.1
_CORNERS = 8
# Records with errors that are looked up in the file.
_MOST_LISTED = 1000

_Record = TypeVar("_Record", Image, Category)


def read_file(path: Path, options: ReadSettings) -> AnnotationFile:
    """Read a COCO file.

    Raises DatasetError if the file does not exist, is not JSON, or has records that cannot be read;
    all of these are listed.
    """
    with named_errors(path, "a COCO JSON file"):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DatasetError(
                [f"{path}: is a pipe or a device; expected a file"], "Write it to a file first."
            )
        text = read_whole(path)
    if not text:
        raise DatasetError([f"{path}: the file is empty"], "Export it again.", files=[path])
    digest = blake2b(text).hexdigest() if options.digest else None
    return read_text(text, path, options, Source(str(path), len(text), digest))


def read_text(text: bytes, path: Path, options: ReadSettings, source: Source) -> AnnotationFile:
    """Read the content of a COCO file; raises the errors of `read_file`."""
    document = read_bytes(text, str(path), options)
    if begins_with_results(text):
        return results_file(document, path, options, source)
    check_text(document, path)
    check_lists(document, path, ("images", "categories") if options.tables else LISTS)
    problems: list[str] = []
    images, categories = _tables(document, options, problems)
    columns = document.annotations
    found = measured(columns, options, said=options.choices.rotated)
    problems += record_problems(document, found, options)
    problems += (f"{document.name}: {problem}" for problem in author_problems(columns))
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    notes = found.notes
    if options.upright_only and not found.has_more_numbers:
        outlined = tuple(_outline_notes(document))
        notes = (*turned_note(columns), *notes) if not outlined else (*notes, *outlined)
    lists = decoded(document) if options.records else None
    file = AnnotationFile(source, images, categories, found.columns, notes, lists=lists)
    if columns.segment_counts is not None:
        return _segments_file(file, columns, path)
    return replace(file, sample=sample_annotations(document.text))


def decoded(document: RawDocument) -> Any:
    """Return the content of a document with all its keys."""
    text = document.text.removeprefix(BYTE_ORDER_MARK)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # Python's decoder accepts NaN, which can only be in values that are not used.
        return json.loads(text)


def check_text(document: RawDocument, path: Path) -> None:
    """Refuse a document that is not JSON in UTF-8."""
    name = document.name
    problems = [f"{name}: not JSON at byte {offset:,}: {why}" for offset, why in document.broken]
    if document.trailing is not None:
        problems.append(f"{name}: not JSON at byte {document.trailing:,}: extra data")
    if document.not_utf8 is not None:
        problems.append(f"{name}: byte {document.not_utf8:,} is not UTF-8")
    elif document.encoding and document.text[:3] != BYTE_ORDER_MARK:
        problems.append(f"{name}: is {document.encoding}; expected UTF-8")
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))


def check_lists(document: RawDocument, path: Path, needed: Sequence[str] = LISTS) -> None:
    """Refuse a document that is not an object with COCO's lists, each of them once."""
    name = document.name
    problems = [
        f"{name}: {key} is in the file twice, and only the last one would count; expected it once"
        for pointer, key in dict.fromkeys(document.repeated)
        if not pointer and key in LISTS
    ]
    if not isinstance(document.top, dict):
        found = "a list" if isinstance(document.top, list) else shortened(document.top)
        problems.append(f"{name}: the top level is {found}; expected an object")
    for key in LISTS if isinstance(document.top, dict) else ():
        if key not in document.sections and (key in needed or key in document.top):
            value = document.top.get(key, ABSENT)
            found = "missing" if value is ABSENT else f"a {type(value).__name__}"
            problems.append(f"{name}: {key} is {found}; expected a list")
    if problems:
        advice = "A COCO file is an object with the lists images, annotations and categories."
        raise DatasetError(problems, advice, files=[path] * len(problems))


def _tables(
    document: RawDocument, options: ReadSettings, problems: list[str]
) -> tuple[list[Image], list[Category]]:
    """Return the images and categories of a document, and add problems with them."""
    images = _converted("images", document, image_type(options.keys), problems)
    return images, _converted("categories", document, Category, problems)


def _converted(
    key: str, document: RawDocument, kind: type[_Record], problems: list[str]
) -> list[_Record]:
    """Return the records of a list that can be used, with whole numbers as ids."""
    values: Sequence[Any] = getattr(document, key)
    try:
        records: list[_Record] = msgspec.convert(values, list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError:
        records = []
        value: Any
        for place, value in enumerate(values):
            found = [*table_problems(key, value)]
            label = f"{document.name}: {label_of(key, place, value)}"
            problems += [f"{label}: {each}" for each in found]
            if not found:
                number = whole_number(value["id"])
                known = value if number is None else {**value, "id": number}
                records.append(msgspec.convert(known, kind))
    for place, record in enumerate(records):
        if type(record.id) is not int and (number := whole_number(record.id)) is not None:
            record.id = number
        elif not is_id(record.id):
            found_id = f"id is {record.id!r}; expected {ID_EXPECTED}"
            problems.append(f"{document.name}: {key}[{place}]: {found_id}")
    return records


def record_problems(document: RawDocument, found: Measured, options: ReadSettings) -> Iterator[str]:
    """Yield problems with the values of annotations."""
    columns, locator = document.annotations, Locator(document)
    name = "results" if document.is_results else "annotations"
    for row in found.bad.tolist()[:_MOST_LISTED]:
        label, record = _record(columns, locator, name, row)
        problems = [*annotation_problems(columns, row, record, found, options)]
        for problem in problems or ["the annotation cannot be used"]:
            yield f"{document.name}: {label}: {problem}"


def _record(columns: Columns, locator: Locator, name: str, row: int) -> tuple[str, Any]:
    """Return the label of an annotation in messages, and its record."""
    if columns.segment_counts is None:
        record = locator.value("annotations", row)
        return label_of(name, row, record), record
    ends = np.cumsum(columns.segment_counts)
    of = int(np.searchsorted(ends, row, side="right"))
    whole = locator.value("annotations", of)
    segments = whole.get("segments_info") if isinstance(whole, dict) else None
    if not isinstance(segments, list) or not segments:
        return label_of(name, of, whole), whole
    place = row - int(ends[of]) + columns.segment_counts[of]
    segment = segments[place]
    label = label_of(f"{label_of(name, of, whole)}.segments_info", place, segment)
    is_object = isinstance(segment, dict)
    return label, {**segment, "image_id": whole.get("image_id")} if is_object else segment


def _outline_notes(document: RawDocument) -> Iterator[str]:
    """Yield a note if all of the first outlines are rotated boxes."""
    section = document.sections["annotations"]
    start = section.offsets[0] if section.offsets else len(document.text)
    beginning = document.text[start : start + _BEGINNING]
    found = [match.groups() for match in _RINGS.finditer(beginning)]
    rings = [numbers.split(b",") for numbers, end in found if end == b"]"]
    if len(rings) < max(_FEW, len(found)) or any(len(ring) != _CORNERS for ring in rings):
        return
    try:
        corners = np.array(rings, np.float64).reshape(-1, 4, 2)
    except ValueError:
        return
    boxes, is_rectangle = from_corners(corners)
    is_turned = np.minimum(boxes[:, 4], 90 - boxes[:, 4]) > _UPRIGHT
    if is_rectangle.all() and is_turned.mean() >= _TURNED:
        yield (
            f"outlines are rotated boxes in the first {len(rings):,} annotations: their bbox is "
            "compared; --similarity obb compares rotated boxes"
        )


def _recognises(path: Path) -> int:
    """Return 2 for COCO JSON, and 1 for any other JSON, which no other tool may have written."""
    head = head_of(path)
    if begins_as_coco(head):
        return 2
    is_json = path.suffix.lower() == ".json"
    return int(is_json or head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"))


def begins_as_coco(head: bytes) -> bool:
    """Return whether a text begins like COCO JSON and unlike JSON of other tools."""
    return _IMAGES.match(head) is not None


def is_surely_coco(path: Path) -> bool:
    """Return whether a file begins like COCO JSON and unlike JSON of other tools."""
    return begins_as_coco(head_of(path))


COCO = Format("coco", (".json",), _recognises, read_file, read_path)
"""COCO files with object annotations."""


# COCO JSON may begin with any of its lists, or with `info` and the like.
_OTHER_LISTS = re.compile(
    rb'\s*\{.*?"annotations"\s*:\s*\[\s*\{[^{}\[\]]*"image_id"|\s*\{\s*"(?:info|licenses)"\s*:',
    re.DOTALL,
)


def _is_archive_of_coco(path: Path) -> int:
    if not is_archive(head_of(path)) and archive_around(path) is None:
        return 0
    try:
        found = _members(path)
    except DatasetError:
        return 0
    heads = (each.head().removeprefix(b"\xef\xbb\xbf") for each in found)
    is_sure = any(begins_as_coco(head) or begins_with_results(head) for head in heads)
    return 2 if is_sure else int(bool(found))


def _members(path: Path) -> "list[Member]":
    """Return the files of an archive that are COCO JSON, or the file of a path into one."""
    found = []
    for member in members_with(members_of(path), ".json"):
        head = member.head().removeprefix(b"\xef\xbb\xbf")
        if begins_as_coco(head) or _OTHER_LISTS.match(head) or begins_with_results(head):
            found.append(member)
    return found


def begins_as_results(path: Path) -> bool:
    """Return whether the COCO JSON of an archive, or of a path into one, is a list of results."""
    return begins_with_results(_member(path).head())


def _member(path: Path) -> "Member":
    return only_file(path, _members(path), "COCO JSON")


def text_of(path: Path) -> bytes:
    """Return the COCO JSON of an archive, or of a path into one; raises DatasetError if none."""
    return _member(path).read()


def _read(path: Path, options: ReadSettings) -> AnnotationFile:
    from bboxqa.formats.source import size_and_digest

    source = Source(str(path), *size_and_digest(path, digest=options.digest))
    return read_text(text_of(path), path, options, source)


def _document(path: Path, settings: ReadSettings) -> RawDocument:
    from bboxqa.formats.scanner import read_bytes

    member = _member(path)
    reading = read_bytes(member.read(), member.shown, settings)
    reading.is_packed = True
    return reading


COCO_ARCHIVE = Format("coco-archive", (), _is_archive_of_coco, _read, _document)
"""COCO JSON in an archive."""
COCO_JSON = (COCO, COCO_ARCHIVE)
"""COCO JSON as a file, or in an archive."""


def _segments_file(file: AnnotationFile, columns: Columns, path: Path) -> AnnotationFile:
    """Return a panoptic file, whose outlines are in PNG files that are not read."""
    counts = np.array(columns.segment_counts or (), np.int64)
    found, own_ids = file.columns, None
    if not (np.diff(np.sort(found.id)) > 0).all():
        n = len(found.id)
        of = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(n) - (np.cumsum(counts) - counts)[of]
        pairs = zip(of.tolist(), places.tolist(), strict=True)
        at = np.array([f"/annotations/{row}/segments_info/{place}" for row, place in pairs])
        own_ids = FilePlaces((path.name,), np.zeros(n, np.int32), at)
        found = replace(found, id=np.arange(1, n + 1), text_ids=None)
    _name_asked(found, columns.empty_records, file.images)
    notes = (*_png_notes(len(found.id)), *_stuff_notes(found, file.categories))
    lists = None if file.lists is None else _with_segments(file.lists)
    file = replace(file, lists=lists, notes=(*file.notes, *notes))
    return replace(file, columns=found, records="segments", own_ids=own_ids)


def _with_segments(lists: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lists of a file with segments as annotations, in the order of columns."""
    flat = [
        {**segment, "image_id": record["image_id"]}
        for record in lists["annotations"]
        for segment in record["segments_info"]
    ]
    return {**lists, "annotations": flat}


def _name_asked(
    columns: FileColumns, empty: Sequence[Mapping[str, Any]], images: Sequence[Image]
) -> None:
    """List the annotators of images about which a record without segments names one."""
    asked: dict[int, set[str]] = {}
    for key, authors in columns.authors.items():
        for record in empty:
            value: Any = record
            for part in key.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value not in (None, ""):
                asked.setdefault(id_number(record["image_id"]), set()).add(annotator_name(value))
        if not asked:
            continue
        for number, names in asked.items():
            codes = np.unique(authors.code[columns.image_id == number]).tolist()
            names |= {authors.names[code] for code in codes if code >= 0}
        break
    for image in images if asked else ():
        if not (image.annotators or image.rater_list) and (given := asked.get(id_number(image.id))):
            image.annotators = sorted(given)


def _png_notes(n_segments: int) -> Iterator[str]:
    if n_segments:
        outlines = count(n_segments, "segment")
        yield f"the outlines of {outlines} are in PNG files, which are not read: boxes are compared"


def _stuff_notes(columns: FileColumns, categories: Sequence[Category]) -> Iterator[str]:
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


_PIECES = 32
_PIECE = 1 << 14


def sample_annotations(text: bytes) -> Columns:
    """Return annotations from evenly spread positions in a text; all if it has up to 500 kB."""
    builder = ColumnsBuilder()
    for records in _pieces(text):
        builder.add(records)
    return builder.done()


def _pieces(text: Text) -> Iterator[list[Any]]:
    opening = ANNOTATIONS.search(text)
    begin = -1 if opening is None else text.find(b"{", opening.end())
    step = (len(text) - begin) // _PIECES
    decode = json.JSONDecoder().raw_decode
    while begin >= 0:
        end = BETWEEN_RECORDS.search(text, begin + _PIECE)
        stop = begin + _PIECE * _PIECES if end is None else end.start() + 1
        # A piece that begins or ends inside a record is left out of the sample.
        with suppress(ValueError, TypeError, RecursionError):
            # Text after the end of the list is ignored.
            records, _ = decode(f"[{text[begin:stop].decode()}]")
            yield [each for each in records if "image_id" in each and "bbox" in each]
        if step > _PIECE:
            end = BETWEEN_RECORDS.search(text, begin + step)
        begin = -1 if end is None else end.end() - 1


def results_file(
    document: RawDocument, path: Path, options: ReadSettings, source: Source
) -> AnnotationFile:
    """Return the results of at least the lowest score.

    Images and categories are named by their ids, until those of another file replace them. Results
    without a box have that of their mask, or, where key points are read, that of these. Raises
    DatasetError if the list is empty, if a score is not between 0 and 1, or if none reaches the
    lowest score.
    """
    check_text(document, path)
    if not isinstance(document.top, list):
        raise DatasetError([f"{path}: expected a list of COCO results"], files=[path])
    lacks_boxes = np.isin(document.annotations.kind["bbox"], (Kind.MISSING, Kind.NULL)).any()
    if lacks_boxes and not options.outlines:
        document = read_bytes(document.text, document.name, replace(options, outlines=True))
    columns = _with_boxes_of_masks(document.annotations)
    document.annotations = columns
    found = measured(columns, options, said=options.choices.rotated)
    score = _scores(columns)
    problems = [*record_problems(document, found, options)]
    problems += [
        f"{document.name}: results[{row}]: score is missing, or no number; expected one from 0 to 1"
        for row in np.flatnonzero(np.isnan(score)).tolist()
    ]
    problems += [f"{document.name}: {problem}" for problem in author_problems(columns)]
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    _check_scores(path, score, options.score)
    kept = np.flatnonzero(score[found.rows] >= options.score)
    rows = found.rows[kept]
    kept_columns = replace(taken(found.columns, kept), id=rows + 1, text_ids=None)
    images = [Image(each, f"image {each}") for each in _ids(document, "image_id")]
    categories = [Category(each, f"category {each}") for each in _ids(document, "category_id")]
    return AnnotationFile(
        replace(source, score=options.score),
        images,
        categories,
        kept_columns,
        found.notes,
        records="results",
        n_below=len(columns) - len(rows),
        own_ids=_places(path.name, rows),
        # Images and categories follow from another file.
        lists={"annotations": _annotations(decoded(document))} if options.records else None,
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
    valid = {**columns.valid, "id": np.ones(len(columns), np.bool_)}
    return replace(columns, bbox=bbox, valid=valid)


def _scores(columns: Columns) -> FloatArray:
    score = np.full(len(columns), np.nan)
    score[columns.scores.row] = columns.scores.value
    return score


def _check_scores(path: Path, score: FloatArray, least: float) -> None:
    if not len(score):
        raise DatasetError([f"{path}: the list of results is empty; expected results of a model"])
    lowest, highest = float(score.min()), float(score.max())
    if not 0 <= lowest <= highest <= 1:
        problem = f"scores are from {lowest:g} to {highest:g}; expected 0 to 1"
        raise DatasetError([f"{path}: {problem}"], "Convert them: percentages, divided by 100.")
    if highest < least:
        problem = f"none of {count(len(score), 'result')} has a score of {least:g} or more"
        raise DatasetError(
            [f"{path}: {problem}; the highest is {highest:g}"],
            "Choose a lower --score (in Python: score).",
        )


def _ids(document: RawDocument, key: str) -> list[int | str]:
    """Return the ids under a key, also of results that are left out, in order."""
    numbers, first = np.unique(getattr(document.annotations, key), return_index=True)
    if (document.annotations.whole[key][first]).all():
        return list(map(int, numbers.tolist()))
    found: set[int | str] = set()
    locator = Locator(document)
    for row in first.tolist():
        value = locator.value("annotations", row)[key]
        number = whole_number(value)
        found.add(value if number is None else number)
    return sorted(found, key=lambda each: (isinstance(each, str), each))


def _places(file: str, rows: IndexArray) -> FilePlaces:
    """Return the places of results in their file."""
    width = len(str(int(rows.max(initial=0))))
    at = np.char.add("/", rows.astype(f"U{width}"))
    return FilePlaces((file,), np.zeros(len(rows), np.int32), at)


def _annotations(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return results with numbers, and with the boxes of their masks."""
    annotations = []
    for number, result in enumerate(results, start=1):
        box = result.get("bbox") or (None if result.get("keypoints") else _mask_box(result))
        annotations.append({**result, "id": number, **({"bbox": box} if box else {})})
    return annotations


def _mask_box(result: Mapping[str, Any]) -> list[float] | None:
    """Return the box of the mask of a result; None if it has none."""
    outline = result.get("segmentation")
    if not isinstance(outline, dict):
        return None
    left, top, right, bottom = mask_of(outline).bounds
    return None if np.isnan(left) else [left, top, right - left, bottom - top]
