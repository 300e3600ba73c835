"""The true objects that simulated annotators see, and the boxes that they draw of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, FrozenArrays, IndexArray, IntArray, rows
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.boxes import bbox_iou
from bboxqa.model.annotations import Dataset

_WIDTH, _HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
# Attempts to place a box, and the margin of an image as a share of its side.
_TRIES, _MARGIN = 100, 0.05
# Coordinates are rounded to hundredths of a pixel.
DECIMALS = 2
_CUT = 0.35, 0.65
_NARROWEST = 1.0
_FIRST_DAY = np.datetime64("2026-01-05T08:00:00", "s").astype(np.int64)
# 8 s per box on average, with an hour's rest every two hours.
_SECONDS, _SESSION, _PAUSE = 8.0, 7200, 3600
# Purposes of random numbers; each has a stream of its own, so that an error of one kind changes no
# other.
_STREAMS = {
    "miss": 0, "confuse": 1, "swap": 2, "jitter": 3, "split": 4, "cut": 5, "merge": 6, "claim": 7,
    "duplicate": 8, "again": 9, "extra": 10, "copy": 11, "time": 12,
}  # fmt: skip

Boxes = NDArray[Any]
"""Annotations ordered by image, as a table with the fields of `_BOX`."""
_BOX = np.dtype(
    [
        ("image", np.int32),
        ("annotator", np.int32),
        ("category", np.int32),
        ("edges", np.float64, 4),
        # The object that was drawn, -1 for extras; the second one in the same box, or -1.
        ("truth", np.int64),
        ("merged", np.int64),
        # Seconds since 1970; -1 for the truth.
        ("seconds", np.int64),
    ]
)
Length = tuple[float, float]
"""A length in pixels, and one as a share of the side along which it is measured; they add up."""


class Scene(FrozenArrays, frozen=True, eq=False):
    """I images and the N objects in them, ordered by image."""

    image_names: tuple[str, ...]
    image_size: IntArray
    """(I, 2) int32. Width and height."""
    category_names: tuple[str, ...]
    id: IndexArray
    image: IntArray
    category: IntArray
    """(N,) int32. Indices into the names."""
    edges: FloatArray
    """(N, 4). Left, top, right and bottom in pixels."""
    density: float
    """How many objects an image shows: as expected where that is known, or on average."""

    def __len__(self) -> int:
        return len(self.id)

    @property
    def sides(self) -> FloatArray:
        """Width and height of the objects, (N, 2)."""
        return self.edges[:, 2:] - self.edges[:, :2]


class AnnotatorErrors(msgspec.Struct, frozen=True):
    """Rates and sizes of the errors of an annotator, see `_FORMS`; by default there are none."""

    miss: float = 0.0
    extra: float = 0.0
    confuse: float = 0.0
    swaps: tuple[tuple[str, str, float], ...] = ()
    jitter: Length = (0.0, 0.0)
    scale: float = 1.0
    offset: tuple[Length, Length] = ((0.0, 0.0), (0.0, 0.0))
    split: float = 0.0
    merge: float = 0.0
    duplicate: float = 0.0
    copy: tuple[str, float] | None = None


def drawn_scene(
    n_images: int, mean_objects: float, shares: dict[str, float], overlap: float, rng: Generator
) -> Scene:
    """Return random boxes in images of 640 by 480 pixels, with room around them."""
    image = np.repeat(np.arange(n_images, dtype=np.int32), rng.poisson(mean_objects, n_images))
    n = len(image)
    low, high = np.log(_SIDES)
    side, aspect = rng.uniform(low, high, n), rng.normal(0, _ASPECT, n)
    sides = np.exp(np.stack([side + aspect, side - aspect], axis=1))
    size = np.full((n_images, 2), (_WIDTH, _HEIGHT), np.int32)
    none = np.zeros(0, np.int64), np.zeros((0, 4))
    edges = _free_boxes(image, sides, size, none, overlap, rng)
    weight = np.array(list(shares.values()))
    digits = max(4, len(str(n_images)))
    return Scene(
        image_names=tuple(f"image_{number + 1:0{digits}}.jpg" for number in range(n_images)),
        image_size=size,
        category_names=tuple(shares),
        id=np.arange(1, n + 1),
        image=image,
        category=rng.choice(len(weight), n, p=weight / weight.sum()).astype(np.int32),
        edges=edges,
        density=mean_objects if n else 0.0,
    )


def scene_of(data: Dataset) -> Scene:
    """Return the objects of a data set by one annotator, without crowds, by image and id."""
    where = ", ".join(source.name for source in data.sources)
    if len(data.annotator_names) > 1:
        names = ", ".join(data.annotator_names[:5])
        raise DatasetError([f"{where}: has annotators {names}; expected the truth, by one"])
    unknown = np.flatnonzero((data.image_size <= 0).any(axis=1))
    if len(unknown):
        name = data.image_names[unknown[0]]
        raise DatasetError([f"{where}: image {name}: has no width and height"])
    kept = data.annotations.take(np.flatnonzero(~data.annotations.iscrowd))
    kept = kept.take(np.lexsort((kept.id, kept.image)))
    corner, sides, ids = kept.bbox[:, :2], kept.bbox[:, 2:], kept.id
    if len(ids) and (ids.min() < 1 or len(np.unique(ids)) < len(ids)):
        ids = np.arange(1, len(ids) + 1)
    return Scene(
        image_names=data.image_names,
        image_size=data.image_size,
        category_names=data.category_names,
        id=ids,
        image=kept.image,
        category=kept.category,
        edges=np.concatenate([corner, corner + sides], axis=1),
        density=len(ids) / max(1, len(data.image_names)),
    )


def _free_boxes(
    image: IntArray,
    sides: FloatArray,
    image_size: IntArray,
    others: tuple[IndexArray | IntArray, FloatArray],
    overlap: float,
    rng: Generator,
) -> FloatArray:
    """Return boxes at random places inside their images, which ascend: left, top, right, bottom."""
    room = image_size[image] * (1 - 2 * _MARGIN)
    sides = np.minimum(sides, room)
    origin = image_size[image] * _MARGIN
    all_images = np.concatenate([others[0], image])
    order = np.argsort(all_images, kind="stable")
    all_images, place = all_images[order], np.argsort(order, kind="stable")[len(others[0]) :]
    edges = np.concatenate([others[1], np.zeros((len(image), 4))])[order]
    moved = np.arange(len(image))
    for attempt in range(_TRIES):
        corner = origin[moved] + rng.random((len(moved), 2)) * (room - sides)[moved]
        edges[place[moved]] = np.concatenate([corner, corner + sides[moved]], axis=1)
        # In the first round all boxes are new: of two that overlap, only one is moved.
        start = np.searchsorted(all_images, image[moved])
        stop = np.searchsorted(all_images, image[moved], side="right") if attempt else place[moved]
        right, offsets = rows(start, stop)
        left = np.repeat(np.arange(len(moved)), np.diff(offsets))
        own = place[moved][left]
        hit = (bbox_iou(edges[own], edges[right]) > overlap) & (own != right)
        moved = moved[np.bincount(left[hit], minlength=len(moved)) > 0]
    return edges[place].round(DECIMALS)


class _View(msgspec.Struct, frozen=True, eq=False):
    """A scene as one annotator sees it."""

    scene: Scene
    errors: AnnotatorErrors
    seed: int
    number: int

    def stream(self, purpose: str) -> Generator:
        return np.random.default_rng([self.seed, self.number + 1, _STREAMS[purpose]])

    def happens(self, kind: str) -> BoolArray:
        """Return for which objects an error of this kind occurs, (N,)."""
        rate: float = getattr(self.errors, kind)
        return self.stream(kind).random(len(self.scene)) < rate


def all_boxes(
    scene: Scene, profiles: Mapping[str, AnnotatorErrors], asked: BoolArray, seed: int
) -> Boxes:
    """Return the boxes of all annotators, ordered by image, then annotator."""
    names = [*profiles]
    views = [_View(scene, each, seed, place) for place, each in enumerate(profiles.values())]
    own = [_drawn(view) for view in views]
    found = []
    for place, view in enumerate(views):
        mine = own[place]
        boxes: Boxes = mine[asked[mine["image"], place]]
        if view.errors.copy is not None:
            source = names.index(view.errors.copy[0])
            both = asked[:, place] & asked[:, source]
            copies = both & (view.stream("copy").random(len(asked)) < view.errors.copy[1])
            theirs = own[source]
            parts = [boxes[~copies[boxes["image"]]], theirs[copies[theirs["image"]]]]
            boxes = _joined(parts)
        worked = view.stream("time").exponential(_SECONDS - 1, len(boxes)) + 1
        passed = np.cumsum(worked).astype(np.int64)
        boxes["annotator"] = place
        boxes["seconds"] = _FIRST_DAY + passed + passed // _SESSION * _PAUSE
        found.append(boxes)
    return _joined(found)


def _joined(parts: Sequence[Boxes]) -> Boxes:
    joined: Boxes = np.concatenate(parts)
    ordered: Boxes = joined[np.argsort(joined["image"], kind="stable")]
    return ordered


def boxes_of(scene: Scene, truth: IndexArray, category: IntArray, edges: FloatArray) -> Boxes:
    """Return boxes of some objects, with the categories of all objects."""
    found = np.zeros(len(truth), _BOX)
    found["image"], found["category"] = scene.image[truth], category[truth]
    found["edges"], found["truth"] = edges, truth
    found["merged"] = found["seconds"] = -1
    return found


def _drawn(view: _View) -> Boxes:
    """Return the boxes of objects: whole ones, merged ones, halves, duplicates; and extras."""
    scene = view.scene
    edges, category = _placed(view, view.stream("jitter")), _named_objects(view)
    seen = np.flatnonzero(~view.happens("miss"))
    first, second = _merged_pairs(view, seen)
    alone = seen[~np.isin(seen, np.concatenate([first, second]))]
    is_split = view.happens("split")[alone]
    whole, parted = alone[~is_split], alone[is_split]
    twice = whole[view.happens("duplicate")[whole]]
    again = _placed(view, view.stream("again"))[twice]
    one, other = edges[first], edges[second]
    around = np.hstack([np.minimum(one, other)[:, :2], np.maximum(one, other)[:, 2:]])
    merged = boxes_of(scene, first, category, around)
    merged["merged"] = second
    # Parts are cut near the middle of the longer side.
    halves = edges[parted], edges[parted]
    sides, place = halves[0][:, 2:] - halves[0][:, :2], np.arange(len(parted))
    axis = sides.argmax(axis=1)
    share = view.stream("cut").uniform(*_CUT, len(parted))
    cut = (halves[0][place, axis] + share * sides[place, axis]).round(DECIMALS)
    halves[0][place, axis + 2] = halves[1][place, axis] = cut
    # Extras have the size and category of some object. Images are independent of each other, as
    # intervals that draw images assume.
    rng = view.stream("extra")
    counts = rng.poisson(view.errors.extra * scene.density, len(scene.image_names))
    image = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    shape = rng.integers(0, max(1, len(scene)), len(image))
    others = scene.image, scene.edges
    free = _free_boxes(image, scene.sides[shape], scene.image_size, others, 0.0, rng)
    extras = boxes_of(scene, shape, scene.category, free)
    extras["image"], extras["truth"] = image, -1
    return _joined(
        [
            boxes_of(scene, whole, category, edges[whole]),
            merged,
            *(boxes_of(scene, parted, category, half) for half in halves),
            boxes_of(scene, twice, category, again),
            extras,
        ]
    )


def _placed(view: _View, rng: Generator) -> FloatArray:
    """Return the edges of all objects as the annotator places them in their images, (N, 4)."""
    scene, errors, true, sides = view.scene, view.errors, view.scene.edges, view.scene.sides
    # Rounding would change boxes even without errors, so that only those with errors are computed.
    grown = (errors.scale - 1) * sides / 2 if errors.scale != 1 else np.zeros_like(sides)
    pixels, share = np.array(errors.offset).T
    shift = pixels + share * sides
    jitter = errors.jitter[0] + errors.jitter[1] * np.tile(sides, 2)
    noise = rng.standard_normal((len(scene), 4)) * jitter
    edges = true + np.hstack([shift - grown, shift + grown]) + noise
    least = np.minimum(_NARROWEST, sides)
    lowest = np.minimum(0, true[:, :2])
    highest = np.maximum(scene.image_size[scene.image], true[:, 2:])
    low = np.clip(edges[:, :2], lowest, highest - least)
    high = np.clip(edges[:, 2:], low + least, highest)
    return np.concatenate([low, high], axis=1).round(DECIMALS)


def _named_objects(view: _View) -> IntArray:
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
    scene = view.scene
    wanting = np.flatnonzero(view.happens("merge")[seen])
    if not len(wanting) or len(seen) < 2:
        return seen[:0], seen[:0]
    from scipy.spatial import KDTree

    centre = (scene.edges[seen, :2] + scene.edges[seen, 2:]) / 2
    # A third coordinate keeps images further apart than any two points of one image.
    layer = scene.image[seen] * (4.0 * (scene.image_size.max() + np.abs(centre).max()))
    points = np.column_stack([centre, layer])
    _, near = KDTree(points).query(points[wanting], k=2)
    partner = np.where(near[:, 0] == wanting, near[:, 1], near[:, 0])
    same = scene.image[seen[partner]] == scene.image[seen[wanting]]
    wanting, partner = wanting[same], partner[same]
    rank = view.stream("claim").permutation(len(wanting))
    earliest = np.full(len(seen), len(wanting))
    np.minimum.at(earliest, wanting, rank)
    np.minimum.at(earliest, partner, rank)
    met = (earliest[wanting] == rank) & (earliest[partner] == rank)
    return seen[wanting[met]], seen[partner[met]]
