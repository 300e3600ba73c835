"""Nominal alpha without one unit, annotator or category: who and what lowers it.

Each is found from the totals and what the one left out has put into them, without counting the
rest again.
"""

import numpy as np

from bboxqa.agreement.alpha import pairable_marginal, unit_disagreement
from bboxqa.agreement.counts import UnitCounts, unit_counts
from bboxqa.agreement.krippendorff import nominal_alpha
from bboxqa.arrays import FloatArray, IndexArray, rows, run_starts, sum_by
from bboxqa.model import Cell, ReliabilityData

__all__ = ["alpha_without_annotators", "alpha_without_units", "alpha_without_values"]

_TINY = 1e-12


def alpha_without_units(counts: UnitCounts) -> FloatArray:
    """Return alpha without each unit.

    Parameters
    ----------
    counts : UnitCounts
        Of U units.

    Returns
    -------
    (U,) float64
        NaN where alpha is undefined without the unit. A unit that stands for several is left out
        with all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 0]]), np.ones((2, 3), bool), 2)
    >>> alpha_without_units(unit_counts(table)).round(4)
    array([0., 0., 1.])
    """
    n_units, marginal = len(counts.size), pairable_marginal(counts)
    paired = counts.weight * (counts.size >= 2)
    unlike = paired * unit_disagreement(counts)
    own = counts.count * paired[counts.unit]
    of = marginal[counts.value]
    squares = float(marginal @ marginal) - sum_by(counts.unit, 2 * of * own - own * own, n_units)
    total = float(marginal.sum()) - paired * counts.size
    agreeing = total - (float(unlike.sum()) - unlike)
    return nominal_alpha(total, agreeing, squares)[0]


def alpha_without_annotators(data: ReliabilityData, n_annotators: int) -> FloatArray:
    """Return alpha without each annotator; alpha with all of them less this is their vitality.

    Parameters
    ----------
    data : ReliabilityData
        M cells, no annotator twice in a unit. Missing ones are left out.
    n_annotators : int
        A.

    Returns
    -------
    (A,) float64
        NaN where alpha is undefined without the annotator. Units that only one of the others
        rated are not compared any more.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = np.array([[0, 1, 1], [0, 1, 1], [0, 1, 0]])
    >>> alpha_without_annotators(from_table(table, np.ones((3, 3), bool), 2), 3).round(4)
    array([0.4444, 0.4444, 1.    ])
    """
    counts = unit_counts(data)
    cells = np.flatnonzero(data.state == Cell.CATEGORY)
    unit, value = data.unit[cells], data.value[cells].astype(np.int64)
    annotator = data.annotator[cells].astype(np.int64)
    size, weight = counts.size[unit], counts.weight[unit]
    place = np.searchsorted(
        counts.unit * counts.n_values + counts.value, unit * counts.n_values + value
    )
    same = counts.count[place] - 1
    unlike = unit_disagreement(counts)
    # The pairs of unequal values that a unit of m ratings has left without this one.
    left = unlike[unit] * (size - 1) - 2 * (size - 1 - same)
    change = np.where(size > 2, left / np.maximum(size - 2, 1), 0) - unlike[unit]
    change = weight * np.where(size >= 2, change, 0)
    marginal = pairable_marginal(counts)
    disagreeing = float(counts.weight @ unlike) + sum_by(annotator, change, n_annotators)
    keys, lost = _lost_values(counts, unit, value, annotator)
    who, what = np.divmod(keys, counts.n_values)
    squares = float(marginal @ marginal) - sum_by(
        who, 2 * marginal[what] * lost - lost * lost, n_annotators
    )
    total = float(marginal.sum()) - sum_by(who, lost, n_annotators)
    return nominal_alpha(total, total - disagreeing, squares)[0]


def _lost_values(
    counts: UnitCounts, unit: IndexArray, value: IndexArray, annotator: IndexArray
) -> tuple[IndexArray, FloatArray]:
    """Return how many pairable values of each kind are lost with each annotator.

    With one of two ratings the other is lost too.
    """
    size, weight = counts.size[unit], counts.weight[unit]
    key = annotator * counts.n_values + value
    two = np.flatnonzero(size == 2)
    # The other value of a unit of two: the sum of both less this one.
    both = sum_by(counts.unit, counts.count * counts.value, len(counts.size))
    other = (both[unit[two]] - value[two]).astype(np.int64)
    several = size >= 2
    keys = np.concatenate([key[several], annotator[two] * counts.n_values + other])
    found, place = np.unique(keys, return_inverse=True)
    amount = np.concatenate([weight[several], weight[two]])
    return found, sum_by(place, amount, len(found))


def alpha_without_values(counts: UnitCounts) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix.

    What the value is confused with no longer counts, while the coincidences of the others stay as
    they are (Krippendorff 2019, Content Analysis, ch. 12: leaving out a category).

    Parameters
    ----------
    counts : UnitCounts
        With K values.

    Returns
    -------
    (K,) float64
        NaN where alpha is undefined without the value.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1, 2], [0, 1, 0, 2]]), np.ones((2, 4), bool), 3)
    >>> alpha_without_values(unit_counts(table)).round(4)
    array([1.    , 1.    , 0.4444])
    """
    n_values, marginal = counts.n_values, pairable_marginal(counts)
    if not marginal.any():
        return np.full(n_values, np.nan)
    starts = run_starts(counts.unit)
    stops = np.append(starts[1:], len(counts.unit))
    length = stops - starts
    entry = np.repeat(np.arange(len(counts.unit)), np.repeat(length, length))
    partner, _ = rows(np.repeat(starts, length), np.repeat(stops, length))
    unlike = np.flatnonzero(entry != partner)
    entry, partner = entry[unlike], partner[unlike]
    unit = counts.unit[entry]
    amount = counts.weight[unit] * counts.count[entry] * counts.count[partner]
    amount /= counts.size[unit] - 1
    keys, place = np.unique(
        counts.value[entry] * n_values + counts.value[partner], return_inverse=True
    )
    confused = sum_by(place, amount, len(keys))
    out, kept = np.divmod(keys, n_values)
    lost = sum_by(out, confused, n_values)
    total = float(marginal.sum()) - marginal - lost
    disagreeing = float(lost.sum()) - 2 * lost
    squares = (
        float(marginal @ marginal)
        - marginal**2
        - sum_by(out, 2 * marginal[kept] * confused - confused**2, n_values)
    )
    alpha = nominal_alpha(total, total - disagreeing, _whole(total, squares))[0]
    # Of one value or less, nothing is expected: D_e would be divided by n − 1.
    alpha[total <= 1 + _TINY] = np.nan
    return alpha


def _whole(total: FloatArray, squares: FloatArray) -> FloatArray:
    """Return sums of squares, made exact where one value is all that is left.

    Coincidences are fractions: what they leave of nothing is not always nothing.
    """
    return np.where(squares >= total * total * (1 - _TINY), total * total, squares)
