"""Intervals by resampling images: the same draws serve every coefficient and every threshold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import binary_alpha, nominal_alpha
from bboxqa.agreement.uncertainty.resampling import drawn_weights, percentile_interval
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, sum_by
from bboxqa.core.types import Steps
from bboxqa.model.reliability import Coincidences

__all__ = ["Intervals", "bootstrap"]

# Tables of so many cells in all are multiplied as they are.
_DENSE = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Intervals of the alphas of one threshold, each as low and high.

    Attributes
    ----------
    pooled, mean : (2,) float64
        Of the pooled alpha and of the mean over images.
    categories : (K, 2) float64
        Of each category against the rest. NaN where more than 5 % of the replicates leave the
        coefficient undefined.
    """

    pooled: FloatArray
    mean: FloatArray
    categories: FloatArray


def bootstrap(
    thresholds: Sequence[Coincidences],
    image_alphas: Sequence[FloatArray],
    clusters: BoolArray,
    replicates: int,
    seed: int,
    progress: Steps | None = None,
) -> list[Intervals]:
    """Return intervals by drawing images with replacement.

    Parameters
    ----------
    thresholds : sequence of Coincidences
        One per threshold, over the same I images and K values.
    image_alphas : sequence of (I,) float64
        The alpha of each image at each threshold; NaN leaves the image out of the mean.
    clusters : (I,) bool
        The images that can be drawn.
    replicates : int
        How many times to draw.
    seed : int
        Of the random numbers.
    progress : callable, optional
        Is told how many replicates of how many are done.

    Returns
    -------
    list of Intervals
        One per threshold.
    """
    from threadpoolctl import threadpool_limits

    images = np.flatnonzero(clusters)
    values = np.unique(np.concatenate([data.value for data in thresholds]))
    shape = (2 * len(values), len(images))
    changes = [
        _table(row, column, amount, shape, dense=shape[0] * shape[1] * len(thresholds) <= _DENSE)
        for row, column, amount in _changes(thresholds, values, images)
    ]
    means = [_defined(alphas[images]) for alphas in image_alphas]
    pooled = np.full((len(thresholds), replicates), np.nan)
    mean = np.full((len(thresholds), replicates), np.nan)
    binary = np.full((len(thresholds), len(values), replicates), np.nan)
    part = slice(0, 0)
    # How many threads add up decides the last bit.
    with threadpool_limits(1, "blas"):
        for weights in drawn_weights(len(images), replicates, seed):
            part = slice(part.stop, part.stop + weights.shape[1])
            sums = np.zeros((len(values) * 2, weights.shape[1]))
            for index, change in enumerate(changes):
                sums += change @ weights
                marginal, diagonal = sums[: len(values)], sums[len(values) :]
                total = marginal.sum(0)
                squares = (marginal**2).sum(0)
                pooled[index, part] = nominal_alpha(total, diagonal.sum(0), squares)[0]
                binary[index, :, part] = binary_alpha(marginal, diagonal, total)
                mean[index, part] = _mean(*means[index], weights)
            if progress is not None:
                progress(part.stop, replicates)
    categories = np.full((len(thresholds), thresholds[0].n_values, 2), np.nan)
    for index in range(len(thresholds)):
        categories[index, values] = percentile_interval(binary[index])
    pooled_interval, mean_interval = percentile_interval(pooled), percentile_interval(mean)
    return [
        Intervals(pooled_interval[index], mean_interval[index], categories[index])
        for index in range(len(thresholds))
    ]


def _table(
    row: IndexArray,
    column: IndexArray,
    amount: FloatArray,
    shape: tuple[int, int],
    *,
    dense: bool,
) -> Any:
    """Return a table to multiply with weights; a small one does without loading scipy."""
    if dense:
        table = np.zeros(shape)
        table[row, column] = amount
        return table
    from scipy.sparse import csc_array

    return csc_array((amount, (row, column)), shape=shape)


def _defined(alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the alphas, 0 where they are undefined, and 1 where they are defined."""
    return np.nan_to_num(alphas), (~np.isnan(alphas)).astype(np.float64)


def _mean(alphas: FloatArray, defined: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the alphas that are defined, per replicate."""
    with np.errstate(invalid="ignore"):
        mean: FloatArray = (alphas @ weights) / (defined @ weights)
    return mean


def _changes(
    thresholds: Sequence[Coincidences], values: IntArray, images: IndexArray
) -> Iterator[tuple[IndexArray, IndexArray, FloatArray]]:
    """Yield what each threshold adds to the one before, as rows, columns and amounts.

    Marginals come in the first rows, diagonals in the rows after. From one threshold to the next
    few images change, so that the sums of the later ones cost little.
    """
    before: tuple[IndexArray, FloatArray] = (np.zeros(0, np.int64), np.zeros(0))
    for data in thresholds:
        row = np.searchsorted(values, data.value)
        column = np.searchsorted(images, data.group)
        place = np.concatenate([row, row + len(values)]) * len(images) + np.tile(column, 2)
        amount = np.concatenate([data.marginal, data.diagonal])
        places, inverse = np.unique(np.concatenate([place, before[0]]), return_inverse=True)
        change = sum_by(inverse, np.concatenate([amount, -before[1]]), len(places))
        changed = np.flatnonzero(change)
        row, column = np.divmod(places[changed], len(images))
        yield row, column, change[changed]
        before = place, amount
