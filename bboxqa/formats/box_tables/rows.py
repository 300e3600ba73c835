"""Reading and writing tables of boxes: rows to COCO records, and back."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import compress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, guarded, one_line, unguarded
from bboxqa.formats.box_tables.columns import (
    FORM_WORDS,
    FORMS,
    NAMES,
    BoxRows,
    boxes_in,
    columns_of,
    holds,
    in_corner_and_size,
    layout_of,
    plain_name,
    sides_of_boxes,
    unit_of,
)
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import CLASS_NAMES, PARQUET, TABLES, delimiter_of, header_of
from bboxqa.formats.images import given_size
from bboxqa.formats.member import Member, is_archive
from bboxqa.formats.records import whole_number
from bboxqa.formats.source import SourcePath, only_file
from bboxqa.formats.tables import Table, class_names, refuse_repeated, split_rows, table_in
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, UNLABELLED, Collector
from bboxqa.formats.translation.shapes import mapping, plain_text
from bboxqa.formats.writing.content import Content, Loss, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES, losses_of

# Data frames write whole numbers as fractions where some are missing.
_TRUE = {"1", "1.0", "true"}
_WHOLE = re.compile(r"(0|-?[1-9]\d*)\.0", re.ASCII)
_OF_GROUPS = ("image", "image_id", "image_width", "image_height", "annotator")
"""The keys that rows of one image and annotator share."""
_ONE_CATEGORY = "no column of categories: all boxes are of one; --columns category=NAME names it"
_SAY = f"Say what the columns hold: --columns image=NAME,bbox=NAME,… ({', '.join(NAMES)})"


def header_in(member: Member) -> Sequence[str]:
    """Return the column names of a table; empty if it is none."""
    head = member.head()
    if not head.startswith(PARQUET):
        return header_of(head)
    try:
        return table_in(member).header
    except DatasetError:
        # Reading then raises an error that says what is wrong, or what to install.
        return ["image", "bbox"]


def translate(path: Path, into: Collector) -> None:
    """Translate a table; raises DatasetError if it has no boxes, or their layout is ambiguous."""
    source = SourcePath.at(path)
    inside = source.members
    if is_archive(source.head):
        named = [each for each in inside if (each.name or path.stem).lower().endswith(TABLES)]
        inside = [each for each in named if not columns_of(header_in(each), {}).problem]
    member, choices = only_file(path, inside, "boxes as a table"), into.settings.choices
    table = table_in(member)
    columns = columns_of(table.header, choices.columns)
    if columns.problem:
        found = f"has {columns.problem}" if table.header else "has no rows"
        raise DatasetError([f"{member.shown}: {found}"], _SAY)
    refuse_repeated(table.name, table.header, columns.of.values())
    rows = table.rows(columns.of)
    expected = f"and the first line {len(table.header)}"
    ragged = [f"{table.word} {at}: has {count(n, 'cell')}, {expected}" for at, n in rows.ragged]
    if not rows.at:
        raise DatasetError(
            [f"{member.shown}: {[*ragged, 'has no rows'][0]}"],
            "Name each column in the first line, and quote cells that hold the delimiter.",
        )
    boxes, form = boxes_in(rows, columns)
    form, is_share = layout_of(table.name, boxes, form, columns, choices)
    if form == "xyxy" and (sides := sides_of_boxes(boxes, columns, choices)):
        of = {key: name for key, name in columns.of.items() if key not in sides}
        cells = {key: each for key, each in boxes.cells.items() if key not in sides}
        columns, boxes = replace(columns, of=of), replace(boxes, cells=cells)
    is_open_images = {"imageid", "xmin", "labelname"} <= {*map(plain_name, table.header)}
    into.title = "Open Images csv" if is_open_images else "table"
    into.lists_images = False
    names = _display_names(path) if is_open_images else {}
    names |= {
        str(number): name
        for key in ("category", "objects")
        for number, name in enumerate(class_names(table, columns.of.get(key, "")))
    }
    records = _TableRecords(member.name, table, boxes, into)
    records.add(form, names, has_shares=is_share)
    for problem, (at, _) in zip(ragged, rows.ragged, strict=True):
        into.defect("T001", problem, Where(member.name, at))
    named_by = columns.of.get("annotator")
    into.named_by = "" if named_by is None else f"the column {one_line(named_by)!r}"
    unit = "shares of the image" if is_share else "pixels"
    # As the option has them.
    listed = ",".join(f"{key}={one_line(name)}" for key, name in columns.of.items())
    into.notes.append(f"boxes are {FORM_WORDS[form]} in {unit}; columns: {listed}")
    if not columns.of.keys() & {"category", "objects"}:
        into.defect("T004", _ONE_CATEGORY, Where(member.name, 1))
        into.notes.append(_ONE_CATEGORY)


def name_in(cell: str) -> str:
    """Return the annotator or category that a cell of text names."""
    name = unguarded(cell)
    found = _WHOLE.fullmatch(name)
    return found[1] if found else name


class _TableRecords(msgspec.Struct):
    member: str
    table: Table
    rows: BoxRows
    into: Collector

    def cell(self, key: str, row: int, read: Callable[[str], str] = unguarded) -> str:
        """Return the text of a cell, without what keeps spreadsheets from running it."""
        text = plain_text(self.rows.cells[key][row]) if key in self.rows.cells else ""
        return read(text) if self.table.is_text else text

    def label(self, row: int) -> str:
        number = self.rows.place[row]
        return f"{self.table.word} {self.rows.at[row]}" + f", object {number}" * bool(number)

    def defect(self, code: str, row: int, problem: str, place: int = -1) -> None:
        where = Where(self.member, self.rows.at[row])
        self.into.defect(code, f"{self.label(row)}: {problem}", where, place)

    def add(self, form: str, names: Mapping[str, str], *, has_shares: bool) -> None:
        into, part, of_row = self.into, self.rows, self.images()
        is_drawn = ~np.isnan(part.numbers[:, 0])
        if not any(who for row, (_, who) in of_row.items() if not is_drawn[row]):
            # Only tables with rows without a box list annotators who drew nothing.
            for image in into.images:
                del image["annotators"]
        rows = np.array([row for row in of_row if is_drawn[row]], np.int64)
        bbox, problems = in_corner_and_size(part.numbers[rows], form), dict[int, str]()
        if has_shares:
            sides = [[of_row[row][0].get(side, np.nan) for side in SIDES] for row in rows.tolist()]
            sizes = np.array(sides, np.float64).reshape(-1, 2)
            kept, problems = self.shares(rows, ~np.isnan(sizes[:, 0]), FORMS[form])
            rows, bbox = rows[kept], (bbox * np.tile(sizes, 2))[kept]
        shown = any(part.place) or self.table.word == "row"
        known: dict[str, int] = {}
        for row, box in zip(rows.tolist(), bbox.tolist(), strict=True):
            where = Where(self.member, part.at[row])
            label = plain_text(part.cells["category"][row]) if "category" in part.cells else ""
            if label not in known:
                named = self.cell("category", row, name_in)
                known[label] = into.category(names.get(named, named) or UNLABELLED, where)
            image, annotator = of_row[row]
            own_id = self.cell("id", row) or self.label(row) * shown
            texts = {"annotator": annotator, "own_id": own_id}
            with into.refusing(self.label(row), where):
                record = {"image_id": image["id"], **self.record(row, box, texts)}
                place = into.annotation(record | {"category_id": known[label]}, where)
                if not label and "category" in part.cells:
                    self.defect("T004", row, "has no category", place)
                if row in problems:
                    self.defect("T003", row, problems[row], place)

    def record(self, row: int, box: list[float], texts: Mapping[str, str]) -> Record:
        cells = self.rows.cells
        if "created_at" in cells:
            texts = {**texts, "created_at": plain_text(cells["created_at"][row])}
        if "track" in cells:
            texts = {**texts, "track_id": self.cell("track", row)}
        record: Record = {"bbox": box} | {key: text for key, text in texts.items() if text}
        if "iscrowd" in cells and str(cells["iscrowd"][row]).strip().lower() in _TRUE:
            record["iscrowd"] = 1
        with suppress(TypeError, ValueError, OverflowError, KeyError):
            record["score"] = float(cells["score"][row])
        if "rotation" in cells and holds(angle := cells["rotation"][row]):
            record |= shapes.turned_box(box, shapes.degrees_of(angle, "rotation"))
        return record

    def images(self) -> dict[int, tuple[Record, str]]:
        """Return image and annotator, who was asked, of each row; report those without."""
        part, found = self.rows, dict[int, tuple[Record, str]]()
        known = dict[tuple[str, ...], tuple[Record, str] | None]()
        keys = [key for key in _OF_GROUPS if key in part.cells]
        groups = zip(*(map(repr, part.cells[key]) for key in keys), strict=True)
        for row, group in enumerate(groups):
            if row in part.problems:
                self.defect("T001", row, part.problems[row])
                continue
            if group not in known:
                known[group] = self.image({key: part.cells[key][row] for key in keys}, row)
            if (each := known[group]) is None:
                self.defect("T001", row, "does not name its image")
            else:
                found[row] = each
        return found

    def image(self, cells: Mapping[str, Any], row: int) -> tuple[Record, str] | None:
        into, where, given = self.into, Where(self.member, self.rows.at[row]), cells.get("image")
        name = plain_text(given.get("path")) if isinstance(given, dict) else self.cell("image", row)
        if not name:
            return None
        image = into.image(name, where, whole_number(cells.get("image_id")))
        image.setdefault("file_name", name)
        sides = cells.get("image_width"), cells.get("image_height")
        size = into.size(image, name, sides, where) or given_size(into.settings.choices, name)
        for side, pixels in zip(SIDES, size or (), strict=False):
            image.setdefault(side, pixels)
        if annotator := self.cell("annotator", row, name_in):
            into.ask(image, annotator)
        return image, annotator

    def shares(
        self, rows: IndexArray, has_size: BoolArray, names: Sequence[str]
    ) -> tuple[BoolArray, dict[int, str]]:
        """Return which boxes in shares can be read, and what is wrong with some; report others."""
        numbers = self.rows.numbers[rows]
        if n_sizeless := int((~has_size).sum()):
            some = count(n_sizeless, "box", "boxes")
            problem = f"{some} in shares of images whose size is not known; give --image-size "
            also = "1920x1080, or --columns image_width=NAME,image_height=NAME"
            self.into.defect("T002", problem + also, Where(self.member, 1))
        farthest = np.abs(numbers - 0.5).argmax(1)
        share = numbers[np.arange(len(rows)), farthest]
        are_pixels = has_size & (np.abs(share) > shapes.LEAST_PIXELS)
        is_odd = has_size & (np.abs(share - 0.5) > 0.5 + shapes.MOST_BEYOND)
        problems = {}
        for place in np.flatnonzero(are_pixels | is_odd).tolist():
            row, said = int(rows[place]), f"{names[farthest[place]]} is {share[place]:g}"
            if are_pixels[place]:
                self.defect("T001", row, f"{said}, which is in pixels; expected 0 to 1")
            else:
                problems[row] = f"{said}; expected 0 to 1, a share of the image"
        return has_size & ~are_pixels, problems


def _display_names(path: Path) -> dict[str, str]:
    """Return class names by code, from the file next to a table of Open Images."""
    source = SourcePath.at(path)
    around = source.archive or source
    inside = [each for each in around.members if each.name]
    found: dict[str, str] = {}
    for file in inside or source.beside(path.parent).direct_members:
        if PurePosixPath(file.name).match(CLASS_NAMES):
            text = file.text().decode("utf-8", "replace")
            # The first line is a class as well.
            rows = (row for _, row in split_rows(file.shown, text, delimiter_of(text)))
            found |= {row[0].strip(): one_line(row[1]) for row in rows if len(row) == 2}
    return found


COLUMNS = (
    "image", "image_id", "image_width", "image_height", "annotator", "category", "id",
    "x", "y", "width", "height", "iscrowd",
)  # fmt: skip
"""The columns of every table, before those that only some have."""

_TITLE = "a table of boxes"
_ROTATION = "rotation"
_TRACK = "track"
# What the track of an annotation is called, as a key or an attribute.
_TRACK_KEYS = ("track_id", "track", "instance_id")
_TAKEN = {*COLUMNS, _ROTATION}
_OWN = {"id", "image_id", "category_id", "bbox", "annotator", "area", "iscrowd", "segmentation"}


def _losses(content: Content) -> Iterator[Loss]:
    boxes = np.array([each["bbox"] for each in content.annotations], np.float64).reshape(-1, 4)
    unit, is_share = unit_of(boxes)
    if unit != "pixels":
        noun = f"box of numbers up to {shapes.LEAST_PIXELS}"
        why = f"{_TITLE} with many of these is read as shares of the image"
        why += "; to read it: --box-format xywh-pixels"
        small = compress(content.annotations, is_share)
        yield from losses_of([*small], noun, why, "ambiguous")


def _read_cell(name: str) -> str:
    return name_in(guarded(name)).strip()


def _held_keys(content: Content) -> list[str]:
    held, track = _further(content)
    return [*held, *[f"{ATTRIBUTES}.{track}"] * bool(track)]


def _further(content: Content) -> tuple[list[str], str]:
    """Return the keys that only hold texts and numbers, and the attribute that names tracks."""
    plain: dict[str, bool] = {}
    for each in content.annotations:
        for key in each.keys() - _OWN:
            is_plain = isinstance(each[key], str | int | float) and key not in _TAKEN
            plain[key] = plain.get(key, True) and is_plain
    held = sorted(key for key in plain if plain[key])
    for name in () if {*held} & {*_TRACK_KEYS} else _TRACK_KEYS:
        said = [mapping(each.get(ATTRIBUTES)).get(name) for each in content.annotations]
        given = [each for each in said if each is not None]
        if given and all(isinstance(each, str | int) for each in given):
            return held, name
    return held, ""


def _table(content: Content) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and the rows, one without a box for each annotator who drew nothing."""
    more, track = _further(content)
    has_turned = any(each.box is not None for each in content.outlines.values())
    names = [*COLUMNS, *[_ROTATION] * has_turned, *[_TRACK] * bool(track), *more]
    rows = []
    for place, image in enumerate(content.images):
        first: dict[str, Any] = {"image": image_name(image), "image_id": image["id"]}
        first |= {f"image_{side}": image.get(side) for side in SIDES}
        for name, drawn in content.works(place) or [("", [])]:
            first["annotator"] = name or None
            if not drawn:
                rows.append([*map(first.get, names)])
            for each in drawn:
                box, degrees = each["bbox"], 0.0
                if (found := content.outlines[each["id"]].box) is not None:
                    x, y, width, height, degrees = found.tolist()
                    box = [x - width / 2, y - height / 2, width, height]
                row = each | first | dict(zip(("x", "y", *SIDES), box, strict=True))
                row["category"] = content.category_names[each["category_id"]]
                row |= {"iscrowd": int("iscrowd" in each), _ROTATION: degrees}
                row |= {_TRACK: mapping(each.get(ATTRIBUTES)).get(track)} if track else {}
                rows.append([*map(row.get, names)])
    return names, rows


