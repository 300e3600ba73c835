"""The annotations that simulated annotators draw of a scene."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays, sum_by
from bboxqa.geometry.similarities.box import COCO_SIGMAS
from bboxqa.model.outlines import SegmentationKind
from bboxqa.model.shapes.keypoints import coco_places
from bboxqa.model.shapes.rotated_boxes import bounds, corners
from bboxqa.pipelines.simulation.errors import AnnotatorErrors
from bboxqa.pipelines.simulation.scene import (
    DECIMALS,
    Scene,
    around,
    free_boxes,
    turned,
    turned_bounds,
)

_CUT = 0.35, 0.65
_NARROWEST = 1.0
_FIRST_DAY = np.datetime64("2026-01-05T08:00:00", "s").astype(np.int64)
_SECONDS, _SESSION, _PAUSE = 8.0, 7200, 3600
# Sigma of joints that are not COCO's, as a share of the size.
_SIGMA = 0.05

_KINDS = {
    "miss": 0, "confuse": 1, "swap": 2, "jitter": 3, "split": 4, "cut": 5, "merge": 6, "claim": 7,
    "duplicate": 8, "again": 9, "extra": 10, "copy": 11, "time": 12, "scatter": 15, "omit": 16,
}  # fmt: skip
"""Purposes of random numbers; each has a stream of its own.

Therefore an error of one kind, set or left out, changes no other error.
"""


@frozen_arrays
class Boxes:
    """M annotations, ordered by image."""

    id: IndexArray
    image: IntArray
    category: IntArray
    annotator: IntArray
    edges: FloatArray
    angle: FloatArray
    """(M,). In degrees; 0 of upright boxes."""
    joints: FloatArray
    """(M, J, 3). The key points; J is 0 without."""
    shape: IndexArray
    """(M,) int64. The object of the scene whose outline each has."""
    truth: IndexArray
    """(M,) int64. The object that was drawn; -1 for extras."""
    merged: IndexArray
    """(M,) int64. The second object in the same box; -1 where there is none."""
    seconds: IndexArray
    """(M,) int64. The time of each annotation in seconds since 1970; -1 if unknown."""


@frozen_arrays
class _Drawing:
    """The M boxes that an annotator drew, ordered by image."""

    image: IntArray
    truth: IndexArray
    """(M,) int64. The object that was drawn, an index into the scene; -1 for extras."""
    merged: IndexArray
    """(M,) int64. The second object in the same box; -1 where there is none."""
    shape: IndexArray
    """(M,) int64. The object whose outline the box has."""
    category: IntArray
    edges: FloatArray
    angle: FloatArray
    """(M,). In degrees; 0 of upright boxes."""
    joints: FloatArray
    """(M, J, 3). The key points; J is 0 without."""

    def take(self, index: IndexArray) -> "_Drawing":
        """Return the boxes at `index`, in that order."""
        return _Drawing(**{each.name: getattr(self, each.name)[index] for each in fields(self)})


def _joined(drawings: list[_Drawing]) -> _Drawing:
    """Return the boxes of several drawings, ordered by image."""
    columns = {
        field.name: np.concatenate([getattr(each, field.name) for each in drawings])
        for field in fields(_Drawing)
    }
    return _Drawing(**columns).take(np.argsort(columns["image"], kind="stable"))


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A scene as one annotator sees it."""

    scene: Scene
    errors: AnnotatorErrors
    stream: Callable[[str], Generator]

    def happens(self, kind: str, rate: float) -> BoolArray:
        """Return for which objects an error of this kind occurs, (N,)."""
        return self.stream(kind).random(len(self.scene)) < rate


def _drawing(scene: Scene, errors: AnnotatorErrors, seed: int, number: int) -> _Drawing:
    """Return the boxes that an annotator draws in all images, before copying."""
    view = _View(scene, errors, lambda kind: _stream(seed, number, kind))
    found = _joined([*_of_objects(view), _extras(view)])
    return (
        found
        if scene.poses is None
        else replace(found, joints=_placed_joints(view, found, scene.poses))
    )


