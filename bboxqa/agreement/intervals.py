"""Intervals of many figures from the same draws of images, and by linearisation."""

from collections.abc import Callable, Iterable, Sequence
from math import inf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.agreement.estimators import FEWEST, NO_ERROR, OK, Estimator, SumTable, t_quantile
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.resampling import LEVEL, covering_intervals, jackknife_error, repeated_counts
from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray
from bboxqa.core.machine import in_threads, one_blas_thread

if TYPE_CHECKING:
    from bboxqa.model.ratings import Estimate, TaskEstimates

# With fewer figures times images, threads take longer to start than the draws to be summed.
_MANY = 1 << 17


def drawn_intervals(
    values: FloatArray,
    tables: Sequence[Any],
    evaluate: Callable[..., FloatArray],
    bootstrap: int,
    seed: int,
    highest: float = np.inf,
    n_images: IndexArray | None = None,
) -> FloatArray:
    """Return the 95 % interval of each figure, (K, 2), from draws of images with replacement.

    The objects of one image are alike, and all figures share the draws (Efron and Tibshirani 1993,
    ch. 8 and 13). `evaluate` gets the (D, B) sums of each table, (D, I), and returns (K, B)
    figures. Images that add nothing to any sum are not drawn. Intervals are expanded for
    `n_images`, by default all that add something. NaN without draws, with fewer than two images,
    and if a figure is undefined in the data or in more than 5 % of the draws.
    """
    adds = sum(np.asarray((table != 0).sum(0)).ravel() for table in tables)
    used = np.flatnonzero(adds)
    if not bootstrap or len(used) < 2 or len(values) == 0:
        return np.full((len(values), 2), np.nan)
    drawn = [table if len(used) == table.shape[1] else table[:, used] for table in tables]

    def figures(counts: ByteArray) -> FloatArray:
        weights = counts.astype(np.float64)
        return evaluate(*(np.asarray(table @ weights) for table in drawn))

    run = in_threads if len(values) * len(used) > _MANY else map
    with one_blas_thread():
        chunks = run(figures, repeated_counts(len(used), bootstrap, seed))
        replicates = np.concatenate([*chunks], axis=1)
    made_of = np.full(len(values), len(used)) if n_images is None else n_images
    bounds = covering_intervals(values, replicates, made_of, highest)
    bounds[np.isnan(values)] = np.nan
    return bounds


def centred_intervals(values: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return intervals of the same widths about their values, (K,) and (K, 2) → (K, 2).

    Those of Student's t, with the standard error that the draws show (Efron and Tibshirani 1993,
    ch. 12): draws of medians lie as far on one side as the data do, or on the other.
    """
    reach = (bounds[:, 1] - bounds[:, 0]) / 2
    return np.stack([values - reach, values + reach], axis=1)


def n_nonzero(table: Any) -> IndexArray:
    """Return the number of nonzero columns of each row of an array or sparse array, (K,)."""
    return np.asarray((table != 0).sum(1)).ravel()


def ratio_intervals(numerator: Any, denominator: Any, bootstrap: int, seed: int) -> FloatArray:
    """Return the 95 % interval of each ratio of row sums of two tables, (K, I) each, as (K, 2)."""
    none = np.full((denominator.shape[0], 2), np.nan)
    n_images = n_nonzero(denominator)
    known = np.flatnonzero(n_images > 1)
    above, below = numerator[known], denominator[known]
    value = np.asarray(above.sum(1), np.float64).ravel() / np.asarray(below.sum(1)).ravel()
    none[known] = drawn_intervals(
        value, (above, below), ratio, bootstrap, seed, n_images=n_images[known]
    )
    return none


def pseudo_value_estimator(
    value: float,
    clusters: IndexArray,
    without: FloatArray,
    n_groups: int,
    *,
    observed: float = nan,
    expected: float = nan,
    status: str = OK,
    n_shared: int | None = None,
    lowest: float = -inf,
) -> Estimator:
    """Return a coefficient whose replicates are means of the jackknife's pseudo-values.

    A replicate is the mean over the drawn clusters (Efron and Tibshirani 1993, ch. 11.5: the linear
    part of the bootstrap), shifted so that all clusters together give the value itself, and clipped
    to the scale from `lowest` to 1. The shift is kept as the bias. `without` are the coefficients
    without each of the `clusters`, (C,) each.
    """
    n_clusters = len(clusters)
    table = np.zeros((2, n_groups))
    bias = 0.0
    if n_clusters > 1:
        table[0, clusters] = (n_clusters - 1) * (without.mean() - without)
        bias = float((n_clusters - 1) * (without.mean() - value))
    table[1, clusters] = 1
    table.setflags(write=False)

    def evaluate(sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            moved: FloatArray = value + sums[0] / sums[1]
        return np.clip(moved, lowest, 1.0)

    return Estimator(
        value, observed, expected, status, SumTable(lambda: table), evaluate, clusters,
        jackknife_error(without), n_shared, without, bias,
    )  # fmt: skip


def fisher_interval(
    value: FloatArray,
    error: FloatArray,
    freedom: FloatArray | IndexArray,
    middle: FloatArray | None = None,
) -> FloatArray:
    """Return 95 % intervals from standard errors, (N, 2), within the ends of the scale.

    tanh(artanh θ ± t · error / (1 − θ²)): Fisher's transformation, which makes intervals asymmetric
    near the ends of the scale, about the `middle`, by default the value. NaN if the error is NaN or
    0, with fewer clusters (`freedom` + 1) than `FEWEST`, and at the ends of the scale.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = t_quantile(freedom, (1 + LEVEL) / 2) * error / (1 - value**2)
        about = np.arctanh(value if middle is None else middle)
        bounds: FloatArray = np.tanh(np.stack([about - reach, about + reach], axis=1))
    known = (error > NO_ERROR) & (np.abs(value) < 1) & (freedom > FEWEST - 1.5)
    bounds[~known] = nan
    return bounds


