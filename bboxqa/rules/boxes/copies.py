"""B: boxes with the same numbers on images of different sizes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, Rule, described_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import overshoot
from bboxqa.rules.facts.layouts.box_layout import in_other_layout

_ENOUGH_SIZES = 3
# If at least this share of boxes are copies, other findings about boxes are hidden.
_NEARLY_ALL = 0.9
# Odd random numbers, whose products with the bits of a box make a hash.
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)


@dataclass(frozen=True, slots=True, eq=False)
class _Copies:
    """Boxes, grouped by their numbers.

    Attributes
    ----------
    rows : (H,) int64
        The annotations, sorted.
    group : (H,) int64
        The group of equal boxes of each annotation.
    n_sizes : (G,) int64
        The number of distinct image sizes in each group.
    """

    rows: IndexArray
    group: IndexArray
    n_sizes: IndexArray


def _copied(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    copies = document.once(_copies)
    if copies is None or len(copies.rows) == 0:
        return
    bbox, rows = document.annotations.bbox, copies.rows
    first = copies.rows[copies.group == np.argmax(copies.n_sizes)]
    example = ", ".join(f"{number:g}" for number in bbox[first[0]])
    found = summary_defect(
        f"{len(rows):,} boxes have the same four numbers as others on images of "
        f"{_ENOUGH_SIZES} or more sizes, such as [{example}] on "
        f"{len(np.unique(document.image[first])):,} images of {copies.n_sizes.max():,} sizes; "
        "expected boxes drawn on each image",
        "annotations",
        [*first, *np.setdiff1d(rows, first)],
        "bbox",
        found=bbox[first[0]].tolist(),
        expected="boxes drawn on each image",
    )
    # If hardly any box was drawn on its image, all other findings about boxes follow from that.
    nearly_all = len(rows) >= _NEARLY_ALL * document.has_box.sum()
    beyond = overshoot(bbox[rows], document.size[rows])
    is_off = bool(np.any(beyond >= np.tile(bbox[rows, 2:], 2)))
    is_beyond = bool(np.any(beyond > settings.overshoot_px))
    for each in described_hits([found], Severity.ERROR if nearly_all or is_off else None):
        concerned = None if nearly_all else rows
        yield replace(each, hides=nearly_all or is_beyond, concerned=concerned)


def copied_boxes(document: Document) -> BoolArray:
    """Return which boxes are equal to boxes on images of other sizes, (N,) bool."""
    result, copies = np.zeros(len(document.annotations), np.bool_), document.once(_copies)
    if copies is not None:
        result[copies.rows] = True
    return result


def _copies(document: Document) -> _Copies | None:
    """Return the boxes that are equal on images of several sizes; None if there are none."""
    sizes, size = np.unique(document.image_size, axis=0, return_inverse=True)
    if np.isfinite(sizes).all(axis=1).sum() < _ENOUGH_SIZES:
        return None
    usable: BoolArray = document.has_box & ~np.isnan(document.size).any(axis=1)
    rows = np.flatnonzero(usable & ~document.once(in_other_layout))
    rows, group = _repeated(rows, document.annotations.bbox[rows])
    pairs = np.unique(group * len(sizes) + size.ravel()[document.image[rows]])
    n_sizes = np.bincount(pairs // len(sizes))
    chosen = n_sizes[group] >= _not_by_chance(n_sizes)
    kept, place = np.unique(group[chosen], return_inverse=True)
    order = np.argsort(rows[chosen])
    return _Copies(rows[chosen][order], place[order], n_sizes[kept])


def _repeated(rows: IndexArray, bbox: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return the rows of boxes that occur more than once, and the group of each."""
    # Adding 0 makes -0 equal to 0. Products of unsigned integers wrap around without a warning.
    bits = (bbox + 0.0).view(np.uint64)
    key = ((bits ^ (bits >> np.uint64(31))) * _FACTORS).sum(axis=1, dtype=np.uint64)
    order = np.argsort(key)
    is_same = (key[order[1:]] == key[order[:-1]]) & (bbox[order[1:]] == bbox[order[:-1]]).all(1)
    repeated = np.zeros(len(rows) + 1, np.bool_)
    repeated[1:-1] = is_same
    kept = repeated[1:] | repeated[:-1]
    return rows[order[kept]], np.cumsum(~repeated[:-1], dtype=np.int64)[kept]


def _not_by_chance(n_sizes: IndexArray) -> int:
    """Return the number of image sizes on which boxes are hardly equal by chance.

    If boxes are equal by chance, each further size has fewer groups of equal boxes.

    Examples
    --------
    >>> _not_by_chance(np.array([3, 4, 4, 5])), _not_by_chance(np.array([2, 2, 2, 2, 3, 3, 4]))
    (3, 7)
    """
    number = np.bincount(n_sizes, minlength=_ENOUGH_SIZES)[2:]
    falls = np.append((number[1:] < number[:-1]) & (number[1:] > 0), [False])
    longest_by_chance = 2 + int(np.argmin(falls))
    return max(_ENOUGH_SIZES, 2 * longest_by_chance - 1)


_SIZES = ((100, 80), (120, 80), (100, 120))
_IMAGES = [{"width": width, "height": height} for width, height in _SIZES]

RULES = (
    Rule(
        code="B014",
        title="same box on images of several sizes",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Boxes that nobody drew on an image do not fit its objects: training and evaluation
            take background for objects.""",
        explanation="""Boxes with the same four numbers are on images of at least 3 sizes. An
            annotation of one image was copied to the others, for example as a track that an
            annotation tool extends over all following images. Large files, where many boxes are
            equal on 2 or 3 sizes by chance, need more sizes. It is an error if nine tenths of the
            boxes are such copies, or one of them lies outside its image. Look at the images; ignore
            B014 if they are pages or screens with a constant layout.""",
        bad={
            "images": _IMAGES,
            "annotations": [{"image_id": number} for number in (1, 2, 3)],
        },
        good={
            "images": _IMAGES,
            "annotations": [
                {"image_id": number, "bbox": [10, 9 + number, 20, 30]} for number in (1, 2, 3)
            ],
        },
        check=_copied,
        consequences=(
            "A004",
            "B002",
            "O006",
            "B003",
            "B004",
            "B008",
            "B009",
            "B010",
            "B011",
            "B012",
            "D002",
            "D003",
            "P006",
            "P007",
            "Q002",
            "R001",
        ),
    ),
)