def _of_objects(view: _View) -> list[_Drawing]:
    """Return the boxes of objects: whole ones, merged ones, halves of split ones, duplicates."""
    scene, errors = view.scene, view.errors
    edges, category = _placed(view, view.stream("jitter")), _named(view)
    angle = np.zeros(len(scene)) if scene.angle is None else scene.angle
    seen = np.flatnonzero(~view.happens("miss", errors.miss))
    first, second = _merged_pairs(view, seen)
    alone = seen[~np.isin(seen, np.concatenate([first, second]))]
    is_split = view.happens("split", errors.split)[alone]
    whole, parted = alone[~is_split], alone[is_split]
    twice = whole[view.happens("duplicate", errors.duplicate)[whole]]
    outer = edges if scene.angle is None else bounds(turned(edges, angle))
    joint = _around(outer[first], outer[second])
    again = _placed(view, view.stream("again"))[twice]

    def boxes(truth: IndexArray, places: FloatArray, merged: IndexArray | None = None) -> _Drawing:
        without = np.full(len(truth), -1)
        return _Drawing(
            image=scene.image[truth],
            truth=truth,
            merged=without if merged is None else merged,
            shape=truth,
            category=category[truth],
            edges=places,
            angle=angle[truth] if merged is None else np.zeros(len(truth)),
            joints=np.zeros((len(truth), 0, 3)),
        )

    return [
        boxes(whole, edges[whole]),
        boxes(first, joint, second),
        *(boxes(parted, half) for half in _halves(view, edges[parted], angle[parted])),
        boxes(twice, again),
    ]


