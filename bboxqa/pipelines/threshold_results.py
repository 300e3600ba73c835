"""Results at each threshold: alphas with intervals, and tables, from counts of agreement."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from bboxqa.agreement.alpha.nominal import alpha_per_category, alpha_per_group, pooled_alpha
from bboxqa.agreement.alpha.nominal_estimator import image_estimators
from bboxqa.agreement.uncertainty.estimator import ALL_AGREE, NO_VARIATION
from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    percentile_interval,
    replicates_of_all,
)
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.core.types import Progress
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.model.reliability import Cell, Coincidences
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import AgreementCounts, ImagePart, reliability_of
from bboxqa.pipelines.result_tables import category_table, image_table, pair_table, unit_table

_Intervals = dict[tuple[int, str], FloatArray]
"""Low, high and shift by index of the threshold and "pooled" or "mean", (1, 3), or "categories",
(K, 3)."""


def threshold_results(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:
    """Return the result of each threshold."""
    alphas = [_image_alpha(found, part.empty, settings) for found in counted.coincidences]
    drawn = part.data.assigned.sum(1) >= 2
    if settings.empty_images == "skip":
        drawn[part.empty] = False
    clusters = np.flatnonzero(drawn)
    intervals: _Intervals = {}
    if settings.bootstrap and len(clusters) > 1:
        intervals = _intervals(counted.coincidences, alphas, clusters, settings, progress)
    return tuple(
        _result(part, settings, counted, index, alpha, intervals)
        for index, alpha in enumerate(alphas)
    )


def measure_name(name: str) -> str:
    """Return what results call the threshold of a similarity: "IoU", or its name."""
    return "IoU" if similarity(name).is_iou else name


def _image_alpha(found: Coincidences, empty: IntArray, settings: AgreeSettings) -> FloatArray:
    """Return alpha of each image; 1 for images that all left empty, unless these are skipped."""
    alpha = alpha_per_group(found)
    if settings.empty_images != "skip":
        alpha[empty] = 1.0
    return alpha


def _intervals(
    thresholds: Sequence[Coincidences],
    image_alphas: Sequence[FloatArray],
    clusters: IndexArray,
    settings: AgreeSettings,
    progress: Progress | None,
) -> _Intervals:
    """Return the intervals of each threshold by drawing images with replacement."""
    from threadpoolctl import threadpool_limits

    values = np.unique(np.concatenate([found.value for found in thresholds]))
    estimators = image_estimators(thresholds, image_alphas, clusters, values)
    on_progress = None if progress is None else partial(progress, "resampling")
    # With several threads, the order of additions and so the last bit would vary.
    with threadpool_limits(1, "blas"):
        found = replicates_of_all(estimators, settings.bootstrap, settings.seed, on_progress)
    intervals: _Intervals = {}
    for index, (data, alphas) in enumerate(zip(thresholds, image_alphas, strict=True)):
        estimates = {
            "pooled": np.array([pooled_alpha(data).value]),
            "mean": np.array([_mean(alphas)]),
            "categories": alpha_per_category(data)[0][values],
        }
        for kind, estimate in estimates.items():
            drawn = np.atleast_2d(found[index, kind])
            bounds, shift = covering_intervals(estimate, drawn, percentile_interval(drawn))
            intervals[index, kind] = np.column_stack([bounds, shift])
        of_values = np.full((data.n_values, 3), np.nan)
        of_values[values] = intervals[index, "categories"]
        intervals[index, "categories"] = of_values
    return intervals


def _mean(alphas: FloatArray) -> float:
    """Return the mean of the alphas that are defined; NaN without any."""
    defined = alphas[~np.isnan(alphas)]
    return float(defined.mean()) if len(defined) else float("nan")


def _result(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    index: int,
    image_alpha: FloatArray,
    intervals: _Intervals,
) -> ThresholdResult:
    """Return the result of one threshold."""
    data, units, found = part.data, counted.units[index], counted.coincidences[index]
    reliability = reliability_of(part, units, settings)
    n_images = int((data.assigned.sum(1) >= 2).sum())
    alpha = pooled_alpha(found, n_images)
    unknown = np.tile([np.nan, np.nan, 0.0], (found.n_values, 1))
    pooled, mean, of_categories = (
        intervals.get((index, kind), unknown) for kind in ("pooled", "mean", "categories")
    )
    is_missing = reliability.state == Cell.MISSING
    missing = np.bincount(reliability.unit, is_missing, len(units))[: len(units)]
    greedy = pooled_alpha(counted.greedy[index]).value if counted.greedy else float("nan")
    complete = int((missing == 0).sum())
    all_agree = alpha.status == NO_VARIATION and 0 < complete == len(units)
    return ThresholdResult(
        measure=measure_name(settings.similarity),
        iou_threshold=settings.iou_threshold[index],
        alpha=alpha.value,
        status=ALL_AGREE if all_agree else alpha.status,
        interval=_pair(pooled[0]),
        interval_shift=float(pooled[0, 2]),
        observed=alpha.observed,
        expected=alpha.expected,
        mean_image_alpha=_mean(image_alpha),
        mean_image_interval=_pair(mean[0]),
        n_units=len(units),
        n_complete_units=complete,
        greedy_alpha=greedy,
        all_asked_alpha=float("nan"),
        images=image_table(data, units, image_alpha, settings.min_alpha),
        categories=category_table(data, found, of_categories[:, :2]),
        pairs=pair_table(data, counted.pairs[index]),
        units=unit_table(data, units, reliability),
        reliability=reliability,
    )


def _pair(interval: FloatArray) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])
