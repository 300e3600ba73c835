"""The columns of tables of boxes, the boxes in their cells, and tables in memory."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import cycle
from math import isinf
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.tables import Rows, refuse_repeated
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES
from bboxqa.formats.translation.shapes import LARGEST, LEAST_PIXELS, ValueProblemError, items
from bboxqa.model.annotations import Choices

# The contents of columns, and their usual names as `plain_name` has them, the best first.
NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        "image", "filename", "imagename", "imagefilename", "imagepath", "filepath", "file", "path",
        "imageid", "img", "imgname", "imgid", "picture", "frame",
    ),
    "annotator": (
        "annotator", "annotatorid", "annotatorname", "rater", "raterid", "worker", "workerid",
        "labeler", "labeller", "labelerlogin", "completedby", "createdby", "user", "username",
        "radid", "radiologist", "radiologistid", "reader", "readerid", "expert", "expertid",
        "coder", "coderid", "grader", "graderid", "annotatedby", "labeledby", "labelledby",
        "assignmentworkerid",
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
# Left and top may be the first corner, or the other way round.
_COLUMNS_OF_FORMS = (
    *FORMS.items(),
    ("xyxy", ("x", "y", "x2", "y2")),
    ("xywh", ("x1", "y1", "width", "height")),
)
_PARTS = {key for keys in FORMS.values() for key in keys}
FORM_WORDS = {
    "xyxy": "two corners",
    "cxcywh": "centre, width and height",
    "xywh": "left, top, width and height",
}
_SIGNS = re.compile(r"[\W_]+")
Cells = dict[str, Any]
"""The cells of one box, by the keys of `NAMES`."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# The names of what is read of objects besides the numbers of boxes.
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
    "rotation": NAMES["rotation"],
}  # fmt: skip
_IN_OBJECTS = {key: NAMES[key] for key in sorted(_PARTS)} | _OF_OBJECTS
_KNOWN = {name for names in _IN_OBJECTS.values() for name in names}
# Boxes of Label Studio's csv are percentages, and turned about their left top corner.
_OF_STUDIO = {"rectanglelabels", "original_width", "original_height"}
_NOTHING = (None, "", "nan", "NaN", "None", "null")
_SAY = 'Say what its columns hold: with bboxqa.reading(columns={"image": NAME, "x": NAME, …}):'


class Columns(msgspec.Struct, frozen=True):
    """The names of columns, by the keys of `NAMES`."""

    of: Mapping[str, str]
    form: str = ""
    """A key of `FORMS`; "" where one column holds the whole box, or all objects of an image."""
    problem: str = ""
    """Why no boxes can be read from the columns; "" where they can."""


def columns_of(
    header: Sequence[str], chosen: Mapping[str, str], names: Mapping[str, tuple[str, ...]] = NAMES
) -> Columns:
    """Return the contents of a table's columns: as chosen by the user, the others by name."""
    missing = [name for name in chosen.values() if name not in header]
    if missing:
        some = ", ".join(repr(one_line(name)) for name in missing)
        listed = ", ".join(one_line(name) for name in header[:20])
        return Columns({}, problem=f"no column {some}; the columns are {listed}")
    plain = {plain_name(name): name for name in reversed(header)}
    taken, found = set(chosen.values()), dict(chosen)
    for key, known in names.items():
        usual = [plain[name] for name in known if name in plain and plain[name] not in taken]
        if usual:
            found.setdefault(key, usual[0])
    complete = [(form, keys) for form, keys in _COLUMNS_OF_FORMS if set(keys) <= found.keys()]
    named = [each for each in complete if chosen.keys() & set(each[1]) - {"width", "height"}]
    form, keys = next(iter(named or complete), ("", ()))
    if "bbox" in chosen or "objects" in chosen:
        form = ""
    used = FORMS.get(form, ())
    for key, given in zip(used, keys, strict=False):
        found.setdefault(key, found[given])
    # If the box does not use width and height, they are the size of the image.
    for side in SIDES:
        if side in found and side not in chosen and side not in used:
            found.setdefault(f"image_{side}", found[side])
    # A column that names images is not used as their id as well.
    if found.get("image_id") == found.get("image"):
        found.pop("image_id", None)
    left_out = _PARTS - {*used} | ({"bbox", "objects"} if form else set())
    kept = {key: name for key, name in found.items() if key not in left_out}
    problem = "" if form or kept.keys() & {"bbox", "objects"} else "no columns of boxes"
    problem = problem if "image" in kept else "no column of images"
    return Columns(kept, form, problem)


