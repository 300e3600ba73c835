"""Alpha without single units, annotators or values."""

from math import nan

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import ROUNDING
from bboxqa.agreement.levels import (
    Distance,
    alpha,
    centred,
    midranks,
    pairable_marginal,
    pairwise_distances,
    value_pairs,
)
from bboxqa.agreement.unit_counts import UnitCounts, unit_counts
from bboxqa.core.arrays import FloatArray, IndexArray, rows, sum_by
from bboxqa.core.errors import ConfigError
from bboxqa.model.units import Cell, ReliabilityData

# Numbers of a table in memory at a time.
_CHUNK = 1 << 22
# A sum of which less than this share remains has lost its digits, and is counted again.
_FEW = 1e-6
# So is a difference of squares, of which it takes less to lose them.
_SMALL = 1e-8


def alpha_without_units(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without each unit, (U,); NaN where it is then undefined.

    A weighted unit is left out with its whole weight. Level, numbers and errors are as for `alpha`.
    The sums of each unit are taken from those of all units, which takes K steps per unit for
    nominal data, more by pairs of values that coincide for ordinal and ratio data, and by K² for
    the latter.
    """
    n_units = len(counts.size)
    result = np.full(n_units, nan)
    of_all = alpha(
        replace(counts, group=np.arange(n_units, dtype=np.int32), n_groups=n_units), level, numbers
    )
    if np.isnan(of_all.value):
        # If all units have no disagreement, no part of them has any.
        return result
    sums = of_all.sums
    whole = np.asarray(sums.sum(1), np.float64).reshape(-1, 1)
    few = np.zeros(n_units, np.bool_)
    step = max(1, _CHUNK // len(whole))
    for start in range(0, n_units, step):
        part = slice(start, start + step)
        own = sums[:, part]
        kept = whole - (own if isinstance(own, np.ndarray) else own.toarray())
        result[part] = of_all.evaluate(kept)
        few[part] = ((kept != 0) & (np.abs(kept) < _FEW * np.abs(whole))).any(0)
    for unit in np.flatnonzero(few):
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
    errors are as for `alpha`; it takes K steps for each annotator, and one for each pair of values.
    """
    counts = unit_counts(data)
    marginal, pairs = pairable_marginal(counts), value_pairs(counts)
    together = pairs.amount * counts.weight[pairs.unit]
    whole = sum_by(pairs.pair, together, len(pairs.first))
    sums = sum_by(counts.unit, counts.count * counts.value, len(counts.size))
    ends = [np.searchsorted(pairs.unit, np.arange(len(sums)), side) for side in ("left", "right")]
    drawn = data.state == Cell.CATEGORY
    result = np.full(n_annotators, nan)
    for annotator in range(n_annotators):
        cells = np.flatnonzero(drawn & (data.annotator == annotator))
        unit, value = data.unit[cells], data.value[cells].astype(np.int64)
        size, weight = counts.size[unit], counts.weight[unit]
        several, two = size > 1, size == 2
        kept = marginal - sum_by(value[several], weight[several], len(marginal))
        # The other value of a unit of two is no longer pairable.
        other = (sums[unit[two]] - value[two]).astype(np.int64)
        kept -= sum_by(other, weight[two], len(marginal))
        entry, offsets = rows(ends[0][unit], ends[1][unit])
        rating = np.repeat(np.arange(len(cells)), np.diff(offsets))
        n_own = counts.count[
            np.searchsorted(
                counts.unit * counts.n_values + counts.value, unit * counts.n_values + value
            )
        ]
        first, second = pairs.first[pairs.pair[entry]], pairs.second[pairs.pair[entry]]
        is_own = (first == value[rating]) | (second == value[rating])
        # Coincidences are products of counts over the number of other ratings, m − 1.
        share = (1 - is_own / n_own[rating]) * ((size - 1) / np.maximum(size - 2, 1))[rating]
        lost = together[entry] * (1 - share * (size > 2)[rating])
        left = whole - sum_by(pairs.pair[entry], lost, len(whole))
        left[left <= ROUNDING * whole] = 0
        result[annotator] = _of_coincidences(kept, pairs.first, pairs.second, left, level, numbers)
    return result


def alpha_without_values(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix, (K,).

    Confusions with the value no longer count, while the coincidences of the others stay
    ([1]_, ch. 12: leaving out a category). NaN where alpha is then undefined. Level, numbers and
    errors are as for `alpha`. Nominal data take a step per pair of values that coincide, ordinal
    and interval data K steps per pair, ratio data and user-defined distances K³ steps.

    References
    ----------
    .. [1] K. Krippendorff (2022), Content analysis: an introduction to its methodology, 4th
           edition, SAGE, doi:10.4135/9781071878781.
    """
    marginal, pairs = pairable_marginal(counts), value_pairs(counts)
    first, second = pairs.first, pairs.second
    amount = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], len(first))
    result, values = np.full(len(marginal), nan), np.arange(len(marginal))
    if level == "nominal":
        each, other = np.append(first, second), np.append(second, first)
        together, whole = np.tile(amount / 2, 2), marginal.sum()
        lost = sum_by(each, together, len(marginal))
        total = whole - marginal - lost
        squares = sum_by(each, together * (2 * marginal[other] - together), len(marginal))
        between = total**2 - (marginal @ marginal - marginal**2 - squares)
        # D_e is divided by n − 1, so alpha of one value or less is undefined.
        values = np.flatnonzero((between <= _SMALL * whole**2) | (total < 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            result = 1 - (amount.sum() - 2 * lost) * (total - 1) / between
    for value in values:
        gone = (first == value) | (second == value)
        other = first[gone] + second[gone] - value
        kept = marginal.copy()
        kept[other] -= amount[gone] / 2
        # Coincidences are fractions: rounding may leave a residue where the difference is 0.
        kept[kept <= ROUNDING * marginal] = 0
        kept[value] = 0
        left = ~gone
        result[value] = _of_coincidences(
            kept, first[left], second[left], amount[left], level, numbers
        )
    return result


def _of_coincidences(
    marginal: FloatArray,
    first: IndexArray,
    second: IndexArray,
    amount: FloatArray,
    level: str | Distance,
    numbers: FloatArray | None,
) -> float:
    """Return alpha of marginals and of the coincidences of pairs of values; NaN if undefined."""
    total = float(marginal.sum())
    if level == "nominal":
        within, between = amount.sum(), total**2 - marginal @ marginal
    elif level == "ordinal" or (level == "interval" and numbers is not None):
        if numbers is None or level == "ordinal":
            place = midranks(marginal[:, None])[:, 0]
        else:
            place = centred(numbers, marginal)[0]
        within = amount @ (place[first] - place[second]) ** 2
        place = place - marginal @ place / max(total, 1)
        between = 2 * total * (marginal @ place**2)
    elif numbers is None:
        raise ConfigError(f"level {level}: some values are not numbers; expected numbers only")
    else:
        distances = pairwise_distances(level, numbers)
        within = amount @ distances.between(first, second)
        between = marginal @ distances.mean_to(marginal[:, None])[:, 0]
    # D_e is divided by n − 1.
    defined = total > 1 + ROUNDING and between > 0
    return 1 - float(within) * (total - 1) / float(between) if defined else nan
