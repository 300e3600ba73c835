"""Tables of a result: images, categories, pairs of annotators, and units."""

import numpy as np

from bboxqa.agreement.alpha.nominal import alpha_per_category, alpha_per_pair
from bboxqa.agreement.counts.object_counts import ObjectCounts, ObjectSums, PairCounts
from bboxqa.agreement.objects import (
    category_f1_intervals,
    pair_f1_intervals,
    pairs_with_meaning,
    values_without_meaning,
)
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.annotations import Dataset
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.reliability import Cell, Coincidences, ReliabilityData
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.threshold_result import Interval
from bboxqa.model.units import UnitTable

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
        **_of_objects(objects, shown),
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
            **_of_objects(objects, shown, of_f1),
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
            **_of_objects(objects.pairs, rows, of_f1),
        }
    )


def _of_objects(
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
