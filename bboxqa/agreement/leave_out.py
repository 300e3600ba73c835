"""Alpha without one unit, annotator or value: who and what lowers it.

Each is found from the totals and what the one left out has put into them, without counting the
rest again. Only where nearly everything goes with it, so that a difference of sums would have no
digits left, the rest is counted; and ordinal data, whose ranks are others without it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bboxqa.agreement.alpha import alpha, pairable_marginal
from bboxqa.agreement.counts import UnitCounts, unit_counts
from bboxqa.agreement.metrics import Distance, Metric, fixed_metric, midranks
from bboxqa.agreement.resampling import jackknife
from bboxqa.agreement.value_pairs import value_pairs
from bboxqa.arrays import BoolArray, FloatArray, IndexArray, rows, run_starts, sum_by
from bboxqa.model import Cell, ReliabilityData

__all__ = ["alpha_without_annotators", "alpha_without_units", "alpha_without_values"]

# What is left of a sum is counted anew below this share of it.
_FEW = 1e-6
_TINY = 1e-12
# Of more values than this, a table of each two is not held.
_MOST_RANKED = 2000
# Numbers of a table that are held at once.
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class _Distances:
    """How far the ratings of U units lie apart.

    Attributes
    ----------
    entry : (E,) float64
        Of each value of a unit to all ratings of the unit, Σ_c m_c δ(x, c).
    unit : (U,) float64
        Of each two ratings of a unit, in both orders.
    within : float
        n D_o.
    """

    entry: FloatArray
    unit: FloatArray
    within: float


def alpha_without_units(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without each unit.

    Parameters
    ----------
    counts : UnitCounts
        Of U units.
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        A unit takes as many steps as it has values; of ordinal data with more than 2,000
        different values, as many as pairs of values coincide anywhere.
    numbers : (K,) float64, optional
        The values, in rising order; for nominal and ordinal data not needed.

    Returns
    -------
    (U,) float64
        NaN where alpha is undefined without the unit. A unit that stands for several is left out
        with all of them.

    Raises
    ------
    ConfigError
        As `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 0]]), np.ones((2, 3), bool), 2)
    >>> alpha_without_units(unit_counts(table)).round(4)
    array([0., 0., 1.])
    """
    n_units = len(counts.size)
    if level == "ordinal" and counts.n_values > _MOST_RANKED:
        each = np.arange(n_units, dtype=np.int32)
        estimator = alpha(replace(counts, group=each, n_groups=n_units), level)
        result = np.full(n_units, estimator.value)
        result[estimator.clusters] = jackknife(estimator)
        return result
    marginal, paired = pairable_marginal(counts), counts.weight * (counts.size >= 2)
    if level == "ordinal":
        whole, within, between = _ranked_without_units(counts, marginal, paired)
    else:
        whole, within, between = _fixed_without_units(
            counts, marginal, paired, fixed_metric(level, numbers)
        )
    result = _alpha(float(marginal.sum()) - paired * counts.size, within, between)
    few = _few(within, whole[0]) | _few(between, whole[1])
    for unit in np.flatnonzero(few & (paired > 0)):
        weight = counts.weight.copy()
        weight[unit] = 0
        result[unit] = alpha(replace(counts, weight=weight), level, numbers).value
    return result


