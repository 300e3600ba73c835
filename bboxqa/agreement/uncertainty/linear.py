"""Standard errors and intervals by linearisation."""

from collections.abc import Iterable, Sequence
from math import inf, isnan, nan, sqrt

import numpy as np

from bboxqa.agreement.uncertainty.distributions import t_quantile
from bboxqa.agreement.uncertainty.estimator import FEWEST, NO_ERROR, OK, Estimator, SumTable
from bboxqa.agreement.uncertainty.resampling import LEVEL, jackknife_error
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.ratings import Estimate, TaskEstimates


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
    part of the bootstrap), shifted so that all clusters together give the value itself. The shift
    is kept as the bias. The standard error is that of the jackknife.

    Parameters
    ----------
    clusters : (C,) int64
        The clusters that are drawn.
    without : (C,) float64
        The coefficient without each of them.
    observed, expected, status, n_shared
        As in `Estimator`.
    lowest : float
        The lower end of the scale; the upper end is 1. Replicates are clipped to the scale.
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
    near the ends of the scale, with the quantile t of Student's distribution. NaN if the error is
    NaN or 0, with too few clusters, and at the ends of the scale.

    Parameters
    ----------
    value, error : (N,) float64
        Coefficients between -1 and 1, and their standard errors.
    freedom : (N,) numbers
        Degrees of freedom, the number of clusters minus 1; at least `FEWEST` clusters are needed.
    middle : (N,) float64, optional
        The centre of the interval, if it is not the value.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = t_quantile(freedom, (1 + LEVEL) / 2) * error / (1 - value**2)
        about = np.arctanh(value if middle is None else middle)
        bounds: FloatArray = np.tanh(np.stack([about - reach, about + reach], axis=1))
    known = (error > NO_ERROR) & (np.abs(value) < 1) & (freedom > FEWEST - 1.5)
    bounds[~known] = nan
    return bounds


def totals(tasks: Sequence[TaskEstimates]) -> dict[str, Estimate]:
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


def _mean(name: str, tasks: Sequence[TaskEstimates]) -> Estimate | None:
    """Return the mean of a coefficient; None if it is undefined in all tasks."""
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
    status = OK
    if len(parts) < len(found):
        status = f"of {len(parts):,} of {len(found):,} tasks: it is undefined in the others"
    return Estimate(
        value=value,
        interval=_interval(value, error, squares, [part.n_clusters - 1 for part in parts]),
        standard_error=error,
        status=status,
        observed=mean(part.observed for part in parts),
        expected=mean(part.expected for part in parts),
        n_shared=shared,
        n_clusters=sum(part.n_clusters for part in parts) if error > 0 else 0,
    )


def _interval(
    value: float, error: float, squares: list[float], free: list[int]
) -> tuple[float, float]:
    """Return the interval of a sum of parts with unequal errors (Satterthwaite)."""
    if not error > 0:
        return nan, nan
    freedom = sum(squares) ** 2 / sum(x**2 / max(n, 1) for x, n in zip(squares, free, strict=True))
    numbers = (np.array([number]) for number in (value, error, freedom))
    low, high = fisher_interval(*numbers)[0].tolist()
    return low, high