def _csv(content: Content) -> Iterator[Written]:
    names, rows = _table(content)
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    # Readers take a carriage return for the end of a row, unless its cell has quotes.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in ([*names], *rows):
        cells = [guarded(cell) if isinstance(cell, str) else cell for cell in row]
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if has_return else plain).writerow(cells)
    yield Written((), text.getvalue().encode("utf-8", "surrogatepass"))


def _parquet(content: Content) -> Iterator[Written]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ConfigError('parquet needs pyarrow: pip install "bboxqa[parquet]"') from None
    names, rows = _table(content)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    types = {e: pa.type_for_alias(kind) for kind, own in _OF_TYPES.items() for e in own}
    arrays = {}
    for name, column in zip(names, columns, strict=True):
        # A column that mixes texts and numbers becomes texts.
        is_text = any(isinstance(each, str) for each in column)
        cells = [str(each) if is_text and each is not None else each for each in column]
        arrays[name] = pa.array(cells, types.get(name))
    sink = io.BytesIO()
    parquet.write_table(pa.table(arrays), sink)
    yield Written((), sink.getvalue())


_OF_TYPES = {
    "string": ("image", "annotator", "category"),
    "int64": ("image_id", "id", "iscrowd"),
    "float64": ("image_width", "image_height", "x", "y", *SIDES, _ROTATION),
}


_write = partial(
    Writer,
    layout="file",
    # The gain of an image in review.json is the sum over its objects, whose rows have it.
    holds=frozenset({
        "rotation", "crowd", "unasked images", "gain", "image ids", "annotation ids", "image sizes",
    }),
    keys=_held_keys,
    losses=_losses,
    is_known_by_suffix=True,
)  # fmt: skip
CSV_FILE = _write(
    "csv",
    suffixes=(".csv",),
    files=_csv,
    reads={"category": _read_cell, "annotator": _read_cell, "image": str.strip},
)
PARQUET_FILE = _write(
    "parquet",
    suffixes=(".parquet",),
    files=_parquet,
    reads={"category": str.strip, "annotator": str.strip, "image": str.strip},
)
