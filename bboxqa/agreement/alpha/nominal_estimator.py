"""Nominal alpha as an estimator that can be resampled: of ratings, and of images."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import nan
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import (
    Alpha,
    alpha_of_sums,
    binary_alpha,
    nominal_alpha,
    value_sums,
)
from bboxqa.agreement.uncertainty.estimator import OK, Estimator, clustered_error, undefined
from bboxqa.agreement.uncertainty.sum_table import SumTable, table_of
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, sum_by
from bboxqa.model.reliability import Coincidences

# Up to so many cells, the tables of all thresholds are dense.
_DENSE = 1 << 23


def nominal_estimator(found: Coincidences) -> Estimator:
    """Return Krippendorff's nominal alpha over all groups, which are its clusters."""
    marginal, diagonal = value_sums(found)
    alpha = alpha_of_sums(marginal, float(diagonal.sum()), one_group=False)
    if np.isnan(alpha.value):
        return undefined(alpha.status, alpha.observed, alpha.expected)
    n_values = found.n_values

    @SumTable
    def table() -> FloatArray:
        sums: FloatArray = table_of(
            np.concatenate([found.value, np.full(len(found.value), n_values)]),
            np.tile(found.group, 2),
            np.concatenate([found.marginal, found.diagonal]),
            (n_values + 1, found.n_groups),
        )
        return sums

    return Estimator(
        value=alpha.value,
        observed=alpha.observed,
        expected=alpha.expected,
        status=alpha.status,
        table=table,
        evaluate=partial(_pooled, n_values),
        clusters=np.unique(found.group).astype(np.int64),
        standard_error=_standard_error(found, marginal, alpha),
    )


def _standard_error(found: Coincidences, marginal: FloatArray, alpha: Alpha) -> float:
    """Return the linearised standard error; the influence of a cluster is one of its sums."""
    total = float(marginal.sum())
    distance = 1 - marginal / total
    chance = float(marginal @ distance) / total
    influence = found.diagonal - found.marginal * (1 - alpha.observed)
    influence += 2 * alpha.observed / chance * found.marginal * (distance[found.value] - chance)
    counted = np.ones(len(found.group), np.bool_)
    return clustered_error(influence / (total * chance), found.group, counted, found.n_groups)


def _pooled(n_values: int, sums: FloatArray) -> FloatArray:
    """Return alpha from marginals, (K, B), above diagonals, (K, B) or already added, (1, B)."""
    marginal, diagonal = sums[:n_values], sums[n_values:]
    return nominal_alpha(marginal.sum(0), diagonal.sum(0), (marginal**2).sum(0))[0]


def _categories(n_values: int, sums: FloatArray) -> FloatArray:
    """Return alpha of each value against the rest, (K, B)."""
    marginal, diagonal = sums[:n_values], sums[n_values:]
    return binary_alpha(marginal, diagonal, marginal.sum(0))


def _mean(sums: FloatArray) -> FloatArray:
    """Return the weighted mean of the alphas that are defined."""
    with np.errstate(invalid="ignore"):
        mean: FloatArray = sums[0] / sums[1]
    return mean


def image_estimators(
    thresholds: Sequence[Coincidences],
    image_alphas: Sequence[FloatArray],
    images: IndexArray,
    values: IntArray,
) -> dict[tuple[int, str], Estimator]:
    """Return estimators of "pooled" alpha, "mean" over images and "categories" per threshold.

    Only `evaluate`, `table` and `clusters` are set.

    Parameters
    ----------
    thresholds : sequence of Coincidences
        One per threshold, over the same I images.
    image_alphas : sequence of (I,) float64
        Alpha of each image at each threshold; NaN leaves the image out of the mean.
    images : (C,) int64
        The images that are drawn, sorted; all others have no coincidences.
    values : (V,) int32
        The values that occur, sorted. The replicates of "categories" are (V, B).
    """
    found: dict[tuple[int, str], Estimator] = {}
    clusters = np.arange(len(images))
    tables = _stacked_tables(thresholds, images, values, len(values))
    for index, (table, alphas) in enumerate(zip(tables, image_alphas, strict=True)):
        found[index, "mean"] = mean_estimator(alphas, images)
        for kind, evaluate in (("pooled", _pooled), ("categories", _categories)):
            found[index, kind] = Estimator(
                nan, nan, nan, OK, table, partial(evaluate, len(values)), clusters
            )
    return found


def mean_estimator(alphas: FloatArray, images: IndexArray) -> Estimator:
    """Return an estimator, as `image_estimators`, of the mean of alphas of images, (I,), or NaN."""
    drawn = alphas[images]
    rows = np.stack([np.nan_to_num(drawn), ~np.isnan(drawn)])
    return Estimator(nan, nan, nan, OK, _table_by_row(rows), _mean, np.arange(len(images)))


def pooled_estimators(
    thresholds: Sequence[Coincidences], images: IndexArray
) -> dict[tuple[int, str], Estimator]:
    """Return estimators of the pooled "class" alpha per threshold, as `image_estimators` does."""
    values = np.unique(np.concatenate([found.value for found in thresholds]))
    clusters = np.arange(len(images))
    evaluate = partial(_pooled, len(values))
    return {
        (index, "class"): Estimator(nan, nan, nan, OK, table, evaluate, clusters)
        for index, table in enumerate(_stacked_tables(thresholds, images, values, 1))
    }


def coincidence_tables(found: Coincidences, n_values: int) -> tuple[Any, Any]:
    """Return the pairable values, (K, G), and the number that agree, (1, G), by group."""
    value = found.value.astype(np.int64)
    return (
        table_of(value, found.group, found.marginal, (n_values, found.n_groups)),
        table_of(np.zeros_like(value), found.group, found.diagonal, (1, found.n_groups)),
    )


def _table_by_row(rows: FloatArray) -> SumTable:
    return SumTable(lambda: rows, by_row=True)


def _stacked_tables(
    thresholds: Sequence[Coincidences], images: IndexArray, values: IntArray, n_diagonals: int
) -> Iterator[SumTable]:
    """Yield the marginals above the diagonals of each threshold, (V + D, C).

    There are D = V rows of diagonals, or one with their sum.

    Each table is based on the previous threshold: few images change from one to the next, so that
    sums of later ones cost little.
    """
    n_values = len(values)
    shape = n_values + n_diagonals, len(images)
    before: tuple[IndexArray, FloatArray] = (np.zeros(0, np.int64), np.zeros(0))
    base = None
    for data in thresholds:
        row = np.searchsorted(values, data.value)
        column = np.searchsorted(images, data.group)
        below = np.minimum(row, n_diagonals - 1) + n_values
        place = np.concatenate([row, below]) * shape[1] + np.tile(column, 2)
        amount = np.concatenate([data.marginal, data.diagonal])
        places, inverse = np.unique(np.concatenate([place, before[0]]), return_inverse=True)
        change = sum_by(inverse, np.concatenate([amount, -before[1]]), len(places))
        changed = np.flatnonzero(change)
        rows, columns = np.divmod(places[changed], shape[1])
        base = _table_on(
            base, table_of(rows, columns, change[changed], shape, _DENSE // len(thresholds))
        )
        yield base
        before = place, amount


def _table_on(base: SumTable | None, change: Any) -> SumTable:
    return SumTable(lambda: change, base)