def alpha_without_annotators(
    data: ReliabilityData,
    n_annotators: int,
    level: str | Distance = "nominal",
    numbers: FloatArray | None = None,
) -> FloatArray:
    """Return alpha without each annotator; alpha with all of them less this is their vitality.

    Parameters
    ----------
    data : ReliabilityData
        M cells, no annotator twice in a unit. Missing ones are left out.
    n_annotators : int
        A.
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        Ordinal data are counted again for each annotator.
    numbers : (K,) float64, optional
        The values, in rising order; for nominal and ordinal data not needed.

    Returns
    -------
    (A,) float64
        NaN where alpha is undefined without the annotator. Units that only one of the others
        rated are not compared any more.

    Raises
    ------
    ConfigError
        As `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = np.array([[0, 1, 1], [0, 1, 1], [0, 1, 0]])
    >>> alpha_without_annotators(from_table(table, np.ones((3, 3), bool), 2), 3).round(4)
    array([0.4444, 0.4444, 1.    ])
    """
    if level == "ordinal":
        everybody = range(n_annotators)
        return np.array([_recounted(data, out, level, numbers) for out in everybody])
    metric = fixed_metric(level, numbers)
    counts = unit_counts(data)
    marginal, distances = pairable_marginal(counts), _distances(counts, metric)
    cells = np.flatnonzero(data.state == Cell.CATEGORY)
    unit, value = data.unit[cells], data.value[cells].astype(np.int64)
    annotator = data.annotator[cells].astype(np.int64)
    size, weight = counts.size[unit], counts.weight[unit]
    place = np.searchsorted(
        counts.unit * counts.n_values + counts.value, unit * counts.n_values + value
    )
    # The pairs that a unit of m ratings has left without this one.
    left = (distances.unit[unit] - 2 * distances.entry[place]) / np.maximum(size - 2, 1)
    change = left * (size > 2) - distances.unit[unit] / np.maximum(size - 1, 1)
    change = weight * np.where(size >= 2, change, 0)
    within = distances.within + sum_by(annotator, change, n_annotators)
    who, what, lost = _lost_values(counts, unit, value, annotator)
    result = np.empty(n_annotators)
    for part in _chunks(n_annotators, counts.n_values):
        kept = np.tile(marginal[:, None], part.stop - part.start)
        here = slice(*np.searchsorted(who, [part.start, part.stop]))
        kept[what[here], who[here] - part.start] -= lost[here]
        between = (kept * metric.mean_to(kept)).sum(0)
        result[part] = _alpha(kept.sum(0), within[part], between)
    for out in np.flatnonzero(_few(within, distances.within)):
        result[out] = _recounted(data, int(out), level, numbers)
    return result


