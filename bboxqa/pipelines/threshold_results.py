"""Results at each threshold: figures with intervals and tables, from counts of agreement."""

from functools import partial
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import ALL_AGREE, NO_VARIATION
from bboxqa.agreement.nominal import alpha_per_category, alpha_per_pair, pooled_alpha, value_sums
from bboxqa.agreement.object_counts import (
    SIMILARITY_DIGITS,
    ObjectSums,
    count_objects_of_pairs,
    count_pairs,
    ratio,
)
from bboxqa.agreement.objects import (
    ONE_CATEGORY,
    Intervals,
    ThresholdSums,
    alpha_costs,
    category_f1_intervals,
    f1_costs,
    has_meaning,
    mean_of,
    pair_f1_intervals,
    threshold_intervals,
    values_without_meaning,
)
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, Progress, median
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.geometry.registry import similarity
from bboxqa.model.annotations import Dataset
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
from bboxqa.model.units import Cell, ReliabilityData
from bboxqa.pipelines.chance_existence import ChanceCounts
from bboxqa.pipelines.counting import AgreementCounts, ImagePart, ThresholdCounts

_NO_MEANING = "no meaning: all annotations are of one category"
_UNDEFINED = "undefined: no two values that could differ"


class MeasuredThreshold(NamedTuple):
    """What is measured at one threshold."""

    part: ImagePart
    settings: AgreeSettings
    threshold: float
    counted: ThresholdCounts
    sums: ThresholdSums
    intervals: Intervals
    chance_reason: str
    reason: str
    """Why alpha has no meaning; empty where it has one."""

    def interval(self, kind: str) -> Interval:
        """Return the interval of a figure; NaN where there is none."""
        low, high = self.intervals.get(kind, _UNKNOWN)[0].tolist()
        return low, high


_UNKNOWN = np.full((1, 2), nan)
_FULL_CHANCE = "annotations of different images match as well"


def _image_table(of: MeasuredThreshold) -> Table:
    """Return alpha, annotations and units of each image with two annotators or more."""
    data, settings, objects = of.part.data, of.settings, of.sums.objects
    cost = f1_costs(objects) if of.reason else alpha_costs(of.sums.coincidences)
    alpha, status = _with_meaning(of.sums.image_alpha, of.sums.has_meaning & (not of.reason))
    n_images = len(data.image_names)
    shown = np.flatnonzero(data.assigned.sum(1) >= 2)
    columns: dict[str, Column] = {
        "image": Categorical(shown.astype(np.int32), data.image_names),
        "alpha": alpha[shown],
        "status": status.take(shown),
        "n_annotators": data.assigned.sum(1)[shown],
        "n_annotations": np.bincount(data.annotations.image, minlength=n_images)[shown],
        "n_units": np.bincount(of.counted.units.image, minlength=n_images)[shown],
        **_object_columns(objects, shown),
        "cost": cost[shown],
    }
    below = np.zeros(len(shown), np.bool_)
    for value, lowest in ((alpha, settings.min_alpha), (objects.f1, settings.min_f1)):
        if lowest is not None:
            below |= value[shown] < lowest
            columns["below_threshold"] = below
    return Table(columns)


def _category_table(of: MeasuredThreshold) -> Table:
    """Return alpha of each category that occurs, against the rest."""
    data, n_values = of.part.data, of.sums.coincidences.n_values
    # The categories, and then the missing value.
    interval = of.intervals.get("categories", np.full((n_values, 2), nan))
    alpha, marginal, _ = alpha_per_category(of.sums.coincidences)
    is_ignored = of.settings.missing == "ignore"
    alpha, status = _with_meaning(alpha, ~values_without_meaning(marginal) | is_ignored)
    interval = np.where(np.isnan(alpha)[:, None], np.nan, interval)
    n_categories = len(data.category_names)
    drawn = np.bincount(data.annotations.category, minlength=n_categories)
    shown = np.flatnonzero(drawn)
    objects = of.counted.categories
    of_f1 = category_f1_intervals(data.annotations, of.counted.alone, data.assigned, n_categories)
    if len(shown) == 1:
        # A single category has the interval of all annotations.
        of_f1[shown] = of.interval("f1")
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
            # A category is found under its own name, or under any.
            "f1": ratio(objects.alone_same, objects.possible)[shown],
            "found": objects.f1[shown],
        }
    )


