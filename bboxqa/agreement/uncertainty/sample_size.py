"""How many more clusters are needed for an interval of a given width."""

from dataclasses import dataclass
from math import ceil, nan

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK, ROUNDING, Estimator
from bboxqa.agreement.uncertainty.resampling import percentile_interval, replicates_of_all
from bboxqa.core.errors import ConfigError

TOO_FEW = "too few clusters for an interval"


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of clusters that a narrower interval needs.

    Attributes
    ----------
    value : float
        The coefficient of the present data.
    n_clusters : int
        How many clusters (images, recordings, units) it depends on.
    width : float
        Of its 95 % interval.
    target_width : float
    n_needed : int
        How many clusters give that width; 0 where this is unknown.
    n_more : int
        How many more than at present.
    status : str
        "ok", or why nothing can be planned.
    """

    value: float
    n_clusters: int
    width: float
    target_width: float
    n_needed: int
    n_more: int
    status: str


def plan_clusters(
    estimator: Estimator, target_width: float, replicates: int = 1000, seed: int = 0
) -> Plan:
    """Return how many clusters give an interval of a width, if new ones are like the present ones.

    The width of the bootstrap interval falls with the square root of the number of clusters (Efron
    and Tibshirani 1993, ch. 6): half the width takes four times as many. The target width, from end
    to end, has to be above 0.
    """
    if not target_width > 0:
        raise ConfigError(f"target width is {target_width:g}; expected more than 0, such as 0.05")
    n_clusters = len(estimator.clusters)

    def nothing(status: str, width: float = nan) -> Plan:
        value = estimator.value
        return Plan(value, n_clusters, width, target_width, 0, 0, status)

    if np.isnan(estimator.value):
        return nothing(estimator.status)
    width = nan
    if n_clusters > 1:
        drawn = replicates_of_all({"": estimator}, replicates, seed)[""]
        low, high = percentile_interval(drawn[None])[0]
        width = float(high - low)
    if np.isnan(width):
        return nothing(TOO_FEW)
    if width == 0:
        return nothing("all replicates are equal: the data show no spread to plan by", 0.0)
    # The factor keeps rounding from adding a cluster where the target is met exactly.
    needed = max(2, ceil(n_clusters * (width / target_width) ** 2 * (1 - ROUNDING)))
    more = max(0, needed - n_clusters)
    return Plan(estimator.value, n_clusters, width, target_width, needed, more, OK)
