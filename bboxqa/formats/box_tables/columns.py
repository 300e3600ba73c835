"""The columns of tables of boxes, the boxes in their cells, and tables in memory."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import isinf
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.tables import NAMED_ONCE, Rows, repeated_name
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES
from bboxqa.formats.translation.shapes import LARGEST, LEAST_PIXELS, ValueProblemError, items
from bboxqa.model.annotations import Choices

# The possible contents of columns, and their usual names in lower case without punctuation, the
# best first.
NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        "image", "filename", "imagename", "imagefilename", "imagepath", "filepath", "file", "path",
        "imageid", "img", "imgname", "imgid", "picture", "frame",
    ),
    "annotator": (
        "annotator", "annotatorid", "annotatorname", "rater", "raterid", "worker", "workerid",
        "labeler", "labeller", "labelerlogin", "completedby", "createdby", "user", "username",
        "radid", "radiologist", "radiologistid", "reader", "readerid", "expertid", "annotatedby",
        "labeledby", "assignmentworkerid",
    ),
    "category": (
        "category", "categoryname", "label", "labelname", "class", "classname", "labels",
        "classid", "categoryid", "labelid",
    ),
    "x1": ("x1", "xmin", "minx", "boxxmin", "bboxx1", "bboxxmin", "topx"),
    "y1": ("y1", "ymin", "miny", "boxymin", "bboxy1", "bboxymin", "topy"),
    "x2": ("x2", "xmax", "maxx", "boxxmax", "bboxx2", "bboxxmax", "right", "bottomx"),
    "y2": ("y2", "ymax", "maxy", "boxymax", "bboxy2", "bboxymax", "bottom", "bottomy"),
    "cx": ("cx", "xcenter", "centerx", "xcentre"),
    "cy": ("cy", "ycenter", "centery", "ycentre"),
    "x": ("x", "left", "bboxx", "boxx"),
    "y": ("y", "top", "bboxy", "boxy"),
    "width": ("width", "w", "bboxwidth", "bboxw", "boxwidth", "boxw"),
    "height": ("height", "h", "bboxheight", "bboxh", "boxheight", "boxh"),
    "bbox": ("bbox", "box", "boundingbox"),
    "rotation": ("rotation",),
    "objects": ("objects",),
    "image_id": ("imageid", "imgid"),
    "image_width": ("imagewidth", "imgwidth", "originalwidth"),
    "image_height": ("imageheight", "imgheight", "originalheight"),
    "id": ("id", "annotationid", "boxid"),
    "score": ("score",),
    "iscrowd": ("iscrowd", "isgroupof"),
    "created_at": ("createdat",),
    "track": ("trackid", "track", "instanceid"),
}  # fmt: skip
FORMS: dict[str, tuple[str, ...]] = {
    "xyxy": ("x1", "y1", "x2", "y2"),
    "cxcywh": ("cx", "cy", "width", "height"),
    "xywh": ("x", "y", "width", "height"),
}
"""The columns of each box layout: two corners, centre and size, top left corner and size."""
FORM_WORDS = {
    "xyxy": "two corners",
    "cxcywh": "centre, width and height",
    "xywh": "left, top, width and height",
}
_SIGNS = re.compile(r"[\W_]+")
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
        "rectanglelabels",
    ),
    "annotator": (*NAMES["annotator"], "annotators"),
    "id": ("id", "bboxid", *NAMES["id"][1:], "ids"),
    "iscrowd": NAMES["iscrowd"],
}  # fmt: skip
_NAMED = "named"
"""The key of cells of an object whose numbers have names, which say their layout."""
_EXPECTED = "expected four numbers of each in 'bbox'"
_NOTHING = (None, "", "nan", "NaN", "None", "null")
_SAY = 'Say what its columns hold: with bboxqa.reading(columns={"image": NAME, "x": NAME, …}):'


class Columns(msgspec.Struct, frozen=True):
    """The names of columns, by the keys of `NAMES`."""

    of: Mapping[str, str]
    form: str = ""
    """A key of `FORMS`; "" where one column holds the whole box, or all objects of an image."""
    problem: str = ""
    """Why no boxes can be read from the columns; "" where they can."""
    is_open_images: bool = False

    def described(self) -> str:
        """Return the columns in the syntax of the option."""
        return ",".join(f"{key}={one_line(name)}" for key, name in self.of.items())


def columns_of(header: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Return the contents of a table's columns: as chosen by the user, the others by name.

    Examples
    --------
    >>> found = columns_of(["filename", "width", "class", "xmin", "ymin", "xmax", "ymax"], {})
    >>> found.form, found.of["image_width"]
    ('xyxy', 'width')
    >>> columns_of(["unit", "ann", "bob"], {}).problem
    'no column of images'
    """
    missing = [name for name in chosen.values() if name not in header]
    if missing:
        some = ", ".join(repr(one_line(name)) for name in missing)
        listed = ", ".join(one_line(name) for name in header[:20])
        return Columns({}, problem=f"no column {some}; the columns are {listed}")
    plain: dict[str, str] = {}
    for name in header:
        plain.setdefault(_plain_name(name), name)
    taken = set(chosen.values())
    found = dict(chosen)
    for key, names in NAMES.items():
        usual = [plain[name] for name in names if name in plain and plain[name] not in taken]
        if key not in found and usual:
            found[key] = usual[0]
    return _whole(found, chosen, is_open_images={"imageid", "xmin", "labelname"} <= plain.keys())


