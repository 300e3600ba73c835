"""Converting table cells to boxes, and detecting the layout of boxes from their numbers."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import count, one_line
from bboxqa.formats.box_tables.table_columns import FORMS, NAMES, Columns, plain_name
from bboxqa.formats.translation.untrusted import (
    LARGEST,
    ValueProblemError,
    items,
    number_in,
    number_of,
)

Cells = dict[str, Any]
"""The cells of one box, by the keys of `NAMES`."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# What is read of objects, and its usual names in lower case without punctuation, the best first.
_OF_OBJECTS = {
    "bbox": (*NAMES["bbox"], "bboxes", "boxes", "boundingboxes"),
    "category": (
        "category", "categoryname", "label", "labelname", "class", "classname",
        "categories", "categorynames", "labels", "labelnames", "classes", "classnames",
        "categoryid", "labelid", "classid", "categoryids", "labelids", "classids",
    ),
    "annotator": (*NAMES["annotator"], "annotators"),
    "id": ("id", "bboxid", *NAMES["id"][1:], "ids"),
    "iscrowd": NAMES["iscrowd"],
}  # fmt: skip
_WORDS = {
    "bbox": ("box", "boxes"),
    "category": ("category", "categories"),
    "annotator": ("annotator", "annotators"),
    "id": ("id", "ids"),
    "iscrowd": ("mark", "marks"),
}
_EXPECTED = "expected four numbers of each in 'bbox'"
_NOTHING = (None, "", "nan", "NaN", "None", "null")


def boxes_in(row: Mapping[str, Any], columns: Columns) -> list[Cells]:
    """Return the cells of each box in a row; for an image without objects, cells without a box.

    Raises ValueProblemError if the column of objects holds anything else.
    """
    cells = {key: row[name] for key, name in columns.of.items() if name in row}
    if "objects" not in columns.of:
        return [cells]
    listed = _listed(cells.pop("objects", None))
    return [{**cells, **_cells_of(each)} for each in listed] or [cells]


def _listed(objects: object) -> list[Any]:
    """Return the objects of an image, which cells of csv hold as JSON."""
    if _is_empty(objects):
        return []
    if isinstance(objects, str):
        objects = _decoded(objects)
    if isinstance(objects, dict):
        return _by_rows(objects)
    if not isinstance(objects, list):
        raise ValueProblemError(f"objects is {str(objects)[:40]}; expected a list")
    return objects


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise ValueProblemError(f"objects is {text[:40]!r}; expected JSON") from None


