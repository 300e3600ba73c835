"""Alpha and F1 if all annotators were asked about every image without a list of those asked."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import nan

import numpy as np

from bboxqa.agreement.alpha.nominal import pooled_alpha, value_sums
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.agreement.objects import has_meaning
from bboxqa.core.arrays import BoolArray
from bboxqa.model.annotations import Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import UnitTable
from bboxqa.pipelines.counting import AgreementCounts, reliability_of
from bboxqa.pipelines.image_parts import ImagePart

# Cells of the units × annotators table per annotation. With more, most cells would be empty, as
# most annotators were not asked.
_MOST_CELLS = 100


def partly_annotated(data: Dataset) -> BoolArray:
    """Return (I,) bool: images that only some annotated, without a list of who was asked."""
    result = np.zeros(len(data.image_names), np.bool_)
    if data.unlisted is not None:
        result[data.annotations.image[~data.annotations.iscrowd]] = True
        result &= data.unlisted & ~data.assigned.all(1)
    return result


def figures_if_all_asked(
    data: Dataset, counted: AgreementCounts, settings: AgreeSettings
) -> Iterator[tuple[float, float]]:
    """Yield alpha and F1 at each threshold as if all were asked; NaN where that changes nothing.

    The matched units are kept; in images of one annotator, each annotation is a unit.
    """
    annotations = replace(data.annotations, segmentation=None, keypoints=None, rotated_box=None)
    n_cells = len(annotations) * len(data.annotator_names)
    is_open = partly_annotated(data).any() and n_cells <= _MOST_CELLS * len(annotations)
    if data.unlisted is None or not is_open or settings.missing == "ignore":
        yield from [(nan, nan)] * len(counted.units)
        return
    assigned = data.assigned | data.unlisted[:, None]
    kept = np.flatnonzero(~annotations.iscrowd & (assigned.sum(1) >= 2)[annotations.image])
    annotations = select_annotations(annotations, kept)
    is_matched = (data.assigned.sum(1) >= 2)[annotations.image]
    alone = annotations.image[~is_matched]
    drawn = np.bincount(data.annotations.image, minlength=len(assigned)) > 0
    empty = np.flatnonzero(~drawn & (assigned.sum(1) >= 2)).astype(np.int32)
    whole = ImagePart(replace(data, annotations=annotations, assigned=assigned), empty)
    possible = float((assigned.sum(1)[annotations.image] - 1).sum()) / 2
    for units, objects in zip(counted.units, counted.objects, strict=True):
        unit = np.zeros(len(annotations), np.int64)
        unit[is_matched] = units.unit
        unit[~is_matched] = len(units) + np.arange(len(alone))
        table = UnitTable(unit, np.concatenate([units.image, alone]))
        found = coincidences(reliability_of(whole, table, settings), settings.missing)
        is_meant = has_meaning(value_sums(found)[0][:-1], settings.missing)
        alpha = pooled_alpha(found).value if is_meant else nan
        # In images of one annotator, no annotation has a match.
        yield alpha, float(objects.images.matched.sum()) / possible


def with_all_asked(
    results: Iterable[ThresholdResult], figures: Iterable[tuple[float, float]]
) -> tuple[ThresholdResult, ...]:
    """Return results with F1, and alpha where it has a meaning, as if all were asked."""
    return tuple(
        replace(
            result,
            all_asked_alpha=nan if result.alpha_has_no_meaning else alpha,
            all_asked_f1=f1,
        )
        for result, (alpha, f1) in zip(results, figures, strict=True)
    )
