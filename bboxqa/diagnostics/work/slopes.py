"""Slopes of F1 over time, with intervals over images."""

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.diagnostics.work.image_work import ImageWork

# Sums of a group: weights w, w·x, w·x², w·y and w·x·y.
_SUMS = 5


@frozen_arrays
class Slopes:
    """The slopes of K owners, and of all together in the last row."""

    value: FloatArray
    """(K + 1,) float64. NaN where nothing varies."""
    interval: FloatArray
    """(K + 1, 2) float64."""


def f1_slopes(
    work: ImageWork,
    x: FloatArray,
    group: IndexArray,
    owner: IndexArray,
    n_owners: int,
    n_images: int,
    bootstrap: int,
    seed: int,
) -> Slopes:
    """Return the slopes of F1 over `x` within groups.

    They are least-squares slopes of the F1 of images, weighted by the number of annotations. Each
    group has its own intercept, so that differences between groups do not count; the groups of an
    owner have a common slope.

    Parameters
    ----------
    work : ImageWork
        C images and annotators.
    x : (C,) float64
    group : (C,) int64
        The group of each.
    owner : (G,) int64
        The owner of each group.
    """
    weight = work.drawn
    amounts = (weight, weight * x, weight * x * x, work.matched, work.matched * x)
    n_groups = len(owner)
    row = np.concatenate([group + n_groups * number for number in range(_SUMS)])
    table = table_of(
        row, np.tile(work.image, _SUMS), np.concatenate(amounts), (_SUMS * n_groups, n_images)
    )

    def evaluate(sums: FloatArray) -> FloatArray:
        return _slopes(sums.reshape(_SUMS, n_groups, -1), owner, n_owners)

    value = evaluate(np.asarray(table.sum(1), np.float64).reshape(-1, 1))[:, 0]
    in_images = np.bincount(owner[group], minlength=n_owners)
    made_of = np.append(in_images, len(np.unique(work.image)))
    return Slopes(
        value, drawn_intervals(value, [table], evaluate, bootstrap, seed, n_images=made_of)
    )


def _slopes(sums: FloatArray, owner: IndexArray, n_owners: int) -> FloatArray:
    """Return the slopes of each owner, and of all, (K + 1, B), from sums of groups, (5, G, B)."""
    weight, of_x, of_squares, of_y, of_products = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(weight > 0, of_x / weight, 0)
    spread = np.maximum(of_squares - mean * of_x, 0)
    # Rounding leaves a residue where x does not vary.
    spread[spread <= 1e-9 * of_squares] = 0
    joint = of_products - mean * of_y
    found = []
    for part in (joint, spread):
        by_owner = np.stack([sum_by(owner, draw, n_owners) for draw in part.T], axis=1)
        found.append(np.concatenate([by_owner, by_owner.sum(0, keepdims=True)]))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: FloatArray = np.where(found[1] > 0, found[0] / found[1], np.nan)
    return slopes
