"""Converting records one by one, for files that the fast reader cannot decode."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.formats.annotations.columns import ColumnsBuilder
from bboxqa.formats.annotations.records import (
    ASKED_KEYS,
    ID_EXPECTED,
    LISTS,
    Annotation,
    Category,
    Image,
    OutlinedAnnotation,
    Rle,
    extent_of,
    is_id,
    whole_number,
)
from bboxqa.formats.document.content import BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.document.record_list import RecordList


def read_fallback(
    document: RawDocument,
    records: Mapping[str, RecordList],
    builder: ColumnsBuilder,
    path: Path,
    *,
    has_annotations: bool = True,
) -> tuple[list[Image], list[Category]]:
    """Convert the records of a file one by one, and return its images and categories.

    Numbers written as text, whole numbers written as 7.0 and missing sizes are accepted.
    Annotations with key points but no box are left out and counted, if others have boxes. All other
    errors are added to the problems of `builder`, which collects the annotations. Raises
    DatasetError if the file is not JSON in UTF-8, or not an object with COCO's three lists.
    """
    check_text(document, path)
    check_lists(document, path, LISTS if has_annotations else ("images", "categories"))
    report = Report(document.name, builder.problems)
    images, categories = read_tables(records, builder.image_type, report)
    _add_annotations(records["annotations"], builder, report)
    return images, categories


def read_tables(
    records: Mapping[str, RecordList], kind: type[Image], report: "Report"
) -> tuple[list[Image], list[Category]]:
    """Convert the images and categories of a file, and report those that cannot be used."""
    each = labelled(records["images"], 0, "images", report)
    images = [_image(label, record, report, kind) for label, record in each]
    each = labelled(records["categories"], 0, "categories", report)
    categories = [_category(label, record, report) for label, record in each]
    return (
        [image for image in images if image is not None],
        [category for category in categories if category is not None],
    )


def _add_annotations(records: RecordList, builder: ColumnsBuilder, report: "Report") -> None:
    place = 0
    without_box: list[str] = []
    for window in records.windows():
        kept = []
        for label, record in labelled(window, place, "annotations", report):
            if _is_of_points(record, builder.type):
                without_box.append(label)
                continue
            found = annotation_of(label, record, report, builder.type, builder.box_lengths)
            kept += [] if found is None else [found]
        builder.add(kept)
        place += len(window)
    if len(without_box) < place:
        builder.n_without_box = len(without_box)
        return
    for label in without_box:
        report.add(label, "bbox", ABSENT, "4 finite numbers: x, y, width, height")


def _is_of_points(record: dict[str, Any], kind: type[Annotation]) -> bool:
    """Return whether a record has no box, but key points, which are not read."""
    if "keypoints" in kind.__struct_fields__ or record.get("bbox") is not None:
        return False
    points = record.get("keypoints")
    return isinstance(points, list) and bool(points)


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
    advice = "A COCO file is an object with the lists images, annotations and categories."
    if not isinstance(document.top, dict):
        found = "a list" if isinstance(document.top, list) else _shortened(document.top)
        problems.append(f"{name}: the top level is {found}; expected an object")
    for key in LISTS if isinstance(document.top, dict) else ():
        if key not in document.sections and (key in needed or key in document.top):
            value = document.top.get(key, ABSENT)
            found = "missing" if value is ABSENT else f"a {type(value).__name__}"
            problems.append(f"{name}: {key} is {found}; expected a list")
    if problems:
        raise DatasetError(problems, advice, files=[path] * len(problems))


class Report:
    """Collects problems as text."""

    def __init__(self, name: str, problems: list[str]) -> None:
        self._name = name
        self._problems = problems

    def add(self, record: str, key: str, found: object, expected: str) -> None:
        """Add a problem of the value of a key."""
        shown = "missing" if found is ABSENT else _shortened(found)
        self._problems.append(f"{self._name}: {record}: {key} is {shown}; expected {expected}")


ABSENT = object()
"""The value of a missing key."""


def _shortened(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def labelled(
    records: Iterable[Any], first: int, key: str, report: Report
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records that are objects, each with a label for messages; report the others.

    `first` is the index of the first record in its list.
    """
    for place, record in enumerate(records, first):
        if isinstance(record, dict):
            number = record.get("id", ABSENT)
            label = f"{key}[{place}]"
            if number is not ABSENT:
                label += f" (id {_shortened(number)})"
            yield label, record
        else:
            report.add(f"{key}[{place}]", "the record", record, "an object")


def _id(label: str, record: dict[str, Any], key: str, report: Report) -> int | str | None:
    value = record.get(key, ABSENT)
    if not is_id(value):
        report.add(label, key, value, ID_EXPECTED)
        return None
    number = whole_number(value)
    return str(value) if number is None else number


