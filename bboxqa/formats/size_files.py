"""Reading image sizes from tables, from annotations in any format, and from pictures."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.box_tables.columns import columns_of
from bboxqa.formats.heads import TABLES, absence_of
from bboxqa.formats.images import size_of_picture
from bboxqa.formats.label_folders import place_of
from bboxqa.formats.member import is_picture
from bboxqa.formats.registry import document_of
from bboxqa.formats.source import members_of
from bboxqa.formats.sources import list_files
from bboxqa.formats.tables import Table, open_table
from bboxqa.formats.translation.collector import SIDES
from bboxqa.formats.translation.shapes import ValueProblemError, side_of, size_of
from bboxqa.model.annotations import NO_CHOICES

_EXPECTED = (
    "Give a table with the columns image, width and height, annotations that have them, such as "
    "COCO JSON, or the folder of the images."
)


def sizes_of(path: Path) -> dict[str, tuple[int, int]]:
    """Return width and height of images in pixels, by image name."""
    found: dict[str, tuple[int, int]] = {}
    pictures = [each for each in members_of(path) if is_picture(each.name)] if path.is_dir() else []
    if path.suffix.lower() in TABLES:
        sizes = _in_table(open_table(path))
    elif pictures:
        names = (place_of(each.name) + PurePosixPath(each.name).suffix for each in pictures)
        sizes = zip(names, map(size_of_picture, pictures), strict=True)
    else:
        documents = (document_of(file, NO_CHOICES) for file in list_files([path]))
        images = (each for document in documents if document for each in document.images)
        records = (each for each in images if isinstance(each, dict))
        sizes = (
            (str(each.get("file_name") or ""), size_of(*map(each.get, SIDES))) for each in records
        )
    for name, size in sizes:
        if name and size is not None and found.setdefault(name, size) != size:
            sides = " × ".join(map(str, size)), " × ".join(map(str, found[name]))
            problem = f"{path}: image {one_line(name)}: is {sides[0]}, but {sides[1]} earlier"
            raise DatasetError([problem])
    if not found:
        absence = absence_of(pictures[0].head()) if pictures else ""
        why = f"; {one_line(pictures[0].name)} {absence}" if absence else ""
        raise DatasetError([f"{path}: has no image sizes{why}"], "" if why else _EXPECTED)
    return found


def _in_table(table: Table) -> Iterator[tuple[str, tuple[int, int] | None]]:
    of = columns_of(table.header, {}).of
    used = {what: of.get(what) for what in ("image", "image_width", "image_height")}
    if missing := [what.removeprefix("image_") for what, name in used.items() if name is None]:
        listed = ", ".join(map(one_line, table.header[:20]))
        problem = f"{table.name}: has no column of {' and '.join(missing)}; they are {listed}"
        raise DatasetError([problem], _EXPECTED)
    cells = table.columns([str(name) for name in used.values()])
    columns = [cells[str(name)] for name in used.values()]
    for row in range(len(columns[0])):
        name, *sides = (column.label(row) or "" for column in columns)
        try:
            width, height = map(side_of, sides, SIDES)
        except ValueProblemError as error:
            raise DatasetError([f"{table.name}: image {one_line(name)}: {error}"]) from None
        yield name, None if width is None or height is None else (width, height)
