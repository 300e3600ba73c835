"""Writing boxes as a table with one row per annotation."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import guarded
from bboxqa.formats.box_tables.columns import unit_of
from bboxqa.formats.box_tables.reader import name_in
from bboxqa.formats.translation.collector import SIDES
from bboxqa.formats.translation.shapes import LEAST_PIXELS, mapping
from bboxqa.formats.writing.content import Content, Loss, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES, losses_of

COLUMNS = (
    "image", "image_id", "image_width", "image_height", "annotator", "category", "id",
    "x", "y", "width", "height", "iscrowd",
)  # fmt: skip
"""The columns of every table.

`rotation`, `track` and keys with texts and numbers follow, if annotations have them.
"""

_TITLE = "a table of boxes"
_ROTATION = "rotation"
_TRACK = "track"
# What the track of an annotation is called, as a key or an attribute.
_TRACK_KEYS = ("track_id", "track", "instance_id")
_TAKEN = {*COLUMNS, _ROTATION}
_OWN = {"id", "image_id", "category_id", "bbox", "annotator", "area", "iscrowd", "segmentation"}


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    boxes = np.array([each["bbox"] for each in content.annotations], np.float64).reshape(-1, 4)
    unit, is_share = unit_of(boxes)
    if unit != "pixels":
        noun = f"box of numbers up to {LEAST_PIXELS}"
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
    """Return the keys that only hold texts and numbers, and the attribute that names tracks.

    The attribute is empty if there is none, or if a key of annotations names tracks.
    """
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
    turned = {each["id"]: content.rotated(each, any_rectangle=True) for each in content.annotations}
    has_turned = any(each is not None for each in turned.values())
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
                if (found := turned[each["id"]]) is not None:
                    x, y, width, height, degrees = found.tolist()
                    box = [x - width / 2, y - height / 2, width, height]
                row = each | first | dict(zip(("x", "y", *SIDES), box, strict=True))
                row["category"] = content.category_names[each["category_id"]]
                row |= {"iscrowd": int("iscrowd" in each), _ROTATION: degrees}
                row |= {_TRACK: mapping(each.get(ATTRIBUTES)).get(track)} if track else {}
                rows.append([*map(row.get, names)])
    return names, rows


def _csv(content: Content, _options: Options) -> Iterator[Written]:
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


def _parquet(content: Content, _options: Options) -> Iterator[Written]:
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
CSV = _write(
    "csv",
    suffixes=(".csv",),
    files=_csv,
    reads={"category": _read_cell, "annotator": _read_cell, "image": str.strip},
)
PARQUET = _write(
    "parquet",
    suffixes=(".parquet",),
    files=_parquet,
    reads={"category": str.strip, "annotator": str.strip, "image": str.strip},
)
