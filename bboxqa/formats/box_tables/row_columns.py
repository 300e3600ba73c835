"""Converting plain rows of a table to columns of annotations."""

from collections.abc import Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.box_tables.box_values import as_corners_and_sizes
from bboxqa.formats.box_tables.plain_tables import PlainRows
from bboxqa.formats.translation.translated import Boxes, Lines, Record

OF_GROUPS = ("image", "image_id", "image_width", "image_height", "annotator")
"""The keys that rows of one image and annotator share."""


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
    said = rows.words.texts(rows.place["id"]) if "id" in rows.place else []
    annotators = [*dict.fromkeys(filter(None, people))]
    codes = {"": -1} | {name: code for code, name in enumerate(annotators)}
    return Boxes(
        np.array([image["id"] for image in images])[group],
        category_id,
        bbox,
        lines,
        np.array([codes[name] for name in people])[group],
        annotators,
        [own.strip() for own in said],
    )
