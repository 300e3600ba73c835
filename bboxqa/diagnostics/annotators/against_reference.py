"""Agreement of each annotator with a reference on existence, class and place."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.diagnostics.annotators.image_ratios import Ratios, RatioSums, holm
from bboxqa.diagnostics.object_cells import edges_of
from bboxqa.model.annotations import EDGES
from bboxqa.model.shapes.rounding import beyond_rounding
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import ReferenceMatches

FIGURES = (
    "precision",
    "recall",
    "f1",
    "class_share",
    "mean_similarity",
    "miss_rate",
    "extra_rate",
    "twice_rate",
)
"""Columns of the table, each with a ``_low`` and a ``_high``."""

# An offset is systematic if the chance of a false alarm in the whole table is below this.
_ALARM = 0.05


def against_reference(found: ReferenceMatches) -> Table:
    """Return the agreement of each annotator with the reference, a row per annotator.

    Columns: annotator; n_images, the images of the reference that the annotator was asked about;
    the numbers of annotations there: n by the annotator, n_reference by the reference, n_matched;
    then each of `FIGURES` with the 95 % interval over images.

    - precision: n_matched / n. Recall: n_matched / n_reference. F1: 2 · n_matched / their sum.
    - miss_rate: of the objects of the reference, the share that the annotator did not draw, not
      even badly placed. Extra_rate: of the annotations, the share that overlap no object.
    - twice_rate: of the objects of the reference that the annotator drew, the share that two boxes
      match. Second boxes and parts of objects lower the precision, but are no extras.
    - class_share: of the matched annotations, the share with the category of the reference.
    - mean_similarity: the mean similarity of matched annotations to the reference.
    """
    names = found.data.annotator_names[:-1]
    n_annotators = len(names)
    sums = RatioSums(len(FIGURES) * n_annotators, len(found.data.image_names))
    _add_existence(sums, found, n_annotators)
    row, image = _authors(found, found.matched.left)
    category = found.data.annotations.category
    same = category[found.matched.left] == category[found.matched.right]
    one = np.ones(len(row))
    sums.add(row + 3 * n_annotators, image, same, one)
    sums.add(row + 4 * n_annotators, image, found.matched.similarity, one)
    _add_errors(sums, found, n_annotators)
    ratios = sums.ratios(found.bootstrap, found.seed)
    n_drawn, n_reference = (
        ratios.denominator[place * n_annotators : (place + 1) * n_annotators] for place in (0, 1)
    )
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(n_annotators, dtype=np.int32), names),
        "n_images": found.data.assigned[:, :-1].sum(0),
        "n": n_drawn.astype(np.int64),
        "n_reference": n_reference.astype(np.int64),
        "n_matched": np.bincount(row, minlength=n_annotators),
    }
    for place, name in enumerate(FIGURES):
        own = ratios.part(slice(place * n_annotators, (place + 1) * n_annotators))
        columns |= _with_interval(name, own)
    return Table(columns)


def _add_existence(sums: RatioSums, found: ReferenceMatches, n_annotators: int) -> None:
    """Add precision, recall and F1."""
    of = found.data.annotations
    is_reference = of.annotator == n_annotators
    matched, drawn = (
        _authors(found, rows) for rows in (found.matched.left, np.flatnonzero(~is_reference))
    )
    image, row = np.nonzero(found.data.assigned[:, :-1])
    of_images = np.bincount(of.image[is_reference], minlength=len(found.data.image_names))
    parts = (*matched, 1, 0, 0), (*drawn, 0, 1, 0), (row, image, 0, 0, of_images[image])
    for rows, images, n_matched, n_drawn, n_reference in parts:
        places = np.concatenate([rows + place * n_annotators for place in range(3)])
        numerator = np.repeat([n_matched, n_matched, 2 * n_matched], len(rows))
        one_by_one = np.broadcast_to(n_drawn, len(rows)), np.broadcast_to(n_reference, len(rows))
        denominator = np.concatenate([*one_by_one, np.add(*one_by_one)])
        sums.add(places, np.tile(images, 3), numerator, denominator)


def _add_errors(sums: RatioSums, found: ReferenceMatches, n_annotators: int) -> None:
    """Add misses, extras and repetitions.

    Misses are objects without a box of the annotator; extras are boxes that overlap no object.
    """
    of = found.data.annotations
    is_reference = of.annotator == n_annotators
    placed = _authors(found, found.placed[:, 0])
    drawn = _authors(found, np.flatnonzero(~is_reference))
    image, row = np.nonzero(found.data.assigned[:, :-1])
    of_images = np.bincount(of.image[is_reference], minlength=len(found.data.image_names))[image]
    first = 5 * n_annotators
    none = np.zeros(len(placed[0]))
    sums.add(row + first, image, of_images, of_images)
    sums.add(placed[0] + first, placed[1], none - 1, none)
    first += n_annotators
    sums.add(drawn[0] + first, drawn[1], np.ones(len(drawn[0])), np.ones(len(drawn[0])))
    sums.add(placed[0] + first, placed[1], none - 1, none)
    beside = _authors(found, found.beside.left)
    none_beside = np.zeros(len(beside[0]))
    sums.add(beside[0] + first, beside[1], none_beside - 1, none_beside)
    first += n_annotators
    sums.add(placed[0] + first, placed[1], none, none + 1)
    again = found.beside.right[found.is_twice] * n_annotators + beside[0][found.is_twice]
    twice, who = np.divmod(np.unique(again), max(n_annotators, 1))
    none = np.zeros(len(twice))
    sums.add(who + first, of.image[twice].astype(np.int64), none + 1, none)


def _authors(found: ReferenceMatches, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return annotator and image of some annotations."""
    of = found.data.annotations
    return of.annotator[rows].astype(np.int64), of.image[rows].astype(np.int64)


