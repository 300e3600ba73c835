"""How well thresholds of a similarity separate objects from annotations that overlap by chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.strata import ThresholdChoice, sigma, threshold_choice

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Thresholds from 0.05 to 0.95."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """F1 less F1 by chance at each threshold, and the threshold where this distance is largest.

    Attributes
    ----------
    f1, f1_by_chance : (T,) float64
        NaN where undefined.
    distance : (3, T) float64
        F1 less F1 by chance, with the bounds of its 95 % interval.
    choice : ThresholdChoice
    sigma : (3,) float64
        Braylan's sigma with the bounds of its interval.
    sigma_threshold : float
        The lowest similarity that counts for sigma.
    """

    f1: FloatArray
    f1_by_chance: FloatArray
    distance: FloatArray
    choice: ThresholdChoice
    sigma: FloatArray
    sigma_threshold: float

    def row(self) -> dict[str, Any]:
        """Return the suggested threshold, the distance there and sigma, with their intervals."""
        choice = self.choice
        best = 0 if np.isnan(self.distance[0]).any() else int(np.argmax(self.distance[0]))
        return {
            **with_interval("threshold", choice.threshold, choice.interval),
            **with_interval("distance", choice.distance, self.distance[1:, best].tolist()),
            "lowest": choice.lowest,
            "highest": choice.highest,
            **with_interval("sigma", float(self.sigma[0]), self.sigma[1:].tolist()),
            "sigma_threshold": self.sigma_threshold,
            "reason": choice.reason,
        }


def separation(observed: FloatArray, expected: FloatArray, bootstrap: int, seed: int) -> Separation:
    """Compare F1 with F1 by chance at `THRESHOLDS`, with intervals over images.

    Parameters
    ----------
    observed, expected : (T, I, 2) float64
        By threshold and image: the pairs of annotations that match, and those that could, of
        annotators of one image, and of annotations of other images laid over it.
    bootstrap, seed : int
        The number of draws, and their seed.
    """
    thresholds = np.array(THRESHOLDS)

    def figures(f1: FloatArray, by_chance: FloatArray) -> FloatArray:
        distance = f1 - by_chance
        best = thresholds[np.argmax(distance, axis=0)]
        known = ~np.isnan(distance).any(0)
        share, _ = sigma(thresholds, f1, by_chance)
        return np.concatenate([distance, np.where(known, best, np.nan)[None], share[None]])

    def evaluate(*sums: FloatArray) -> FloatArray:
        return figures(ratio(sums[0], sums[1]), ratio(sums[2], sums[3]))

    tables = observed[..., 0], observed[:1, :, 1], expected[..., 0], expected[..., 1]
    f1, by_chance = (ratio(*each.sum(1).T) for each in (observed, expected))
    values = figures(f1, by_chance)
    bounds = drawn_intervals(values, tables, evaluate, bootstrap, seed)
    low, high = bounds[-2].round(10).tolist()
    share, start = sigma(thresholds, f1, by_chance)
    return Separation(
        f1,
        by_chance,
        np.concatenate([values[None, :-2], bounds[:-2].T]),
        threshold_choice(thresholds, f1, by_chance, (low, high)),
        np.array([float(share), *bounds[-1].round(10)]),
        float(start),
    )


def with_interval(name: str, value: float, interval: Any) -> dict[str, float]:
    """Return a figure and its bounds as columns.

    Examples
    --------
    >>> with_interval("f1", 0.5, (0.4, 0.6))
    {'f1': 0.5, 'f1_low': 0.4, 'f1_high': 0.6}
    """
    return {name: value, f"{name}_low": interval[0], f"{name}_high": interval[1]}