@lru_cache(1024)
def plain_name(name: str) -> str:
    """Return the name of a column in lower case without punctuation, as in `NAMES`."""
    return _SIGNS.sub("", name).lower()


def in_corner_and_size(boxes: FloatArray, form: str) -> FloatArray:
    """Return (N, 4) boxes of a layout as left, top, width and height."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if form == "xyxy":
        return np.concatenate([first, second - first], 1)
    return np.concatenate([first - second / 2, second], 1) if form == "cxcywh" else boxes


def unit_of(boxes: FloatArray) -> tuple[str, BoolArray]:
    """Return the unit of (N, 4) boxes, and which are in shares if taken alone."""
    is_larger: BoolArray = np.abs(boxes).max(axis=1, initial=0) > LEAST_PIXELS
    is_share: BoolArray = ~is_larger & (boxes != np.round(boxes)).any(axis=1)
    n_larger, n_shares = int(is_larger.sum()), int(is_share.sum())
    if 10 * n_shares <= n_shares + n_larger:
        return "pixels", is_share
    return "either" if 10 * n_larger > n_shares + n_larger else "shares", is_share


class BoxRows(msgspec.Struct, frozen=True, eq=False):
    """The boxes of rows, and rows without one."""

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


def boxes_in(rows: Rows, columns: Columns) -> tuple[BoxRows, str]:
    """Return the boxes in rows, one for each object, and their layout, "" if no name says it."""
    if "objects" not in columns.of:
        plain = _box_rows(rows.at, [0] * len(rows.at), rows.cells, columns.form, {})
        return plain, columns.form
    at, place, cells = list[int](), list[int](), list[Cells]()
    problems, forms = dict[int, str](), dict[int, str]()
    for line, row in rows.records():
        objects: Sequence[Cells] = ()
        try:
            objects = _objects_in(row.pop("objects"))
        except ValueProblemError as error:
            problems[len(at)] = str(error)
        for number, each in enumerate(objects or [{}], bool(objects)):
            found: Cells = {}
            try:
                found, form = _cells_in(each)
                forms |= {len(at): form} if found.keys() - {"annotator"} else {}
            except ValueProblemError as error:
                problems[len(at)] = str(error)
            at.append(line)
            place.append(number)
            cells.append(row | found)
    form = next(iter(forms.values()), "")
    for number, own in forms.items():
        if own != form:
            problems.setdefault(number, "has a box of another layout than the first object")
    keys = dict.fromkeys(key for each in cells for key in each)
    of_keys = {key: [each.get(key) for each in cells] for key in keys}
    return _box_rows(at, place, of_keys, form, problems), form


def _box_rows(
    at: Sequence[int],
    place: Sequence[int],
    cells: Mapping[str, Sequence[Any]],
    form: str,
    problems: dict[int, str],
) -> BoxRows:
    keys, none = FORMS.get(form, ("bbox",)), [None] * len(at)
    columns = [cells.get(key, none) for key in keys]
    if len(keys) > 1 and not any(bool in {*map(type, each)} for each in columns):
        with suppress(TypeError, ValueError, OverflowError), np.errstate(over="ignore"):
            numbers = np.array(columns, np.float64)
            # Cells may be lists.
            if numbers.ndim == 2 and (np.abs(numbers).sum(0) < LARGEST).all():
                return BoxRows(at, place, cells, np.ascontiguousarray(numbers.T), problems)
    numbers = np.full((len(at), 4), np.nan)
    for row, given in enumerate(zip(*columns, strict=True)):
        # There is no box where all cells are empty.
        if not any(map(holds, given)):
            continue
        values: Sequence[Any] = given
        if len(keys) == 1:
            cell = given[0]
            values = _NUMBER.findall(cell) if isinstance(cell, str) else items(cell)
        if len(values) != 4:
            problems.setdefault(row, f"bbox is {str(given[0])[:40]}; expected four numbers")
            continue
        try:
            numbers[row] = [*map(shapes.number_of, values, cycle(keys))]
        except ValueProblemError as error:
            problems.setdefault(row, str(error))
    return BoxRows(at, place, cells, numbers, problems)


def layout_of(
    name: str, rows: BoxRows, form: str, columns: Columns, choices: Choices
) -> tuple[str, bool]:
    """Return the layout of boxes of a table, and whether they are in shares, as said or proved."""
    said, _, unit = (choices.box_format or "").partition("-")
    form = (form or said) if "objects" in columns.of else (said or form)
    if form and unit:
        return form, unit == "shares"
    has_box = ~np.isnan(rows.numbers[:, 0])
    boxes = rows.numbers[has_box]
    found_unit, is_share = unit_of(boxes)
    unit = unit or found_unit
    if unit == "either":
        line = rows.at[np.flatnonzero(has_box)[is_share.argmax()]]
        found = f"has boxes up to {LEAST_PIXELS}, such as in line {line}, and larger ones"
        raise DatasetError(
            [f"{name}: {found}; expected either shares of the image or pixels"],
            f"Say which: --box-format {form or 'xyxy'}-shares or {form or 'xyxy'}-pixels",
        )
    if not form and (np.abs(boxes) > 1).any() | (unit == "shares"):
        most = np.full((len(has_box), 2), 1 if unit == "shares" else np.nan)
        for number, side in enumerate(SIDES if unit == "pixels" else ()):
            for row, cell in enumerate(rows.cells.get(f"image_{side}", ())):
                with suppress(ValueProblemError):
                    most[row, number] = shapes.side_of(cell, side) or np.nan
        # One pixel is allowed for rounding.
        most = most[has_box] + 1
        is_beyond = (boxes[:, :2] + boxes[:, 2:] > most).any()
        # Only this layout fits the numbers of all boxes.
        form = "xywh" if (boxes[:, 2:] < boxes[:, :2]).any() else "xyxy" if is_beyond else ""
        if not form:
            column = one_line(columns.of.get("bbox") or columns.of["objects"])
            both = f"{column!r} may hold left, top, width and height, or two corners"
            raise DatasetError(
                [f"{name}: {both}: all numbers fit both"],
                "Say which it is: --box-format xywh, xyxy or cxcywh",
            )
    return form or "xywh", unit == "shares"


def sides_of_boxes(boxes: BoxRows, columns: Columns, choices: Choices) -> dict[str, str]:
    """Return the columns that seem to be sizes of images, by their key, and are sides of boxes."""
    sides = {f"image_{side}": columns.of.get(f"image_{side}", "") for side in SIDES}
    is_said = any(plain_name(name) not in NAMES[key[6:]] for key, name in sides.items())
    if is_said or choices.columns.keys() & sides:
        return {}
    corners = boxes.numbers[has_box := ~np.isnan(boxes.numbers[:, 0])]
    try:
        size = np.array([boxes.cells[key] for key in sides], np.float64).T[has_box]
    except (TypeError, ValueError):
        return {}
    # One pixel is allowed for rounding.
    is_box = (np.abs(corners[:, 2:] - corners[:, :2] - size) <= 1).all()
    return sides if is_box and (corners[:, 2:] > size + 1).any() else {}


def _objects_in(given: object) -> list[Cells]:
    found: Any = given if holds(given) else []
    if isinstance(found, str):
        with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            found = msgspec.json.decode(found)
    if isinstance(found, dict):
        # Data sets of Hugging Face have a list of each key.
        lists = {k: e for k, e in found.items() if e is not None and plain_name(k) in _KNOWN}
        sizes = {len(each) if isinstance(each, list) else -1 for each in lists.values()}
        if not lists and found:
            return []
        if len(sizes) != 1 or -1 in sizes:
            raise ValueProblemError(
                f"objects has {first_few([*lists], 3, one_line)}; expected lists of one length"
            )
        found = [dict(zip(lists, each, strict=True)) for each in zip(*lists.values(), strict=True)]
    # A list of numbers is a box.
    objects = [{"bbox": each} if isinstance(each, list) else each for each in items(found)]
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in objects):
        expected = "expected a list of objects, in csv as JSON"
        raise ValueProblemError(f"objects is {given!r:.40}; {expected}")
    return objects


def _cells_in(given: Cells) -> tuple[Cells, str]:
    """Return what an object holds by the keys of `NAMES`, and the layout of its numbers."""
    held = {key: value for key, value in given.items() if holds(value)}
    whole = [key for key in held if plain_name(key) in _OF_OBJECTS["bbox"]]
    if any(held[key] != held[whole[0]] for key in whole):
        names = ", ".join(map(repr, map(one_line, whole)))
        raise ValueProblemError(f"has different boxes in {names}; expected one of them")
    columns = _columns_of_objects(tuple(held), *whole[:1])
    found = {key: held[name] for key, name in columns.of.items()}
    if held.keys() >= _OF_STUDIO:
        return found | _box_of_studio(held), "xywh"
    # An annotator who was asked and drew nothing has no box.
    others = [one_line(name)[:40] for name in held if name != columns.of.get("annotator")]
    if others and not (columns.form or whole):
        names = ", ".join(map(repr, others[:3]))
        raise ValueProblemError(f"has {names}, but no box; expected four numbers of each")
    return found, columns.form


def _box_of_studio(given: Cells) -> Cells:
    """Return the box of Label Studio's csv in pixels, and as turned about its centre."""
    size = [shapes.side_of(given[f"original_{side}"], side) or np.nan for side in SIDES]
    keys = ("x", "y", *SIDES)
    pairs = zip(keys, size * 2, strict=True)
    box = np.array([shapes.number_of(given.get(key), key) * side / 100 for key, side in pairs])
    if degrees := shapes.degrees_of(given.get("rotation"), "rotation"):
        corner, half = box[:2], box[2:] / 2
        box[:2] = shapes.rotated(corner + half, (corner[0], corner[1]), degrees) - half
    sides = zip(("image_width", "image_height"), size, strict=True)
    label = next(iter(items(given["rectanglelabels"])), "")
    return {"category": label, **dict(zip(keys, box.tolist(), strict=True)), **dict(sides)}


