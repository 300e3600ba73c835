"""Sums of one threshold, its figures, and their intervals by resampling images."""

from collections.abc import Sequence

import numpy as np

from bboxqa.agreement.alpha.nominal import (
    Alpha,
    alpha_of_sums,
    alpha_per_category,
    images_per_value,
    pooled_alpha,
    value_sums,
)
from bboxqa.agreement.alpha.nominal_estimator import (
    image_estimators,
    mean_estimator,
    pooled_estimators,
)
from bboxqa.agreement.counts.object_counts import ObjectSums, ratio
from bboxqa.agreement.objects.estimators import above_chance, object_estimators
from bboxqa.agreement.uncertainty.few_clusters import expanded_interval
from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    replicates_of_all,
)
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays
from bboxqa.core.parallel import one_blas_thread
from bboxqa.core.types import Steps
from bboxqa.model.reliability import Coincidences

Intervals = dict[str, FloatArray]
"""Low, high and shift of each figure, (1, 3), and of "categories", (K, 3)."""


@frozen_arrays
class ThresholdSums:
    """Sums over the images of one threshold."""

    coincidences: Coincidences
    classes: Coincidences
    """Coincidences of drawn annotations only."""
    image_alpha: FloatArray
    """Alpha of each image, NaN where it has none, (I,)."""
    has_meaning: BoolArray
    """Whether the alpha of an image has a meaning, (I,)."""
    left_empty: BoolArray
    """Whether nobody drew anything in an image, (I,)."""
    objects: ObjectSums
    """By image."""
    chance: FloatArray
    """Pairs that match by chance, and that could match, by image, (I, 2); 0 if not measured."""

    @property
    def meaningful_alpha(self) -> FloatArray:
        """Alpha of each image with objects, (I,); NaN where it has no meaning."""
        return np.where(self.has_meaning & ~self.left_empty, self.image_alpha, np.nan)

    def class_alpha(self) -> Alpha:
        """Return alpha of the units that two or more annotators drew."""
        marginal, diagonal = value_sums(self.classes)
        return alpha_of_sums(marginal, diagonal.sum(), one_group=False)

    def n_images(self, kind: str) -> int:
        """Return the number of images that contribute to a figure of `figures`."""
        if kind in ("mean", "meaningful mean"):
            alphas = self.image_alpha if kind == "mean" else self.meaningful_alpha
            return int(np.count_nonzero(~np.isnan(alphas)))
        if kind in ("pooled", "class"):
            counted = self.coincidences if kind == "pooled" else self.classes
            return len(np.unique(counted.group))
        return int(np.count_nonzero(self.objects.possible))

    def figures(self) -> dict[str, float]:
        """Return all scalar figures by name."""
        total = self.objects.total()
        chance = ratio(*self.chance.sum(0)[:, None])
        return {
            "pooled": pooled_alpha(self.coincidences).value,
            "mean": mean_of(self.image_alpha),
            "meaningful mean": mean_of(self.meaningful_alpha),
            "class": self.class_alpha().value,
            "f1": float(total.f1[0]),
            "chance": float(chance[0]),
            "above chance": float(above_chance(total.f1, chance)[0]),
            "class share": float(total.class_share[0]),
            "place": float(total.mean_similarity[0]),
            "below": float(total.below_share[0]),
        }


def mean_of(values: FloatArray) -> float:
    """Return the mean of the values that are defined; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def threshold_intervals(
    thresholds: Sequence[ThresholdSums],
    images: IndexArray,
    replicates: int,
    seed: int,
    on_progress: Steps | None = None,
) -> list[Intervals]:
    """Return the intervals of each threshold, all from the same draws with replacement.

    They are expanded for the number of images that a figure is made of.

    `images`, (C,) int64 sorted, are those that are drawn.
    """
    counted = [sums.coincidences for sums in thresholds]
    values = np.unique(np.concatenate([found.value for found in counted]))
    estimators = image_estimators(
        counted, [sums.image_alpha for sums in thresholds], images, values
    )
    estimators |= {
        (index, "meaningful mean"): mean_estimator(sums.meaningful_alpha, images)
        for index, sums in enumerate(thresholds)
    }
    estimators |= pooled_estimators([sums.classes for sums in thresholds], images)
    estimators |= object_estimators(
        [sums.objects for sums in thresholds], [sums.chance for sums in thresholds], images
    )
    with one_blas_thread():
        drawn = replicates_of_all(estimators, replicates, seed, on_progress)
    figures = [sums.figures() for sums in thresholds]
    found: list[Intervals] = [{} for _ in thresholds]
    for index, kind in estimators:
        sums = thresholds[index]
        replicated = np.atleast_2d(drawn[index, kind])
        if kind == "categories":
            of_values = alpha_per_category(sums.coincidences)[0][values]
            intervals = np.full((sums.coincidences.n_values, 3), np.nan)
            made_of = images_per_value(sums.coincidences)[values]
            intervals[values] = _intervals(of_values, replicated, made_of)
        else:
            value, made_of = np.array([figures[index][kind]]), np.array([sums.n_images(kind)])
            intervals = _intervals(value, replicated, made_of)
        found[index][kind] = intervals
    return found


def _intervals(values: FloatArray, replicates: FloatArray, made_of: IndexArray) -> FloatArray:
    """Return low, high and shift of each row of replicates, (K, 3), for its number of images."""
    bounds, shift = covering_intervals(values, replicates, expanded_interval(replicates, made_of))
    return np.column_stack([bounds, shift])