@lru_cache(1024)
def _plain_name(name: str) -> str:
    """Return the name of a column in lower case without punctuation, as in `NAMES`."""
    return _SIGNS.sub("", name).lower()


def _whole(found: dict[str, str], chosen: Mapping[str, str], *, is_open_images: bool) -> Columns:
    """Return columns with the layout of boxes, without columns that this layout does not use."""
    # left and top are the first corner if right and bottom are the second.
    for corner, side in (("x1", "x"), ("y1", "y")):
        if corner not in found and side in found and {"x2", "y2"} <= found.keys():
            found[corner] = found[side]
    # A first corner is left and top if only a width and a height are beside it.
    if {"x1", "y1", "width", "height"} <= found.keys() and not {"x", "x2", "y2"} & found.keys():
        found |= {"x": found["x1"], "y": found["y1"]}
    named = [
        form for form, keys in FORMS.items() if chosen.keys() & set(keys) - {"width", "height"}
    ]
    complete = [form for form, keys in FORMS.items() if set(keys) <= found.keys()]
    form = next((each for each in complete if each in named), complete[0] if complete else "")
    if "bbox" in chosen or "objects" in chosen:
        form = ""
    used = set(FORMS.get(form, ()))
    # If the box does not use width and height, they are the size of the image.
    for side in ("width", "height"):
        if side not in used and side in found and side not in chosen:
            found.setdefault(f"image_{side}", found[side])
    parts = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height"}
    whole = {"bbox", "objects"} if form else set()
    # A column that names images is not used as their id as well.
    if found.get("image_id") == found.get("image"):
        found.pop("image_id", None)
    kept = {key: name for key, name in found.items() if key not in (parts | whole) - used}
    problem = ""
    if "image" not in kept:
        problem = "no column of images"
    elif not form and not kept.keys() & {"bbox", "objects"}:
        problem = "no columns of boxes"
    return Columns(kept, form, problem, is_open_images)


class BoxKind(msgspec.Struct, frozen=True):
    """The layout and the unit of the boxes of a table."""

    form: str
    is_share: bool

    def in_corner_and_size(self, boxes: FloatArray) -> FloatArray:
        """Return (N, 4) boxes as left, top, width and height.

        Examples
        --------
        >>> BoxKind("cxcywh", is_share=False).in_corner_and_size(np.array([[5, 5, 4, 2.0]]))
        array([[3., 4., 4., 2.]])
        """
        first, second = boxes[:, :2], boxes[:, 2:]
        if self.form == "xyxy":
            return np.concatenate([first, second - first], 1)
        if self.form == "cxcywh":
            return np.concatenate([first - second / 2, second], 1)
        return boxes


def unit_of(boxes: FloatArray) -> tuple[str, BoolArray, BoolArray]:
    """Return the unit of (N, 4) boxes, and which are surely in pixels, or in shares if alone.

    The unit is "shares", "pixels", or "either" if many are of each. Boxes of 0 and 1 only, which
    stand for an image without objects in some tables, are neither.

    Examples
    --------
    >>> unit_of(np.array([[0, 0, 9, 9], [0, 0.5, 1, 1], [0, 0, 1, 1]]))
    ('either', array([ True, False, False]), array([False,  True, False]))
    """
    is_larger: BoolArray = np.abs(boxes).max(axis=1, initial=0) > LEAST_PIXELS
    is_share: BoolArray = ~is_larger & (boxes != np.round(boxes)).any(axis=1)
    n_larger, n_shares = int(is_larger.sum()), int(is_share.sum())
    if 10 * n_shares <= n_shares + n_larger:
        return "pixels", is_larger, is_share
    is_unclear = 10 * n_larger > n_shares + n_larger
    return "either" if is_unclear else "shares", is_larger, is_share


