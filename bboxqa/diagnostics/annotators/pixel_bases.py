"""Pairs of annotators whose boxes differ by one constant, as files that count pixels otherwise."""

from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, sum_by
from bboxqa.diagnostics.object_cells import drawn_edges, pairs_of_units
from bboxqa.model.shapes.rounding import ROUNDED_PX
from bboxqa.model.units import MatchedUnits

# Fewer pairs, or a lower share of them, may differ alike by chance.
_LEAST, _LEAST_SHARE = 20, 0.95
# Programs differ by half a pixel or a whole one: larger differences of single boxes are drawn.
_LARGEST, _STEP = 1.5, 0.5


class PixelBase(NamedTuple):
    """Two annotators whose boxes differ by a constant, in nearly all of their matched pairs."""

    first: int
    second: int
    shift: FloatArray
    """(4,) float64. First minus second, in pixels; edges are left, top, right and bottom."""
    n_alike: int
    n: int
    """The pairs that differ by `shift`, to 0.01 px, and all."""


def pixel_bases(matched: MatchedUnits) -> list[PixelBase]:
    """Return pairs of annotators whose boxes differ by half a pixel or a whole one throughout.

    Independent annotators differ by other amounts in each box. A constant in 95 % of 20 pairs or
    more comes from programs: one counts pixels from 0 and the other from 1, or one rounds.
    """
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    n_annotators = max(len(matched.data.annotator_names), 1)
    key = of.annotator[pairs.left].astype(np.int64) * n_annotators + of.annotator[pairs.right]
    keys, row = np.unique(key, return_inverse=True)
    edges = drawn_edges(matched)
    apart = edges[pairs.left] - edges[pairs.right]
    small = np.flatnonzero((np.abs(apart) <= _LARGEST).all(1))
    n_small = np.maximum(np.bincount(row[small], minlength=len(keys)), 1)
    mean = np.stack([sum_by(row[small], edge[small], len(keys)) / n_small for edge in apart.T], 1)
    shift = _STEP * np.round(mean / _STEP)
    alike: BoolArray = np.abs(apart - shift[row]).max(1, initial=0) <= ROUNDED_PX
    n, n_alike = np.bincount(row, minlength=len(keys)), sum_by(row, alike, len(keys))
    found = (n >= _LEAST) & (n_alike >= _LEAST_SHARE * n) & shift.any(1)
    return [
        PixelBase(*divmod(int(keys[at]), n_annotators), shift[at], int(n_alike[at]), int(n[at]))
        for at in np.flatnonzero(found).tolist()
    ]