def _pair_table(of: MeasuredThreshold, reliability: ReliabilityData) -> Table:
    """Return alpha of each counted pair of annotators who share an image."""
    data, paired, assigned = of.part.data, of.part.paired, of.part.data.assigned
    if paired is not None:
        reliability = reliability.take(np.flatnonzero(paired[reliability.annotator]))
        assigned = assigned & paired
    names, drawn, alone = data.annotator_names, data.annotations, of.counted.alone
    counts = count_pairs(reliability, len(names), of.settings.missing)
    every, sums = count_objects_of_pairs(
        drawn, of.counted.matched, alone, assigned, of.threshold - TOLERANCE
    )
    first, second, alpha, n_units = alpha_per_pair(counts)
    pair, value = np.divmod(counts.pair_value, counts.n_values)
    places = np.searchsorted(counts.unit_pair, pair[value < counts.n_values - 1])
    several = np.bincount(places, minlength=len(alpha)) != 1
    alpha, status = _with_meaning(alpha, several | (of.settings.missing == "ignore"))
    shared = data.assigned.sum(1) >= 2
    if len(every) == 1 and data.assigned[shared].any(0).sum() == 2:
        # A single pair has the interval of all annotators.
        of_f1 = np.array([of.interval("f1")])
    else:
        of_f1 = pair_f1_intervals(drawn, alone, data.assigned, every)
    return Table(
        {
            "annotator_1": Categorical(first, names),
            "annotator_2": Categorical(second, names),
            "alpha": alpha,
            "status": status,
            "n_units": n_units,
            **_object_columns(sums, np.searchsorted(every, counts.unit_pair), of_f1),
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
    }


def _with_meaning(alpha: FloatArray, is_meant: BoolArray) -> tuple[FloatArray, Categorical]:
    """Return alpha, NaN where it has no meaning, and the reasons for NaN."""
    code = np.where(np.isnan(alpha), 1, 2 * ~is_meant)
    return (
        np.where(is_meant, alpha, np.nan),
        Categorical(code.astype(np.int32), ("ok", _UNDEFINED, _NO_MEANING)),
    )


def id_column(data: Dataset, rows: IndexArray) -> Column:
    """Return the ids of annotations as their tool shows them; None where a row is -1."""
    annotations, found = data.annotations, rows >= 0
    if annotations.own_id is not None:
        return Categorical(rows.astype(np.int32), tuple(annotations.own_id.tolist()))
    number = np.full(len(rows), None, object)
    number[found] = annotations.id[rows[found]]
    return number


def _unit_table(of: MeasuredThreshold, reliability: ReliabilityData) -> Table:
    """Return a row per unit and annotator who was asked about it."""
    data, units = of.part.data, of.counted.units
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


def threshold_results(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    chance: ChanceCounts,
    progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:
    """Return the result at each threshold; the intervals of all come from the same draws."""
    both = zip(counted.thresholds, chance.sums, strict=True)
    sums = [replace(each.sums, chance=of_chance) for each, of_chance in both]
    is_drawn = part.data.assigned.sum(1) >= 2
    is_drawn[part.empty] &= settings.empty_images != "skip"
    clusters = np.flatnonzero(is_drawn)
    intervals: list[Intervals] = [{}] * len(sums)
    if settings.bootstrap and len(clusters) > 1:
        on_progress = None if progress is None else partial(progress, "resampling")
        intervals = threshold_intervals(
            sums, clusters, settings.bootstrap, settings.seed, on_progress
        )
    results = []
    every = zip(settings.iou_threshold, counted.thresholds, sums, intervals, strict=True)
    for each in every:
        is_meant = has_meaning(value_sums(each[2].coincidences)[0][:-1], settings.missing)
        reason = "" if is_meant else ONE_CATEGORY
        of = MeasuredThreshold(part, settings, *each, chance.reason, reason)
        results.append(_result_of(of))
    return tuple(results)


def measure_name(name: str) -> str:
    """Return the label of a similarity's threshold in results: "IoU", "OKS", or its name."""
    return "IoU" if similarity(name).is_iou else "OKS" if name == "keypoints" else name


def _result_of(of: MeasuredThreshold) -> ThresholdResult:
    """Return the result of one threshold."""
    part, sums, reason, counts = of.part, of.sums, of.reason, of.counted
    reliability, n_units = counts.reliability, len(counts.units)
    is_missing = reliability.state == Cell.MISSING
    missing = np.bincount(reliability.unit, is_missing, n_units)[:n_units]
    complete = int((missing == 0).sum())
    n_images = int((part.data.assigned.sum(1) >= 2).sum())
    found = pooled_alpha(sums.coincidences, one_group=n_images == 1)
    status, greedy = found.status, nan
    if status == NO_VARIATION and 0 < complete == n_units:
        status = ALL_AGREE
    image_alpha, meaningful, with_alpha = sums.image_alpha, sums.meaningful_alpha, of
    if reason:
        status = status if isnan(found.value) else reason
        image_alpha = meaningful = np.full_like(image_alpha, nan)
        with_alpha = of._replace(intervals={})
    elif counts.greedy is not None:
        greedy = pooled_alpha(counts.greedy).value
    names = part.data.category_names
    drawn = np.bincount(part.data.annotations.category, minlength=len(names))
    largest = ("", nan)
    if drawn.any():
        largest = (names[int(drawn.argmax())], float(drawn.max() / drawn.sum()))
    defined = image_alpha[~np.isnan(image_alpha)]
    existence, class_agreement, place = _of_objects(of)
    return ThresholdResult(
        measure=measure_name(of.settings.similarity),
        iou_threshold=of.threshold,
        alpha=nan if reason else found.value,
        status=status,
        interval=with_alpha.interval("pooled"),
        largest_category=largest,
        observed=found.observed,
        expected=found.expected,
        mean_image_alpha=mean_of(image_alpha),
        mean_image_interval=with_alpha.interval("mean"),
        mean_drawn_image_alpha=mean_of(np.delete(image_alpha, part.empty)),
        meaningful_image_alpha=ImageAlpha(
            mean_of(meaningful),
            with_alpha.interval("meaningful mean"),
            int((~np.isnan(meaningful)).sum()),
        ),
        share_of_images_at_1=mean_of((defined == 1).astype(np.float64)),
        existence=existence,
        class_agreement=class_agreement,
        place=place,
        n_units=n_units,
        n_complete_units=complete,
        greedy_alpha=greedy,
        make_tables={
            "images": partial(_image_table, of),
            "pairs": partial(_pair_table, of, reliability),
            "categories": partial(_category_table, of),
            "units": partial(_unit_table, of, reliability),
        },
        reliability=reliability,
    )


def _of_objects(of: MeasuredThreshold) -> tuple[Existence, ClassAgreement, Place]:
    figures = {name: value for name, (value, _) in of.sums.figures().items()}
    similarities = np.round(of.counted.matched.similarity, SIMILARITY_DIGITS)
    existence = Existence(
        f1=figures["f1"],
        interval=of.interval("f1"),
        chance=figures["chance"],
        alpha=figures["above chance"],
        alpha_interval=of.interval("above chance"),
        reason=_FULL_CHANCE if figures["chance"] == 1 else of.chance_reason,
    )
    class_agreement = ClassAgreement(
        alpha=figures["class"],
        share=figures["class share"],
        interval=of.interval("class"),
        share_interval=of.interval("class share"),
        status=pooled_alpha(of.sums.classes, one_group=False).status,
    )
    place = Place(
        mean_iou=figures["place"],
        median_iou=median(similarities),
        interval=of.interval("place"),
        n_pairs=len(similarities),
        below_threshold=figures["below"],
        below_interval=of.interval("below"),
    )
    return existence, class_agreement, place
