"""Alpha without single annotators or values, and ratings that are lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from bboxqa.agreement.alpha.levels import (
    Distance,
    FixedDistances,
    ValuePairs,
    alpha,
    fixed_distances,
    midranks,
    pairable_marginal,
    value_pairs,
)
from bboxqa.agreement.counts.unit_counts import UnitCounts, unit_counts
from bboxqa.agreement.uncertainty.estimator import ROUNDING
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, rows, sum_by
from bboxqa.model.units import Cell, ReliabilityData


@frozen_arrays
class Remainder:
    """The sums of alpha after leaving out each of B items."""

    total: FloatArray
    """(B,) float64. n, the number of pairable values."""
    within: FloatArray
    """(B,) float64. n D_o."""
    between: FloatArray
    """(B,) float64. n (n − 1) D_e."""
    whole: tuple[float, float]
    """The last two sums when nothing is left out."""


@frozen_arrays
class RatingsWithout:
    """M ratings, sorted by annotator, and the L pairable values that are lost with annotators."""

    unit: IndexArray
    annotator: IndexArray
    entry: IndexArray
    """(M,) int64. Of each rating; `entry` is the index of its value among those of its unit."""
    size: FloatArray
    weight: FloatArray
    """(M,) float64. The number of ratings of its unit, and of units that it stands for."""
    who: IndexArray
    what: IndexArray
    """(L,) int64. Annotator and value, sorted. Without one of two ratings, the other is no longer
    pairable."""
    amount: FloatArray
    """(L,) float64. The number of lost values."""
    n_annotators: int

    def change(self, of_unit: FloatArray, of_rating: FloatArray) -> FloatArray:
        """Return by how much n D_o changes without each rating, (M,).

        `of_unit` is the summed distances of each two ratings of its unit, in both orders;
        `of_rating` is those of the rating to all of its unit.
        """
        left = (of_unit - 2 * of_rating) / np.maximum(self.size - 2, 1) * (self.size > 2)
        before = of_unit / np.maximum(self.size - 1, 1)
        return self.weight * np.where(self.size >= 2, left - before, 0)


def ratings_without(data: ReliabilityData, counts: UnitCounts, n_annotators: int) -> RatingsWithout:
    """Return the ratings left out with each annotator; no annotator rates a unit twice."""
    cells = np.flatnonzero(data.state == Cell.CATEGORY)
    cells = cells[np.argsort(data.annotator[cells], kind="stable")]
    unit, value = data.unit[cells], data.value[cells].astype(np.int64)
    annotator, n_values = data.annotator[cells].astype(np.int64), counts.n_values
    size, weight = counts.size[unit], counts.weight[unit]
    two, several = np.flatnonzero(size == 2), size >= 2
    # The other value of a unit of two: the sum of both less this one.
    both = sum_by(counts.unit, counts.count * counts.value, len(counts.size))
    other = (both[unit[two]] - value[two]).astype(np.int64)
    key = np.concatenate(
        [(annotator * n_values + value)[several], annotator[two] * n_values + other]
    )
    keys, place = np.unique(key, return_inverse=True)
    who, what = np.divmod(keys, max(n_values, 1))
    return RatingsWithout(
        unit=unit,
        annotator=annotator,
        entry=np.searchsorted(counts.unit * n_values + counts.value, unit * n_values + value),
        size=size,
        weight=weight,
        who=who,
        what=what,
        amount=sum_by(place, np.concatenate([weight[several], weight[two]]), len(keys)),
        n_annotators=n_annotators,
    )


# Up to this number of values, a table of all pairs of values is made.
_MOST_RANKED = 2000
# Numbers of a table in memory at a time.
_CHUNK = 1 << 22


def ranked_without_units(counts: UnitCounts) -> Remainder:
    """Return the sums of alpha without each unit.

    Two values c < k are d_ck ranks apart, of which the ratings of a unit between them are
    e_ck = Σ_g m_g s(g), where s is 1 between c and k, a half at either and 0 outside. So the
    disagreement Σ o_ck (d_ck − e_ck)² is that of all units, less a sum over the values g of the
    unit, plus one over each two of them, with factors that are computed once for all units.

    With more than 2,000 different values these factors would need a large table; then each unit
    takes a step for each pair of values that coincide.
    """
    if counts.n_values > _MOST_RANKED:
        return _of_many_values(counts)
    marginal, paired = pairable_marginal(counts), counts.weight * (counts.size >= 2)
    pairs = value_pairs(counts)
    shared = paired[pairs.unit] * pairs.amount
    together = sum_by(pairs.pair, shared, len(pairs.first))
    ranks = midranks(marginal[:, None])[:, 0]
    apart = ranks[pairs.second] - ranks[pairs.first]
    coverings = _coverings(pairs.first, pairs.second, together, apart, counts.n_values)
    whole = float(together @ apart**2)
    # Σ n_c R_c² of centred mid-ranks is (n³ − Σ n_c³) / 12.
    total, cubes = float(marginal.sum()), float((marginal**3).sum())
    before = marginal[counts.value]
    kept = before - counts.count * paired[counts.unit]
    left = total - paired * counts.size
    left_cubes = cubes + sum_by(counts.unit, kept**3 - before**3, len(counts.size))
    return Remainder(
        total=left,
        within=whole + _change_within(counts, pairs, apart, *coverings),
        between=left * (left**3 - left_cubes) / 6,
        whole=(whole, total * (total**3 - cubes) / 6),
    )


def _change_within(
    counts: UnitCounts,
    pairs: ValuePairs,
    apart: FloatArray,
    covering: FloatArray,
    covering_both: FloatArray,
) -> FloatArray:
    """Return by how much Σ o_ck d_ck² changes without each unit, (U,)."""
    n_values, n_units, first, second = counts.n_values, len(counts.size), pairs.first, pairs.second
    paired = counts.weight * (counts.size >= 2)
    shared = paired[pairs.unit] * pairs.amount
    taken = counts.count * paired[counts.unit]
    at_value = counts.value, counts.value
    own = taken * (taken * covering_both[at_value] - 2 * covering[counts.value])
    change = sum_by(counts.unit, own, n_units)
    # Per pair of values of a unit; coincidences contain the product of their counts.
    product = shared * (counts.size[pairs.unit] - 1) * paired[pairs.unit]
    change += sum_by(
        pairs.unit, product * covering_both[first[pairs.pair], second[pairs.pair]], n_units
    )
    key = counts.unit * n_values + counts.value
    place = np.cumsum(counts.count) - counts.count / 2
    begin, end = (
        place[np.searchsorted(key, pairs.unit * n_values + value[pairs.pair])]
        for value in (first, second)
    )
    still_apart = apart[pairs.pair] - paired[pairs.unit] * (end - begin)
    change -= sum_by(pairs.unit, shared * still_apart**2, n_units)
    return change


def _coverings(
    first: IndexArray, second: IndexArray, together: FloatArray, apart: FloatArray, n_values: int
) -> tuple[FloatArray, FloatArray]:
    """Return Σ o d s(g) for each value g, and Σ o s(g) s(h) for each two values g ≤ h."""
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


def _of_many_values(counts: UnitCounts) -> Remainder:
    """Return the same from the sums of each unit, for any number of values."""
    n_values, n_units = counts.n_values, len(counts.size)
    pairs = value_pairs(counts)
    sums = pairs.sums(replace(counts, group=np.arange(n_units, dtype=np.int32), n_groups=n_units))
    whole = np.asarray(sums.sum(1), np.float64).reshape(-1, 1)
    parts = []
    for part in _chunks(n_units, len(whole)):
        own = sums[:, part]
        column = whole - (own if isinstance(own, np.ndarray) else own.toarray())
        parts.append(_ranked(column[:n_values], column[n_values:], pairs))
    return _joined(parts, _ranked(whole[:n_values], whole[n_values:], pairs))


def ranked_without_annotators(
    counts: UnitCounts, marginal: FloatArray, lost: RatingsWithout
) -> Remainder:
    """Return the sums of alpha without each annotator, from the (K,) pairable marginals."""
    pairs, n_annotators = value_pairs(counts), lost.n_annotators
    together = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], len(pairs.first))
    parts = []
    for part in _chunks(n_annotators, len(marginal) + len(together)):
        kept = np.tile(marginal[:, None], part.stop - part.start)
        here = slice(*np.searchsorted(lost.who, [part.start, part.stop]))
        kept[lost.what[here], lost.who[here] - part.start] -= lost.amount[here]
        found = _ranked(kept, together[:, None], pairs)
        # So far with the annotators' own ratings, at the remaining ranks.
        change = _own_part(counts, lost, part, midranks(kept))
        parts.append(replace(found, within=found.within + change))
    whole = _ranked(marginal[:, None], together[:, None], pairs)
    return _joined(parts, whole)


def _own_part(
    counts: UnitCounts, lost: RatingsWithout, part: slice, ranks: FloatArray
) -> FloatArray:
    """Return by how much n D_o changes without the ratings of some annotators."""
    starts = np.searchsorted(counts.unit, np.arange(len(counts.size) + 1))
    of_unit, of_rating = np.zeros(len(lost.unit)), np.zeros(len(lost.unit))
    here = np.arange(*np.searchsorted(lost.annotator, [part.start, part.stop]))
    n_own = (starts[1:] - starts[:-1])[lost.unit[here]]
    for some in np.split(here, np.flatnonzero(np.diff(np.cumsum(n_own) // _CHUNK)) + 1):
        column, size = lost.annotator[some] - part.start, lost.size[some]
        places, offsets = rows(starts[lost.unit[some]], starts[lost.unit[some] + 1])
        owner = np.repeat(np.arange(len(some)), np.diff(offsets))
        count, rank = counts.count[places], ranks[counts.value[places], column[owner]]
        mean = sum_by(owner, count * rank, len(some)) / size
        around = sum_by(owner, count * (rank - mean[owner]) ** 2, len(some))
        own = ranks[counts.value[lost.entry[some]], column]
        of_unit[some] = 2 * size * around
        of_rating[some] = size * (own - mean) ** 2 + around
    change = lost.change(of_unit, of_rating)
    return sum_by(lost.annotator[here] - part.start, change[here], part.stop - part.start)


def ranked_without_values(
    marginal: FloatArray, pairs: ValuePairs, together: FloatArray
) -> Remainder:
    """Return the sums of alpha without the row and column of each value.

    `together` is how often the values of each pair coincide, in both orders, (P,).
    """
    # Each pair occurs twice, once per value that is left out, sorted by that value.
    out = np.concatenate([pairs.first, pairs.second])
    order = np.argsort(out, kind="stable")
    out, other = out[order], np.concatenate([pairs.second, pairs.first])[order]
    confused = np.tile(together / 2, 2)[order]
    parts = []
    for part in _chunks(len(marginal), len(marginal) + len(together)):
        codes = np.arange(part.start, part.stop)
        kept = np.tile(marginal[:, None], len(codes))
        here = slice(*np.searchsorted(out, [part.start, part.stop]))
        kept[other[here], out[here] - part.start] -= confused[here]
        # Coincidences are fractions: rounding may leave a residue where the difference is 0.
        kept[kept <= ROUNDING * marginal[:, None]] = 0
        kept[codes, codes - part.start] = 0
        without = np.tile(together[:, None], len(codes))
        without[(pairs.first[:, None] == codes) | (pairs.second[:, None] == codes)] = 0
        parts.append(_ranked(kept, without, pairs))
    return _joined(parts, _ranked(marginal[:, None], together[:, None], pairs))


def _ranked(kept: FloatArray, together: FloatArray, pairs: ValuePairs) -> Remainder:
    """Return n, n D_o and n (n − 1) D_e of (K, B) marginals and (P, B) or (P, 1) coincidences."""
    ranks, total = midranks(kept), kept.sum(0)
    within = (together * (ranks[pairs.first] - ranks[pairs.second]) ** 2).sum(0)
    between = 2 * total * (kept * ranks**2).sum(0)
    return Remainder(total, within, between, (0.0, 0.0))


def _joined(parts: list[Remainder], whole: Remainder) -> Remainder:
    return Remainder(
        total=np.concatenate([np.zeros(0), *(part.total for part in parts)]),
        within=np.concatenate([np.zeros(0), *(part.within for part in parts)]),
        between=np.concatenate([np.zeros(0), *(part.between for part in parts)]),
        whole=(float(whole.within[0]), float(whole.between[0])),
    )


def _chunks(n_columns: int, depth: int) -> Iterator[slice]:
    step = max(1, _CHUNK // max(depth, 1))
    for start in range(0, n_columns, step):
        yield slice(start, min(start + step, n_columns))


# Remainders below this share of the whole are counted again.
_FEW = 1e-6


def alpha_without_units(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without each unit, (U,); NaN where it is then undefined.

    A weighted unit is left out with its whole weight. Level, numbers and errors are as for `alpha`.
    The time is linear in the values per unit for nominal and interval data, quadratic for others.
    """
    paired = counts.weight * (counts.size >= 2)
    if level == "ordinal":
        found = ranked_without_units(counts)
    else:
        found = _units(counts, fixed_distances(level, numbers, pairable_marginal(counts)))
    result, few = _alpha(found)
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
    """Return alpha without each annotator, (A,); NaN where it is then undefined.

    The difference to alpha of all annotators is the vitality of the annotator. Units with one
    remaining rating are no longer pairable. No annotator may be twice in a unit. Level, numbers and
    errors are as for `alpha`; the time for ordinal data is proportional to the number of annotators
    times that of pairs of values that coincide.
    """
    counts = unit_counts(data)
    marginal, lost = pairable_marginal(counts), ratings_without(data, counts, n_annotators)
    if level == "ordinal":
        found = ranked_without_annotators(counts, marginal, lost)
    else:
        found = _annotators(counts, marginal, lost, fixed_distances(level, numbers, marginal))
    result, few = _alpha(found)
    for out in np.flatnonzero(few):
        result[out] = _recounted(data, int(out), level, numbers)
    return result


