"""Converting plain rows of a table to columns of annotations."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, TextArray
from bboxqa.core.text import unguarded
from bboxqa.formats.box_tables.box_values import as_corners_and_sizes
from bboxqa.formats.box_tables.plain_tables import PlainRows
from bboxqa.formats.translation.boxes.own_ids import LONGEST
from bboxqa.formats.translation.translated import Boxes, Lines, Record

OF_GROUPS = ("image", "image_id", "image_width", "image_height", "annotator")
"""The keys that rows of one image and annotator share."""
_WHOLE = re.compile(r"(0|-?[1-9]\d*)\.0", re.ASCII)


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


def is_named(cells: Mapping[str, str]) -> bool:
    """Return whether cells name the image, and the annotator if there is a column for it."""
    annotator = cells.get("annotator", "-").strip()
    # Two different names may look the same once escaped.
    is_plain = annotator.isprintable() and "\\" not in annotator
    return bool(cells["image"].strip() and annotator) and is_plain


def in_pixels(
    rows: PlainRows, form: str, images: Sequence[Record], group: IndexArray, *, is_share: bool
) -> FloatArray:
    """Return the boxes of rows in pixels, (N, 4); `group` is the index of each row's image."""
    bbox = as_corners_and_sizes(rows.boxes, form)
    if not is_share:
        return bbox
    sides = np.array([[image["width"], image["height"]] * 2 for image in images])
    shares: FloatArray = bbox * sides[group]
    return shares


def boxes_of(
    rows: PlainRows,
    bbox: FloatArray,
    groups: tuple[Sequence[Record], Sequence[str], IndexArray],
    category_id: IndexArray,
    lines: Lines,
) -> Boxes:
    """Return rows as columns.

    `groups` are the images, the annotators, and the (N,) group of each row.
    """
    images, people, group = groups
    annotators = [*dict.fromkeys(filter(None, people))]
    codes = {"": -1} | {name: code for code, name in enumerate(annotators)}
    return Boxes(
        np.array([image["id"] for image in images])[group],
        category_id,
        bbox,
        lines,
        np.array([codes[name] for name in people])[group],
        annotators,
        _own_ids_of(rows),
    )


def _own_ids_of(rows: PlainRows) -> Sequence[str] | TextArray:
    if "id" not in rows.place:
        return []
    # Most tables have short ids, which need no Python object each.
    short = rows.words.short_texts(rows.place["id"], LONGEST)
    if short is not None:
        return np.strings.strip(short)
    return [own.strip() for own in rows.words.texts(rows.place["id"])]