def _by_rows(objects: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert an object of parallel lists to a list of objects.

    Raises ValueProblemError if there are no boxes, or not as many as of anything else.
    """
    names = {key: name for key, name in _names_in(objects).items() if objects[name] is not None}
    if "bbox" not in names:
        if any(map(_holds, objects.values())):
            raise ValueProblemError(f"objects has {_listing(objects)}, but no boxes; {_EXPECTED}")
        return []
    lists = {key: objects[name] for key, name in names.items()}
    for key, each in lists.items():
        if not isinstance(each, list):
            found = f"objects has {str(each)[:40]!r} in {one_line(names[key])!r}"
            raise ValueProblemError(
                f"{found}; expected a list with one {_WORDS[key][0]} per object"
            )
    n = len(lists["bbox"])
    for key, each in lists.items():
        if len(each) != n:
            boxes, others = (
                f"{count(len(lists[of]), *_WORDS[of])} in {one_line(names[of])!r}"
                for of in ("bbox", key)
            )
            expected = f"expected as many {_WORDS[key][1]} as boxes"
            raise ValueProblemError(f"objects has {boxes} and {others}; {expected}")
    return [{key: each[place] for key, each in lists.items()} for place in range(n)]


def _names_in(given: dict[str, Any]) -> dict[str, str]:
    """Return the name of each known key of objects: the best one that holds anything.

    Raises ValueProblemError if two names hold different boxes.
    """
    plain = {plain_name(name): name for name in reversed(given)}
    found = {}
    for key, usual in _OF_OBJECTS.items():
        there = [plain[name] for name in usual if name in plain]
        holding = [name for name in there if _holds(given[name])]
        if key == "bbox" and any(given[name] != given[holding[0]] for name in holding):
            raise ValueProblemError(
                f"objects has different boxes in {_listing(holding)}; expected one of them"
            )
        if there:
            found[key] = (holding or there)[0]
    return found


def _cells_of(given: object) -> Cells:
    """Return the known values of an object, by the keys of `NAMES`.

    What cannot be read has the key "problem", so that the other objects of the row are read.
    """
    if not isinstance(given, dict):
        return {"problem": f"is {str(given)[:40]}; {_EXPECTED}"} if _holds(given) else {}
    try:
        names = _names_in(given)
    except ValueProblemError as error:
        return {"problem": str(error)}
    found = {key: given[name] for key, name in names.items() if given[name] is not None}
    # An annotator who was asked and drew nothing has no box.
    others = [name for name in given if name != names.get("annotator") and _holds(given[name])]
    if others and not _holds(found.get("bbox")):
        return {"problem": f"has {_listing(others)}, but no box; {_EXPECTED}"}
    return found


def _holds(value: object) -> bool:
    return not _is_empty(value) and value not in ([], {})


def _listing(names: Iterable[str]) -> str:
    """Return the first names, quoted."""
    return ", ".join(repr(one_line(name)[:40]) for name in [*names][:3])


def numbers_of_box(cells: Cells, form: str) -> list[float] | None:
    """Return the four numbers of a box; None where all are empty.

    Raises ValueProblemError if they are not numbers.
    """
    if form:
        values = [cells.get(key) for key in FORMS[form]]
        # Fast path: most cells are numbers as text.
        with suppress(ValueError, TypeError):
            box = [*map(float, cast("list[str]", values))]
            if bool not in map(type, values) and sum(map(abs, box)) < LARGEST:
                return box
        if all(_is_empty(each) for each in values):
            return None
        return [_number(each, key) for each, key in zip(values, FORMS[form], strict=True)]
    if "problem" in cells:
        raise ValueProblemError(cells["problem"])
    given = cells.get("bbox")
    if not _holds(given):
        return None
    values = _NUMBER.findall(given) if isinstance(given, str) else items(given)
    if len(values) != 4:
        raise ValueProblemError(f"bbox is {str(given)[:40]}; expected four numbers")
    return [_number(each, "bbox") for each in values]


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in _NOTHING
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _number(value: object, name: str) -> float:
    return number_in(value, name) if isinstance(value, str) else number_of(value, name)


def side_of(value: object) -> int | None:
    """Return a side of an image in pixels; None if the value is not a size."""
    try:
        side = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return int(side) if 1 <= side < 1 << 31 else None


def form_of(boxes: FloatArray, sizes: FloatArray) -> str:
    """Return the only layout that fits the numbers of all boxes; "" if several fit.

    Parameters
    ----------
    boxes : (N, 4) float64
    sizes : (N, 2) float64
        Width and height of the images; NaN where unknown.

    Examples
    --------
    >>> sizes = np.array([[100.0, 100.0]])
    >>> form_of(np.array([[60.0, 50.0, 90.0, 80.0]]), sizes)
    'xyxy'
    >>> form_of(np.array([[60.0, 50.0, 20.0, 30.0]]), sizes)
    'xywh'
    >>> form_of(np.array([[10.0, 10.0, 20.0, 30.0]]), sizes)
    ''
    """
    if (boxes[:, 2:] < boxes[:, :2]).any():
        return "xywh"
    # One pixel is allowed for rounding.
    with np.errstate(invalid="ignore"):
        is_beyond = (boxes[:, :2] + boxes[:, 2:] > sizes + 1).any()
    return "xyxy" if is_beyond else ""


def as_corner_and_size(box: list[float], form: str) -> list[float]:
    """Return a box as left, top, width and height.

    Examples
    --------
    >>> as_corner_and_size([1, 2, 4, 6], "xyxy"), as_corner_and_size([5, 5, 4, 2], "cxcywh")
    ([1, 2, 3, 4], [3.0, 4.0, 4, 2])
    """
    x, y, right, bottom = box
    if form == "xyxy":
        return [x, y, right - x, bottom - y]
    if form == "cxcywh":
        return [x - right / 2, y - bottom / 2, right, bottom]
    return box


def as_corners_and_sizes(boxes: FloatArray, form: str) -> FloatArray:
    """Return (N, 4) boxes as `as_corner_and_size` does."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if form == "xyxy":
        return np.concatenate([first, second - first], 1)
    if form == "cxcywh":
        return np.concatenate([first - second / 2, second], 1)
    return boxes