@lru_cache(256)
def _columns_of_objects(keys: tuple[str, ...], whole: str = "") -> Columns:
    """Return what the keys of objects hold: a key of whole boxes before those of numbers."""
    found = columns_of(keys, {"bbox": whole} if whole else {}, _IN_OBJECTS)
    used = {*_OF_OBJECTS, *FORMS.get(found.form, ())}
    return Columns({key: name for key, name in found.of.items() if key in used}, found.form)


def holds(value: object) -> bool:
    """Return whether a cell is not empty, nor says that its value is missing."""
    if isinstance(value, str):
        return value.strip() not in _NOTHING
    return value not in (None, [], {}) and not (isinstance(value, float) and np.isnan(value))


def rows_in(source: object, choices: Choices) -> list[dict[str, Any]] | None:
    """Return the rows of a table; None if the value is not a table."""
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
            refuse_repeated("table", header, columns_of(header, choices.columns).of.values())
            found: list[dict[str, Any]] = getattr(source, name)(*arguments)
            return found
    return None


def table_bytes(rows: list[dict[str, Any]], choices: Choices) -> bytes:
    """Return rows as JSON lines; raises DatasetError if no columns hold boxes."""
    header = dict.fromkeys(str(name) for row in rows for name in row)
    if problem := columns_of([*header], choices.columns).problem if rows else "no rows":
        raise DatasetError([f"the table has {problem}"], _SAY)
    encode = msgspec.json.Encoder(enc_hook=_plain).encode
    # The first row gets all columns, since readers take the header from it.
    lines = (encode({**header, **{str(k): _cell(v) for k, v in row.items()}}) for row in rows)
    try:
        return b"\n".join(lines) + b"\n"
    except (UnicodeEncodeError, RecursionError) as error:
        raise DatasetError([f"the table holds a value that JSON cannot hold: {error}"]) from None


def _cell(value: Any) -> Any:
    """Return a value; infinity as text, as JSON would have it as a missing value."""
    return str(float(value)) if isinstance(value, float) and isinf(value) else value


def _plain(value: Any) -> Any:
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    for name in ("tolist", "item", "isoformat"):
        if hasattr(value, name):
            return _cell(getattr(value, name)())
    # Pillow images become their file name; `Decimal` and others become text.
    return getattr(value, "filename", None) or str(value)
