"""Means over tasks of what was measured on each."""

from collections.abc import Sequence
from math import isnan, sqrt

import numpy as np

from bboxqa.agreement.linear import fisher_interval
from bboxqa.estimates import Estimate, TaskEstimates

__all__ = ["totals"]


def totals(tasks: Sequence[TaskEstimates]) -> dict[str, Estimate]:
    """Return the mean over tasks of each mean over pairs, weighted by the answers compared.

    Parameters
    ----------
    tasks : sequence of TaskEstimates
        What `measure` returned for each. Those that leave a coefficient undefined are left out.

    Returns
    -------
    dict of str to Estimate
        The standard error takes tasks as independent and their weights as given; NaN where that
        of one of them is. The interval follows from it (`fisher_interval`).

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
            (estimate, estimate.n_shared, task.n_units)
            for task in tasks
            if (estimate := task.coefficients.get(name)) is not None
            and estimate.n_shared
            and not isnan(estimate.value)
        ]
        shared = sum(weight for _, weight, _ in parts)
        if not shared:
            continue
        value = sum(weight * part.value for part, weight, _ in parts) / shared
        error = sqrt(sum((weight * part.standard_error) ** 2 for part, weight, _ in parts)) / shared
        freedom = sum(n_units - 1 for _, _, n_units in parts)
        low, high = fisher_interval(np.array([value]), np.array([error]), np.array([freedom]))[0]
        found[name] = Estimate(
            value=value,
            interval=(float(low), float(high)),
            standard_error=error,
            observed=sum(weight * part.observed for part, weight, _ in parts) / shared,
            expected=sum(weight * part.expected for part, weight, _ in parts) / shared,
            n_shared=shared,
        )
    return found
