"""Tables of a result: images, categories, pairs of annotators, and units."""

import numpy as np

from bboxqa.agreement.alpha.nominal import alpha_per_category, alpha_per_pair
from bboxqa.agreement.counts.pair_counts import PairCounts
from bboxqa.core.arrays import FloatArray
from bboxqa.model.annotations import Dataset
from bboxqa.model.reliability import Cell, Coincidences, ReliabilityData
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import UnitTable

_UNDEFINED = "undefined: no two values that could differ"


def image_table(
    data: Dataset, units: UnitTable, alpha: FloatArray, min_alpha: float | None
) -> Table:
    """Return alpha, annotations and units of each image with two annotators or more.

    `alpha` is (I,) float64; images below `min_alpha` are marked.
    """
    n_images = len(data.image_names)
    shown = np.flatnonzero(data.assigned.sum(1) >= 2)
    columns: dict[str, Column] = {
        "image": Categorical(shown.astype(np.int32), data.image_names),
        "alpha": alpha[shown],
        "status": _status(alpha[shown]),
        "n_annotators": data.assigned.sum(1)[shown],
        "n_annotations": np.bincount(data.annotations.image, minlength=n_images)[shown],
        "n_units": np.bincount(units.image, minlength=n_images)[shown],
    }
    if min_alpha is not None:
        columns["below_threshold"] = alpha[shown] < min_alpha
    return Table(columns)


def category_table(data: Dataset, counted: Coincidences, interval: FloatArray) -> Table:
    """Return alpha of each category that occurs, against the rest.

    `counted` and `interval`, (K + 1, 2) float64, are of the K categories and of what is missing.
    """
    n_categories = len(data.category_names)
    alpha, marginal = alpha_per_category(counted)
    drawn = np.bincount(data.annotations.category, minlength=n_categories)
    shown = np.flatnonzero(drawn)
    return Table(
        {
            "category": Categorical(shown.astype(np.int32), data.category_names),
            "alpha": alpha[shown],
            "status": _status(alpha[shown]),
            "low": interval[shown, 0],
            "high": interval[shown, 1],
            "n_annotations": drawn[shown],
            "n_pairable": marginal[shown].astype(np.int64),
        }
    )


def pair_table(data: Dataset, counts: PairCounts) -> Table:
    """Return alpha of each pair of annotators who share an image."""
    names = data.annotator_names
    first, second, alpha, n_units = alpha_per_pair(counts)
    return Table(
        {
            "annotator_1": Categorical(first, names),
            "annotator_2": Categorical(second, names),
            "alpha": alpha,
            "status": _status(alpha),
            "n_units": n_units,
        }
    )


def _status(alpha: FloatArray) -> Categorical:
    return Categorical(np.isnan(alpha).astype(np.int32), ("ok", _UNDEFINED))


def unit_table(data: Dataset, units: UnitTable, reliability: ReliabilityData) -> Table:
    """Return a row per unit and annotator who was asked about it.

    Where the annotator drew nothing, the annotation is masked and there is no category.
    """
    cells = np.flatnonzero(reliability.unit < len(units))
    unit, annotator = reliability.unit[cells], reliability.annotator[cells]
    found = reliability.state[cells] == Cell.CATEGORY
    # Cells are sorted by unit and annotator, and each with a category is one annotation.
    annotations = data.annotations
    order = np.argsort(units.unit, kind="stable")
    number = np.full(len(cells), -1, np.int64)
    number[found] = annotations.id[order]
    category = np.where(found, reliability.value[cells], -1).astype(np.int32)
    return Table(
        {
            "image": Categorical(units.image[unit], data.image_names),
            "unit": unit,
            "annotator": Categorical(annotator, data.annotator_names),
            "annotation": np.ma.MaskedArray(number, ~found),
            "category": Categorical(category, data.category_names),
            "state": Categorical(reliability.state[cells].astype(np.int32), ("drawn", "missing")),
        }
    )