def alpha_without_values(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix.

    What the value is confused with no longer counts, while the coincidences of the others stay as
    they are (Krippendorff 2019, Content Analysis, ch. 12: leaving out a category).

    Parameters
    ----------
    counts : UnitCounts
        With K values.
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        Ordinal data are ranked again without the value.
    numbers : (K,) float64, optional
        The values, in rising order; for nominal and ordinal data not needed.

    Returns
    -------
    (K,) float64
        NaN where alpha is undefined without the value.

    Raises
    ------
    ConfigError
        As `alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1, 2], [0, 1, 0, 2]]), np.ones((2, 4), bool), 3)
    >>> alpha_without_values(unit_counts(table)).round(4)
    array([1.    , 1.    , 0.4444])
    """
    n_values, marginal = counts.n_values, pairable_marginal(counts)
    pairs = value_pairs(counts)
    first, second, n_pairs = pairs.first, pairs.second, len(pairs.first)
    amount = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], n_pairs)
    # Each pair once with either of its values as the one left out, in the order of these.
    out, other = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.argsort(out, kind="stable")
    out, other, confused = out[order], other[order], np.tile(amount / 2, 2)[order]
    metric = None if level == "ordinal" else fixed_metric(level, numbers)
    if metric is not None:
        apart = amount * metric.between(first, second)
        within = _within_without_values(first, second, apart, n_values)
    result = np.empty(n_values)
    for part in _chunks(n_values, n_values + (n_pairs if metric is None else 0)):
        codes = np.arange(part.start, part.stop)
        kept = np.tile(marginal[:, None], len(codes))
        here = slice(*np.searchsorted(out, [part.start, part.stop]))
        kept[other[here], out[here] - part.start] -= confused[here]
        # Coincidences are fractions: what they leave of nothing is not always nothing.
        kept[kept <= _TINY * marginal[:, None]] = 0
        kept[codes, codes - part.start] = 0
        total = kept.sum(0)
        if metric is None:
            ranks = midranks(kept)
            squares = (ranks[first] - ranks[second]) ** 2
            squares[(first[:, None] == codes) | (second[:, None] == codes)] = 0
            found = _alpha(total, amount @ squares, 2 * total * (kept * ranks**2).sum(0))
        else:
            found = _alpha(total, within[part], (kept * metric.mean_to(kept)).sum(0))
        # Of one value or less, nothing is expected: D_e would be divided by n − 1.
        result[part] = np.where(total > 1 + _TINY, found, np.nan)
    return result


def _fixed_without_units(
    counts: UnitCounts, marginal: FloatArray, paired: FloatArray, metric: Metric
) -> tuple[tuple[float, float], FloatArray, FloatArray]:
    """Return n D_o and n (n − 1) D_e of all units, and each without each of the units."""
    distances = _distances(counts, metric)
    mean_to = metric.mean_to(marginal[:, None])[:, 0]
    between = float(marginal @ mean_to)
    own = sum_by(counts.unit, counts.count * mean_to[counts.value], len(paired)) * paired
    left = between - 2 * own + paired**2 * distances.unit
    within = distances.within - paired * distances.unit / np.maximum(counts.size - 1, 1)
    return (distances.within, between), within, left


def _ranked_without_units(
    counts: UnitCounts, marginal: FloatArray, paired: FloatArray
) -> tuple[tuple[float, float], FloatArray, FloatArray]:
    """Return the same of ordinal data, whose ranks are others without the unit.

    Two values c < k are d_ck ranks apart, of which the ratings of a unit between them are
    e_ck = Σ_g m_g s(g), where s is 1 inside of c and k, a half at either and 0 outside. So the
    disagreement Σ o_ck (d_ck − e_ck)² is that of all units, less a sum over the values g of the
    unit, plus one over each two of them; what these take from o is known once for all units.
    """
    n_values, n_units = counts.n_values, len(paired)
    pairs = value_pairs(counts)
    first, second = pairs.first, pairs.second
    shared = paired[pairs.unit] * pairs.amount
    together = sum_by(pairs.pair, shared, len(first))
    ranks = midranks(marginal[:, None])[:, 0]
    apart = ranks[second] - ranks[first]
    covering, covering_both = _coverings(first, second, together, apart, n_values)
    taken = counts.count * paired[counts.unit]
    at_value = counts.value, counts.value
    change = sum_by(
        counts.unit,
        taken * (taken * covering_both[at_value] - 2 * covering[counts.value]),
        n_units,
    )
    # Of each two values of a unit; the product of their counts is in their coincidences.
    product = shared * (counts.size[pairs.unit] - 1) * paired[pairs.unit]
    change += sum_by(
        pairs.unit, product * covering_both[first[pairs.pair], second[pairs.pair]], n_units
    )
    key = counts.unit * n_values + counts.value
    place = np.cumsum(counts.count) - counts.count / 2
    ends = [
        place[np.searchsorted(key, pairs.unit * n_values + value[pairs.pair])]
        for value in (first, second)
    ]
    between_them = apart[pairs.pair] - paired[pairs.unit] * (ends[1] - ends[0])
    change -= sum_by(pairs.unit, shared * between_them**2, n_units)
    whole = float(together @ apart**2)
    # Σ n_c R_c² of centred mid-ranks is (n³ − Σ n_c³) / 12.
    total, cubes = float(marginal.sum()), float((marginal**3).sum())
    kept = marginal[counts.value] - taken
    left = total - paired * counts.size
    left_cubes = cubes + sum_by(counts.unit, kept**3 - marginal[counts.value] ** 3, n_units)
    between = total * (total**3 - cubes) / 6
    return (whole, between), whole + change, left * (left**3 - left_cubes) / 6


def _coverings(
    first: IndexArray, second: IndexArray, together: FloatArray, apart: FloatArray, n_values: int
) -> tuple[FloatArray, FloatArray]:
    """Return Σ o d s(g) for each value g, and Σ o s(g) s(h) for each two values g ≤ h.

    The sums are over pairs of values c < k, with s as in `_ranked_without_units`.
    """
    amount = together * apart
    inside = np.cumsum(sum_by(first, amount, n_values) - sum_by(second, amount, n_values))
    covering = (inside + np.append(0, inside[:-1])) / 2
    around = np.zeros((n_values + 1, n_values + 1))
    around[first + 1, second] = together
    # Of pairs from c or below to k or above.
    around = np.cumsum(np.cumsum(around, axis=0)[:, ::-1], axis=1)[:, ::-1]
    both: FloatArray = (around[1:, :-1] + around[:-1, :-1] + around[1:, 1:] + around[:-1, 1:]) / 4
    ends = sum_by(first, together, n_values) + sum_by(second, together, n_values)
    np.fill_diagonal(both, np.diagonal(around[:-1, 1:]) + ends / 4)
    return covering, both


def _within_without_values(
    first: IndexArray, second: IndexArray, apart: FloatArray, n_values: int
) -> FloatArray:
    """Return the sum over the pairs that each value has no part in."""
    whole = float(apart.sum())
    within = whole - sum_by(first, apart, n_values) - sum_by(second, apart, n_values)
    for value in np.flatnonzero(_few(within, whole)):
        within[value] = apart[(first != value) & (second != value)].sum()
    return within


def _distances(counts: UnitCounts, metric: Metric) -> _Distances:
    starts = run_starts(counts.unit)
    stops = np.append(starts[1:], len(counts.unit))[: len(starts)]
    length = stops - starts
    entry = np.repeat(np.arange(len(counts.unit)), np.repeat(length, length))
    partner, _ = rows(np.repeat(starts, length), np.repeat(stops, length))
    unlike = np.flatnonzero(entry != partner)
    entry, partner = entry[unlike], partner[unlike]
    away = counts.count[partner] * metric.between(counts.value[entry], counts.value[partner])
    of_entry = sum_by(entry, away, len(counts.unit))
    of_unit = sum_by(counts.unit, counts.count * of_entry, len(counts.size))
    within = float(counts.weight @ (of_unit / np.maximum(counts.size - 1, 1)))
    return _Distances(of_entry, of_unit, within)


def _lost_values(
    counts: UnitCounts, unit: IndexArray, value: IndexArray, annotator: IndexArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return which annotators take which pairable values with them, and how many.

    With one of two ratings the other is lost too. Sorted by annotator.
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
    who, what = np.divmod(found, max(counts.n_values, 1))
    return who, what, sum_by(place, amount, len(found))


def _recounted(
    data: ReliabilityData, out: int, level: str | Distance, numbers: FloatArray | None
) -> float:
    """Return alpha of what the other annotators said."""
    kept = np.flatnonzero(data.annotator != out)
    rest = replace(
        data,
        unit=data.unit[kept],
        annotator=data.annotator[kept],
        value=data.value[kept],
        state=data.state[kept],
    )
    return alpha(unit_counts(rest), level, numbers).value


def _few(rest: FloatArray, whole: float) -> BoolArray:
    """Return where a difference of sums is too small to have digits left."""
    result: BoolArray = rest < _FEW * whole
    return result


def _chunks(n_columns: int, depth: int) -> Iterator[slice]:
    step = max(1, _CHUNK // max(depth, 1))
    for start in range(0, n_columns, step):
        yield slice(start, min(start + step, n_columns))


def _alpha(total: FloatArray, within: FloatArray, between: FloatArray) -> FloatArray:
    """Return 1 − D_o / D_e from n, n D_o and n (n − 1) D_e."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = 1 - within * (total - 1) / between
    return np.where(between > 0, result, np.nan)
