"""Problems with values that would falsify a result."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.records import Authors, Image
from bboxqa.model.masks import Segmentations
from bboxqa.model.table import FilePlaces, ShownIds

MAX_COORDINATE = 1e9
"""In pixels. Beyond this, areas are not exact to a pixel; no image is that large."""
_EXAMPLES = 3


def repeated_ids(key: str, ids: IndexArray) -> Iterator[str]:
    """Yield a problem for each id that several records of a list share."""
    if (ids[1:] > ids[:-1]).all():
        return
    ordered = np.sort(ids)
    for value in np.unique(ordered[1:][ordered[1:] == ordered[:-1]]).tolist():
        yield f"{key}: id {value} occurs more than once; expected once"


def bad_sizes(images: Sequence[Image]) -> Iterator[str]:
    """Yield a problem for each impossible image side."""
    for image in images:
        for key, side in (("width", image.width), ("height", image.height)):
            if side is not None and not 0 <= side <= MAX_COORDINATE:
                yield (
                    f"image {image.id}: {key} is {side:g}; "
                    f"expected 0 or more, and at most {MAX_COORDINATE:g} px"
                )


def bad_boxes(ids: ShownIds, bbox: FloatArray) -> Iterator[str]:
    """Yield a problem for each box with a negative side, NaN, or a number too large to be exact."""
    # Comparisons with NaN are false.
    sound = np.logical_and((np.abs(bbox) <= MAX_COORDINATE).all(1), (bbox[:, 2:] >= 0).all(1))
    for row in np.flatnonzero(~sound).tolist():
        numbers = ", ".join(f"{each:g}" for each in bbox[row])
        yield (
            f"annotation {ids[row]}: bbox is {numbers}; expected sides of 0 or more, and at most "
            f"{MAX_COORDINATE:g} px"
        )


def bad_outlines(ids: ShownIds, segmentation: Segmentations) -> Iterator[str]:
    """Yield problems for outlines with NaN, or with coordinates too large to be exact."""
    xy = segmentation.xy
    if not len(xy) or (xy.min() >= -MAX_COORDINATE and xy.max() <= MAX_COORDINATE):
        return
    far = np.flatnonzero(~(np.abs(xy) <= MAX_COORDINATE).all(1))
    ring = np.searchsorted(segmentation.ring_offsets, far, side="right") - 1
    for row in np.unique(np.searchsorted(segmentation.part_stop, ring, side="right")).tolist():
        expected = f"expected numbers up to {MAX_COORDINATE:g} px"
        yield f"annotation {ids[row]}: a polygon has a point far away; {expected}"


def unnamed(ids: Sequence[Any] | ShownIds, total: int, noun: str) -> Iterator[str]:
    """Yield one problem for all records that do not name their annotator, if there are any.

    Examples
    --------
    >>> [*unnamed([3], 90, "image")]
    ['image 3: does not name its annotator; the others do']
    >>> [*unnamed([3, 4, 5, 8], 90, "image")]
    ['4 of 90 images do not name their annotator (ids 3, 4, 5, …); the others do']
    """
    others = "the others do" if len(ids) < total else "those of other files do"
    if len(ids) == 1:
        yield f"{noun} {ids[0]}: does not name its annotator; {others}"
    elif len(ids):
        first = ", ".join(map(str, ids[:_EXAMPLES])) + ", …" * (len(ids) > _EXAMPLES)
        each = "at" if isinstance(ids, FilePlaces) else "ids"
        number = f"{len(ids):,} of {total:,} {noun}s"
        yield f"{number} do not name their annotator ({each} {first}); {others}"


def composed_names(ids: ShownIds, key: str, authors: Authors) -> Iterator[str]:
    """Yield one problem for all annotations with a list or an object as annotator, if any."""
    if not authors.composed:
        return
    codes = [code for code, name in enumerate(authors.names) if name in authors.composed]
    rows = np.flatnonzero(np.isin(authors.code, codes)).tolist()
    found = authors.names[authors.code[rows[0]]]
    more = f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
    inside = f"; for a name inside the object: --annotator-key {key}.KEY"
    yield (
        f"annotation {ids[rows[0]]}{more}: {key} is {found}; expected the name of one annotator"
        + inside * found.startswith("{")
    )
