"""Images of data sets as scenes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import ConfigError
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.rasters import outline_rings
from bboxqa.geometry.similarities.registry import needs_outlines, needs_rotated_boxes
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.rotated_boxes import corners, width_marks
from bboxqa.pipelines.joint_sigmas import with_sigmas
from bboxqa.report.drawing.scene import Scene, Shape


def data_scene(data: Dataset, name: str, settings: AgreeSettings | None) -> Scene:
    """Return an image of a data set as a scene without pixels.

    With settings, its annotations are matched and have units, and are shown as they are compared.
    """
    if settings is not None:
        data = _compared(with_sigmas(data, settings), settings.similarity)
    place = data.image_names.index(name)
    rows = np.flatnonzero(data.annotations.image == place)
    unit = (
        np.zeros(len(rows), np.int64) if settings is None else _units(data, place, rows, settings)
    )
    width, height = data.image_size[place].tolist()
    asked = np.flatnonzero(data.assigned[place]).tolist()
    return Scene(
        name=name,
        width=width,
        height=height,
        shapes=tuple(
            _shape(data, int(row), number) for row, number in zip(rows, unit.tolist(), strict=True)
        ),
        annotators=data.annotator_names,
        categories=data.category_names,
        asked=tuple(data.annotator_names[each] for each in asked),
    )


def _compared(data: Dataset, similarity: str) -> Dataset:
    """Return a data set without outlines and rotated boxes that a similarity does not compare."""
    of = data.annotations
    return replace(
        data,
        annotations=replace(
            of,
            segmentation=of.segmentation if needs_outlines(similarity) else None,
            rotated_box=of.rotated_box if needs_rotated_boxes(similarity) else None,
        ),
    )


def _shape(data: Dataset, row: int, unit: int) -> Shape:
    of = data.annotations
    left, top, width, height = of.bbox[row].tolist()
    return Shape(
        bbox=(left, top, width, height),
        rings=(
            *(tuple(outline_rings(of.segmentation, row)) or _turned_rings(of, row, corners)),
            *_turned_rings(of, row, width_marks),
        ),
        points=_points(data, row),
        limbs=data.limbs[of.category[row]] if data.limbs else (),
        annotator=data.annotator_names[of.annotator[row]],
        category=data.category_names[of.category[row]],
        unit=unit,
    )


def _points(data: Dataset, row: int) -> FloatArray | None:
    keypoints = data.annotations.keypoints
    if keypoints is None:
        return None
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    return np.column_stack([keypoints.xy[part], keypoints.visibility[part]])


def _turned_rings(
    of: Annotations, row: int, drawn: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, ...]:
    """Return what is drawn of a rotated box, as one ring; an empty tuple for upright boxes."""
    boxes = of.rotated_box
    return () if boxes is None or not boxes[row, 4] else (drawn(boxes[row : row + 1])[0],)


def _units(data: Dataset, place: int, rows: IndexArray, settings: AgreeSettings) -> IndexArray:
    """Return the unit of each annotation of an image, from 1 on; 0 for crowds."""
    if len(settings.iou_threshold) != 1:
        raise ConfigError(f"iou_threshold has {len(settings.iou_threshold)} numbers; expected one")
    compared = np.flatnonzero(~data.annotations.iscrowd[rows])
    taken = select_annotations(data.annotations, rows[compared])
    outlines, joints = taken.segmentation, taken.keypoints
    annotations = replace(
        taken,
        image=np.zeros(len(taken), np.int32),
        segmentation=None if outlines is None else outlines.packed(),
        keypoints=None if joints is None else joints.packed(),
    )
    image = replace(
        data,
        image_names=data.image_names[place : place + 1],
        image_size=data.image_size[place : place + 1],
        assigned=data.assigned[place : place + 1],
        annotations=annotations,
        unlisted=None,
    )
    threshold = settings.iou_threshold[0]
    pairs, _ = candidate_pairs(
        image, settings.similarity, threshold, all_touched=settings.all_touched
    )
    lenient = settings.category_lenient
    units = match(annotations, pairs, settings.matcher, threshold, category_lenient=lenient)
    result = np.zeros(len(rows), np.int64)
    result[compared] = units.unit + 1
    return result
