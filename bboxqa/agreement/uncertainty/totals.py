"""Means over tasks."""

from collections.abc import Iterable, Sequence
from math import isnan, nan, sqrt

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK
from bboxqa.agreement.uncertainty.linear import fisher_interval
from bboxqa.model.estimates import Estimate, TaskEstimates


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
