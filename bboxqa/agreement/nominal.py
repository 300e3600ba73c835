"""Krippendorff's nominal alpha, pooled and by image, category and pair, and its estimator."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from bboxqa.agreement.estimators import (
    NO_PAIR,
    NO_VARIATION,
    OK,
    ONE_IMAGE,
    Estimator,
    Resampled,
    SumTable,
    clustered_error,
    table_of,
    undefined,
)
from bboxqa.agreement.object_counts import PairCounts, ratio
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, distinct, sum_by
from bboxqa.model.units import Coincidences


class Alpha(msgspec.Struct, frozen=True):
    """A coefficient with its observed and expected disagreement."""

    value: float
    """NaN where undefined."""
    observed: float
    expected: float
    """The disagreements D_o and D_e, as shares in [0, 1]."""
    status: str
    """Why the value is undefined, or "ok"."""


def nominal_alpha(
    total: FloatArray, agreeing: FloatArray, squares: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return alpha, observed and expected disagreement, each (K,) float64.

    alpha = 1 − D_o / D_e with D_o = 1 − Σ o_cc / n and D_e = 1 − Σ n_c (n_c − 1) / (n (n − 1)) for
    nominal data (Krippendorff 2011, Computing Krippendorff's alpha-reliability). All are NaN
    without pairable values; alpha also where only one value occurs. The arguments are n, the number
    of pairable values, Σ o_cc, and Σ n_c², each (K,) float64.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (total - agreeing) / total
        expected = (total * total - squares) / (total * (total - 1))
        alpha = 1 - observed / expected
    # With several values, squares is below n² by at least 2 (n − 1).
    alpha[~(expected > 0)] = np.nan
    return alpha, observed, expected


def value_sums(data: Coincidences) -> tuple[FloatArray, FloatArray]:
    """Return the marginal and the diagonal of each value over all groups, (K,) each."""
    return (
        sum_by(data.value, data.marginal, data.n_values),
        sum_by(data.value, data.diagonal, data.n_values),
    )


def alpha_of_sums(marginal: FloatArray, agreeing: float, *, one_group: bool) -> Alpha:
    """Return alpha with its status, from pairable marginals n_c and Σ o_cc."""
    total = marginal.sum()
    if total == 0:
        return Alpha(np.nan, np.nan, np.nan, NO_PAIR)
    sums = (np.array([number]) for number in (total, agreeing, (marginal**2).sum()))
    value, observed, expected = (float(array[0]) for array in nominal_alpha(*sums))
    if expected > 0:
        return Alpha(value, observed, expected, OK)
    if one_group:
        return Alpha(1.0, observed, expected, ONE_IMAGE)
    return Alpha(np.nan, observed, expected, NO_VARIATION)


def pooled_alpha(data: Coincidences, *, one_group: bool | None = None) -> Alpha:
    """Return alpha over the units of all groups together."""
    marginal, diagonal = value_sums(data)
    is_one = data.n_groups == 1 if one_group is None else one_group
    return alpha_of_sums(marginal, diagonal.sum(), one_group=is_one)


def alpha_per_group(data: Coincidences) -> FloatArray:
    """Return alpha of each group alone, (G,) float64."""
    marginal = sum_by(data.group, data.marginal, data.n_groups)
    diagonal = sum_by(data.group, data.diagonal, data.n_groups)
    squares = sum_by(data.group, data.marginal**2, data.n_groups)
    alpha, observed, _ = nominal_alpha(marginal, diagonal, squares)
    alpha[observed == 0] = 1.0
    return alpha


def binary_alpha(
    marginal: FloatArray, diagonal: FloatArray, total: FloatArray | float
) -> FloatArray:
    """Return alpha of one value against all others, elementwise.

    With a = n_c and b = n − n_c, the value c disagrees with the rest 2 (n_c − o_cc) times among
    n pairs, and by chance 2 a b / (n (n − 1)).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha: FloatArray = 1 - (total - 1) * (marginal - diagonal) / (
            marginal * (total - marginal)
        )
    alpha[~(marginal * (total - marginal) > 0)] = np.nan
    return alpha


