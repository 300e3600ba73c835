"""The difference of two coefficients, with an interval by resampling both together."""

from dataclasses import dataclass
from math import nan

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK, Estimator
from bboxqa.agreement.uncertainty.few_clusters import expanded_interval
from bboxqa.agreement.uncertainty.resampling import covering_intervals, drawn_weights
from bboxqa.core.arrays import FloatArray, IndexArray

APART = "no common cluster: the two share no unit or cluster, and were resampled independently"


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two coefficients.

    Attributes
    ----------
    value : float
        NaN where either is undefined.
    interval : tuple of float
        The 95 % interval, expanded for the fewer clusters of the two; NaN where there is none.
    standard_error : float
        The standard deviation of the replicates; NaN where there are none.
    status : str
        "ok", or why the value is undefined, or that the two share no cluster.
    n_clusters : int
        The number of clusters that were resampled.
    n_common : int
        The number of clusters that both coefficients have.
    """

    value: float
    interval: tuple[float, float]
    standard_error: float
    status: str
    n_clusters: int
    n_common: int


def paired_difference(
    first: Estimator,
    second: Estimator,
    first_names: IndexArray,
    second_names: IndexArray,
    replicates: int,
    seed: int,
) -> Difference:
    """Return the difference first − second.

    Clusters that both have are drawn together (paired resampling: Efron and Tibshirani 1993,
    ch. 8), so that the difficulty of an image affects both and cancels out. The two are the same
    coefficient for two groups of annotators, or two guidelines. Clusters with the same number in
    the two (G,) arrays of names are the same image or unit.
    """
    value = first.value - second.value
    ours, theirs = first_names[first.clusters], second_names[second.clusters]
    names = np.union1d(ours, theirs)
    n_common = len(np.intersect1d(ours, theirs))
    for which, estimator in (("first", first), ("second", second)):
        if np.isnan(estimator.value):
            status = f"{which}: {estimator.status}"
            return Difference(nan, (nan, nan), nan, status, len(names), n_common)
    places = np.searchsorted(names, ours), np.searchsorted(names, theirs)
    sums = first.drawn_sums(), second.drawn_sums()
    parts: list[FloatArray] = [np.zeros(0)]
    if len(names) > 1:
        for weights in drawn_weights(len(names), replicates, seed):
            left, right = (
                estimator.evaluate(np.asarray(table @ weights[place]))
                for estimator, table, place in zip((first, second), sums, places, strict=True)
            )
            parts.append(left - right)
    drawn = np.concatenate(parts)
    low, high = nan, nan
    if len(drawn):
        fewest = np.array([min(len(ours), len(theirs))])
        found = expanded_interval(drawn[None], fewest)
        low, high = covering_intervals(np.array([value]), drawn[None], found, 2.0)[0][0]
    defined = drawn[~np.isnan(drawn)]
    error = float(defined.std(ddof=1)) if not np.isnan(low) and len(defined) > 1 else nan
    status = OK if n_common or not replicates else APART
    return Difference(value, (float(low), float(high)), error, status, len(names), n_common)