def alpha_without_values(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix, (K,).

    Confusions with the value no longer count, while the coincidences of the others stay
    ([1]_, ch. 12: leaving out a category). NaN where alpha is then undefined. Level, numbers and
    errors are as for `alpha`. Ordinal data are ranked again without each value, which takes K steps
    per pair of values that coincide; ratio data and user-defined distances take K³ steps.

    References
    ----------
    .. [1] K. Krippendorff (2022), Content analysis: an introduction to its methodology, 4th
           edition, SAGE, doi:10.4135/9781071878781.
    """
    marginal, pairs = pairable_marginal(counts), value_pairs(counts)
    amount = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], len(pairs.first))
    if level == "ordinal":
        found = ranked_without_values(marginal, pairs, amount)
    else:
        found = _values(marginal, pairs, amount, partial(fixed_distances, level, numbers))
    # D_e is divided by n − 1.
    return np.where(found.total > 1 + ROUNDING, _alpha(found)[0], np.nan)


def _units(counts: UnitCounts, distances: FixedDistances) -> Remainder:
    n_units, size = len(counts.size), counts.size
    paired = counts.weight * (size >= 2)
    marginal = pairable_marginal(counts)
    mean_to = distances.mean_to(marginal[:, None])[:, 0]
    of_unit = sum_by(counts.unit, counts.count * distances.to_unit(counts), n_units)
    apart = paired * of_unit / np.maximum(size - 1, 1)
    own = sum_by(counts.unit, counts.count * mean_to[counts.value], n_units) * paired
    within, between = float(apart.sum()), float(marginal @ mean_to)
    return Remainder(
        total=float(marginal.sum()) - paired * size,
        within=within - apart,
        between=between - 2 * own + paired**2 * of_unit,
        whole=(within, between),
    )


def _annotators(
    counts: UnitCounts, marginal: FloatArray, lost: RatingsWithout, distances: FixedDistances
) -> Remainder:
    to_unit = distances.to_unit(counts)
    of_unit = sum_by(counts.unit, counts.count * to_unit, len(counts.size))
    within = float((counts.weight * of_unit / np.maximum(counts.size - 1, 1)).sum())
    change = lost.change(of_unit[lost.unit], to_unit[lost.entry])
    n_annotators = lost.n_annotators
    found = _expected(marginal, lost.who, lost.what, lost.amount, n_annotators, distances)
    left = within + sum_by(lost.annotator, change, n_annotators)
    return replace(found, within=left, whole=(within, found.whole[1]))


def _values(
    marginal: FloatArray,
    pairs: ValuePairs,
    amount: FloatArray,
    distances_of: Callable[[FloatArray], FixedDistances],
) -> Remainder:
    n_values, first, second = len(marginal), pairs.first, pairs.second
    distances = distances_of(marginal)
    apart = amount * distances.between(first, second)
    whole = float(apart.sum())
    within = whole - sum_by(first, apart, n_values) - sum_by(second, apart, n_values)
    each = np.arange(n_values)
    out = np.concatenate([each, first, second])
    other = np.concatenate([each, second, first])
    lost = np.concatenate([marginal, amount / 2, amount / 2])
    found = _expected(marginal, out, other, lost, n_values, distances)
    total, between = found.total.copy(), found.between.copy()
    for value in np.flatnonzero(_few(within, whole) | _few(between, found.whole[1])):
        own = out == value
        kept = marginal.copy()
        kept[other[own]] -= lost[own]
        # Coincidences are fractions: rounding may leave a residue where the difference is 0.
        kept[kept <= ROUNDING * marginal] = 0
        # Rounding depends on the largest distance, which may have been that of the removed value.
        left, stays = distances_of(kept), (first != value) & (second != value)
        within[value] = amount[stays] @ left.between(first[stays], second[stays])
        total[value] = kept.sum()
        between[value] = kept @ left.mean_to(kept[:, None])[:, 0]
    return Remainder(total, within, between, (whole, found.whole[1]))


def _expected(
    marginal: FloatArray,
    column: IndexArray,
    value: IndexArray,
    lost: FloatArray,
    n_columns: int,
    distances: FixedDistances,
) -> Remainder:
    """Return n and n (n − 1) D_e without the amounts that each column loses."""
    mean_to = distances.mean_to(marginal[:, None])[:, 0]
    whole = float(marginal @ mean_to)
    between = whole - 2 * sum_by(column, lost * mean_to[value], n_columns)
    between += distances.spread(column, value, lost, n_columns)
    total = float(marginal.sum()) - sum_by(column, lost, n_columns)
    return Remainder(total, np.zeros(n_columns), between, (0.0, whole))


def _recounted(
    data: ReliabilityData, out: int, level: str | Distance, numbers: FloatArray | None
) -> float:
    """Return alpha of the ratings of the other annotators."""
    kept = np.flatnonzero(data.annotator != out)
    return alpha(unit_counts(data.take(kept)), level, numbers).value


def _few(rest: FloatArray, whole: float) -> BoolArray:
    """Return (B,) bool: differences of sums that are too small to have significant digits."""
    result: BoolArray = rest < _FEW * whole
    return result


def _alpha(found: Remainder) -> tuple[FloatArray, BoolArray]:
    """Return 1 − D_o / D_e, and where the remainder has to be counted instead."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = 1 - found.within * (found.total - 1) / found.between
    few = _few(found.within, found.whole[0]) | _few(found.between, found.whole[1])
    return np.where(found.between > 0, result, np.nan), few