def alpha_per_category(data: Coincidences) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Return alpha of each value against the rest, how often it is pairable, and in which groups.

    Alpha is NaN if the value, or every other value, does not occur (Krippendorff 2022, ch. 12: the
    distinction of one value from the rest). The last is the number of groups with the value.
    """
    marginal, diagonal = value_sums(data)
    n_groups = np.bincount(data.value[data.marginal > 0], minlength=data.n_values)
    return binary_alpha(marginal, diagonal, float(marginal.sum())), marginal, n_groups


def alpha_per_pair(counts: PairCounts) -> tuple[IntArray, IntArray, FloatArray, IndexArray]:
    """Return pairs of annotators of one unit, sorted, their alpha, and common units, (P,) each."""
    keys, n_units = counts.unit_pair, counts.n_units
    total = (2 * n_units).astype(np.float64)
    place = np.searchsorted(keys, counts.agreeing_pair)
    same = sum_by(place, 2 * counts.n_agreeing, len(keys))
    owner = np.searchsorted(keys, counts.pair_value // counts.n_values)
    squares = sum_by(owner, counts.n_given * counts.n_given, len(keys))
    alpha = nominal_alpha(total, same, squares)[0]
    first, second = (side.astype(np.int32) for side in np.divmod(keys, counts.n_annotators))
    return first, second, alpha, n_units


# Up to so many cells, the tables of all thresholds are dense.
_DENSE = 1 << 23


def nominal_estimator(found: Coincidences) -> Estimator:
    """Return Krippendorff's nominal alpha over all groups, which are its clusters."""
    marginal, diagonal = value_sums(found)
    alpha = alpha_of_sums(marginal, float(diagonal.sum()), one_group=False)
    if np.isnan(alpha.value):
        return undefined(alpha.status, alpha.observed, alpha.expected)
    n_values, total = found.n_values, float(marginal.sum())
    distance = 1 - marginal / total
    chance = float(marginal @ distance) / total
    influence = found.diagonal - found.marginal * (1 - alpha.observed)
    influence += 2 * alpha.observed / chance * found.marginal * (distance[found.value] - chance)
    counted = np.ones(len(found.group), np.bool_)
    error = clustered_error(influence / (total * chance), found.group, counted, found.n_groups)

    everything = np.arange(found.n_groups), np.arange(n_values, dtype=np.int32)
    (table,) = stacked_tables([found], *everything, 1)
    return Estimator(
        value=alpha.value,
        observed=alpha.observed,
        expected=alpha.expected,
        status=alpha.status,
        table=table,
        evaluate=partial(pooled_of_sums, n_values),
        clusters=distinct(found.group).astype(np.int64),
        standard_error=error,
    )


def pooled_of_sums(n_values: int, sums: FloatArray) -> FloatArray:
    """Return alpha from marginals, (K, B), above diagonals, (K, B) or already added, (1, B)."""
    marginal, diagonal = sums[:n_values], sums[n_values:]
    return nominal_alpha(marginal.sum(0), diagonal.sum(0), (marginal**2).sum(0))[0]


def _categories(n_values: int, sums: FloatArray) -> FloatArray:
    """Return alpha of each category against the rest, (K, B), from sums as `pooled_of_sums`."""
    marginal, diagonal = sums[:n_values], sums[n_values:]
    return binary_alpha(marginal, diagonal, marginal.sum(0))


def image_estimators(
    thresholds: Sequence[Coincidences],
    image_alphas: Sequence[FloatArray],
    images: IndexArray,
    values: IntArray,
) -> dict[tuple[int, str], Resampled]:
    """Return "pooled" alpha, "mean" of images and "categories", (V, B), by threshold."""
    n_values, everyone = len(values), np.arange(len(images))
    tables = stacked_tables(thresholds, images, values, n_values)
    return {
        (index, kind): each
        for index, (table, alphas) in enumerate(zip(tables, image_alphas, strict=True))
        for kind, each in (
            ("mean", mean_estimator(alphas, images)),
            ("pooled", Resampled(table, partial(pooled_of_sums, n_values), everyone)),
            ("categories", Resampled(table, partial(_categories, n_values), everyone)),
        )
    }


def mean_estimator(alphas: FloatArray, images: IndexArray) -> Resampled:
    """Return the mean of alphas of images, (I,) or NaN, as `image_estimators` does."""
    drawn = alphas[images]
    rows = np.stack([np.nan_to_num(drawn), ~np.isnan(drawn)])
    return Resampled(SumTable(lambda: rows), lambda of: ratio(*of), np.arange(len(images)))


def coincidence_tables(found: Coincidences, n_values: int) -> tuple[Any, Any]:
    """Return the pairable values, (K, G), and the number that agree, (1, G), by group."""
    value = found.value.astype(np.int64)
    return (
        table_of(value, found.group, found.marginal, (n_values, found.n_groups)),
        table_of(np.zeros_like(value), found.group, found.diagonal, (1, found.n_groups)),
    )


def stacked_tables(
    thresholds: Sequence[Coincidences], images: IndexArray, values: IntArray, n_diagonals: int
) -> Iterator[SumTable]:
    """Yield the marginals above the diagonals of each threshold, (V + D, C)."""
    n_values = len(values)
    shape = n_values + n_diagonals, len(images)

    def table(data: Coincidences) -> Any:
        row, column = np.searchsorted(values, data.value), np.searchsorted(images, data.group)
        rows = np.concatenate([row, np.minimum(row, n_diagonals - 1) + n_values])
        amount = np.concatenate([data.marginal, data.diagonal])
        kept, columns = np.flatnonzero(amount), np.tile(column, 2)
        most = _DENSE // len(thresholds)
        return table_of(rows[kept], columns[kept], amount[kept], shape, most)

    return (SumTable(partial(table, data)) for data in thresholds)
