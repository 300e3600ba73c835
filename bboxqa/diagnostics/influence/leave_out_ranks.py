"""Sums of alpha of ordinal data without one unit, annotator or value.

Ordinal distances are squared differences of mid-ranks, which change when ratings are left out.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bboxqa.agreement.alpha.levels import ValuePairs, midranks, pairable_marginal, value_pairs
from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.agreement.uncertainty.estimator import ROUNDING
from bboxqa.core.arrays import FloatArray, IndexArray, rows, sum_by
from bboxqa.diagnostics.influence.lost_ratings import RatingsWithout, Remainder

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
    """Return Σ o d s(g) for each value g, and Σ o s(g) s(h) for each two values g ≤ h.

    The sums are over pairs of values c < k, with s as in `ranked_without_units`.
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
