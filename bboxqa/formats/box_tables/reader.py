"""Reading tables of boxes: rows to COCO records."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line, unguarded
from bboxqa.formats.box_tables.columns import (
    FORM_WORDS,
    FORMS,
    NAMES,
    BoxKind,
    Cells,
    Columns,
    box_kind_of,
    boxes_in,
    columns_of,
    numbers_of_box,
    plain_boxes,
)
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import CLASS_NAMES, PARQUET, TABLES
from bboxqa.formats.images import given_size
from bboxqa.formats.member import Member, is_archive
from bboxqa.formats.records import whole_number
from bboxqa.formats.source import (
    archive_around,
    files_in,
    head_of,
    members_of,
    only_file,
)
from bboxqa.formats.tables import (
    Delimited,
    Parquet,
    Rows,
    TableFile,
    class_names,
    header_of,
    table_in,
)
from bboxqa.formats.translation.collector import UNLABELLED, Boxes, Collector, Lines
from bboxqa.formats.translation.shapes import (
    LEAST_PIXELS,
    MOST_BEYOND,
    ValueProblemError,
    angle_in,
    mapping,
    plain_text,
    turned_box,
)

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
    inside = members_of(path)
    if is_archive(head_of(path)):
        named = [each for each in inside if (each.name or path.stem).lower().endswith(TABLES)]
        inside = [each for each in named if not columns_of(header_in(each), {}).problem]
    member, choices = only_file(path, inside, "boxes as a table"), into.settings.choices
    table = table_in(member)
    columns = columns_of(table.header, choices.columns)
    if columns.problem:
        found = f"has {columns.problem}" if table.header else "has no rows"
        raise DatasetError([f"{member.shown}: {found}"], _SAY)
    table.refuse_repeated([*columns.of.values()])
    places = [table.header.index(name) for name in columns.of.values()]
    parts = [replace(each, keys=[*columns.of]) for each in table.chunks(places)]
    boxes = box_kind_of(table.name, parts, columns, choices)
    records = _TableRecords(path, member, table, columns, boxes, into)
    # Columns of boxes have no place for these.
    says_more = into.in_full and not columns.of.keys().isdisjoint(("score", "created_at", "track"))
    n_rows, problems = 0, []
    for part in parts:
        n_rows += len(part.at)
        wrong = [
            (at, f"has {count(n, 'cell')}, and the first line {len(table.header)}")
            for at, n in part.ragged
        ]
        problems += wrong
        if says_more or not into.takes_boxes or not records.add_plain(part):
            for at, row in part.records():
                records.add_row(at, row)
        for at, problem in wrong:
            records.refuse(at, problem)
    if not n_rows:
        at, problem = problems[0] if problems else (0, "")
        found = f"line {at} {problem}; no row could be read" if problem else "has no rows"
        raise DatasetError(
            [f"{member.shown}: {found}"],
            "Give the first line a name for each column, and put cells that hold the delimiter in "
            "double quotes.",
        )
    records.add_notes()


def name_in(cell: str) -> str:
    """Return the annotator or category that a cell of text names.

    Data frames write whole numbers as fractions if a cell of their column is empty, so 1.0 is 1.

    Examples
    --------
    >>> name_in("7.0"), name_in("007"), name_in("1.5"), name_in("'=ann")
    ('7', '007', '1.5', '=ann')
    """
    name = unguarded(cell)
    found = _WHOLE.fullmatch(name)
    return found[1] if found else name


class _TableRecords:
    """Converts rows to COCO records."""

    def __init__(
        self,
        path: Path,
        member: Member,
        table: TableFile,
        columns: Columns,
        boxes: BoxKind,
        into: Collector,
    ) -> None:
        into.title = "Open Images csv" if columns.is_open_images else "table"
        into.lists_images = False
        self._into = into
        self._path = path
        self._member = member
        self._columns = columns
        self._boxes = boxes
        self._names = _display_names(path) if columns.is_open_images else {}
        if isinstance(table, Parquet):
            for key in ("category", "objects"):
                numbered = enumerate(class_names(table, columns.of.get(key, "")))
                self._names |= {str(number): name for number, name in numbered}
        # As bboxqa writes cells that spreadsheets would run as formulas.
        self._said: Callable[[str], str] = unguarded if isinstance(table, Delimited) else str
        self._named: Callable[[str], str] = name_in if isinstance(table, Delimited) else str
        self._of_objects = "objects" in columns.of
        self._word = "row" if isinstance(table, Parquet) else "line"
        self._n_sizeless = 0
        # Whether rows without a box name annotators, who were asked and drew nothing.
        self._has_empty = False
        self._sides: dict[str, tuple[object, object]] = {}

    def refuse(self, at: int, problem: str) -> None:
        """Report a line that is no row."""
        where = Where(self._member.name, at)
        self._into.defect("T001", f"{self._word} {at}: {problem}", where)

    def add_row(self, at: int, row: Cells) -> None:
        """Add the boxes of a row."""
        where, label = Where(self._member.name, at), f"{self._word} {at}"
        try:
            boxes = boxes_in(row)
        except ValueProblemError as error:
            self._into.refuse(label, error, where)
            return
        for number, cells in enumerate(boxes, start=1):
            named = f"{label}, object {number}" if self._of_objects else label
            try:
                numbers = numbers_of_box(cells, self._columns.form)
            except ValueProblemError as error:
                self._into.refuse(named, error, where)
                continue
            self._add(cells, numbers, named, where)

    def add_plain(self, part: Rows) -> bool:
        """Add the boxes of rows; return False if any row holds more than a box."""
        cells, boxes = part.cells, plain_boxes(part, self._columns.form)
        if boxes is None:
            return False
        keys = [key for key in _OF_GROUPS if key in cells]
        known: dict[tuple[object, ...], int] = {}
        try:
            rows = zip(*(cells[key] for key in keys), strict=True)
            group = np.array([known.setdefault(each, len(known)) for each in rows])
            category, labels = _coded(cells.get("category", [""] * len(boxes)))
            is_crowd = any(map(_is_true, {*cells.get("iscrowd", ())}))
            is_turned = any(map(angle_in, {*cells.get("rotation", ())}))
        except TypeError:
            # A list or an object is no plain cell.
            return False
        groups = [dict(zip(keys, each, strict=True)) for each in known]
        has_labels = "category" not in cells or all(labels)
        if is_turned or is_crowd or not has_labels or not all(map(_is_named, groups)):
            return False
        firsts = np.unique(group, return_index=True)[1].tolist()
        images, people = [], []
        for row, each in zip(firsts, groups, strict=True):
            where = Where(self._member.name, part.at[row])
            image = self._image(self._said(plain_text(each["image"])), each, where)
            annotator = self._named(plain_text(each.get("annotator")))
            if annotator:
                self._into.ask(image, annotator)
            images.append(image)
            people.append(annotator)
        bbox = self._boxes.in_corner_and_size(boxes)
        if self._boxes.is_share:
            if (
                not all("width" in image for image in images)
                or (np.abs(boxes - 0.5) > 0.5 + MOST_BEYOND).any()
            ):
                return False
            bbox *= np.array([[image["width"], image["height"]] * 2 for image in images])[group]
        lines = Lines([self._member.name], np.zeros(len(bbox), np.int64), np.array(part.at))
        category_id = self._categories_of(category, labels, lines)
        annotators = [*dict.fromkeys(filter(None, people))]
        codes = {"": -1} | {name: code for code, name in enumerate(annotators)}
        found = Boxes(
            np.array([image["id"] for image in images])[group],
            category_id,
            bbox,
            lines,
            np.array([codes[name] for name in people])[group],
            annotators,
            self._own_ids(part),
        )
        self._into.boxes(found)
        return True

    def _categories_of(
        self, category: IndexArray, labels: Sequence[str], lines: Lines
    ) -> IndexArray:
        """Return the category id of each row, (N,), from the code of its label."""
        begins = np.unique(category, return_index=True)[1].tolist()
        said = map(self._named, labels)
        names = [self._names.get(each, each) or UNLABELLED for each in said]
        named = zip(names, begins, strict=True)
        ids = np.array([self._into.category(name, lines.where(row)) for name, row in named])
        found: IndexArray = ids[category]
        return found

    def _own_ids(self, part: Rows) -> list[str]:
        shown = [f"row {at}" for at in part.at] if self._word == "row" else []
        given = [self._said(plain_text(each)) for each in part.cells.get("id", ())]
        if given and shown:
            return [own or label for own, label in zip(given, shown, strict=True)]
        return given or shown

    def _add(self, cells: Cells, numbers: list[float] | None, label: str, where: Where) -> None:
        given = cells.get("image")
        name = plain_text(mapping(given).get("path")) if isinstance(given, dict) else given
        name = self._said(plain_text(name))
        if not name:
            self._into.defect("T001", f"{label}: does not name its image", where)
            return
        image = self._image(name, cells, where)
        annotator = self._named(plain_text(cells.get("annotator")))
        if annotator:
            self._into.ask(image, annotator)
        if numbers is None:
            self._has_empty |= bool(annotator)
            return
        box, problem = np.array([numbers], np.float64), ""
        bbox: FloatArray = self._boxes.in_corner_and_size(box)
        if self._boxes.is_share:
            if "width" not in image:
                self._n_sizeless += 1
                return
            share, side = max(
                zip(numbers, FORMS[self._boxes.form], strict=True),
                key=lambda each: abs(each[0] - 0.5),
            )
            if abs(share) > LEAST_PIXELS:
                found = f"{side} is {share:g}, which is in pixels; expected 0 to 1"
                self._into.refuse(label, ValueProblemError(found), where)
                return
            if not -MOST_BEYOND <= share <= 1 + MOST_BEYOND:
                problem = f"{side} is {share:g}; expected 0 to 1, a share of the image"
            bbox = bbox * ((image["width"], image["height"]) * 2)
        (corner_and_size,) = bbox.tolist()
        record: Record = {"image_id": image["id"], "bbox": corner_and_size}
        record |= self._shared(cells, label)
        if degrees := angle_in(cells.get("rotation")):
            record |= turned_box(corner_and_size, degrees)
        if annotator:
            record["annotator"] = annotator
        category = self._named(plain_text(cells.get("category")))
        number = self._into.category(self._names.get(category, category) or UNLABELLED, where)
        row = self._into.annotation({**record, "category_id": number}, where)
        if not category and "category" in self._columns.of:
            self._into.defect("T004", f"{label}: has no category", where, row)
        if problem:
            self._into.defect("T003", f"{label}: {problem}", where, row)

    def _image(self, name: str, cells: Cells, where: Where) -> Record:
        image = self._into.image(name, where, whole_number(cells.get("image_id")))
        if "file_name" not in image:
            image["file_name"] = name
        sides = cells.get("image_width"), cells.get("image_height")
        # Most rows repeat the size of the previous row.
        if self._sides.get(name) != sides:
            self._sides[name] = sides
            size = self._into.size(image, name, sides, where)
            size = size or given_size(self._into.settings.choices, name)
            if size is not None and "width" not in image:
                image |= {"width": size[0], "height": size[1]}
        return image

    def _shared(self, cells: Cells, label: str) -> Record:
        is_shown = self._of_objects or self._word == "row"
        own = self._said(plain_text(cells.get("id"))) or (label if is_shown else "")
        shared: Record = {"own_id": own} if own else {}
        if "iscrowd" in cells and _is_true(cells["iscrowd"]):
            shared["iscrowd"] = 1
        if "created_at" in cells and (made := plain_text(cells["created_at"])):
            shared["created_at"] = made
        if "track" in cells and (track := plain_text(cells["track"])):
            shared["track_id"] = self._said(track)
        if "score" in cells:
            with suppress(TypeError, ValueError, OverflowError):
                shared["score"] = float(cells["score"])
        return shared

    def add_notes(self) -> None:
        """Add defects of the whole table, and notes."""
        into, of = self._into, self._columns.of
        unit = "shares of the image" if self._boxes.is_share else "pixels"
        said = f"boxes are {FORM_WORDS[self._boxes.form]} in {unit}"
        into.notes.append(f"{said}; columns: {self._columns.described()}")
        if self._n_sizeless:
            some = count(self._n_sizeless, "box", "boxes")
            problem = f"{some} in shares of images whose size is not known; give --image-size "
            also = "1920x1080, or --columns image_width=NAME,image_height=NAME"
            into.defect("T002", problem + also, Where(self._member.name, 1))
        if "category" not in of and "objects" not in of:
            into.defect("T004", _ONE_CATEGORY, Where(self._member.name, 1))
            into.notes.append(_ONE_CATEGORY)
        into.named_by = f"the column {one_line(of['annotator'])!r}" if "annotator" in of else ""
        for image in into.images if not self._has_empty else ():
            # Only tables with such rows list annotators who drew nothing.
            del image["annotators"]


def _display_names(path: Path) -> dict[str, str]:
    """Return class names by code, from the file next to a table of Open Images."""
    inside = members_of(archive_around(path) or path)
    beside = inside if any(each.name for each in inside) else files_in(path.parent)
    found: dict[str, str] = {}
    for file in beside:
        if PurePosixPath(file.name).match(CLASS_NAMES):
            table = Delimited(file.shown, file.text().decode("utf-8", "replace"))
            rows = [table.header] if len(table.header) == 2 else []
            for chunk in table.chunks([0, 1]) if rows else ():
                rows += zip(*chunk.columns, strict=True)
            found |= {code: one_line(name) for code, name in rows}
    return found


def _coded(values: Sequence[object]) -> tuple[IndexArray, list[str]]:
    """Return (N,) codes of cells, and the distinct texts."""
    known: dict[str, int] = {}
    codes = [known.setdefault(each, len(known)) for each in map(plain_text, values)]
    return np.array(codes, np.int64), [*known]


def _is_true(cell: object) -> bool:
    return str(cell).strip().lower() in _TRUE


def _is_named(cells: Mapping[str, object]) -> bool:
    """Return whether cells name the image, and the annotator if there is a column for it."""
    annotator = plain_text(cells.get("annotator", "-"))
    # Two different names may look the same once escaped.
    is_plain = annotator.isprintable() and "\\" not in annotator
    return bool(plain_text(cells["image"]) and annotator) and is_plain