def _around(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the edges of the smallest boxes around each pair of boxes, (N, 4)."""
    return np.hstack([np.minimum(first, second)[:, :2], np.maximum(first, second)[:, 2:]])


def _stream(seed: int, number: int, kind: str) -> Generator:
    """Return the random numbers of an annotator for one purpose."""
    return np.random.default_rng([seed, number + 1, _KINDS[kind]])


def _placed(view: _View, rng: Generator) -> FloatArray:
    """Return the edges of all objects as the annotator places them, (N, 4)."""
    scene, errors = view.scene, view.errors
    true = scene.edges
    sides = true[:, 2:] - true[:, :2]
    centre = true[:, :2] + sides / 2
    # Rounding would change boxes even without errors, so that only those with errors are computed.
    if errors.scale == 1:
        low, high = true[:, :2], true[:, 2:]
    else:
        low, high = centre - errors.scale * sides / 2, centre + errors.scale * sides / 2
    right, down = errors.offset
    shift = np.stack([right.along(sides[:, 0]), down.along(sides[:, 1])], axis=1)
    noise = rng.standard_normal((len(scene), 4)) * errors.jitter.along(np.tile(sides, 2))
    if scene.angle is None:
        return _inside(np.concatenate([low + shift, high + shift], axis=1) + noise, scene)
    edges = np.concatenate([low, high], axis=1) + noise
    sides = np.maximum(edges[:, 2:] - edges[:, :2], _NARROWEST)
    moved = _turned((edges[:, :2] + edges[:, 2:]) / 2 - centre, scene.angle)
    return around(centre + moved + shift, sides).round(DECIMALS)


def _turned(xy: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return points turned clockwise about the origin, (N, 2)."""
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    x, y = xy.T
    return np.column_stack([x * cosine - y * sine, x * sine + y * cosine])


def _beside(half: FloatArray, whole: FloatArray, angle: FloatArray) -> FloatArray:
    """Return the edges of halves after the whole box is turned about its centre."""
    centre, sides = (whole[:, :2] + whole[:, 2:]) / 2, half[:, 2:] - half[:, :2]
    away = _turned((half[:, :2] + half[:, 2:]) / 2 - centre, angle)
    return around(centre + away, sides).round(DECIMALS)


def _inside(edges: FloatArray, scene: Scene) -> FloatArray:
    """Return the edges clipped to the images, or to true boxes that extend beyond them."""
    true = scene.edges
    least = np.minimum(_NARROWEST, true[:, 2:] - true[:, :2])
    lowest = np.minimum(0, true[:, :2])
    highest = np.maximum(scene.image_size[scene.image], true[:, 2:])
    low = np.clip(edges[:, :2], lowest, highest - least)
    high = np.clip(edges[:, 2:], low + least, highest)
    return np.concatenate([low, high], axis=1).round(DECIMALS)


def _named(view: _View) -> IntArray:
    """Return the category of all objects as the annotator names them, (N,) int32."""
    scene, names = view.scene, view.scene.category_names
    named = scene.category.copy()
    chance = view.stream("swap").random(len(scene))
    for first, second, rate in view.errors.swaps:
        codes = names.index(first), names.index(second)
        for true, other in (codes, codes[::-1]):
            named[(scene.category == true) & (chance < rate)] = other
    rng = view.stream("confuse")
    wrong = (rng.random(len(scene)) < view.errors.confuse) & (named == scene.category)
    step = 1 + (rng.random(len(scene)) * (len(names) - 1)).astype(np.int32)
    return np.where(wrong, (scene.category + step) % len(names), named).astype(np.int32)


def _merged_pairs(view: _View, seen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of objects that are drawn in one box, each with its nearest neighbour."""
    none = np.zeros(0, np.int64)
    scene = view.scene
    wanting = np.flatnonzero(view.happens("merge", view.errors.merge)[seen])
    if not len(wanting):
        return none, none
    from scipy.spatial import KDTree

    centre = (scene.edges[seen, :2] + scene.edges[seen, 2:]) / 2
    # A third coordinate keeps images further apart than any two points of one image.
    layer = scene.image[seen] * (4.0 * (scene.image_size.max() + np.abs(centre).max()))
    points = np.column_stack([centre, layer])
    _, near = KDTree(points).query(points[wanting], k=2) if len(seen) > 1 else (None, None)
    if near is None:
        return none, none
    partner = np.where(near[:, 0] == wanting, near[:, 1], near[:, 0])
    same = scene.image[seen[partner]] == scene.image[seen[wanting]]
    wanting, partner = wanting[same], partner[same]
    rank = view.stream("claim").permutation(len(wanting))
    earliest = np.full(len(seen), len(wanting))
    np.minimum.at(earliest, wanting, rank)
    np.minimum.at(earliest, partner, rank)
    met = (earliest[wanting] == rank) & (earliest[partner] == rank)
    return seen[wanting[met]], seen[partner[met]]


def _halves(view: _View, edges: FloatArray, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two parts of boxes that are cut near the middle of their longer side."""
    rng = view.stream("cut")
    sides = edges[:, 2:] - edges[:, :2]
    rows, axis = np.arange(len(edges)), sides.argmax(axis=1)
    low = edges[rows, axis]
    cut = (low + rng.uniform(*_CUT, len(edges)) * sides[rows, axis]).round(DECIMALS)
    first, second = edges.copy(), edges.copy()
    first[rows, axis + 2] = cut
    second[rows, axis] = cut
    if view.scene.angle is None:
        return first, second
    return _beside(first, edges, angle), _beside(second, edges, angle)


def _extras(view: _View) -> _Drawing:
    """Return boxes that show nothing, each with the size and category of some object."""
    scene, rng = view.scene, view.stream("extra")
    # Images are independent of each other, as intervals that draw images assume.
    counts = rng.poisson(view.errors.extra * scene.density, len(scene.image_names))
    image, number = np.repeat(np.arange(len(counts), dtype=np.int32), counts), counts.sum()
    shape = rng.integers(0, max(1, len(scene)), number)
    sides = (scene.edges[:, 2:] - scene.edges[:, :2])[shape]
    angle = np.zeros(number) if scene.angle is None else scene.angle[shape]
    room, there = sides, scene.edges
    if scene.angle is not None:
        room, there = turned_bounds(sides, angle), bounds(turned(scene.edges, scene.angle))
    edges = free_boxes(image, room, scene.image_size, (scene.image, there), 0.0, rng)
    if scene.angle is not None:
        edges = around((edges[:, :2] + edges[:, 2:]) / 2, sides)
    without = np.full(number, -1)
    category = scene.category[shape]
    edges, joints = edges.round(DECIMALS), np.zeros((number, 0, 3))
    return _Drawing(image, without, without, shape, category, edges, angle, joints)


def joints_in(edges: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the joints of poses in boxes: x, y and visibility, (M, J, 3)."""
    low, sides = edges[:, None, :2], (edges[:, 2:] - edges[:, :2])[:, None]
    points = poses.copy()
    points[..., :2] = (low + poses[..., :2] * sides).round(DECIMALS)
    points[poses[..., 2] == 0] = 0
    return points


def true_joints(scene: Scene) -> FloatArray:
    """Return the joints of all objects, (N, J, 3); J is 0 without key points."""
    if scene.poses is None:
        return np.zeros((len(scene), 0, 3))
    return joints_in(scene.edges, scene.poses)


def _placed_joints(view: _View, drawn: _Drawing, poses: FloatArray) -> FloatArray:
    """Return the joints of the drawn boxes, (M, J, 3); those left out have zeros."""
    names, edges, n = view.scene.joint_names, drawn.edges, len(view.scene)
    points = joints_in(edges, poses[drawn.shape])
    size = np.sqrt((edges[:, 2:] - edges[:, :2]).prod(1))
    noise = view.stream("scatter").standard_normal((n, len(names), 2))[drawn.shape]
    # The mean squared distance, over both directions, is sigma² times the area.
    spread = view.errors.scatter * np.sqrt(size[:, None] ** 2 / 2) * _sigmas(names)
    points[..., :2] += spread[..., None] * noise
    is_omitted = view.stream("omit").random((n, len(names))) < view.errors.omit
    points[is_omitted[drawn.shape] | (points[..., 2] == 0)] = 0
    return points.round(DECIMALS)


def _sigmas(names: Sequence[str]) -> FloatArray:
    """Return COCO's sigma of each joint, (J,); one common value for other joints."""
    places = coco_places(names)
    return np.array([COCO_SIGMAS[place] for place in places] or [_SIGMA] * len(names))


def all_boxes(
    scene: Scene, profiles: Mapping[str, AnnotatorErrors], asked: BoolArray, seed: int
) -> Boxes:
    """Return the boxes of all annotators, ordered by image, then annotator."""
    names = list(profiles)
    own = [_drawing(scene, errors, seed, place) for place, errors in enumerate(profiles.values())]
    drawn = [_with_copies(own, profiles, names, asked, place, seed) for place in range(len(names))]
    seconds = [_worked(each, seed, place) for place, each in enumerate(drawn)]
    author = np.repeat(np.arange(len(names), dtype=np.int32), [len(d.image) for d in drawn])
    image = np.concatenate([each.image for each in drawn])
    order = np.argsort(image, kind="stable")
    rest = {
        name: np.concatenate([getattr(each, name) for each in drawn])[order]
        for name in ("category", "edges", "angle", "joints", "shape", "truth", "merged")
    }
    return Boxes(
        id=np.arange(1, len(order) + 1),
        image=image[order],
        annotator=author[order],
        seconds=np.concatenate(seconds)[order],
        **rest,
    )


def _with_copies(
    own: Sequence[_Drawing],
    profiles: Mapping[str, AnnotatorErrors],
    names: Sequence[str],
    asked: BoolArray,
    place: int,
    seed: int,
) -> _Drawing:
    """Return the boxes that an annotator drew, or copied from another, in assigned images."""
    copied = profiles[names[place]].copy
    if copied is None:
        return _within(own[place], asked[:, place])
    source = names.index(copied[0])
    both = asked[:, place] & asked[:, source]
    copies = both & (_stream(seed, place, "copy").random(len(asked)) < copied[1])
    return _joined([_within(own[place], asked[:, place] & ~copies), _within(own[source], copies)])


def _within(drawn: _Drawing, images: BoolArray) -> _Drawing:
    return drawn.take(np.flatnonzero(images[drawn.image]))


def _worked(drawn: _Drawing, seed: int, place: int) -> IndexArray:
    """Return the time of each box: 8 s per box on average, with an hour's rest every two hours."""
    each = _stream(seed, place, "time").exponential(_SECONDS - 1, len(drawn.image)) + 1
    worked = np.cumsum(each).astype(np.int64)
    return _FIRST_DAY + worked + worked // _SESSION * _PAUSE


_CHUNK = 100_000


def document_lines(
    scene: Scene, boxes: Boxes, annotators: tuple[str, ...], asked: BoolArray, info: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the text of a COCO document, with one line for each record."""
    images = (
        {
            "id": number + 1,
            "file_name": name,
            "width": size[0],
            "height": size[1],
            "annotators": [annotators[each] for each in np.flatnonzero(asked[number]).tolist()],
        }
        for number, (name, size) in enumerate(
            zip(scene.image_names, scene.image_size.tolist(), strict=True)
        )
    )
    joints = {} if scene.poses is None else {"keypoints": scene.joint_names}
    categories = (
        {"id": number, "name": name, **joints}
        for number, name in enumerate(scene.category_names, 1)
    )
    yield b'{"info": ' + msgspec.json.encode(info) + b',\n"licenses": [],\n"images": [\n'
    yield _lines(list(images))
    yield b'\n],\n"categories": [\n'
    yield _lines(list(categories))
    yield b'\n],\n"annotations": [\n'
    for start in range(0, len(boxes.id), _CHUNK):
        part = np.arange(start, min(start + _CHUNK, len(boxes.id)))
        yield (b",\n" if start else b"") + _lines(list(_records(scene, boxes, annotators, part)))
    yield b"\n]}\n"


def _lines(records: list[Any]) -> bytes:
    """Return records as JSON with commas between the lines."""
    # Line ends inside strings are escaped, so that each line is a record.
    return (
        msgspec.json.Encoder().encode_lines(records).replace(b"}\n", b"},\n").removesuffix(b",\n")
    )


def _records(
    scene: Scene, boxes: Boxes, annotators: tuple[str, ...], part: IndexArray
) -> Iterator[dict[str, Any]]:
    edges = boxes.edges[part]
    sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    outlines, areas = _outlines(scene, boxes.shape[part], edges)
    if scene.angle is not None:
        areas = sides.prod(axis=1)
        rotated = turned(edges, boxes.angle[part])
        outlines = [[ring] for ring in corners(rotated).round(DECIMALS).reshape(-1, 8).tolist()]
        edges = bounds(rotated).round(DECIMALS)
        sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    areas = np.where(np.isnan(areas), sides.prod(axis=1), areas).round(DECIMALS)
    bbox = np.concatenate([edges[:, :2].round(DECIMALS), sides], axis=1).tolist()
    times = np.datetime_as_string(boxes.seconds[part].astype("datetime64[s]")).tolist()
    joints = boxes.joints[part]
    for place, row in enumerate(part.tolist()):
        record = {
            "id": int(boxes.id[row]),
            "image_id": int(boxes.image[row]) + 1,
            "category_id": int(boxes.category[row]) + 1,
            "bbox": bbox[place],
            "area": float(areas[place]),
            "annotator": annotators[boxes.annotator[row]],
            "iscrowd": 0,
        }
        if (rings := outlines[place]) is not None:
            record["segmentation"] = rings
        if scene.angle is not None:
            record["attributes"] = {"rotation": float(boxes.angle[row])}
        if scene.poses is not None:
            record["keypoints"] = joints[place].ravel().tolist()
            record["num_keypoints"] = int((joints[place, :, 2] > 0).sum())
        for key, objects in (("true_id", boxes.truth), ("merged_id", boxes.merged)):
            if objects[row] >= 0:
                record[key] = int(scene.id[objects[row]])
        if boxes.seconds[row] >= 0:
            record["created_at"] = times[place].replace("T", " ")
        yield record


def _outlines(
    scene: Scene, shape: IndexArray, edges: FloatArray
) -> tuple[list[list[list[float]] | None], FloatArray]:
    """Return the outlines of objects, stretched to boxes, and their areas."""
    nothing: list[list[list[float]] | None] = [None] * len(shape)
    if scene.outlines is None:
        return nothing, np.full(len(shape), np.nan)
    outlines = scene.outlines.take(shape).packed()
    n_rings = np.where(
        outlines.kind == SegmentationKind.POLYGON, outlines.part_stop - outlines.part_start, 0
    )
    ring_owner = np.repeat(np.arange(len(shape)), n_rings)
    owner = np.repeat(ring_owner, np.diff(outlines.ring_offsets))
    true = scene.edges[shape]
    factor = (edges[:, 2:] - edges[:, :2]) / (true[:, 2:] - true[:, :2])
    xy = edges[owner, :2] + (outlines.xy - true[owner, :2]) * factor[owner]
    # Without errors, vertices stay as they are.
    unmoved = (edges == true).all(axis=1)
    xy = np.where(unmoved[owner, None], outlines.xy, xy.round(DECIMALS))
    flat, bounds = xy.ravel().tolist(), (2 * outlines.ring_offsets).tolist()
    rings = [flat[first:last] for first, last in pairwise(bounds)]
    begin = np.concatenate([[0], np.cumsum(n_rings)]).tolist()
    found = [rings[first:last] or None for first, last in pairwise(begin)]
    areas = sum_by(ring_owner, _ring_areas(xy, outlines.ring_offsets), len(shape))
    return found, np.where(n_rings > 0, areas, np.nan)


def _ring_areas(xy: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the area inside of each ring, by the shoelace formula."""
    if not len(xy):
        return np.zeros(0)
    following = np.arange(1, len(xy) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    ahead = xy[following]
    cross = xy[:, 0] * ahead[:, 1] - ahead[:, 0] * xy[:, 1]
    areas: FloatArray = np.abs(np.add.reduceat(cross, offsets[:-1])) / 2
    return areas
