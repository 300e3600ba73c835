"""Converting the rows of a table to COCO records."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line, unguarded
from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.box_tables.box_kinds import BoxKind, box_kind_of
from bboxqa.formats.box_tables.box_units import are_beyond, beyond
from bboxqa.formats.box_tables.box_values import (
    Cells,
    as_corner_and_size,
    boxes_in,
    numbers_of_box,
)
from bboxqa.formats.box_tables.parquet_rows import class_names
from bboxqa.formats.box_tables.pictures_beside import size_beside
from bboxqa.formats.box_tables.plain_tables import PlainRows, parts_of
from bboxqa.formats.box_tables.row_columns import (
    OF_GROUPS,
    boxes_of,
    in_pixels,
    is_named,
    name_in,
)
from bboxqa.formats.box_tables.table_columns import FORM_WORDS, FORMS, NAMES, Columns, columns_of
from bboxqa.formats.box_tables.table_rows import QUOTES, names_in, refuse_repeated, without_rows
from bboxqa.formats.content_kinds import CLASS_NAMES, PARQUET
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.boxes.turned_boxes import angle_in, turned_box
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.given_sizes import given_size
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import archive_around, files_in, members_of
from bboxqa.formats.translation.translated import (
    UNLABELLED,
    Add,
    Boxes,
    Lines,
    Record,
    Translated,
    Wanted,
)
from bboxqa.formats.translation.untrusted import ValueProblemError, mapping, plain_text

# Data frames write whole numbers as fractions where some are missing.
_TRUE = {"1", "1.0", "true"}
_ONE_CATEGORY = "no column of categories: all boxes are of one; --columns category=NAME names it"
SAY = f"Say what the columns hold: --columns image=NAME,bbox=NAME,… ({', '.join(NAMES)})"
"""The advice if no columns of boxes are found."""


def translate_table(path: Path, member: Member, add: Add, wanted: Wanted) -> Translated:
    """Translate a table; raises DatasetError if it has no boxes, or their layout is ambiguous."""
    header = names_in(member)
    if not header:
        raise without_rows(member)
    columns = columns_of(header, choices().columns)
    if columns.problem:
        raise DatasetError([f"{member.shown}: has {columns.problem}"], SAY)
    refuse_repeated(member, [*columns.of.values()])
    add_boxes = wanted.add_boxes
    parts = parts_of(member, columns, plain=add_boxes is not None, in_full=wanted.in_full)
    records = _TableRecords(path, member, columns, box_kind_of(member, columns, parts()), add)
    for part in parts():
        if part.plain is None or add_boxes is None or not records.add_plain(part.plain, add_boxes):
            for at, row in part.rows():
                records.add_row(at, row)
    return records.done()


class _TableRecords:
    """Converts rows to COCO records."""

    def __init__(
        self, path: Path, member: Member, columns: Columns, boxes: BoxKind, add: Add
    ) -> None:
        title = "Open Images csv" if columns.is_open_images else "table"
        self._into = Collector(title, add, lists_images=False)
        self._path = path
        self._member = member
        self._columns = columns
        self._boxes = boxes
        self._names = _display_names(path) if columns.is_open_images else {}
        for key in ("category", "objects"):
            numbered = enumerate(class_names(member, columns.of.get(key, "")))
            self._names |= {str(number): name for number, name in numbered}
        head = member.head()
        has_cells = not head.startswith(PARQUET) and not head.lstrip().startswith(b"{")
        # As bboxqa writes cells that spreadsheets would run as formulas.
        self._said: Callable[[str], str] = unguarded if has_cells else str
        self._named: Callable[[str], str] = name_in if has_cells else str
        self._of_objects = "objects" in columns.of
        self._word = "row" if head.startswith(PARQUET) else "line"
        self._tally: Counter[str] = Counter()
        # Whether rows without a box name annotators, who were asked and drew nothing.
        self._has_empty = False
        self._sides: dict[str, tuple[object, object]] = {}

    def add_row(self, at: int, row: dict[str, object]) -> None:
        """Add the boxes of a row."""
        where, label = Where(self._member.name, at), f"{self._word} {at}"
        if "" in row:
            self._into.defect("T001", f"{label}: {row['']}", where)
            return
        try:
            boxes = boxes_in(row, self._columns)
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

    def add_plain(self, rows: PlainRows, add: Callable[[Boxes], None]) -> bool:
        """Add the boxes of rows; return False if any row holds more than a box."""
        names = [key for key in OF_GROUPS if key in self._columns.of]
        begins = rows.begins(names)
        groups = rows.cells(names, begins)
        category, labels = rows.numbered("category")
        has_labels = "category" not in self._columns.of or all(map(str.strip, labels))
        is_crowd = any(each.strip().lower() in _TRUE for each in rows.numbered("iscrowd")[1])
        is_turned = any(map(angle_in, rows.numbered("rotation")[1]))
        if is_turned or is_crowd or not has_labels or not all(map(is_named, groups)):
            return False
        images, people = [], []
        for row, cells in zip(begins.tolist(), groups, strict=True):
            where = Where(self._member.name, rows.line + row)
            image = self._image(self._said(cells["image"].strip()), cells, where)
            annotator = self._named(cells.get("annotator", "").strip())
            if annotator:
                self._into.ask(image, annotator)
            images.append(image)
            people.append(annotator)
        if self._boxes.is_share and (
            not all("width" in image for image in images) or are_beyond(rows.boxes).any()
        ):
            return False
        group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows.boxes)))
        kind, line = self._boxes, rows.line + np.arange(len(group))
        lines = Lines([self._member.name], np.zeros(len(group), np.int64), line)
        bbox = in_pixels(rows, kind.form, images, group, is_share=kind.is_share)
        category_id = self._categories_of(category, labels, lines)
        self._into.boxes(boxes_of(rows, bbox, (images, people, group), category_id, lines), add)
        return True

    def _categories_of(
        self, category: IndexArray, labels: Sequence[str], lines: Lines
    ) -> IndexArray:
        """Return the category id of each row, (N,), from the code of its label."""
        begins = np.unique(category, return_index=True)[1].tolist()
        said = [self._named(each.strip()) for each in labels]
        names = [self._names.get(each, each) or UNLABELLED for each in said]
        named = zip(names, begins, strict=True)
        ids = np.array([self._into.category(name, lines.where(row)) for name, row in named])
        found: IndexArray = ids[category]
        return found

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
        bbox, problem = as_corner_and_size(numbers, self._boxes.form), ""
        if self._boxes.is_share:
            if "width" not in image:
                self._tally["sizeless"] += 1
                return
            try:
                problem = beyond(numbers, FORMS[self._boxes.form])
            except ValueProblemError as error:
                self._into.refuse(label, error, where)
                return
            sides = (image["width"], image["height"]) * 2
            bbox = [number * side for number, side in zip(bbox, sides, strict=True)]
        record: Record = {"image_id": image["id"], "bbox": bbox, **self._shared(cells, label)}
        if degrees := angle_in(cells.get("rotation")):
            record |= turned_box(bbox, degrees)
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
            size = size or size_beside(self._path, name) or given_size(name)
            if size is not None and "width" not in image:
                image |= {"width": size[0], "height": size[1]}
        return image

    def _shared(self, cells: Cells, label: str) -> Record:
        is_shown = self._of_objects or self._word == "row"
        own = self._said(plain_text(cells.get("id"))) or (label if is_shown else "")
        shared: Record = {"own_id": own} if own else {}
        if "iscrowd" in cells and str(cells["iscrowd"]).strip().lower() in _TRUE:
            shared["iscrowd"] = 1
        if "created_at" in cells and (made := plain_text(cells["created_at"])):
            shared["created_at"] = made
        if "track" in cells and (track := plain_text(cells["track"])):
            shared["track_id"] = self._said(track)
        if "score" in cells:
            with suppress(TypeError, ValueError):
                shared["score"] = float(cells["score"])
        return shared

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        if sizeless := self._tally["sizeless"]:
            some = count(sizeless, "box", "boxes")
            problem = f"{some} in shares of images whose size is not known: --image-size gives it"
            also = ", or columns do: --columns image_width=NAME,image_height=NAME"
            self._into.defect("T002", problem + also, Where(self._member.name, 1))
        if "category" not in self._columns.of and "objects" not in self._columns.of:
            self._into.defect("T004", _ONE_CATEGORY, Where(self._member.name, 1))
        column = self._columns.of.get("annotator")
        named_by = "" if column is None else f"the column {one_line(column)!r}"
        found = self._into.done(self._notes(), named_by)
        if not self._has_empty:
            for image in found.images:
                # Only tables with such rows list annotators who drew nothing.
                del image["annotators"]
        return found

    def _notes(self) -> list[str]:
        unit = "shares of the image" if self._boxes.is_share else "pixels"
        said = f"boxes are {FORM_WORDS[self._boxes.form]} in {unit}"
        notes = [f"{said}; columns: {self._columns.described()}"]
        if "category" not in self._columns.of and "objects" not in self._columns.of:
            notes.append(_ONE_CATEGORY)
        return notes


def _display_names(path: Path) -> dict[str, str]:
    """Return class names by code, from the file next to a table of Open Images."""
    inside = members_of(archive_around(path) or path)
    beside = inside if any(each.name for each in inside) else files_in(path.parent)
    files = (each for each in beside if PurePosixPath(each.name).match(CLASS_NAMES))
    return {code: one_line(name) for file in files for code, name in _pairs_in(file)}


def _pairs_in(file: Member) -> Iterator[list[str]]:
    """Yield the rows of two cells in a table without header."""
    reader = csv.reader(file.text().decode("utf-8", "replace").splitlines())
    line = 0
    try:
        for row in reader:
            line = reader.line_num
            if len(row) == 2:
                yield row
    except csv.Error as error:
        problem = f"{file.shown}: line {line + 1}: cannot be split into cells: {error}"
        raise DatasetError([f"{problem}; expected a code and a name"], QUOTES) from None
