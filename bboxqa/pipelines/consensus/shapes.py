"""The outlines, rotated boxes and key points of objects, from those of their annotators."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.polygons import is_box, is_intricate, n_crossings, polygon_outlines
from bboxqa.geometry.kernels.rasters import masks
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import ConsensusObjects
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.keypoints import Keypoints, sides_of
from bboxqa.model.shapes.masks import (
    compress_counts,
    decode_counts,
    joined,
    run_bounds,
    runs_of_spans,
    spans_of_runs,
)
from bboxqa.model.shapes.rotated_boxes import (
    bounds,
    corners,
    from_corners,
    smallest_angle,
    turned_to,
)
from bboxqa.pipelines.consensus.rule import quorums

Record = dict[str, Any]
# Digits after the point that are no noise of sums and intersections.
_DIGITS = 6
_MOST_CROSSINGS = 500


class Fused(NamedTuple):
    """The shapes of O objects."""

    records: tuple[Record, ...]
    """(O,). Keys of COCO annotations; empty if there are boxes only."""
    bbox: FloatArray
    """(O, 4) float64. The bounds of outlines and rotated boxes; else the boxes as they were."""


def fused_shapes(
    data: Dataset, of: IndexArray, objects: ConsensusObjects, quorum: float | None
) -> Fused:
    """Return the shapes of kept objects; `of` is the object of each annotation, -1 for none.

    The outline of an object is the region that at least the quorum of those who drew one covers:
    the exact polygon, or pixels if one of them is a mask. Rotated boxes have the median centre,
    sides and angle, key points the median of each joint.
    """
    rows = np.flatnonzero((of >= 0) & np.append(objects.is_kept, False)[of])
    # Outlines that are boxes count beside others, but are no more than boxes alone.
    shaped = np.zeros(len(objects), np.bool_)
    shaped[of[rows[_has_shape(data.annotations.take(rows))]]] = True
    rows = rows[shaped[of[rows]]]
    if not len(rows):
        return Fused((), objects.bbox)
    rows = rows[np.lexsort((data.annotations.annotator[rows], of[rows]))]
    records: list[Record] = [{} for _ in range(len(objects))]
    bbox = objects.bbox.copy()
    starts = run_starts(of[rows])
    for place, own in zip(of[rows[starts]].tolist(), np.split(rows, starts[1:]), strict=True):
        found = _fused(data, own, quorum)
        if found.get("segmentation"):
            left, top, right, bottom = found.pop("bounds")
            bbox[place] = left, top, right - left, bottom - top
        records[place] = found
    return Fused(tuple(records), bbox)


def _has_shape(of: Annotations) -> Any:
    """Return which annotations are more than an upright box, (N,) bool."""
    found = np.zeros(len(of), np.bool_)
    if of.segmentation is not None and of.segmentation.kind.any():
        outlines = of.segmentation.packed()
        found |= (outlines.kind != SegmentationKind.NONE) & ~is_box(polygon_outlines(outlines))
    if of.rotated_box is not None:
        found |= of.rotated_box[:, 4] != 0
    if of.keypoints is not None:
        found |= of.keypoints.stop > of.keypoints.start
    return found


def _fused(data: Dataset, rows: IndexArray, quorum: float | None) -> Record:
    """Return the shape of an object from its annotations, which are sorted by annotator."""
    of, found = data.annotations, Record()
    if of.keypoints is not None:
        category = int(of.category[rows[0]])
        joints = data.joint_names[category] if data.joint_names else ()
        found |= _fused_points(of.keypoints.take(rows), joints, quorum)
    if (boxes := _rectangles(of, rows)) is not None:
        return found | _rotated(median_rotated_box(boxes))
    outlines = of.segmentation
    if outlines is None:
        return found
    drawn = rows[outlines.kind[rows] != SegmentationKind.NONE]
    if not len(drawn):
        return found
    people = [*np.split(drawn, run_starts(of.annotator[drawn])[1:])]
    least = int(quorums(np.array([len(people)]), quorum)[0])
    if (outlines.kind[drawn] == SegmentationKind.RLE).any():
        name = data.image_names[int(of.image[rows[0]])]
        return found | _covered_pixels(outlines, people, least, name)
    return found | _covered_region([[*outlines_of(outlines, each)] for each in people], least)


def _rectangles(of: Annotations, rows: IndexArray) -> FloatArray | None:
    """Return the boxes of an object if some are rotated, and all others are upright; else None."""
    if of.rotated_box is None or not of.rotated_box[rows, 4].any():
        return None
    boxes = of.rotated_box[rows]
    for row in rows.tolist() if of.segmentation is not None else ():
        rings = of.segmentation.rings(row)  # type: ignore[union-attr]
        if not rings:
            continue
        ring = rings[0][:-1] if (rings[0][0] == rings[0][-1]).all() else rings[0]
        if len(rings) > 1 or len(ring) != 4 or not from_corners(ring[None])[1][0]:
            return None
    return boxes


def median_rotated_box(boxes: FloatArray) -> FloatArray:
    """Return the median of K rotated boxes, (5,), however their sides and angles are named.

    A box is the same after half a turn, and after a quarter turn with the sides swapped. All are
    described by the angle nearest to that of the box whose angles to the others are least.

    Examples
    --------
    >>> boxes = np.array([[9.0, 9, 8, 4, 2], [9, 9, 4, 8, 91], [9, 9, 8, 4, 179]])
    >>> median_rotated_box(boxes).tolist()
    [9.0, 9.0, 4.0, 8.0, 91.0]
    """
    plain = smallest_angle(boxes)
    off = np.abs((plain[:, None, 4] - plain[None, :, 4] + 45) % 90 - 45).sum(1).round(_DIGITS)
    # Of equally near ones, the one whose numbers are first.
    first = np.lexsort((*boxes.T[:4][::-1], boxes[:, 4], off))[0]
    angle = boxes[first, 4]
    near = turned_to(plain, np.full(len(boxes), angle))
    near[:, 4] = (near[:, 4] - angle + 180) % 360 - 180
    middle = np.median(near, axis=0)
    middle[4] = (middle[4] + angle) % 360
    return np.asarray(middle.round(_DIGITS))


def _rotated(box: FloatArray) -> Record:
    ring = corners(box[None])[0].round(_DIGITS)
    return {
        "segmentation": [ring.ravel().tolist()],
        "attributes": {"rotation": float(box[4])},
        "area": round(float(box[2] * box[3]), _DIGITS),
        "bounds": bounds(box[None])[0].round(_DIGITS).tolist(),
    }


def outlines_of(outlines: Segmentations, rows: IndexArray) -> Iterator[Any]:
    """Yield the region that each polygon fills, as a shapely geometry."""
    import shapely

    for row in rows.tolist():
        rings = [ring for ring in outlines.rings(row) if len(ring) >= 3]
        # What crosses itself more often would take too long to repair.
        rings = [ring for ring in rings if not _is_tangled(ring)]
        parts = [shapely.make_valid(shapely.polygons(ring)) for ring in rings]
        yield shapely.union_all(parts) if len(parts) > 1 else (parts or [shapely.Polygon()])[0]


def _is_tangled(ring: FloatArray) -> bool:
    import shapely

    if shapely.is_valid(shapely.polygons(ring)):
        return False
    return is_intricate([ring]) or n_crossings(ring, _MOST_CROSSINGS) > _MOST_CROSSINGS


def covered_region(regions: Sequence[Any], least: int) -> Any:
    """Return the region that at least `least` of several regions cover, as a shapely geometry.

    Examples
    --------
    >>> import shapely
    >>> squares = [shapely.box(left, 0, left + 4, 1) for left in (0, 1, 3)]
    >>> [covered_region(squares, least).area for least in (1, 2, 3)]
    [7.0, 4.0, 1.0]
    """
    import shapely

    # Regions that are covered by at least 1, 2, … of those that were added so far.
    levels = [shapely.Polygon()] * least
    # Rounding depends on the order, which is that of the numbers.
    for region in sorted(regions, key=lambda each: shapely.normalize(each).wkb):
        below = [None, *levels[:-1]]
        levels = [
            shapely.union(level, region if under is None else shapely.intersection(under, region))
            for level, under in zip(levels, below, strict=True)
        ]
    return levels[-1]


def _covered_region(people: Sequence[Sequence[Any]], least: int) -> Record:
    """Return the polygon that at least `least` annotators cover; nothing if there is no such."""
    import shapely

    regions = [shapely.union_all(each) if len(each) > 1 else each[0] for each in people]
    found = covered_region(regions, least)
    parts = [part for part in shapely.get_parts(found) if part.geom_type == "Polygon"]
    parts = [each for part in parts for each in without_holes(part) if each.area > 0]
    if not parts:
        return {}
    whole = shapely.normalize(shapely.multipolygons(parts))
    rings = [part.exterior.coords for part in shapely.get_parts(whole)]
    points = [np.round(ring, _DIGITS)[:-1].ravel().tolist() for ring in rings]
    return {
        "segmentation": points,
        "bounds": np.round(whole.bounds, _DIGITS).tolist(),
        "area": round(float(whole.area), _DIGITS),
    }


def without_holes(polygon: Any) -> list[Any]:
    """Return parts of a polygon that have no holes, as COCO has none; it is cut through them.

    Examples
    --------
    >>> import shapely
    >>> ring = shapely.box(0, 0, 6, 6).difference(shapely.box(2, 2, 4, 4))
    >>> [part.area for part in without_holes(ring)]
    [16.0, 16.0]
    """
    import shapely

    if not polygon.interiors:
        return [polygon]
    left, top, right, bottom = polygon.bounds
    hole = shapely.Polygon(polygon.interiors[0]).bounds
    middle = (hole[0] + hole[2]) / 2
    halves = shapely.box(left, top, middle, bottom), shapely.box(middle, top, right, bottom)
    cut = (
        part for half in halves for part in shapely.get_parts(shapely.intersection(polygon, half))
    )
    return [each for part in cut if part.geom_type == "Polygon" for each in without_holes(part)]


def covered_spans(spans: Sequence[IndexArray], least: int) -> IndexArray:
    """Return the spans of pixels that at least `least` of several masks cover.

    Examples
    --------
    >>> covered_spans([np.array([[0, 4]]), np.array([[2, 6]]), np.array([[3, 4]])], 2).tolist()
    [[2, 4]]
    """
    ends = np.concatenate([each.ravel() for each in spans])
    steps = np.tile(np.array([1, -1]), len(ends) // 2)
    order = np.argsort(ends, kind="stable")
    ends, level = ends[order], np.cumsum(steps[order])
    kept = np.flatnonzero((level[:-1] >= least) & (ends[1:] > ends[:-1]))
    return joined(np.stack([ends[kept], ends[kept + 1]], 1))


def _covered_pixels(
    outlines: Segmentations, people: Sequence[IndexArray], least: int, image: str
) -> Record:
    """Return the mask that at least `least` annotators cover; nothing if it is empty."""
    drawn = np.concatenate(people)
    sizes = np.unique(outlines.size[drawn[outlines.kind[drawn] == SegmentationKind.RLE]], axis=0)
    if len(sizes) > 1:
        shown = " and ".join(f"{width} × {height}" for height, width in sizes[:2].tolist())
        advice = "See: bboxqa validate FILE"
        raise DatasetError([f"image {image!r}: has masks of {shown} px; expected one size"], advice)
    height, width = sizes[0].tolist()
    rles = masks(outlines.take(drawn), np.tile([width, height], (len(drawn), 1)))
    spans = [spans_of_runs(decode_counts(each["counts"])) for each in rles]
    who = np.repeat(np.arange(len(people)), [len(each) for each in people]).tolist()
    of_each: list[list[IndexArray]] = [[] for _ in people]
    for number, each in zip(who, spans, strict=True):
        of_each[number].append(each)
    votes = [covered_spans(each, 1) if len(each) > 1 else each[0] for each in of_each]
    runs = runs_of_spans(covered_spans(votes, least), height * width)
    if not runs[1::2].sum():
        return {}
    return {
        "segmentation": {
            "size": [height, width],
            "counts": compress_counts(runs, height, width).decode(),
        },
        "bounds": [*run_bounds(runs, height)],
        "area": int(runs[1::2].sum()),
    }


def _fused_points(keypoints: Keypoints, joints: Sequence[str], quorum: float | None) -> Record:
    """Return the median of each joint that at least the quorum of the annotators labelled."""
    n_joints = (keypoints.stop - keypoints.start).tolist()
    n = max(n_joints, default=0)
    places = [at for at, each in enumerate(n_joints) if each == n and n]
    if not places:
        return {}
    xy = np.stack([keypoints.xy[keypoints.start[at] : keypoints.stop[at]] for at in places])
    seen = np.stack(
        [keypoints.visibility[keypoints.start[at] : keypoints.stop[at]] for at in places]
    )
    xy, seen = unmirrored(xy, seen, sides_of(joints) if len(joints) == n else [])
    least = int(quorums(np.array([len(places)]), quorum)[0])
    is_labelled = (seen > 0).sum(0) >= least
    middle = np.zeros((n, 2))
    for joint in np.flatnonzero(is_labelled).tolist():
        middle[joint] = np.median(xy[seen[:, joint] > 0, joint], axis=0).round(_DIGITS)
    is_visible = 2 * (seen == 2).sum(0) >= (seen > 0).sum(0)
    visibility = np.where(is_labelled, np.where(is_visible, 2, 1), 0)
    triples = np.column_stack([middle, visibility]).ravel().tolist()
    return {"keypoints": triples, "num_keypoints": int(is_labelled.sum())}


def unmirrored(
    xy: FloatArray, seen: Any, sides: Sequence[tuple[int, int]]
) -> tuple[FloatArray, Any]:
    """Return K poses, (K, J, 2) and (K, J), with left and right as most annotators name them.

    A pose is mirrored if its joints are nearer to those of the pose in the middle when left and
    right are exchanged.
    """
    if not sides or len(xy) < 2:
        return xy, seen
    order = np.arange(xy.shape[1])
    for left, right in sides:
        order[[left, right]] = right, left
    both = (xy, xy[:, order]), (seen, seen[:, order])
    distance = np.zeros((2, len(xy), len(xy)))
    for way in (0, 1):
        shared = (both[1][way][:, None] > 0) & (seen[None] > 0)
        apart = np.hypot(*np.moveaxis(both[0][way][:, None] - xy[None], -1, 0))
        distance[way] = np.where(shared, apart, 0).sum(-1) / np.maximum(shared.sum(-1), 1)
    total = distance.min(0).sum(1).round(_DIGITS)
    agree = (distance[0] <= distance[1]).sum(1)
    middle = np.lexsort((*xy.reshape(len(xy), -1).T[:2], total, -agree))[0]
    is_mirrored = distance[1][:, middle] < distance[0][:, middle]
    return (
        np.where(is_mirrored[:, None, None], both[0][1], xy),
        np.where(is_mirrored[:, None], both[1][1], seen),
    )
