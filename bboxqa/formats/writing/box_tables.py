"""Boxes as a table: a row for each annotation."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from bboxqa.core.errors import ConfigError
from bboxqa.formats.writing.content import Content, Record, image_name
from bboxqa.formats.writing.losses import Loss, common_losses, label_losses
from bboxqa.formats.writing.outlines import outline_losses
from bboxqa.formats.writing.writer import Options, Writer, Written

COLUMNS = (
    "image", "image_id", "image_width", "image_height", "annotator", "category", "id",
    "x", "y", "width", "height", "iscrowd",
)  # fmt: skip
"""The columns of every table; keys of annotations with texts and numbers follow."""

_TITLE = "a table of boxes"
_OWN = {"id", "image_id", "category_id", "bbox", "annotator", "area", "iscrowd", "segmentation"}


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    held = _more(content)
    yield from outline_losses(content, _TITLE, ())
    yield from label_losses(content, _TITLE)
    yield from common_losses(content, _TITLE, annotations=held, crowds=True, unasked=True)


def _more(content: Content) -> list[str]:
    """Return the keys of annotations that hold texts and numbers only."""
    plain: dict[str, bool] = {}
    for each in content.annotations:
        for key in each.keys() - _OWN:
            is_plain = isinstance(each[key], str | int | float) and key not in COLUMNS
            plain[key] = plain.get(key, True) and is_plain
    return sorted(key for key in plain if plain[key])


def _rows(content: Content, more: list[str]) -> Iterator[list[Any]]:
    """Yield the rows; one without a box for each annotator who drew nothing in an image."""
    for place, image in enumerate(content.images):
        size = [image.get("width"), image.get("height")]
        first = [image_name(image), image["id"], *size]
        works = content.works(place) or [("", [])]
        for name, drawn in works:
            for each in drawn:
                yield [*first, name or None, *_cells(content, each), *map(each.get, more)]
            if not drawn:
                yield [*first, name or None, *[None] * (len(COLUMNS) - 5 + len(more))]


def _cells(content: Content, annotation: Record) -> list[Any]:
    category = content.category_names[annotation["category_id"]]
    return [category, annotation["id"], *annotation["bbox"], int("iscrowd" in annotation)]


def _csv(content: Content, _options: Options) -> Iterator[Written]:
    more = _more(content)
    text = io.StringIO(newline="")
    write = csv.writer(text, lineterminator="\n")
    write.writerow([*COLUMNS, *more])
    write.writerows(_rows(content, more))
    yield Written((), text.getvalue().encode("utf-8", "surrogatepass"))


def _parquet(content: Content, _options: Options) -> Iterator[Written]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ConfigError('parquet needs pyarrow: pip install "bboxqa[parquet]"') from None
    more = _more(content)
    names = [*COLUMNS, *more]
    columns = list(zip(*_rows(content, more), strict=True)) or [()] * len(names)
    types = {name: pa.type_for_alias(kind) for name, kind in _TYPES.items()}
    arrays = {
        name: pa.array(_of_one_type(column), types.get(name))
        for name, column in zip(names, columns, strict=True)
    }
    sink = io.BytesIO()
    parquet.write_table(pa.table(arrays), sink)
    yield Written((), sink.getvalue())


_TYPES = {
    **dict.fromkeys(("image", "annotator", "category"), "string"),
    **dict.fromkeys(("image_id", "id", "iscrowd"), "int64"),
    **dict.fromkeys(("image_width", "image_height", "x", "y", "width", "height"), "float64"),
}


def _of_one_type(column: tuple[Any, ...]) -> list[Any]:
    """Return a column as it is, or as text if it has texts and numbers."""
    if any(isinstance(each, str) for each in column):
        return [None if each is None else str(each) for each in column]
    return list(column)


CSV = Writer("csv", "file", (".csv",), _losses, _csv, is_known_by_suffix=True)
PARQUET = Writer("parquet", "file", (".parquet",), _losses, _parquet, is_known_by_suffix=True)
