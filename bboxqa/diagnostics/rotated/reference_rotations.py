"""Offsets of centre, sides and angle of rotated boxes from those of a reference."""

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.annotators.image_ratios import Ratios, RatioSums, holm
from bboxqa.diagnostics.annotators.offsets import ALARM, with_bounds
from bboxqa.diagnostics.rotated.rotated_offsets import MEASURES, SIZE_OF, UNITS, measures, sizes
from bboxqa.diagnostics.rotated.turned_pairs import compared_pairs
from bboxqa.model.shapes.rounding import beyond_rounding
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import ReferenceMatches


def reference_rotations(found: ReferenceMatches) -> Table:
    """Return the offsets of each annotator's rotated boxes from those of the reference.

    A row for each annotator and measure, as in `rotated_offsets`. Boxes across those of the
    reference are left out; boxes that overlap it too little to match count as well.

    Columns: annotator; measure; unit; n, the number of objects; offset, the mean offset, and
    offset_percent, in percent of the mean size of the reference's boxes (NaN for the angle), both
    with the 95 % interval over images; p_value of a t-test over images against 0; and systematic,
    whether it is significant after Holm's correction for all rows, and beyond rounding.
    """
    names, n_measures = found.data.annotator_names[:-1], len(MEASURES)
    n_rows = n_measures * len(names)
    pairs = compared_pairs(found.data, *found.placed.T)
    kept = ~pairs.is_across
    apart, size = measures(pairs)[kept], sizes(pairs.right_sides[kept])
    of, drawn = found.data.annotations, found.placed[kept, 0]
    annotator, image = of.annotator[drawn].astype(np.int64), of.image[drawn].astype(np.int64)
    sums = RatioSums(2 * n_rows, len(found.data.image_names))
    for measure, size_of in enumerate(SIZE_OF.tolist()):
        row = n_measures * annotator + measure
        sums.add(row, image, apart[:, measure], np.ones(len(row)))
        sums.add(row + n_rows, image, apart[:, measure], size[:, size_of])
    ratios = sums.ratios(found.bootstrap, found.seed)
    offset = ratios.part(slice(n_rows))
    percent = 100 * _figures(ratios.part(slice(n_rows, None)))
    is_angle = np.tile([measure == "angle" for measure in MEASURES], len(names))
    of_size = np.where(is_angle, np.nan, percent)
    who = np.repeat(np.arange(len(names), dtype=np.int32), n_measures)
    which = np.tile(np.arange(n_measures, dtype=np.int32), len(names))
    return Table(
        {
            "annotator": Categorical(who, names),
            "measure": Categorical(which, MEASURES),
            "unit": Categorical(is_angle.astype(np.int32), UNITS),
            "n": offset.denominator.astype(np.int64),
            **with_bounds("offset", _figures(offset)),
            **with_bounds("offset_percent", of_size),
            "p_value": offset.p_value,
            "systematic": (holm(offset.p_value) < ALARM)
            & beyond_rounding(offset.value, of_size[0]),
        }
    )


def _figures(ratios: Ratios) -> FloatArray:
    return np.stack([ratios.value, *ratios.interval.T])
