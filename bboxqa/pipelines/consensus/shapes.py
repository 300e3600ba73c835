"""The outlines, rotated boxes and key points of objects, from those of their annotators."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, run_starts
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.writing.outlines import Record, area_of, bounds_of
from bboxqa.geometry.kernels.boxes import from_corners as from_edges
from bboxqa.geometry.kernels.polygons import is_box, is_intricate, n_crossings, polygon_outlines
from bboxqa.geometry.kernels.rasters import masks
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import ConsensusObjects
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes import masks as runs_of
from bboxqa.model.shapes.keypoints import Keypoints, sides_of
from bboxqa.model.shapes.rotated_boxes import corners, from_corners, smallest_angle, turned_to
from bboxqa.pipelines.consensus.rule import quorums

# Digits after the point that are no noise, and crossings that are repaired in milliseconds.
_DIGITS, _MOST_CROSSINGS = 6, 500


def fused_shapes(
    data: Dataset, of: IndexArray, objects: ConsensusObjects, quorum: float | None
) -> tuple[tuple[Record, ...], FloatArray, tuple[str, ...]]:
    """Return the keys of COCO for the shapes of kept objects, their boxes, (O, 4), and notes.

    There are no keys if all annotations are boxes. `of` is the object of each annotation, or -1.
    The outline of an object is the region that at least the quorum of those who drew one covers:
    the exact polygon, or pixels if one of them is a mask; its bounds are the box. Rotated boxes
    have the median centre, sides and angle, key points the median of each joint.
    """
    rows = np.flatnonzero((of >= 0) & np.append(objects.is_kept, False)[of])
    # Outlines that are boxes count beside others, but are no more than boxes alone.
    shaped = np.zeros(len(objects), np.bool_)
    shaped[of[rows[_has_shape(data.annotations.take(rows))]]] = True
    rows = rows[shaped[of[rows]]]
    if not len(rows):
        return (), objects.bbox, ()
    rows = rows[np.lexsort((data.annotations.annotator[rows], of[rows]))]
    data, notes = _without_tangled(data, rows)
    records, bbox, n_bare = [Record() for _ in range(len(objects))], objects.bbox.copy(), 0
    starts = run_starts(of[rows])
    for place, own in zip(of[rows[starts]].tolist(), np.split(rows, starts[1:]), strict=True):
        records[place] = found = _fused(data, own, quorum)
        if (edges := bounds_of(found)) is not None:
            bbox[place] = from_edges(np.array([edges]))
            found["area"] = round(area_of(found), _DIGITS)
        n_bare += not found
    if n_bare:
        some = count(n_bare, "object")
        notes.append(f"{some} without an outline: too few of those who drew one cover any region")
    return tuple(records), bbox, tuple(notes)


def _without_tangled(data: Dataset, rows: IndexArray) -> tuple[Dataset, list[str]]:
    """Return a data set without the outlines that would take too long to repair, with a note."""
    import shapely

    outlines = data.annotations.segmentation

    def is_tangled(ring: FloatArray) -> bool:
        if len(ring) < 3 or shapely.is_valid(shapely.polygons(ring)):
            return False
        return is_intricate([ring]) or n_crossings(ring, _MOST_CROSSINGS) > _MOST_CROSSINGS

    found = [row for row in rows.tolist() if outlines and any(map(is_tangled, outlines.rings(row)))]
    if outlines is None or not found:
        return data, []
    kind = outlines.kind.copy()
    kind[found] = SegmentationKind.NONE
    of = replace(data.annotations, segmentation=replace(outlines, kind=kind))
    image = data.image_names[int(of.image[found[0]])]
    example = f"annotation {of.shown_ids(np.array(found[:1]))[0]} in {one_line(image)}"
    cross = f"that {'crosses itself' if len(found) == 1 else 'cross themselves'} more than"
    note = f"{count(len(found), 'outline')} {cross} {_MOST_CROSSINGS} times: the box counts"
    return replace(data, annotations=of), [f"{note}, such as {example}"]


def _has_shape(of: Annotations) -> BoolArray:
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


def _least(n: int, quorum: float | None) -> int:
    return int(quorums(np.array([n]), quorum)[0])


def _fused(data: Dataset, rows: IndexArray, quorum: float | None) -> Record:
    """Return the shape of an object from its annotations, which are sorted by annotator."""
    of, outlines, found = data.annotations, data.annotations.segmentation, Record()
    if of.keypoints is not None:
        joints = data.joint_names[of.category[rows[0]]] if data.joint_names else ()
        found |= _fused_points(of.keypoints.take(rows), joints, quorum)
    if (boxes := _rectangles(of, rows)) is not None:
        box = median_rotated_box(boxes)
        found |= _drawn(corners(box[None]))
        return found | {"attributes": {"rotation": float(box[4])}}
    if outlines is None:
        return found
    rows = rows[outlines.kind[rows] != SegmentationKind.NONE]
    people = np.split(rows, run_starts(of.annotator[rows])[1:])
    if (outlines.kind[rows] == SegmentationKind.RLE).any():
        name = data.image_names[int(of.image[rows[0]])]
        return found | _covered_pixels(outlines, people, _least(len(people), quorum), name)
    return found | _covered_region(outlines, people, quorum)


def _rectangles(of: Annotations, rows: IndexArray) -> FloatArray | None:
    """Return the boxes of an object if some are rotated, and all others are upright; else None."""
    if of.rotated_box is None or not of.rotated_box[rows, 4].any():
        return None
    outlines = of.segmentation
    for rings in [] if outlines is None else [outlines.rings(row) for row in rows.tolist()]:
        is_closed = bool(rings) and bool((rings[0][0] == rings[0][-1]).all())
        ring = rings[0][: -1 if is_closed else None] if rings else np.zeros((0, 2))
        if rings and (len(rings) > 1 or len(ring) != 4 or not from_corners(ring[None])[1][0]):
            return None
    return of.rotated_box[rows]


def median_rotated_box(boxes: FloatArray) -> FloatArray:
    """Return the median of K rotated boxes, (5,), however their sides and angles are named.

    A box is the same after half a turn, and after a quarter turn with the sides swapped. All are
    described by the angle nearest to that of the box whose angles to the others are least.
    """
    plain = smallest_angle(boxes)
    off = np.abs((plain[:, None, 4] - plain[None, :, 4] + 45) % 90 - 45).sum(1).round(_DIGITS)
    # Of equally near ones, the one whose numbers are first.
    angle = boxes[np.lexsort((*boxes.T[:4][::-1], boxes[:, 4], off))[0], 4]
    near = turned_to(plain, np.full(len(boxes), angle))
    near[:, 4] = (near[:, 4] - angle + 180) % 360 - 180
    middle = np.median(near, axis=0)
    middle[4] = (middle[4] + angle) % 360
    return np.asarray(middle.round(_DIGITS))


def _drawn(rings: Iterable[FloatArray]) -> Record:
    return {"segmentation": [ring.round(_DIGITS).ravel().tolist() for ring in rings]}


def covered_region(regions: Sequence[Any], least: int) -> Any:
    """Return the region that at least `least` of several regions cover, as a shapely geometry."""
    import shapely

    # Regions that are covered by at least 1, 2, … of those that were added so far.
    levels = [shapely.Polygon()] * least
    # Rounding depends on the order, which is that of the numbers.
    for region in sorted(regions, key=lambda each: shapely.normalize(each).wkb):
        added = [region, *(shapely.intersection(level, region) for level in levels[:-1])]
        levels = [*map(shapely.union, levels, added)]
    return levels[-1]


def _covered_region(
    outlines: Segmentations, people: Sequence[IndexArray], quorum: float | None
) -> Record:
    """Return the polygon that the quorum of those with a region covers; nothing without such."""
    import shapely

    regions = []
    for rows in people:
        drawn = (ring for row in rows.tolist() for ring in outlines.rings(row) if len(ring) >= 3)
        own = shapely.union_all([shapely.make_valid(shapely.polygons(ring)) for ring in drawn])
        regions += [own] * bool(own.area)
    parts = without_holes(covered_region(regions, _least(len(regions), quorum)))
    if not parts:
        return {}
    whole = shapely.normalize(shapely.multipolygons(parts))
    return _drawn(shapely.get_coordinates(each.exterior)[:-1] for each in shapely.get_parts(whole))


def without_holes(region: Any) -> list[Any]:
    """Return polygons without holes, as COCO has none: a region is cut through the middle."""
    import shapely

    found = []
    for part in shapely.get_parts(region).tolist():
        if part.geom_type == "Polygon" and part.interiors:
            left, top, right, bottom = part.bounds
            low, _, high, _ = part.interiors[0].bounds
            sides = (left, (low + high) / 2), ((low + high) / 2, right)
            halves = [shapely.box(a, top, b, bottom) for a, b in sides]
            found += [e for half in halves for e in without_holes(shapely.intersection(part, half))]
        elif part.geom_type == "Polygon" and part.area > 0:
            found.append(part)
    return found


def covered_spans(spans: Sequence[IndexArray], least: int) -> IndexArray:
    """Return the spans of pixels that at least `least` of several masks cover."""
    ends = np.concatenate([each.ravel() for each in spans])
    order = np.argsort(ends, kind="stable")
    level = np.cumsum(np.tile(np.array([1, -1]), len(ends) // 2)[order])
    ends = ends[order]
    kept = np.flatnonzero((level[:-1] >= least) & (ends[1:] > ends[:-1]))
    return runs_of.joined(np.stack([ends[kept], ends[kept + 1]], 1))


def _covered_pixels(
    outlines: Segmentations, people: Sequence[IndexArray], least: int, image: str
) -> Record:
    """Return the mask that at least `least` annotators cover; nothing if it is empty."""
    drawn = np.concatenate(people)
    sizes = np.unique(outlines.size[drawn[outlines.kind[drawn] == SegmentationKind.RLE]], axis=0)
    if len(sizes) > 1:
        shown = " and ".join(f"{width} × {height}" for height, width in sizes[:2].tolist())
        raise DatasetError([f"image {image!r}: has masks of {shown} px; expected one size"])
    height, width = sizes[0].tolist()
    votes = []
    for rows in people:
        rles = masks(outlines.take(rows), np.tile([width, height], (len(rows), 1)))
        own = [runs_of.spans_of_runs(runs_of.decode_counts(each["counts"])) for each in rles]
        votes.append(covered_spans(own, 1))
    spans = covered_spans(votes, least)
    if not len(spans):
        return {}
    runs = runs_of.runs_of_spans(spans, height * width)
    counts = runs_of.compress_counts(runs, height, width).decode()
    return {"segmentation": {"size": [height, width], "counts": counts}}


def _fused_points(keypoints: Keypoints, joints: Sequence[str], quorum: float | None) -> Record:
    """Return the median of each joint that at least the quorum of the annotators labelled."""
    n_joints = keypoints.stop - keypoints.start
    n = int(n_joints.max(initial=0))
    index = keypoints.start[n_joints == n][:, None] + np.arange(n)
    if not n:
        return {}
    xy, seen = keypoints.xy[index], keypoints.visibility[index]
    xy, seen = _unmirrored(xy, seen, sides_of(joints) if len(joints) == n else [])
    n_seen, middle = (seen > 0).sum(0), np.zeros((n, 2))
    is_labelled = n_seen >= _least(len(seen), quorum)
    for joint in np.flatnonzero(is_labelled).tolist():
        middle[joint] = np.median(xy[seen[:, joint] > 0, joint], axis=0).round(_DIGITS)
    visibility = np.where(is_labelled, 1 + (2 * (seen == 2).sum(0) >= n_seen), 0)
    triples = np.column_stack([middle, visibility]).ravel().tolist()
    return {"keypoints": triples, "num_keypoints": int(is_labelled.sum())}


def _unmirrored(
    xy: FloatArray, seen: Any, sides: Sequence[tuple[int, int]]
) -> tuple[FloatArray, Any]:
    """Return K poses, (K, J, 2) and (K, J), with left and right as most annotators name them.

    A pose is mirrored if its joints are nearer to those of the pose in the middle when left and
    right are exchanged.
    """
    order = np.arange(xy.shape[1])
    for left, right in sides:
        order[[left, right]] = right, left
    poses, labels = np.stack([xy, xy[:, order]]), np.stack([seen, seen[:, order]])
    shared = (labels[:, :, None] > 0) & (seen > 0)
    apart = np.where(shared, np.linalg.norm(poses[:, :, None] - xy, axis=-1), 0).sum(-1)
    distance = (apart / np.maximum(shared.sum(-1), 1)).round(_DIGITS)
    total, n_alike = distance.min(0).sum(1), (distance[0] <= distance[1]).sum(1)
    # Of equally near ones, the one whose first joint is first.
    middle = np.lexsort((*xy[:, 0].T, total, -n_alike))[0]
    is_mirrored = (distance[1] < distance[0])[:, middle].astype(np.int64)
    rows = np.arange(len(xy))
    return poses[is_mirrored, rows], labels[is_mirrored, rows]
