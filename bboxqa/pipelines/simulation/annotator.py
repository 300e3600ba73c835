"""The boxes that a simulated annotator draws of a scene."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays
from bboxqa.model.shapes.rotated_boxes import bounds
from bboxqa.pipelines.simulation.errors import AnnotatorErrors
from bboxqa.pipelines.simulation.joints import drawn_joints, no_joints
from bboxqa.pipelines.simulation.placement import free_boxes
from bboxqa.pipelines.simulation.scene import DECIMALS, Scene, around, turned, turned_bounds

_CUT = 0.35, 0.65
_NARROWEST = 1.0

KINDS = (
    "miss", "confuse", "swap", "jitter", "split", "cut", "merge", "claim", "duplicate", "again",
    "extra", "copy", "time", "wobble", "across", "scatter", "omit", "mirror",
)  # fmt: skip
"""Purposes of random numbers; each has a stream of its own.

Therefore an error of one kind, set or left out, changes no other error.
"""


@frozen_arrays
class Drawing:
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

    def take(self, index: IndexArray) -> "Drawing":
        """Return the boxes at `index`, in that order."""
        return Drawing(**{each.name: getattr(self, each.name)[index] for each in fields(self)})


def joined(drawings: list[Drawing]) -> Drawing:
    """Return the boxes of several drawings, ordered by image."""
    columns = {
        field.name: np.concatenate([getattr(each, field.name) for each in drawings])
        for field in fields(Drawing)
    }
    return Drawing(**columns).take(np.argsort(columns["image"], kind="stable"))


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A scene as one annotator sees it."""

    scene: Scene
    errors: AnnotatorErrors
    fatigue: FloatArray
    """(I,). Factor of the rates in each image."""
    stream: Callable[[str], Generator]

    def happens(self, kind: str, rate: float) -> BoolArray:
        """Return for which objects an error of this kind occurs, (N,)."""
        tired = self.fatigue[self.scene.image]
        return self.stream(kind).random(len(self.scene)) < rate * tired


def drawing(scene: Scene, errors: AnnotatorErrors, seed: int, number: int) -> Drawing:
    """Return the boxes that an annotator draws in all images.

    Parameters
    ----------
    scene : Scene
        The true objects.
    errors : AnnotatorErrors
        Errors of this annotator; copying is left to the caller.
    seed, number : int
        Seed of all random numbers, and the number of the annotator.
    """
    n_images = len(scene.image_names)
    view = _View(
        scene,
        errors,
        np.linspace(1.0, errors.fatigue, n_images),
        lambda kind: stream(seed, number, kind),
    )
    found = joined([*_of_objects(view), _extras(view)])
    if scene.poses is None:
        return found
    tired = view.fatigue[scene.image]
    placed = drawn_joints(scene, found.edges, found.shape, tired, errors, view.stream)
    return replace(found, joints=placed)


def _of_objects(view: _View) -> list[Drawing]:
    """Return the boxes of objects: whole ones, merged ones, halves of split ones, duplicates."""
    scene, errors = view.scene, view.errors
    edges, angle, category = _placed(view, view.stream("jitter")), _angles(view), _named(view)
    edges = _across(view, edges)
    seen = np.flatnonzero(~view.happens("miss", errors.miss))
    first, second = _merged_pairs(view, seen)
    alone = seen[~np.isin(seen, np.concatenate([first, second]))]
    is_split = view.happens("split", errors.split)[alone]
    whole, parted = alone[~is_split], alone[is_split]
    twice = whole[view.happens("duplicate", errors.duplicate)[whole]]
    outer = edges if scene.angle is None else bounds(turned(edges, angle))
    joint = _around(outer[first], outer[second])
    again = _placed(view, view.stream("again"))[twice]

    def boxes(truth: IndexArray, places: FloatArray, merged: IndexArray | None = None) -> Drawing:
        without = np.full(len(truth), -1)
        return Drawing(
            image=scene.image[truth],
            truth=truth,
            merged=without if merged is None else merged,
            shape=truth,
            category=category[truth],
            edges=places,
            angle=angle[truth] if merged is None else np.zeros(len(truth)),
            joints=no_joints(len(truth)),
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


def stream(seed: int, number: int, kind: str) -> Generator:
    """Return the random numbers of an annotator for one purpose."""
    return np.random.default_rng([seed, number + 1, KINDS.index(kind)])


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
    noise = rng.standard_normal((len(scene), 4)) * view.fatigue[scene.image][:, None]
    noise *= errors.jitter.along(np.tile(sides, 2))
    if scene.angle is None:
        return _inside(np.concatenate([low + shift, high + shift], axis=1) + noise, scene)
    edges = np.concatenate([low, high], axis=1) + noise
    sides = np.maximum(edges[:, 2:] - edges[:, :2], _NARROWEST)
    moved = _turned((edges[:, :2] + edges[:, 2:]) / 2 - centre, scene.angle)
    return around(centre + moved + shift, sides).round(DECIMALS)


def _angles(view: _View) -> FloatArray:
    """Return the angles of all objects as the annotator turns them, (N,); 0 of upright ones."""
    scene, errors = view.scene, view.errors
    if scene.angle is None:
        return np.zeros(len(scene))
    noise = view.stream("wobble").standard_normal(len(scene)) * view.fatigue[scene.image]
    found: FloatArray = np.mod(scene.angle + errors.turn + errors.wobble * noise, 360)
    return found.round(DECIMALS) % 360


def _across(view: _View, edges: FloatArray) -> FloatArray:
    """Return the edges with width and height of some boxes exchanged, (N, 4)."""
    if not view.errors.across:
        return edges
    centre, sides = (edges[:, :2] + edges[:, 2:]) / 2, edges[:, 2:] - edges[:, :2]
    exchanged = around(centre, sides[:, ::-1]).round(DECIMALS)
    return np.where(view.happens("across", view.errors.across)[:, None], exchanged, edges)


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
    tired = view.fatigue[scene.image]
    named = scene.category.copy()
    chance = view.stream("swap").random(len(scene))
    for first, second, rate in view.errors.swaps:
        codes = names.index(first), names.index(second)
        for true, other in (codes, codes[::-1]):
            named[(scene.category == true) & (chance < rate * tired)] = other
    rng = view.stream("confuse")
    wrong = (rng.random(len(scene)) < view.errors.confuse * tired) & (named == scene.category)
    step = 1 + (rng.random(len(scene)) * (len(names) - 1)).astype(np.int32)
    return np.where(wrong, (scene.category + step) % len(names), named).astype(np.int32)


def _merged_pairs(view: _View, seen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of objects that are drawn in one box, each with its nearest neighbour.

    An object is merged at most once: conflicts are resolved in random order.
    """
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


def _extras(view: _View) -> Drawing:
    """Return boxes that show nothing, each with the size and category of some object."""
    scene, rng = view.scene, view.stream("extra")
    # Images are independent of each other, as intervals that draw images assume.
    counts = rng.poisson(view.errors.extra * view.fatigue * scene.density)
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
    edges, joints = edges.round(DECIMALS), no_joints(number)
    return Drawing(image, without, without, shape, category, edges, angle, joints)
