"""Results at each threshold: figures with intervals and tables, from counts of agreement."""

from collections.abc import Iterator
from functools import partial
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from bboxqa.agreement.alpha.nominal import (
    alpha_per_category,
    alpha_per_group,
    alpha_per_pair,
    pooled_alpha,
    value_sums,
)
from bboxqa.agreement.counts.object_counts import ObjectCounts, ObjectSums, PairCounts
from bboxqa.agreement.objects import (
    Intervals,
    ThresholdSums,
    alpha_costs,
    category_f1_intervals,
    f1_costs,
    images_with_meaning,
    mean_of,
    pair_f1_intervals,
    pairs_with_meaning,
    reason_without_meaning,
    threshold_intervals,
    values_without_meaning,
)
from bboxqa.agreement.uncertainty.estimator import ALL_AGREE, NO_VARIATION
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from bboxqa.core.types import Progress
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.results import (
    ClassAgreement,
    Existence,
    ImageAlpha,
    Interval,
    Place,
    ThresholdResult,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import Cell, Coincidences, ReliabilityData, UnitTable
from bboxqa.pipelines.chance_existence import ChanceCounts
from bboxqa.pipelines.counting import AgreementCounts, ImagePart, reliability_of

_NO_MEANING = "no meaning: more than 90 % of the annotations are of one category"
_UNDEFINED = "undefined: no two values that could differ"


def image_table(
    data: Dataset,
    units: UnitTable,
    alpha: FloatArray,
    objects: ObjectSums,
    cost: FloatArray,
    settings: AgreeSettings,
    *,
    has_meaning: BoolArray,
) -> Table:
    """Return alpha, annotations and units of each image with two annotators or more.

    `alpha` and `cost` are (I,) float64. Images below `min_alpha` or `min_f1` are marked. Alpha is
    left out where `has_meaning`, (I,) bool, is false.
    """
    alpha, status = _with_meaning(alpha, has_meaning)
    n_images = len(data.image_names)
    shown = np.flatnonzero(data.assigned.sum(1) >= 2)
    columns: dict[str, Column] = {
        "image": Categorical(shown.astype(np.int32), data.image_names),
        "alpha": alpha[shown],
        "status": status.take(shown),
        "n_annotators": data.assigned.sum(1)[shown],
        "n_annotations": np.bincount(data.annotations.image, minlength=n_images)[shown],
        "n_units": np.bincount(units.image, minlength=n_images)[shown],
        **_object_columns(objects, shown),
        "cost": cost[shown],
    }
    below = np.zeros(len(shown), np.bool_)
    for value, lowest in ((alpha, settings.min_alpha), (objects.f1, settings.min_f1)):
        if lowest is not None:
            below |= value[shown] < lowest
            columns["below_threshold"] = below
    return Table(columns)


def category_table(
    data: Dataset,
    units: UnitTable,
    counted: Coincidences,
    interval: FloatArray,
    objects: ObjectSums,
    of_all: Interval,
    missing: str,
) -> Table:
    """Return alpha of each category that occurs, against the rest.

    `counted` and `interval`, (K + 1, 2) float64, have the K categories and then the missing value.
    `of_all` is the interval of F1 of all annotations; a single category has the same.
    """
    n_categories = len(data.category_names)
    alpha, marginal = alpha_per_category(counted)
    alpha, status = _with_meaning(alpha, ~values_without_meaning(marginal) | (missing == "ignore"))
    interval = np.where(np.isnan(alpha)[:, None], np.nan, interval)
    drawn = np.bincount(data.annotations.category, minlength=n_categories)
    shown = np.flatnonzero(drawn)
    of_f1 = category_f1_intervals(data.annotations, units, data.assigned, n_categories)
    if len(shown) == 1:
        of_f1[shown] = of_all
    return Table(
        {
            "category": Categorical(shown.astype(np.int32), data.category_names),
            "alpha": alpha[shown],
            "status": status.take(shown),
            "low": interval[shown, 0],
            "high": interval[shown, 1],
            "n_annotations": drawn[shown],
            "n_pairable": marginal[shown].astype(np.int64),
            **_object_columns(objects, shown, of_f1),
        }
    )


def pair_table(
    data: Dataset,
    units: UnitTable,
    counts: PairCounts,
    objects: ObjectCounts,
    of_all: Interval,
    missing: str,
) -> Table:
    """Return alpha of each counted pair of annotators who share an image.

    `of_all` is the interval of F1 of all annotators. If only two share images, theirs is the same.
    """
    names = data.annotator_names
    first, second, alpha, n_units = alpha_per_pair(counts)
    alpha, status = _with_meaning(alpha, pairs_with_meaning(counts) | (missing == "ignore"))
    rows = np.searchsorted(objects.pair, counts.unit_pair)
    of_f1 = pair_f1_intervals(data.annotations, units, data.assigned, objects.pair)
    shared = data.assigned.sum(1) >= 2
    if len(objects.pair) == 1 and data.assigned[shared].any(0).sum() == 2:
        of_f1[:] = of_all
    return Table(
        {
            "annotator_1": Categorical(first, names),
            "annotator_2": Categorical(second, names),
            "alpha": alpha,
            "status": status,
            "n_units": n_units,
            **_object_columns(objects.pairs, rows, of_f1),
        }
    )


def _object_columns(
    sums: ObjectSums, rows: IndexArray, of_f1: FloatArray | None = None
) -> dict[str, Column]:
    """Return existence, class and place of some images, categories or pairs."""
    bounds: dict[str, Column] = {}
    if of_f1 is not None:
        bounds = {"f1_low": of_f1[rows, 0], "f1_high": of_f1[rows, 1]}
    return {
        "f1": sums.f1[rows],
        **bounds,
        "class_share": sums.class_share[rows],
        "mean_iou": sums.mean_similarity[rows],
        "below_share": sums.below_share[rows],
    }


def _with_meaning(alpha: FloatArray, has_meaning: BoolArray) -> tuple[FloatArray, Categorical]:
    """Return alpha, NaN where it has no meaning, and the reasons for NaN."""
    code = np.where(np.isnan(alpha), 1, 2 * ~has_meaning)
    return (
        np.where(has_meaning, alpha, np.nan),
        Categorical(code.astype(np.int32), ("ok", _UNDEFINED, _NO_MEANING)),
    )


def id_column(data: Dataset, rows: IndexArray) -> Column:
    """Return the ids of annotations as their tool shows them; masked where a row is -1."""
    annotations, found = data.annotations, rows >= 0
    own = annotations.own_id
    if own is not None:
        names = own if isinstance(own, FilePlaces) else tuple(own.tolist())
        return Categorical(rows.astype(np.int32), names)
    number = np.full(len(rows), -1, np.int64)
    number[found] = annotations.id[rows[found]]
    return np.ma.MaskedArray(number, ~found)


def unit_table(data: Dataset, units: UnitTable, reliability: ReliabilityData) -> Table:
    """Return a row per unit and annotator who was asked about it.

    Where the annotator drew nothing, the annotation is masked and there is no category.
    """
    cells = np.flatnonzero(reliability.unit < len(units))
    unit, annotator = reliability.unit[cells], reliability.annotator[cells]
    found = reliability.state[cells] == Cell.CATEGORY
    # Cells are sorted by unit and annotator; each cell with a category is one annotation.
    order = np.argsort(units.unit, kind="stable")
    rows = np.full(len(cells), -1, np.int64)
    rows[found] = order
    category = np.where(found, reliability.value[cells], -1).astype(np.int32)
    return Table(
        {
            "image": Categorical(units.image[unit], data.image_names),
            "unit": unit,
            "annotator": Categorical(annotator, data.annotator_names),
            "annotation": id_column(data, rows),
            "category": Categorical(category, data.category_names),
            "state": Categorical(reliability.state[cells].astype(np.int32), ("drawn", "missing")),
        }
    )


# Low, high and shift of a figure without an interval.
_UNKNOWN = np.array([[nan, nan, 0.0]])
_FULL_CHANCE = "annotations of different images match as well"


class _Measured(NamedTuple):
    """What is measured at one threshold, which is at `place` in the settings."""

    part: ImagePart
    settings: AgreeSettings
    counted: AgreementCounts
    place: int
    sums: ThresholdSums
    intervals: Intervals
    chance_reason: str


def threshold_results(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    chance: ChanceCounts,
    progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:
    """Return the result of each threshold."""
    return tuple(map(_result, _measured(part, settings, counted, chance, progress)))


def threshold_figures(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    chance: ChanceCounts,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Return the figures of the result of each threshold by name, without its tables."""
    return map(_figures, _measured(part, settings, counted, chance, progress))


def _measured(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    chance: ChanceCounts,
    progress: Progress | None,
) -> list[_Measured]:
    """Return the sums of each threshold, and the intervals of their figures."""
    left_empty = np.zeros(len(part.data.image_names), np.bool_)
    left_empty[part.empty] = True
    sums = [
        ThresholdSums(
            coincidences=found,
            classes=classes,
            image_alpha=_image_alpha(found, part.empty, settings),
            has_meaning=(
                images_with_meaning(found)
                if settings.missing == "category"
                else np.ones(found.n_groups, np.bool_)
            ),
            left_empty=left_empty,
            objects=objects.images,
            chance=by_chance,
        )
        for found, classes, objects, by_chance in zip(
            counted.coincidences, counted.classes, counted.objects, chance.sums, strict=True
        )
    ]
    drawn = part.data.assigned.sum(1) >= 2
    if settings.empty_images == "skip":
        drawn[part.empty] = False
    clusters = np.flatnonzero(drawn)
    intervals: list[Intervals] = [{}] * len(sums)
    if settings.bootstrap and len(clusters) > 1:
        on_progress = None if progress is None else partial(progress, "resampling")
        intervals = threshold_intervals(
            sums, clusters, settings.bootstrap, settings.seed, on_progress
        )
    return [
        _Measured(part, settings, counted, place, *each, chance.reason)
        for place, each in enumerate(zip(sums, intervals, strict=True))
    ]


_MEASURES = {"keypoints": "OKS"}


def measure_name(name: str) -> str:
    """Return the label of a similarity's threshold in results: "IoU", "OKS", or its name."""
    return "IoU" if similarity(name).is_iou else _MEASURES.get(name, name)


def _image_alpha(found: Coincidences, empty: IntArray, settings: AgreeSettings) -> FloatArray:
    """Return alpha of each image; 1 for images that all left empty, unless these are skipped."""
    alpha = alpha_per_group(found)
    if settings.empty_images != "skip":
        alpha[empty] = 1.0
    return alpha


def _result(of: _Measured) -> ThresholdResult:
    """Return the result of one threshold."""
    figures = _figures(of)
    return ThresholdResult(
        measure=measure_name(of.settings.similarity),
        **figures,
        all_asked_alpha=nan,
        all_asked_f1=nan,
        **_tables(of),
        units=unit_table(of.part.data, of.counted.units[of.place], figures["reliability"]),
    )


def _figures(of: _Measured) -> dict[str, Any]:
    """Return the figures of one threshold, and the values that annotators gave its units."""
    part, settings, counted, place, sums, intervals, chance_reason = of
    units = counted.units[place]
    reliability = reliability_of(part, units, settings)
    is_missing = reliability.state == Cell.MISSING
    missing = np.bincount(reliability.unit, is_missing, len(units))[: len(units)]
    complete = int((missing == 0).sum())
    reason = _reason_without_alpha(sums, settings)
    greedy = pooled_alpha(counted.greedy[place]).value if counted.greedy else nan
    return {
        "iou_threshold": settings.iou_threshold[place],
        **_alphas(part, sums, intervals, reason, all_complete=0 < complete == len(units)),
        **_objects(sums, counted.objects[place], intervals, chance_reason),
        "n_units": len(units),
        "n_complete_units": complete,
        "greedy_alpha": nan if reason else greedy,
        "reliability": reliability,
    }


def _reason_without_alpha(sums: ThresholdSums, settings: AgreeSettings) -> str:
    """Return why alpha has no meaning; empty where it has one."""
    if settings.missing != "category":
        return ""
    return reason_without_meaning(value_sums(sums.coincidences)[0][:-1])


def _alphas(
    part: ImagePart, sums: ThresholdSums, intervals: Intervals, reason: str, *, all_complete: bool
) -> dict[str, Any]:
    """Return alpha, pooled and as a mean over images; NaN if `reason` is not empty."""
    found = pooled_alpha(sums.coincidences, int((part.data.assigned.sum(1) >= 2).sum()))
    status = found.status
    if status == NO_VARIATION and all_complete:
        status = ALL_AGREE
    if reason and not isnan(found.value):
        status = reason
    image_alpha, meaningful = sums.image_alpha, sums.meaningful_alpha
    if reason:
        image_alpha, intervals = np.full_like(image_alpha, nan), {}
        meaningful = image_alpha
    low, high, shift = intervals.get("pooled", _UNKNOWN)[0].tolist()
    drawn = np.delete(image_alpha, part.empty)
    defined = image_alpha[~np.isnan(image_alpha)]
    return {
        "alpha": nan if reason else found.value,
        "status": status,
        "interval": (low, high),
        "interval_shift": shift,
        "observed": found.observed,
        "expected": found.expected,
        "mean_image_alpha": mean_of(image_alpha),
        "mean_image_interval": _interval(intervals, "mean"),
        "mean_drawn_image_alpha": mean_of(drawn),
        "meaningful_image_alpha": ImageAlpha(
            mean_of(meaningful),
            _interval(intervals, "meaningful mean"),
            int((~np.isnan(meaningful)).sum()),
            int((~np.isnan(drawn)).sum()),
        ),
        "share_of_images_at_1": mean_of((defined == 1).astype(np.float64)),
    }


def _objects(
    sums: ThresholdSums, counts: ObjectCounts, intervals: Intervals, chance_reason: str
) -> dict[str, Any]:
    """Return existence, class and place of the objects."""
    figures = sums.figures()
    similarities = counts.similarities
    return {
        "existence": Existence(
            f1=figures["f1"],
            interval=_interval(intervals, "f1"),
            chance=figures["chance"],
            alpha=figures["above chance"],
            alpha_interval=_interval(intervals, "above chance"),
            reason=(_FULL_CHANCE if figures["chance"] == 1 else chance_reason),
        ),
        "class_agreement": ClassAgreement(
            alpha=figures["class"],
            share=figures["class share"],
            interval=_interval(intervals, "class"),
            share_interval=_interval(intervals, "class share"),
            status=sums.class_alpha().status,
        ),
        "place": Place(
            mean_iou=figures["place"],
            median_iou=float(np.median(similarities)) if len(similarities) else nan,
            interval=_interval(intervals, "place"),
            n_pairs=len(similarities),
            below_threshold=figures["below"],
            below_interval=_interval(intervals, "below"),
        ),
    }


def _interval(intervals: Intervals, kind: str) -> Interval:
    low, high, _ = intervals.get(kind, _UNKNOWN)[0].tolist()
    return low, high


def _tables(of: _Measured) -> dict[str, Any]:
    """Return the tables of images, categories and pairs of annotators."""
    part, settings, counted, place, sums, intervals, _ = of
    has_meaning = not _reason_without_alpha(sums, settings)
    data, found, objects = part.data, sums.coincidences, counted.objects[place]
    units = counted.units[place]
    costs = alpha_costs(found) if has_meaning else f1_costs(objects.images)
    unknown = np.full((found.n_values, 2), nan)
    of_categories = intervals.get("categories", unknown)[:, :2]
    of_all = _interval(intervals, "f1")
    return {
        "images": image_table(
            data,
            units,
            sums.image_alpha,
            objects.images,
            costs,
            settings,
            has_meaning=sums.has_meaning & has_meaning,
        ),
        "categories": category_table(
            data, units, found, of_categories, objects.categories, of_all, settings.missing
        ),
        "pairs": pair_table(data, units, counted.pairs[place], objects, of_all, settings.missing),
    }
