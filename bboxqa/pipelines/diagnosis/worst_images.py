"""The images that cost most agreement, with all that a page draws of them."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.diagnostics.decomposition import KINDS
from bboxqa.diagnostics.review import ObjectList, object_list
from bboxqa.geometry.kernels.rasters import outline_rings
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.model.outlines import SegmentationKind
from bboxqa.model.shapes.rotated_boxes import corners, width_marks
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import MatchedUnits
from bboxqa.report.numbers import json_number

_MOST_SHAPES = 200_000


def worst_images(part: ThresholdResult, matched: MatchedUnits, n_images: int) -> dict[str, Any]:
    """Return the images that cost most agreement, the worst first, and what was drawn in them.

    There are at most `n_images`, with at most 200,000 annotations in images after the first.
    Objects are numbered within an image. Their `category` is that of the majority, `kind` is "all
    agree" or the primary kind of disagreement, `kinds` are all of
    them, `reason` names who differs, and `similarity` is the mean of the matching pairs.
    """
    rows, images = _chosen(part.images, matched.data, n_images)
    found = object_list(matched, images)
    number = _numbers(found, int(matched.objects.max(initial=-1)) + 1)
    objects = _by_image(found.image, images)
    shapes = _by_image(matched.data.annotations.image.astype(np.int64), images)
    return {
        "threshold": part.threshold_label,
        "measure": part.measure,
        "n_images": len(part.images),
        "images": [
            {
                **_image(matched.data, image),
                "cost": row["cost"],
                "alpha": row["alpha"],
                "alpha_status": row["status"],
                "f1": row["f1"],
                "objects": [_object(matched.data, found, number, each) for each in objects[place]],
                "shapes": [_shape(matched, found, number, each) for each in shapes[place]],
            }
            for place, (row, image) in enumerate(zip(rows, images.tolist(), strict=True))
        ],
    }


def _chosen(table: Table, data: Dataset, n_images: int) -> tuple[list[dict[str, Any]], IndexArray]:
    """Return the rows of the worst images, and their places in the data."""
    cost = np.nan_to_num(np.asarray(table["cost"], np.float64), nan=-np.inf)
    worst = np.lexsort((-np.asarray(table["n_units"]), -cost))[:n_images]
    place = {name: index for index, name in enumerate(data.image_names)}
    images = np.array([place[name] for name in table["image"][worst].tolist()], np.int64)
    n_shapes = np.bincount(data.annotations.image, minlength=len(data.image_names))[images]
    kept = np.cumsum(n_shapes) - n_shapes[:1].sum() <= _MOST_SHAPES
    return table.take(worst[kept]).records(), images[kept]


def _by_image(image: IndexArray, images: IndexArray) -> list[list[int]]:
    """Return the indices of the rows of each image, in order."""
    order = np.argsort(image, kind="stable")
    low = np.searchsorted(image[order], images, "left").tolist()
    high = np.searchsorted(image[order], images, "right").tolist()
    return [order[a:b].tolist() for a, b in zip(low, high, strict=True)]


def _numbers(found: ObjectList, n_objects: int) -> IndexArray:
    """Return the number of each object in its image, from 1; 0 for objects of other images."""
    order = np.argsort(found.image, kind="stable")
    image = found.image[order]
    first = np.searchsorted(image, image, "left")
    number = np.zeros(n_objects, np.int64)
    number[found.object[order]] = np.arange(len(order)) - first + 1
    return number


def _image(data: Dataset, place: int) -> dict[str, Any]:
    width, height = data.image_size[place].tolist()
    asked = np.flatnonzero(data.assigned[place]).tolist()
    return {
        "file_name": data.image_names[place],
        "width": width or None,
        "height": height or None,
        "asked": [data.annotator_names[each] for each in asked],
    }


def _object(data: Dataset, found: ObjectList, number: IndexArray, row: int) -> dict[str, Any]:
    kind = int(found.kind[row])
    return {
        "object": int(number[found.object[row]]),
        "category": data.category_names[found.category[row]],
        "kind": ALL_AGREE if kind < 0 else KINDS[kind],
        "kinds": [KINDS[each] for each in np.flatnonzero(found.has[row]).tolist()],
        "reason": found.reason[row],
        "similarity": json_number(float(found.similarity[row])),
    }


def _shape(
    matched: MatchedUnits, found: ObjectList, number: IndexArray, row: int
) -> dict[str, Any]:
    of = matched.data.annotations
    return {
        "annotation": int(of.id[row]) if of.own_id is None else of.shown_ids([row])[0],
        "annotator": matched.data.annotator_names[of.annotator[row]],
        "category": matched.data.category_names[of.category[row]],
        "object": int(number[found.of[row]]),
        "unit": int(matched.units.unit[row]),
        "bbox": of.bbox[row].tolist(),
        **_rings(of, row),
        **_points(matched.data, row),
    }


def _rings(of: Annotations, row: int) -> dict[str, Any]:
    """Return the outline of an annotation, if any, as lists of alternating x and y."""
    segmentations, boxes = of.segmentation, of.rotated_box
    if segmentations is not None and segmentations.kind[row] != SegmentationKind.NONE:
        rings = outline_rings(segmentations, row)
    elif boxes is not None and boxes[row, 4]:
        rings = [*corners(boxes[row : row + 1])]
    else:
        return {}
    if boxes is not None and boxes[row, 4]:
        # A ring of two points is a line.
        rings = [*rings, width_marks(boxes[row : row + 1])[0]]
    return {"rings": [ring.round(2).ravel().tolist() for ring in rings]}


def _points(data: Dataset, row: int) -> dict[str, Any]:
    """Return the labelled key points of an annotation, and the lines between them."""
    keypoints = data.annotations.keypoints
    if keypoints is None:
        return {}
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    xy, seen = keypoints.xy[part].round(2), keypoints.visibility[part]
    limbs = data.limbs[data.annotations.category[row]] if data.limbs else ()
    lines = [xy[[*ends]] for ends in limbs if max(ends) < len(seen) and seen[[*ends]].all()]
    return {
        "visible_points": xy[seen > 1].tolist(),
        "hidden_points": xy[seen == 1].tolist(),
        "lines": [line.ravel().tolist() for line in lines],
    }
