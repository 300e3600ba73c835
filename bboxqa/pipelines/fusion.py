"""Fusing annotations: which of several annotators show one object, and what the object is."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    component_of_each,
    overlapping_boxes,
    radix_order,
    run_starts,
    sum_by,
)
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.writing.outlines import Record, area_of, bounds_of
from bboxqa.geometry.boxes import bbox_iou, corners, from_corners
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.polygons import is_box, is_intricate, n_crossings, polygon_outlines
from bboxqa.geometry.rasters import masks
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.matching.matchers import match
from bboxqa.model import masks as runs_of
from bboxqa.model import rotated_boxes as rotated
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import CROWD, EMPTY, SAME, ConsensusObjects
from bboxqa.model.keypoints import Keypoints, sides_of
from bboxqa.model.masks import SegmentationKind, Segmentations

# Pairs of boxes of one annotator, which take 100 bytes each.
_MOST_OWN = 1 << 22


class Votes(NamedTuple):
    """V votes: a box of each annotator for each object, however often it was drawn."""

    data: Dataset
    of: IndexArray
    left_out: ByteArray
    """(N,) int64 and uint8. The vote of each annotation; -1 where it has none, and why not, a place
    in `REASONS`, 0 where it has."""
    n_clipped: int
    also: tuple[IndexArray, IntArray]
    """Votes with another category as well, and that one, where repeated boxes are a tie."""


def clipped_edges(data: Dataset) -> tuple[FloatArray, BoolArray]:
    """Return the edges of boxes inside their images, (N, 4), and which boxes are cut off, (N,)."""
    of = data.annotations
    edges, size = corners(of.bbox), data.image_size[of.image].astype(np.float64)
    if of.rotated_box is not None:
        edges = np.where(of.rotated_box[:, 4:] != 0, rotated.bounds(of.rotated_box), edges)
    found = np.clip(edges, 0, np.tile(np.where(size > 0, size, np.inf), 2))
    return found, (found != edges).any(1)


def votes_of(data: Dataset, similarity: str = "bbox") -> Votes:
    """Return the votes of annotators: their boxes inside images, each object once.

    Boxes of one annotator with an IoU of at least 0.7, also by way of others, are one vote, whose
    edges are the means. Its category is the most frequent one; others as frequent are in `also`.
    """
    of, (edges, is_cut) = data.annotations, clipped_edges(data)
    has_area = (edges[:, 2:] > edges[:, :2]).all(1) | (similarity == "keypoints")
    left_out = np.where(of.iscrowd, CROWD, np.where(has_area, 0, EMPTY)).astype(np.uint8)
    rows = np.flatnonzero(left_out == 0)
    drawn = replace(of.take(rows), bbox=from_corners(edges[rows]))
    same = _same_objects(replace(data, annotations=drawn), similarity)
    firsts, vote = np.unique(same, return_inverse=True)
    several = np.flatnonzero(np.bincount(vote)[vote] > 1)
    # The one that stands for others depends on their shapes, not on their order in the file.
    order = several[np.lexsort((drawn_ranks(drawn, several), vote[several]))]
    chosen = order[run_starts(vote[order])]
    places = vote[chosen]
    firsts[places] = chosen
    votes, group = drawn.take(firsts), vote[several]
    fused, category = votes.bbox.copy(), votes.category.copy()
    sums = [_sorted_sums(group, each)[places] for each in edges[rows[several]].T]
    fused[places] = from_corners(np.column_stack(sums) / np.bincount(group)[places, None])
    category[places], _, also = _labels(
        data, group, drawn.annotator[several], drawn.category[several]
    )
    votes = replace(votes, bbox=fused, category=category)
    whole = np.full(len(of), -1)
    whole[rows] = vote
    return Votes(replace(data, annotations=votes, repeats=None), whole, left_out,
                 int(is_cut[rows].sum()), also)  # fmt: skip


def _same_objects(data: Dataset, similarity: str) -> IndexArray:
    """Return the first annotation of those of one annotator that show one object, (N,)."""
    of, edges = data.annotations, corners(data.annotations.bbox)
    group = of.image.astype(np.int64) * len(data.annotator_names) + of.annotator
    found, n_found = [np.zeros((2, 0), np.int64)], 0
    for one, other in overlapping_boxes(group, edges, group, edges):
        found.append(np.stack([one, other])[:, one < other])
        n_found += found[-1].shape[1]
        if n_found > _MOST_OWN:
            name = data.image_names[of.image[one[0]]]
            problem = f"image {name!r}: too many boxes of one annotator overlap"
            raise DatasetError([problem], "Look for repeated annotations with: bboxqa validate")
    pairs = np.hstack(found)
    left, right = pairs[:, np.lexsort(pairs[::-1])]
    alike = similarity_of_pairs(data, similarity, left, right) >= SAME - TOLERANCE
    return component_of_each(len(of), left[alike], right[alike])


def quorums(asked: IndexArray, quorum: float | None) -> IndexArray:
    """Return the votes that keep an object: one of two, else a third but at least two, or `quorum`.

    That is a number of votes, or a share below 1; where fewer were asked, all of them.
    """
    least: IndexArray = np.where(asked <= 2, 1, np.maximum(2, -(-asked // 3)))
    if quorum is not None:
        share = np.ceil(quorum * asked - TOLERANCE) if quorum < 1 else np.full(len(asked), quorum)
        least = np.clip(share, 1, np.maximum(asked, 1)).astype(np.int64)
    return least


def consensus_of(
    votes: Votes, link: float, quorum: float | None, similarity: str = "bbox"
) -> tuple[ConsensusObjects, IndexArray]:
    """Return the objects of votes, and the object of each vote, (V,).

    Pairs of two annotators with an IoU of at least `link` are joined, highest first, where no
    annotator is in both objects.
    """
    data, of = votes.data, votes.data.annotations
    pairs, _ = candidate_pairs(data, similarity, link)
    units = match(of, pairs, "greedy", link)
    n, group, edges = len(units), units.unit, corners(of.bbox)
    n_votes = np.bincount(group, minlength=n)
    first = np.cumsum(n_votes) - n_votes
    medians, spread = np.empty((2, n, 4))
    for side, column in enumerate(edges.T):
        ordered = column[_sorted_within(group, column)]
        middle = ordered[first + (n_votes - 1) // 2] + ordered[first + n_votes // 2]
        medians[:, side] = middle / 2
        spread[:, side] = ordered[first + n_votes - 1] - ordered[first]
    asked = np.maximum(data.assigned.sum(1)[units.image], n_votes)
    row, named = np.append(np.arange(len(of)), votes.also[0]), np.append(of.category, votes.also[1])
    category, is_tie, _ = _labels(data, group[row], of.annotator[row], named)
    overlap = _sorted_sums(group, bbox_iou(edges, medians[group])) / asked
    found = ConsensusObjects(
        image=units.image, category=category, bbox=from_corners(medians), votes=n_votes,
        asked=asked, quorum=quorums(asked, quorum), overlap=overlap, spread=spread, is_tie=is_tie,
    )  # fmt: skip
    # By image, box and category, then by who drew them.
    people = np.full(n, np.iinfo(np.int32).max)
    np.minimum.at(people, group, of.annotator)
    order = np.lexsort((people, n_votes, category, *found.bbox.T[::-1], found.image))
    return found.take(order), np.argsort(order)[group]


def _sorted_within(group: IndexArray, value: FloatArray) -> IndexArray:
    """Return rows by group, those of one in ascending order of their values."""
    order = np.argsort(value, kind="stable")
    return order[radix_order(group[order], int(group.max(initial=-1)) + 1)]


def _sorted_sums(group: IndexArray, value: FloatArray) -> FloatArray:
    """Return the sum of each group, added in ascending order so that no other order matters."""
    order = _sorted_within(group, value)
    return sum_by(group[order], value[order], int(group.max(initial=-1)) + 1)


def _labels(
    data: Dataset, group: IndexArray, annotator: IntArray, category: IntArray
) -> tuple[IntArray, BoolArray, tuple[IndexArray, IntArray]]:
    """Return the category of each group, whether it is a tie, and the others of ties by group."""
    n_names = len(data.category_names)
    frequency = np.bincount(data.annotations.category, minlength=n_names)
    keys, of_vote, n = np.unique(
        group * n_names + category, return_inverse=True, return_counts=True
    )
    home, label = np.divmod(keys, n_names)
    n_people = int(annotator.max(initial=-1)) + 1
    alike = sum_by(annotator, n[of_vote] - 1, n_people)
    others = sum_by(annotator, np.bincount(group)[group] - 1, n_people)
    share = np.divide(alike, others, out=np.zeros(n_people), where=others > 0)
    trust = (_sorted_sums(of_vote, share[annotator]) / n).round(12)
    order = np.lexsort((label, -frequency[label], -trust, -n, home))
    home, label, n = home[order], label[order].astype(np.int32), n[order]
    first = run_starts(home)
    is_equal = n == np.repeat(n[first], np.diff(np.append(first, len(home))))
    is_equal[first] = False
    return label[first], np.isin(home[first], home[is_equal]), (home[is_equal], label[is_equal])


# Digits after the point that are no noise, and crossings that are repaired in milliseconds.
_DIGITS, _MOST_CROSSINGS = 6, 500


def fused_shapes(
    data: Dataset, of: IndexArray, objects: ConsensusObjects, quorum: float | None
) -> tuple[tuple[Record, ...], FloatArray, tuple[str, ...]]:
    """Return the keys of COCO for the shapes of kept objects, their boxes, (O, 4), and notes.

    `of` is the object of each annotation, or -1. An outline is the region that at least the quorum
    of those who drew one covers: the exact polygon, or pixels if one of them is a mask.
    """
    rows = np.flatnonzero((of >= 0) & np.append(objects.is_kept, False)[of])
    # Outlines that are boxes count beside others, but are no more than boxes alone.
    shaped = np.zeros(len(objects), np.bool_)
    shaped[of[rows[_has_shape(data.annotations.take(rows))]]] = True
    rows = rows[shaped[of[rows]]]
    if not len(rows):
        return (), objects.bbox, ()
    rows = rows[np.lexsort((data.annotations.annotator[rows], of[rows]))]
    records, bbox, n_bare = [Record() for _ in range(len(objects))], objects.bbox.copy(), 0
    starts = run_starts(of[rows])
    for place, own in zip(of[rows[starts]].tolist(), np.split(rows, starts[1:]), strict=True):
        records[place] = found = _fused(data, own, quorum)
        if (edges := bounds_of(found)) is not None:
            bbox[place] = from_corners(np.array([edges]))
            found["area"] = round(area_of(found), _DIGITS)
        n_bare += not found
    why = "without an outline: too few of those who drew one cover any region"
    return tuple(records), bbox, (f"{count(n_bare, 'object')} {why}",) * bool(n_bare)


def _has_shape(of: Annotations) -> BoolArray:
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
        found |= _drawn(rotated.corners(box[None]))
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
    drawn = [] if outlines is None else [outlines.rings(row) for row in rows.tolist()]
    for first, *more in filter(None, drawn):
        ring = first[: -1 if (first[0] == first[-1]).all() else None]
        if more or len(ring) != 4 or not rotated.from_corners(ring[None])[1][0]:
            return None
    return of.rotated_box[rows]


def median_rotated_box(boxes: FloatArray) -> FloatArray:
    """Return the median of K rotated boxes, (5,), however their sides and angles are named.

    All are described by the angle nearest to that of the box whose angles to the others are least.
    """
    plain = rotated.smallest_angle(boxes)
    off = np.abs((plain[:, None, 4] - plain[None, :, 4] + 45) % 90 - 45).sum(1).round(_DIGITS)
    # Of equally near ones, the one whose numbers are first.
    angle = boxes[np.lexsort((*boxes.T[:4][::-1], boxes[:, 4], off))[0], 4]
    near = rotated.turned_to(plain, np.full(len(boxes), angle))
    near[:, 4] = (near[:, 4] - angle + 180) % 360 - 180
    middle = np.median(near, axis=0)
    middle[4] = (middle[4] + angle) % 360
    return np.asarray(middle.round(_DIGITS))


def _drawn(rings: Iterable[FloatArray]) -> Record:
    return {"segmentation": [ring.round(_DIGITS).ravel().tolist() for ring in rings]}


def _areas(region: Any) -> Any:
    """Return a region without the lines and points that making it valid, or an overlay, leaves."""
    import shapely

    if region.geom_type != "GeometryCollection":
        return region
    return shapely.union_all([part for part in shapely.get_parts(region) if part.area])


def covered_region(regions: Sequence[Any], least: int) -> Any:
    """Return the region that at least `least` of several regions cover, as a shapely geometry."""
    import shapely

    # Regions that are covered by at least 1, 2, … of those that were added so far.
    levels = [shapely.Polygon()] * least
    # Rounding depends on the order, which is that of the numbers.
    for region in sorted(regions, key=lambda each: shapely.normalize(each).wkb):
        shared = (_areas(shapely.intersection(level, region)) for level in levels[:-1])
        added = [region, *shared]
        levels = [*map(shapely.union, levels, added)]
    return levels[-1]


def _repaired(ring: FloatArray) -> Any:
    """Return the region of a ring, unless it crosses itself so often that this takes long."""
    import shapely

    region = shapely.polygons(ring)
    if shapely.is_valid(region):
        return region
    if is_intricate([ring]) or n_crossings(ring, _MOST_CROSSINGS) > _MOST_CROSSINGS:
        where = " ".join(f"{each:g}" for each in ring[0])
        problem = f"an outline that begins at {where} crosses itself over {_MOST_CROSSINGS} times"
        raise DatasetError([problem], "To find it: bboxqa validate (P005).")
    return shapely.make_valid(region)


def _covered_region(
    outlines: Segmentations, people: Sequence[IndexArray], quorum: float | None
) -> Record:
    """Return the polygon that the quorum of those with a region covers; nothing without such."""
    import shapely

    regions = []
    for rows in people:
        drawn = (ring for row in rows.tolist() for ring in outlines.rings(row) if len(ring) >= 3)
        own = _areas(shapely.union_all([*map(_repaired, drawn)]))
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
    """Return K poses, (K, J, 2) and (K, J), with left and right as most annotators name them."""
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