class BoxRows(msgspec.Struct, frozen=True, eq=False):
    """The boxes of consecutive rows, and rows without one."""

    at: Sequence[int]
    """The line, or the Parquet row number, of each of N boxes."""
    place: Sequence[int]
    """The number of each among the objects of its row; 0 where there is no object."""
    cells: Mapping[str, Sequence[Any]]
    """By the keys of `NAMES`, the cells of each; None where it has none."""
    numbers: FloatArray
    """(N, 4) float64. NaN where there is no box."""
    problems: Mapping[int, str]
    """By index, why there is none."""

    @property
    def are_named(self) -> bool:
        """Whether the numbers of all boxes have names, which say their layout."""
        named, has_box = self.cells.get(_NAMED, ()), ~np.isnan(self.numbers[:, 0])
        return bool(named and has_box.any() and np.array(named, np.bool_)[has_box].all())

    def sizes(self) -> FloatArray:
        """Return width and height of the image of each box, (N, 2); NaN where unknown."""
        found = np.full((len(self.at), 2), np.nan)
        for column, side in enumerate(SIDES):
            for row, cell in enumerate(self.cells.get(f"image_{side}", ())):
                with suppress(ValueProblemError):
                    found[row, column] = shapes.side_of(cell, side) or np.nan
        return found


def boxes_in(part: Rows, form: str) -> BoxRows:
    """Return the boxes in rows; for an image without objects, a row without a box."""
    cells: dict[str, Sequence[Any]] = part.cells
    at, place, problems = part.at, [0] * len(part.at), dict[int, str]()
    if "objects" in cells:
        rows = [(line, *each) for line, row in part.records() for each in _objects_of(row)]
        at, place = [line for line, _, _ in rows], [number for _, number, _ in rows]
        keys = dict.fromkeys(key for _, _, row in rows for key in row)
        cells = {key: [row.get(key) for _, _, row in rows] for key in keys}
    if (numbers := _plain_numbers(cells, form)) is None:
        numbers = np.full((len(at), 4), np.nan)
        names = [*FORMS.get(form, ("bbox",)), "problem"]
        none = [None] * len(at)
        for row, given in enumerate(zip(*(cells.get(name, none) for name in names), strict=True)):
            try:
                numbers[row] = _numbers_in(dict(zip(names, given, strict=True)), form)
            except ValueProblemError as error:
                problems[row] = str(error)
    return BoxRows(at, place, cells, numbers, problems)


