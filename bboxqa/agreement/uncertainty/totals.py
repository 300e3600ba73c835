"""Means over tasks."""

from collections.abc import Sequence
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
        What `measure` returned for each. Those that leave a coefficient undefined are left out.

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
    found = {}
    for name in names:
        parts = [
            (estimate, estimate.n_shared)
            for task in tasks
            if (estimate := task.coefficients.get(name)) is not None
            and estimate.n_shared
            and not isnan(estimate.value)
        ]
        shared = sum(weight for _, weight in parts)
        if not shared:
            continue
        value = sum(weight * part.value for part, weight in parts) / shared
        squares = [(weight * part.standard_error / shared) ** 2 for part, weight in parts]
        interval, error, n_clusters = (nan, nan), sqrt(sum(squares)), 0
        if error > 0:
            # The tasks have errors of different sizes (Satterthwaite 1946).
            free = [part.n_clusters - 1 for part, _ in parts]
            below = sum(x**2 / max(n, 1) for x, n in zip(squares, free, strict=True))
            freedom = sum(squares) ** 2 / below
            n_clusters = sum(part.n_clusters for part, _ in parts)
            numbers = (np.array([number]) for number in (value, error, freedom))
            low, high = fisher_interval(*numbers)[0].tolist()
            interval = (low, high)
        n_tasks = sum(name in task.coefficients for task in tasks)
        status = OK
        if len(parts) < n_tasks:
            status = f"of {len(parts):,} of {n_tasks:,} tasks: it is undefined in the others"
        found[name] = Estimate(
            value=value,
            interval=interval,
            standard_error=error,
            status=status,
            observed=sum(weight * part.observed for part, weight in parts) / shared,
            expected=sum(weight * part.expected for part, weight in parts) / shared,
            n_shared=shared,
            n_clusters=n_clusters,
        )
    return found