def totals(tasks: "Sequence[TaskEstimates]") -> "dict[str, Estimate]":
    """Average each coefficient over tasks, weighted by the number of answers compared.

    Parameters
    ----------
    tasks : sequence of TaskEstimates
        The results of `measure`. Tasks in which a coefficient is undefined are left out.

    Returns
    -------
    dict of str to Estimate
        The standard error assumes independent tasks and fixed weights; it is NaN if one of the
        tasks has none. The interval follows from it (`fisher_interval`) [1]_. If some tasks are
        left out, the status says how many remain.

    References
    ----------
    .. [1] F. E. Satterthwaite (1946), An approximate distribution of estimates of variance
           components, Biometrics Bulletin 2(6), doi:10.2307/3002019.

    Examples
    --------
    >>> from bboxqa.model.ratings import Estimate, TaskEstimates
    >>> tasks = [
    ...     TaskEstimates(name, 50, 2, 100, {"cohen_kappa": Estimate(kappa, n_shared=shared)})
    ...     for name, kappa, shared in (("in", 0.5, 30), ("on", 0.9, 10))
    ... ]
    >>> totals(tasks)["cohen_kappa"].value
    0.6
    """
    names = dict.fromkeys(
        name
        for task in tasks
        for name, estimate in task.coefficients.items()
        if estimate.n_shared is not None
    )
    found = {name: _mean(name, tasks) for name in names}
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def _mean(name: str, tasks: "Sequence[TaskEstimates]") -> "Estimate | None":
    from bboxqa.model.ratings import Estimate

    found = [task.coefficients[name] for task in tasks if name in task.coefficients]
    parts = [part for part in found if part.n_shared and not isnan(part.value)]
    weights = [part.n_shared or 0 for part in parts]
    shared = sum(weights)
    if not shared:
        return None

    def mean(numbers: Iterable[float]) -> float:
        return sum(w * number for w, number in zip(weights, numbers, strict=True)) / shared

    value = mean(part.value for part in parts)
    squares = [
        (weight * part.standard_error / shared) ** 2
        for weight, part in zip(weights, parts, strict=True)
    ]
    error = sqrt(sum(squares))
    interval = nan, nan
    if error > 0:
        # Of a sum of parts with unequal errors (Satterthwaite).
        free = [max(part.n_clusters - 1, 1) for part in parts]
        freedom = sum(squares) ** 2 / sum(x**2 / n for x, n in zip(squares, free, strict=True))
        numbers = (np.array([number]) for number in (value, error, freedom))
        interval = tuple(fisher_interval(*numbers)[0].tolist())
    status = OK
    if len(parts) < len(found):
        status = f"of {len(parts):,} of {len(found):,} tasks: it is undefined in the others"
    return Estimate(
        value=value,
        interval=interval,
        standard_error=error,
        status=status,
        observed=mean(part.observed for part in parts),
        expected=mean(part.expected for part in parts),
        n_shared=shared,
        n_clusters=sum(part.n_clusters for part in parts) if error > 0 else 0,
    )