def _plain_numbers(cells: Mapping[str, Sequence[Any]], form: str) -> FloatArray | None:
    """Return the (N, 4) numbers of rows with a box each; None if any cell is no number."""
    columns = [cells[key] for key in FORMS.get(form, ())]
    if not columns or not columns[0]:
        return None
    if any(bool in {*map(type, each)} for each in columns if type(each[0]) is not str):
        return None
    try:
        numbers = np.array(columns, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if numbers.ndim != 2:
        # Lists in cells.
        return None
    with np.errstate(over="ignore"):
        is_sound = (np.abs(numbers).sum(0) < LARGEST).all()
    return np.ascontiguousarray(numbers.T) if is_sound else None


def _numbers_in(cells: Cells, form: str) -> list[float]:
    """Return the four numbers of a box, NaN where all are empty; refuse what is no number."""
    if cells["problem"] is not None:
        raise ValueProblemError(cells["problem"])
    if form:
        if all(_is_empty(cells[key]) for key in FORMS[form]):
            return [np.nan] * 4
        return [_number(cells[key], key) for key in FORMS[form]]
    if not _holds(given := cells["bbox"]):
        return [np.nan] * 4
    values = _NUMBER.findall(given) if isinstance(given, str) else items(given)
    if len(values) != 4:
        raise ValueProblemError(f"bbox is {str(given)[:40]}; expected four numbers")
    return [_number(each, "bbox") for each in values]


def box_kind_of(name: str, parts: Sequence[BoxRows], columns: Columns, choices: Choices) -> BoxKind:
    """Return the kind of boxes of the table `name`, as the user says it or its numbers prove it.

    Raises DatasetError if the numbers fit several kinds.
    """
    said, _, unit = (choices.box_format or "").partition("-")
    form = said or columns.form
    if form and unit and "objects" not in columns.of:
        return BoxKind(form, is_share=unit == "shares")
    whole = np.concatenate([np.zeros((0, 4)), *(part.numbers for part in parts)])
    has_box = ~np.isnan(whole[:, 0])
    boxes, at = whole[has_box], np.array([at for part in parts for at in part.at])[has_box]
    if len(at) and all(part.are_named for part in parts if part.at):
        form = "xywh"
    found_unit, larger, shares = unit_of(boxes)
    unit = unit or found_unit
    if unit == "either":
        found = f"{count(int(shares.sum()), 'box', 'boxes')} of numbers up to {LEAST_PIXELS}"
        other = f"{int(larger.sum()):,} of larger ones, such as in line {at[larger.argmax()]}"
        lines = f"{found}, such as in line {at[shares.argmax()]}, and {other}"
        raise DatasetError(
            [f"{name}: has {lines}; expected either shares of the image or pixels"],
            "Write all boxes in one unit, or say it: --box-format "
            f"{form or 'xyxy'}-shares or {form or 'xyxy'}-pixels",
        )
    is_share = unit == "shares"
    if not form and (np.abs(boxes) > 1).any() | is_share:
        sizes = np.concatenate([part.sizes() for part in parts])[has_box]
        form = _form_of(boxes, np.ones_like(sizes) if is_share else sizes)
        if not form:
            column = one_line(columns.of.get("bbox") or columns.of["objects"])
            both = f"{column!r} may hold left, top, width and height, or two corners"
            raise DatasetError(
                [f"{name}: {both}: all numbers fit both"],
                "Say which it is: --box-format xywh, xyxy or cxcywh",
            )
    return BoxKind(form or "xywh", is_share)


def _form_of(boxes: FloatArray, sizes: FloatArray) -> str:
    """Return the only layout that fits the numbers of all boxes; "" if several fit."""
    if (boxes[:, 2:] < boxes[:, :2]).any():
        return "xywh"
    # One pixel is allowed for rounding.
    with np.errstate(invalid="ignore"):
        is_beyond = (boxes[:, :2] + boxes[:, 2:] > sizes + 1).any()
    return "xyxy" if is_beyond else ""


def _objects_of(row: Cells) -> list[tuple[int, Cells]]:
    """Return the number and the cells of each object in a row; 0 and its cells without one."""
    objects = row.pop("objects")
    try:
        listed = [*map(_cells_of, _listed(objects))]
    except ValueProblemError as error:
        return [(0, {**row, "problem": str(error)})]
    return [(number, {**row, **each}) for number, each in enumerate(listed or [{}], start=1)]


def _listed(objects: object) -> list[Any]:
    """Return the objects of an image, which cells of csv hold as JSON."""
    if _is_empty(objects):
        return []
    if isinstance(objects, str):
        text = objects
        try:
            objects = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            raise ValueProblemError(f"objects is {text[:40]!r}; expected JSON") from None
    if isinstance(objects, list):
        return objects
    if not isinstance(objects, dict):
        raise ValueProblemError(f"objects is {str(objects)[:40]}; expected a list")
    names = {key: name for key, name in _names_in(objects).items() if objects[name] is not None}
    if "bbox" not in names:
        if any(map(_holds, objects.values())):
            raise ValueProblemError(f"objects has {_listing(objects)}, but no boxes; {_EXPECTED}")
        return []
    lists = {key: objects[name] for key, name in names.items()}
    for key, each in lists.items():
        if not isinstance(each, list) or len(each) != len(lists["bbox"]):
            n_boxes = f"{count(len(lists['bbox']), 'box', 'boxes')} in {names['bbox']!r}"
            raise ValueProblemError(
                f"objects has {n_boxes} and {str(each)[:40]} in {one_line(names[key])!r}; expected "
                "a list with as many values"
            )
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _names_in(given: dict[str, Any]) -> dict[str, str]:
    """Return the name of each known key of objects: the best one that holds anything."""
    plain = {_plain_name(name): name for name in reversed(given)}
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
    """Return the known values of an object, by the keys of `NAMES`."""
    if not isinstance(given, dict):
        return {"problem": f"is {str(given)[:40]}; {_EXPECTED}"} if _holds(given) else {}
    try:
        names = _names_in(given)
        found = {key: given[name] for key, name in names.items() if given[name] is not None}
        if not _holds(found.get("bbox")):
            found |= _named_box(given)
    except ValueProblemError as error:
        return {"problem": str(error)}
    # An annotator who was asked and drew nothing has no box.
    others = [name for name in given if name != names.get("annotator") and _holds(given[name])]
    if others and not _holds(found.get("bbox")):
        return {"problem": f"has {_listing(others)}, but no box; {_EXPECTED}"}
    return found


@lru_cache(256)
def _columns_of_keys(keys: tuple[str, ...]) -> Columns:
    return columns_of(keys, {})


def _named_box(given: dict[str, Any]) -> Cells:
    """Return the cells of an object whose numbers have names, as left, top, width and height."""
    columns = _columns_of_keys(tuple(given))
    if not columns.form or all(_is_empty(given[columns.of[key]]) for key in FORMS[columns.form]):
        return {}
    numbers = [_number(given[columns.of[key]], columns.of[key]) for key in FORMS[columns.form]]
    box: FloatArray = BoxKind(columns.form, is_share=False).in_corner_and_size(np.array([numbers]))
    found: Cells = {_NAMED: True}
    if "rectanglelabels" in given and "original_width" in given:
        sides = [_number(given[f"original_{side}"], side) for side in SIDES]
        box = box * [*sides, *sides] / 100
        found |= {f"image_{side}": value for side, value in zip(SIDES, sides, strict=True)}
        found["category"] = next(iter(items(given["rectanglelabels"])), "")
        if degrees := shapes.angle_in(given.get("rotation")):
            corner, half = box[0, :2], box[0, 2:] / 2
            box[0, :2] = shapes.rotated(corner + half, (corner[0], corner[1]), degrees) - half
            found["rotation"] = degrees
    return {**found, "bbox": box[0].tolist()}


def _holds(value: object) -> bool:
    return not _is_empty(value) and value not in ([], {})


def _listing(names: Iterable[str]) -> str:
    return ", ".join(repr(one_line(name)[:40]) for name in [*names][:3])


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in _NOTHING
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _number(value: object, name: str) -> float:
    return (
        shapes.number_in(value, name) if isinstance(value, str) else shapes.number_of(value, name)
    )


def rows_in(source: object, choices: Choices) -> list[dict[str, Any]] | None:
    """Return the rows of a table; None if the value is not a table.

    Examples
    --------
    >>> from bboxqa.model.annotations import NO_CHOICES
    >>> rows_in([{"image": "a.jpg", "x": 1}], NO_CHOICES), rows_in(["a.json"], NO_CHOICES)
    ([{'image': 'a.jpg', 'x': 1}], None)
    """
    if isinstance(source, list | tuple):
        is_table = bool(source) and all(isinstance(each, Mapping) for each in source)
        return [dict(each) for each in source] if is_table else None
    # The methods of polars, pyarrow, Hugging Face and pandas, none of which has to be installed.
    named = (("to_dicts", ()), ("to_pylist", ()), ("to_list", ()), ("to_dict", ("records",)))
    for name, arguments in named:
        if hasattr(source, "shape") and hasattr(source, name):
            names = getattr(source, "column_names", None) or [*getattr(source, "columns", ())]
            header = [str(each) for each in names]
            # Rows would have the last column of a name.
            used = [*columns_of(header, choices.columns).of.values()]
            if problem := repeated_name(header, used):
                raise DatasetError([f"the table {problem}"], NAMED_ONCE)
            found: list[dict[str, Any]] = getattr(source, name)(*arguments)
            return found
    return None


def table_bytes(rows: list[dict[str, Any]], choices: Choices) -> bytes:
    """Return rows as JSON lines; raises DatasetError if no columns hold boxes."""
    header = list(dict.fromkeys(str(name) for row in rows for name in row))
    problem = columns_of(header, choices.columns).problem if rows else "no rows"
    if problem:
        raise DatasetError([f"the table has {problem}"], _SAY)
    encoder = msgspec.json.Encoder(enc_hook=_plain)
    # The first row gets all columns, since readers take the header from it.
    empty = dict.fromkeys(header)
    lines = (
        encoder.encode({**empty, **{str(k): _cell(v) for k, v in row.items()}}) for row in rows
    )
    try:
        return b"\n".join(lines) + b"\n"
    except (UnicodeEncodeError, RecursionError) as error:
        raise DatasetError([f"the table holds a value that JSON cannot hold: {error}"]) from None


def _cell(value: Any) -> Any:
    """Return a value; infinity as text, as JSON would have it as a missing value."""
    return str(float(value)) if isinstance(value, float) and isinf(value) else value


def _plain(value: Any) -> Any:
    """Convert a numpy or pandas value to one that JSON can hold."""
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    for name in ("tolist", "item", "isoformat"):
        if hasattr(value, name):
            return _cell(getattr(value, name)())
    # Pillow images become their file name; `Decimal` and others become text.
    return getattr(value, "filename", None) or str(value)