def _with_interval(name: str, ratios: Ratios, factor: float = 1.0) -> dict[str, FloatArray]:
    return {
        name: factor * ratios.value,
        f"{name}_low": factor * ratios.interval[:, 0],
        f"{name}_high": factor * ratios.interval[:, 1],
    }


def reference_offsets(found: ReferenceMatches) -> Table:
    """Return the offsets of the edges of each annotator's boxes from those of the reference.

    A row for each annotator and edge of the box; positive is to the right, or down. Boxes that
    overlap the reference too little to match count as well.

    Columns: annotator; edge; n, the number of objects; offset_px, the mean offset, and
    offset_percent, in percent of the mean width of the reference's boxes (height for top and
    bottom), both with the 95 % interval over images; p_value of a t-test over images against 0; and
    systematic, whether it is significant after Holm's correction for all rows, and beyond rounding,
    as in `offsets`.
    """
    names = found.data.annotator_names[:-1]
    n_rows = 4 * len(names)
    bbox, (drawn, expected) = found.data.annotations.bbox, found.placed.T
    apart, size = edges_of(bbox[drawn]) - edges_of(bbox[expected]), bbox[expected, 2:]
    annotator, image = _authors(found, drawn)
    sums = RatioSums(2 * n_rows, len(found.data.image_names))
    for edge in range(4):
        row = 4 * annotator + edge
        sums.add(row, image, apart[:, edge], np.ones(len(row)))
        sums.add(row + n_rows, image, apart[:, edge], size[:, edge % 2])
    ratios = sums.ratios(found.bootstrap, found.seed)
    px, relative = ratios.part(slice(n_rows)), ratios.part(slice(n_rows, None))
    who = np.repeat(np.arange(len(names), dtype=np.int32), 4)
    return Table(
        {
            "annotator": Categorical(who, names),
            "edge": Categorical(np.tile(np.arange(4, dtype=np.int32), len(names)), EDGES),
            "n": px.denominator.astype(np.int64),
            **_with_interval("offset_px", px),
            **_with_interval("offset_percent", relative, 100),
            "p_value": px.p_value,
            "systematic": (holm(px.p_value) < _ALARM)
            & beyond_rounding(px.value, 100 * relative.value),
        }
    )
