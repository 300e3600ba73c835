"""Sample size: the number of clusters for an interval of a given width."""

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, exp, floor, hypot, nan, sqrt

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK, ROUNDING, Estimator
from bboxqa.agreement.uncertainty.few_clusters import expanded_interval, normal_ratio
from bboxqa.agreement.uncertainty.resampling import covering_intervals, replicates_of_all
from bboxqa.core.errors import ConfigError

TOO_FEW = "too few clusters for an interval"

# The 97.5 % quantile of the normal distribution.
_NORMAL = 1.96
# The relative error of the squared width between two quantiles of as many draws is this, divided by
# the root of their number: of each of them sqrt(0.025 * 0.975) / density (David and Nagaraja 2003).
_OF_DRAWS = 1.93
_CHUNK = 1 << 12
# With more clusters, the expansion of intervals is negligible.
_MANY = 1 << 40


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of clusters that a narrower interval needs."""

    value: float
    """The coefficient of the present data."""
    n_clusters: int
    """How many clusters (images, recordings, units) it depends on."""
    width: float
    """The width of the 95 % interval."""
    target_width: float
    n_needed: int
    """The number of clusters for the target width; 0 if unknown."""
    n_more: int
    """How many more than at present."""
    needed_range: tuple[int, int]
    """The 95 % range of `n_needed`, since the spread of few clusters is uncertain itself."""
    status: str
    """Why nothing can be planned, or "ok"."""


def plan_clusters(
    estimator: Estimator, target_width: float, replicates: int = 1000, seed: int = 0
) -> Plan:
    """Return the number of clusters for an interval of a given width.

    New clusters are assumed to be like the present ones. The width of the bootstrap interval falls
    with the square root of the number of clusters (Efron and Tibshirani 1993, ch. 6): half the
    width takes four times as many, or somewhat fewer if the present interval is expanded for few
    clusters. The target width, from end to end, must be above 0.
    """
    if not target_width > 0:
        raise ConfigError(f"target width is {target_width:g}; expected more than 0, such as 0.05")
    n_clusters = len(estimator.clusters)

    def nothing(status: str, width: float = nan) -> Plan:
        value = estimator.value
        return Plan(value, n_clusters, width, target_width, 0, 0, (0, 0), status)

    if np.isnan(estimator.value):
        return nothing(estimator.status)
    width = nan
    if n_clusters > 1:
        drawn = replicates_of_all({"": estimator}, replicates, seed)[""]
        bounds = expanded_interval(drawn[None], np.array([n_clusters]))
        ends = covering_intervals(np.array([estimator.value]), drawn[None], bounds)[0][0]
        width = float(ends[1] - ends[0])
    if np.isnan(width):
        return nothing(TOO_FEW)
    if width == 0:
        return nothing("all replicates are equal: the data show no spread to plan by", 0.0)
    needed = _needed(n_clusters, width / target_width)
    more = max(0, needed - n_clusters)
    error = hypot(_error_of_spread(estimator), _OF_DRAWS / sqrt(replicates))
    factor = exp(_NORMAL * error)
    between = max(2, floor(needed / factor)), ceil(needed * factor)
    return Plan(estimator.value, n_clusters, width, target_width, needed, more, between, OK)


def _needed(n_clusters: int, factor: float) -> int:
    """Return the fewest clusters, at least 2, whose interval is narrower by a factor."""

    def width(n: int) -> float:
        return float(normal_ratio(np.array([n]))[0]) / sqrt(n)

    most = max(n_clusters, ceil(n_clusters * factor**2))
    if most > _MANY:
        return most
    # Rounding must not add a cluster if the target is met exactly.
    widest = width(n_clusters) / factor * (1 + ROUNDING)
    return 2 + bisect_left(range(2, most), True, key=lambda n: width(n) <= widest)


def _error_of_spread(estimator: Estimator) -> float:
    """Return the relative standard error of the variance of a coefficient.

    The variance is a mean over clusters of the squared change of the coefficient without the
    cluster (the jackknife: Efron and Tibshirani 1993, ch. 11), so that its error is that of a mean.
    """
    without = estimator.without
    if without is None:
        sums = estimator.drawn_sums()
        total = np.asarray(sums.sum(axis=1)).reshape(-1, 1)
        parts = (sums[:, at : at + _CHUNK] for at in range(0, sums.shape[1], _CHUNK))
        dense = (part.toarray() if hasattr(part, "toarray") else part for part in parts)
        without = np.concatenate([estimator.evaluate(total - part) for part in dense])
    known = without[~np.isnan(without)]
    squares = (known - known.mean()) ** 2 if len(known) else np.zeros(1)
    if not squares.any():
        return 0.0
    return float(squares.std() / squares.mean() / np.sqrt(len(squares)))
