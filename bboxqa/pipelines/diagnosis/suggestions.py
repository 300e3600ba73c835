"""The threshold that the data suggest for each similarity that they allow."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray, sum_by
from bboxqa.core.errors import BboxqaError, DatasetError
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import possible_pairs
from bboxqa.geometry.similarities.base import Needs
from bboxqa.geometry.similarities.box import other_shapes
from bboxqa.geometry.similarities.registry import SIMILARITIES
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.diagnosis import ReadShapes
from bboxqa.model.outlines import SegmentationKind
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.rotated_boxes import are_upright
from bboxqa.model.table import Table, text_column
from bboxqa.pipelines.chance_existence import chance_existence, matched_pairs
from bboxqa.pipelines.diagnosis.sensitivity import Sensitivity, sampled
from bboxqa.pipelines.diagnosis.separation import THRESHOLDS, separation
from bboxqa.pipelines.image_parts import ImagePart, compared_images
from bboxqa.pipelines.joint_sigmas import with_points, with_sigmas

SUGGESTED = "suggested_threshold"
"""The name of the table."""


# Raster is like pixel, but takes ten times as long.
_COMPARED = [name for name in SIMILARITIES if name != "raster"]
# The cost of the images that are compared, in annotations, and how many pairs of annotations of an
# image, and pixels of boxes, cost as much as an annotation.
_MOST = {"polygon": 5_000, "mask": 5_000, "pixel": 4_000}
_MOST_OTHERS = 20_000
_PAIRS, _PAIRS_OF_PIXELS = 100, 10
_PIXELS = 10_000


def suggested_thresholds(
    images: ImagePart,
    own: Sensitivity,
    settings: AgreeSettings,
    *,
    read_shapes: ReadShapes | None = None,
    progress: Progress | None = None,
) -> Table:
    """Return the threshold that the data suggest, for each similarity that compares their shapes.

    Parameters
    ----------
    images : ImagePart
        The compared images.
    own : Sensitivity
        What was found for the similarity of the settings; it is the first row.
    settings : AgreeSettings
    read_shapes : callable, optional
        Returns the data set with all shapes; without it, only shapes that were read are compared.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Table
        By row: the similarity, the suggested threshold with its interval, the largest distance of
        F1 from F1 by chance with its interval, the lowest and the highest threshold that do about
        as well, sigma with its interval and the lowest similarity that it uses
        ("sigma_threshold"), the number of images, and the reason if there is no threshold.
    """
    rows = [{"similarity": settings.similarity, **own.separation.row(), "n_images": own.n_images}]
    shapes, reason = _shaped(read_shapes, images)
    names = [name for name in _COMPARED if name != settings.similarity]
    for done, name in enumerate(names):
        if progress is not None:
            progress("comparing by other similarities", done, len(names))
        needs = SIMILARITIES[name].needs
        part = images if needs == "boxes" else shapes
        if _has_shapes(part.data, needs):
            rows.append({"similarity": name, **_row(part, name, settings)})
        elif reason:
            rows.append({"similarity": name, **_unknown(reason)})
    # The reason comes last.
    columns = sorted(rows[0], key=lambda column: column == "reason")
    return Table(
        {
            column: text_column([row[column] for row in rows])
            if column in ("similarity", "reason")
            else np.array([row[column] for row in rows])
            for column in columns
        }
    )


def in_words(table: Table) -> str:
    """Return the thresholds of further similarities as a part of a sentence; "" if none.

    Examples
    --------
    >>> names, thresholds = text_column(["bbox", "giou", "polygon"]), np.array([0.5, 0.3, np.nan])
    >>> in_words(Table({"similarity": names, "threshold": thresholds}))
    '; by another similarity: giou 0.3'
    """
    others = table.take(np.flatnonzero(~np.isnan(table["threshold"][1:])) + 1)
    found = zip(others["similarity"], others["threshold"].tolist(), strict=True)
    shown = ", ".join(f"{name} {threshold:g}" for name, threshold in found)
    return f"; by another similarity: {shown}" if shown else ""


def _shaped(read_shapes: ReadShapes | None, images: ImagePart) -> tuple[ImagePart, str]:
    """Return the same images and annotators with all shapes, and why there are no shapes."""
    if read_shapes is None:
        return images, ""
    try:
        data = read_shapes()
    except DatasetError as error:
        # Defects of shapes that the result does not need must not stop its diagnosis.
        return images, _reason(error)
    asked = np.isin(np.array(data.annotator_names), images.data.annotator_names)
    kept = np.flatnonzero(asked[data.annotations.annotator])
    annotations = select_annotations(data.annotations, kept)
    data = replace(data, annotations=annotations, assigned=data.assigned & asked)
    return compared_images(data), ""


def _has_shapes(data: Dataset, needs: Needs) -> bool:
    """Return whether some annotations have the shapes that a similarity compares."""
    of = data.annotations
    if needs == "boxes":
        return True
    if needs == "rotated boxes":
        return of.rotated_box is not None and _are_rotated(of.rotated_box, of)
    if needs == "keypoints":
        return of.keypoints is not None and bool(of.keypoints.visibility.any())
    kinds = () if of.segmentation is None or _are_boxes(of) else np.unique(of.segmentation.kind)
    if needs == "polygons":
        return SegmentationKind.POLYGON in kinds and SegmentationKind.RLE not in kinds
    return any(kind != SegmentationKind.NONE for kind in kinds)


def _are_rotated(boxes: FloatArray, of: Annotations) -> bool:
    """Return whether boxes are rotated, and are not just polygons some of which have four sides."""
    return not are_upright(boxes, of.bbox) and _are_only_boxes(boxes, of)


def _are_boxes(of: Annotations) -> bool:
    """Return whether all outlines are upright boxes, which tell no more than the boxes do."""
    boxes = of.rotated_box
    return boxes is not None and are_upright(boxes, of.bbox) and _are_only_boxes(boxes, of)


def _are_only_boxes(boxes: FloatArray, of: Annotations) -> bool:
    """Return whether there are no other outlines than rotated boxes."""
    return of.segmentation is None or not other_shapes(of.segmentation, boxes)["other_outlines"]


def _row(images: ImagePart, name: str, settings: AgreeSettings) -> dict[str, Any]:
    """Return what the data suggest for one similarity, or why they suggest nothing."""
    settings = msgspec.structs.replace(settings, similarity=name, iou_threshold=THRESHOLDS)
    cost, most = _cost(images.data, name), _MOST.get(name, _MOST_OTHERS)
    part = sampled(images, cost, most, settings.seed)
    n_images = _n_compared(part.data)
    if n_images < min(2, _n_compared(images.data)):
        return _unknown(f"it takes long in these images: measure it with --similarity {name}")
    try:
        data = with_sigmas(with_points(part.data, settings), settings)
        observed = matched_pairs(data, settings)
    except BboxqaError as error:
        return _unknown(_reason(error))
    chance = chance_existence(replace(part, data=data), settings)
    if chance.reason:
        return _unknown(chance.reason)
    found = separation(observed, chance.sums, settings.bootstrap, settings.seed)
    return {**found.row(), "n_images": n_images}


def _n_compared(data: Dataset) -> int:
    """Return the number of images of two annotators or more."""
    return int((data.assigned.sum(1) >= 2).sum())


def _cost(data: Dataset, name: str) -> FloatArray:
    """Return what comparing each image costs, in annotations, (I,)."""
    of, n_images = data.annotations, len(data.image_names)
    pairs = possible_pairs(of, n_images)
    cost: FloatArray = np.bincount(of.image, minlength=n_images) + pairs / _PAIRS
    if name == "pixel":
        cost += (
            pairs / _PAIRS_OF_PIXELS + sum_by(of.image, of.bbox[:, 2:].prod(1), n_images) / _PIXELS
        )
    return cost


def _unknown(reason: str) -> dict[str, Any]:
    """Return a row without a threshold."""
    nothing = np.full((len(THRESHOLDS), 1, 2), 0.0)
    row = separation(nothing, nothing, 0, 0).row()
    return {**row, "n_images": 0, "reason": reason}


def _reason(error: BboxqaError) -> str:
    """Return the first problem in one line, with the number of others."""
    if isinstance(error, DatasetError):
        more = error.total - 1
        return f"{error.problems[0]}{f', and {more:,} more problems' * bool(more)}"
    return str(error)
