"""Where each annotator places the edges of objects, against the others."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.annotators.image_ratios import RatioSums, holm
from bboxqa.diagnostics.annotators.object_cells import edges_of, object_cells
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

EDGES = ("left", "top", "right", "bottom")

# An offset is systematic where the probability of one such false alarm in the table is below this.
_ALARM = 0.05


def offsets(matched: MatchedUnits) -> Table:
    """Return how far each annotator places the edges of objects from where the others do.

    A row for each annotator and edge of the box; positive is to the right, or down. An offset is
    the annotator's edge less the mean of the others' edges of the object, also where the boxes are
    too far apart to match.

    Columns: annotator, edge, n, the objects that others drew, too; offset_px, the mean over them,
    with its 95 % interval over images, and median_px; offset_percent, the mean offset over the mean
    width of the others' boxes (height for top and bottom), with its interval; p_value, of a t-test
    over images against 0; and whether the offset is systematic: it is after Holm's correction for
    all rows.
    """
    names = matched.data.annotator_names
    n_annotators = len(names)
    annotator, image, apart, size = _apart(matched)
    sums = RatioSums(8 * n_annotators, len(matched.data.image_names))
    one = np.ones(len(annotator))
    for edge in range(4):
        row = annotator * 4 + edge
        sums.add(row, image, apart[:, edge], one)
        sums.add(row + 4 * n_annotators, image, apart[:, edge], size[:, edge % 2])
    found = sums.ratios(matched.bootstrap, matched.seed)
    px = slice(0, 4 * n_annotators)
    relative, bounds = 100 * found.value[px.stop :], 100 * found.interval[px.stop :]
    return Table(
        {
            "annotator": Categorical(np.repeat(np.arange(n_annotators), 4).astype(np.int32), names),
            "edge": Categorical(np.tile(np.arange(4), n_annotators).astype(np.int32), EDGES),
            "n": found.denominator[px].astype(np.int64),
            "offset_px": found.value[px],
            "offset_px_low": found.interval[px, 0],
            "offset_px_high": found.interval[px, 1],
            "median_px": _medians(annotator, apart, n_annotators),
            "offset_percent": relative,
            "offset_percent_low": bounds[:, 0],
            "offset_percent_high": bounds[:, 1],
            "p_value": found.p_value[px],
            "systematic": holm(found.p_value[px]) < _ALARM,
        }
    )


def _apart(matched: MatchedUnits) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
    """Return the edges of each shared object less those of the others.

    Of the S annotations of objects that others drew, too: annotator and image, (S,), the edges less
    the mean of the others' edges, (S, 4), and the mean width and height of the others, (S, 2).
    """
    cells = object_cells(matched)
    drawn = np.flatnonzero(cells.drawn)
    n_objects = int(cells.object.max(initial=-1)) + 1
    bbox = matched.data.annotations.bbox[cells.annotation[drawn]]
    numbers = np.concatenate([edges_of(bbox), bbox[:, 2:]], axis=1)
    of = cells.object[drawn]
    everyone = np.stack([sum_by(of, column, n_objects) for column in numbers.T], axis=1)[of]
    shared = np.flatnonzero(cells.n_others_drew[drawn] > 0)
    n_others = cells.n_others_drew[drawn[shared], None]
    others = (everyone[shared] - numbers[shared]) / n_others
    return (
        cells.annotator[drawn[shared]].astype(np.int64),
        cells.image[drawn[shared]].astype(np.int64),
        numbers[shared, :4] - others[:, :4],
        others[:, 4:],
    )


def _medians(annotator: IndexArray, apart: FloatArray, n_annotators: int) -> FloatArray:
    """Return the median of each annotator and edge, (4 A,); NaN without objects."""
    order = np.argsort(annotator, kind="stable")
    stop = np.cumsum(np.bincount(annotator, minlength=n_annotators))
    return np.concatenate(
        [
            np.median(apart[own], axis=0) if len(own) else np.full(4, np.nan)
            for own in np.split(order, stop[:-1])
        ]
    )