def _finite(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
    )


def _image(label: str, record: dict[str, Any], report: Report, kind: type[Image]) -> Image | None:
    number = _id(label, record, "id", report)
    name = record.get("file_name")
    if name is not None and not isinstance(name, str):
        report.add(label, "file_name", name, "text")
        name = None
    size: dict[str, Any] = {}
    for key in ("width", "height"):
        value = record.get(key)
        if value is not None and not _finite(value):
            report.add(label, key, value, "a number of pixels")
            value = None
        size[key] = value
    asked: dict[str, Any] = {}
    for key in ASKED_KEYS:
        value = record.get(key)
        if value is not None and not isinstance(value, list | dict):
            report.add(label, key, value, "a list of annotators")
            value = None
        asked[key] = value
    if number is None:
        return None
    keys = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    known = {"id", "file_name", *size, *asked}
    others: dict[str, Any] = {field: record.get(key) for field, key in keys if key not in known}
    return kind(number, name, **size, **asked, **others)


def _category(label: str, record: dict[str, Any], report: Report) -> Category | None:
    number = _id(label, record, "id", report)
    name = record.get("name", ABSENT)
    if not isinstance(name, str):
        report.add(label, "name", name, "text")
        return None
    if number is None:
        return None
    others = (record.get(key) for key in ("supercategory", "keypoints", "skeleton", "isthing"))
    return Category(number, name, *others)


def annotation_of(
    label: str,
    record: dict[str, Any],
    report: Report,
    kind: type[Annotation],
    lengths: Collection[int],
) -> Annotation | None:
    """Return a record with boxes of certain lengths; None, with reports, if it cannot be used."""
    ids = [_id(label, record, key, report) for key in ("id", "image_id", "category_id")]
    bbox = record.get("bbox", ABSENT)
    joints = _joints(label, record, report) if "keypoints" in kind.__struct_fields__ else {}
    if bbox in (ABSENT, None) and joints.get("keypoints"):
        bbox = extent_of(joints["keypoints"]) or bbox
    sound = isinstance(bbox, list) and len(bbox) in lengths and all(map(_finite, bbox))
    if not sound:
        more = ", or 5 with an angle, or 8 of four corners" if len(lengths) > 1 else ""
        report.add(label, "bbox", bbox, f"4 finite numbers: x, y, width, height{more}")
    crowd = record.get("iscrowd")
    if crowd not in (None, 0, 1):
        report.add(label, "iscrowd", crowd, "0 or 1")
    outlined = issubclass(kind, OutlinedAnnotation)
    outline = _segmentation(label, record, report) if outlined else None
    if not sound or None in ids:
        return None
    fixed = {"id", "image_id", "category_id", "bbox", "iscrowd", "segmentation", *joints}
    keys = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    others: dict[str, Any] = {field: record.get(key) for field, key in keys if key not in fixed}
    if "segmentation" in kind.__struct_fields__:
        others["segmentation"] = outline if outlined else record.get("segmentation")
    fields: dict[str, Any] = dict(zip(("id", "image_id", "category_id"), ids, strict=True))
    fields["bbox"] = tuple(map(float, bbox))
    return kind(**fields, iscrowd=bool(crowd), **joints, **others)


def _joints(label: str, record: dict[str, Any], report: Report) -> dict[str, Any]:
    """Return the key points and the area of an annotation; None where missing."""
    points, area = record.get("keypoints"), record.get("area")
    if points is not None and not (isinstance(points, list) and all(map(_finite, points))):
        report.add(label, "keypoints", points, "finite numbers: x, y and visibility of each")
        points = None
    return {"keypoints": points, "area": area if _finite(area) else None}


def _segmentation(
    label: str, record: dict[str, Any], report: Report
) -> list[list[float]] | Rle | None:
    value = record.get("segmentation")
    if value is None:
        return None
    if isinstance(value, list) and all(
        isinstance(ring, list) and all(map(_finite, ring)) for ring in value
    ):
        return value
    if isinstance(value, dict):
        size, counts = value.get("size"), value.get("counts")
        size = [whole_number(side) for side in size] if isinstance(size, list) else []
        if (
            len(size) == 2
            and None not in size
            and (
                isinstance(counts, str)
                or (isinstance(counts, list) and all(type(run) is int for run in counts))
            )
        ):
            return Rle((size[0], size[1]), counts)
    report.add(
        label,
        "segmentation",
        value,
        "a list of rings [x, y, x, y, ...] of finite numbers, or size and counts",
    )
    return None
