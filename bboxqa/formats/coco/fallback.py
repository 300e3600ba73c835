"""Reading a file that the fast reader does not take: what can be used, and what is wrong."""

import json
import math
from collections.abc import Iterator
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.formats.annotations.columns import ColumnsBuilder
from bboxqa.formats.annotations.records import (
    ASKED_KEYS,
    Annotation,
    Category,
    Image,
    OutlinedAnnotation,
    Rle,
    whole_number,
)

__all__ = ["read_fallback"]

_LISTS = ("images", "annotations", "categories")


def read_fallback(
    name: str, text: bytes, builder: ColumnsBuilder
) -> tuple[list[Image], list[Category]]:
    """Read a file record by record; what is wrong is added to the problems of `builder`.

    Numbers that are written as text, whole numbers written as 7.0 and missing sizes are
    understood; everything else that is not as it should be is a problem.

    Parameters
    ----------
    name : str
        Of the file.
    text : bytes
        All of it.
    builder : ColumnsBuilder
        Takes the annotations.

    Returns
    -------
    images : list of Image
    categories : list of Category

    Raises
    ------
    DatasetError
        If the file is not json, or not an object with the three lists of COCO.
    """
    lists = _lists(name, _parse(name, text))
    report = _Report(name, builder.problems)
    images = [_image(record, report) for record in _objects(lists, "images", report)]
    categories = [_category(record, report) for record in _objects(lists, "categories", report)]
    annotations = [
        _annotation(record, report, builder.type)
        for record in _objects(lists, "annotations", report)
    ]
    builder.add([annotation for annotation in annotations if annotation is not None])
    return (
        [image for image in images if image is not None],
        [category for category in categories if category is not None],
    )


class _Report:
    """Puts problems into words."""

    def __init__(self, name: str, problems: list[str]) -> None:
        self._name = name
        self._problems = problems

    def add(self, record: str, key: str, found: object, expected: str) -> None:
        shown = "missing" if found is _ABSENT else _shortened(found)
        self._problems.append(f"{self._name}: {record}: {key} is {shown}; expected {expected}")


_ABSENT = object()


def _shortened(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _parse(name: str, text: bytes) -> object:
    """Return the json value, or say where the text stops being json."""
    start = text[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<")):
        raise DatasetError(
            [f"{name}: is html or xml, not json: it begins with {_excerpt(text)!r}"],
            "A download that needs a login often leaves such a page; fetch the file again.",
        )
    if text.startswith(b"\x1f\x8b"):
        raise DatasetError([f"{name}: is compressed (gzip), not json"], "Unpack it first.")
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DatasetError(
            [f"{name}: is UTF-16; expected UTF-8"], "`bboxqa validate --fix` writes it anew."
        )
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(
            [f"{name}: is not utf-8: byte {error.start} is {text[error.start]:#04x}"],
            "Save the file as utf-8.",
        ) from None
    try:
        return json.loads(decoded)
    except json.JSONDecodeError as error:
        offset = len(decoded[: error.pos].encode())
        cut = offset >= len(decoded.rstrip().encode()) or error.msg.startswith("Unterminated")
        what = "ends in the middle of a value" if cut else f"{error.msg.lower()}"
        raise DatasetError(
            [
                (
                    f"{name}: is not json: {what} at byte {offset} "
                    f"(line {error.lineno}, column {error.colno})"
                )
            ],
            "The file was probably cut off; export or copy it again." if cut else "",
        ) from None
    except (RecursionError, ValueError) as error:
        raise DatasetError([f"{name}: is not json that can be read: {error}"]) from None


def _excerpt(text: bytes) -> str:
    return text[:200].decode("utf-8", "replace").strip()[:40]


def _lists(name: str, document: object) -> dict[str, Any]:
    """Return the top level with the three lists of COCO."""
    advice = "A COCO file is an object with the lists images, annotations and categories."
    if isinstance(document, list):
        raise DatasetError(
            [f"{name}: the top level is a list; expected an object"],
            f"It looks like a file of detection results. {advice}",
        )
    if not isinstance(document, dict):
        raise DatasetError(
            [f"{name}: the top level is {_shortened(document)}; expected an object"], advice
        )
    problems = []
    for key in _LISTS:
        value = document.get(key, _ABSENT)
        if not isinstance(value, list):
            found = "missing" if value is _ABSENT else f"a {type(value).__name__}"
            problems.append(f"{name}: {key} is {found}; expected a list")
    if problems:
        raise DatasetError(problems, advice)
    return document


def _objects(
    lists: dict[str, Any], key: str, report: _Report
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of a list with how to call it."""
    for place, record in enumerate(lists[key]):
        if isinstance(record, dict):
            number = record.get("id", _ABSENT)
            label = f"{key}[{place}]"
            if number is not _ABSENT:
                label += f" (id {_shortened(number)})"
            yield label, record
        else:
            report.add(f"{key}[{place}]", "the record", record, "an object")


def _id(label: str, record: dict[str, Any], key: str, report: _Report) -> int | None:
    value = record.get(key, _ABSENT)
    number = whole_number(value)
    if number is None:
        report.add(label, key, value, "a whole number")
    return number


def _finite(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
    )


def _image(labelled: tuple[str, dict[str, Any]], report: _Report) -> Image | None:
    label, record = labelled
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
    return Image(number, name, annotator=record.get("annotator"), **size, **asked)


def _category(labelled: tuple[str, dict[str, Any]], report: _Report) -> Category | None:
    label, record = labelled
    number = _id(label, record, "id", report)
    name = record.get("name", _ABSENT)
    if not isinstance(name, str):
        report.add(label, "name", name, "text")
        return None
    return None if number is None else Category(number, name)


def _annotation(
    labelled: tuple[str, dict[str, Any]], report: _Report, kind: type[Annotation]
) -> Annotation | None:
    label, record = labelled
    ids = [_id(label, record, key, report) for key in ("id", "image_id", "category_id")]
    bbox = record.get("bbox", _ABSENT)
    sound = isinstance(bbox, list) and len(bbox) == 4 and all(map(_finite, bbox))
    if not sound:
        report.add(label, "bbox", bbox, "4 finite numbers: x, y, width, height")
    crowd = record.get("iscrowd")
    if crowd not in (None, 0, 1):
        report.add(label, "iscrowd", crowd, "0 or 1")
    outlined = issubclass(kind, OutlinedAnnotation)
    outline = _segmentation(label, record, report) if outlined else None
    if not sound or None in ids:
        return None
    fixed = {"id", "image_id", "category_id", "bbox", "iscrowd", "segmentation"}
    keys = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    others: dict[str, Any] = {field: record.get(key) for field, key in keys if key not in fixed}
    if outlined:
        others["segmentation"] = outline
    fields: dict[str, Any] = dict(zip(("id", "image_id", "category_id"), ids, strict=True))
    x, y, width, height = map(float, bbox)
    return kind(**fields, bbox=(x, y, width, height), iscrowd=bool(crowd), **others)


def _segmentation(
    label: str, record: dict[str, Any], report: _Report
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
