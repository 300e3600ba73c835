"""The true objects that simulated annotators see, and the annotations that they draw."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.random import Generator

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    blocks,
    rows,
)
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.boxes import bbox_iou
from bboxqa.model.annotations import Dataset
from bboxqa.model.masks import SegmentationKind, Segmentations

WIDTH, HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
# Attempts to place a box, and the margin of an image as a share of its side.
_TRIES, _MARGIN = 100, 0.05
DECIMALS = 2
"""Coordinates are rounded to hundredths of a pixel."""


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
    outlines: Segmentations | None = None

    def __len__(self) -> int:
        return len(self.id)


def drawn_scene(
    n_images: int, mean_objects: float, shares: dict[str, float], overlap: float, rng: Generator
) -> Scene:
    """Return random boxes in images of 640 by 480 pixels, with room around them."""
    image = np.repeat(np.arange(n_images, dtype=np.int32), rng.poisson(mean_objects, n_images))
    n = len(image)
    low, high = np.log(_SIDES)
    side, aspect = rng.uniform(low, high, n), rng.normal(0, _ASPECT, n)
    sides = np.exp(np.stack([side + aspect, side - aspect], axis=1))
    size = np.full((n_images, 2), (WIDTH, HEIGHT), np.int32)
    none = np.zeros(0, np.int64), np.zeros((0, 4))
    edges = free_boxes(image, sides, size, none, overlap, rng)
    weight = np.array(list(shares.values()))
    digits = max(4, len(str(n_images)))
    return Scene(
        image_names=tuple(f"image_{number + 1:0{digits}}.jpg" for number in range(n_images)),
        image_size=size,
        category_names=tuple(shares),
        id=np.arange(1, n + 1),
        image=image,
        category=rng.choice(len(weight), n, p=weight / weight.sum()).astype(np.int32),
        edges=edges.round(DECIMALS),
        density=mean_objects if n else 0.0,
    )


def scene_of(data: Dataset) -> Scene:
    """Return the objects of a data set by one annotator, without crowds, by image and id.

    Masks are replaced by their boxes. Ids that are not above 0, or not distinct, are replaced.
    Raises DatasetError if there are several annotators, or the size of an image is not known.
    """
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
    corner, sides, ids, outlines = kept.bbox[:, :2], kept.bbox[:, 2:], kept.id, kept.segmentation
    flat = np.flatnonzero((sides <= 0).any(axis=1))
    if len(flat):
        raise DatasetError([f"{where}: annotation {kept.shown_ids(flat[:1])[0]}: box has no area"])
    if len(ids) and (ids.min() < 1 or len(np.unique(ids)) < len(ids)):
        ids = np.arange(1, len(ids) + 1)
    has_outlines = outlines is not None and (outlines.kind == SegmentationKind.POLYGON).any()
    return Scene(
        image_names=data.image_names,
        image_size=data.image_size,
        category_names=data.category_names,
        id=ids,
        image=kept.image,
        category=kept.category,
        edges=np.concatenate([corner, corner + sides], axis=1),
        density=len(ids) / max(1, len(data.image_names)),
        outlines=outlines if has_outlines else None,
    )


def free_boxes(
    image: IntArray,
    sides: FloatArray,
    image_size: IntArray,
    others: tuple[IndexArray | IntArray, FloatArray],
    overlap: float,
    rng: Generator,
) -> FloatArray:
    """Return boxes at random places inside their images, (N, 4): left, top, right, bottom.

    A box with a higher IoU than `overlap` with another is moved, up to 100 times; in a full image
    it stays.
    `image` ascends; `others` are images and edges of boxes that are there already.
    """
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
        moved = moved[_overlaps(place[moved], edges, all_images, overlap, before=not attempt)]
        if not len(moved):
            break
    return edges[place]


def _overlaps(
    chosen: IndexArray, edges: FloatArray, image: IndexArray, overlap: float, *, before: bool
) -> BoolArray:
    """Return which of the chosen boxes overlap another of their image, (N,)."""
    start = np.searchsorted(image, image[chosen])
    stop = chosen if before else np.searchsorted(image, image[chosen], side="right")
    right, offsets = rows(start, stop)
    left = np.repeat(np.arange(len(chosen)), np.diff(offsets))
    own = chosen[left]
    hit = (bbox_iou(edges[own], edges[right]) > overlap) & (own != right)
    return np.bincount(left[hit], minlength=len(chosen)) > 0


Length = tuple[float, float]
"""A length in pixels, and one as a share of the side along which it is measured; they add up."""


class AnnotatorErrors(msgspec.Struct, frozen=True):
    """Rates and sizes of the errors of an annotator; by default there are none.

    `bboxqa.pipelines.simulation.simulate.FORMS` says what each means.
    """

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


_CUT = 0.35, 0.65
_NARROWEST = 1.0
_FIRST_DAY = np.datetime64("2026-01-05T08:00:00", "s").astype(np.int64)
_SECONDS, _SESSION, _PAUSE = 8.0, 7200, 3600

_KINDS = {
    "miss": 0, "confuse": 1, "swap": 2, "jitter": 3, "split": 4, "cut": 5, "merge": 6, "claim": 7,
    "duplicate": 8, "again": 9, "extra": 10, "copy": 11, "time": 12,
}  # fmt: skip
"""Purposes of random numbers; each has a stream of its own.

Therefore an error of one kind, set or left out, changes no other error.
"""


class Boxes(FrozenArrays, frozen=True, eq=False):
    """M annotations, ordered by image."""

    image: IntArray
    category: IntArray
    edges: FloatArray
    shape: IndexArray
    """(M,) int64. The object of the scene whose outline each has."""
    truth: IndexArray
    merged: IndexArray
    """(M,) int64. The object that was drawn, -1 for extras; the second one in the same box, or -1.
    """
    annotator: IntArray
    seconds: IndexArray
    """(M,) int64. The time of each annotation in seconds since 1970; -1 if unknown."""

    def __len__(self) -> int:
        return len(self.image)

    def take(self, index: IndexArray | slice) -> "Boxes":
        """Return the boxes at `index`, in that order."""
        return Boxes(**{each: getattr(self, each)[index] for each in self.__struct_fields__})


def _joined(parts: Sequence[Boxes]) -> Boxes:
    columns = {
        field: np.concatenate([getattr(each, field) for each in parts])
        for field in Boxes.__struct_fields__
    }
    return Boxes(**columns).take(np.argsort(columns["image"], kind="stable"))


def true_boxes(scene: Scene) -> Boxes:
    """Return the objects of a scene as annotations."""
    found = _boxes(scene, np.arange(len(scene)), scene.category, scene.edges)
    return replace(found, truth=found.merged)


def _boxes(
    scene: Scene,
    truth: IndexArray,
    category: IntArray,
    edges: FloatArray,
    merged: IndexArray | None = None,
) -> Boxes:
    none, nobody = np.full(len(truth), -1), np.zeros(len(truth), np.int32)
    second = none if merged is None else merged
    return Boxes(scene.image[truth], category[truth], edges, truth, truth, second, nobody, none)


class _View(msgspec.Struct, frozen=True, eq=False):
    """A scene as one annotator sees it."""

    scene: Scene
    errors: AnnotatorErrors
    seed: int
    number: int

    def stream(self, kind: str) -> Generator:
        return np.random.default_rng([self.seed, self.number + 1, _KINDS[kind]])

    def happens(self, kind: str, rate: float) -> BoolArray:
        """Return for which objects an error of this kind occurs, (N,)."""
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
        boxes = _within(own[place], asked[:, place])
        if view.errors.copy is not None:
            source = names.index(view.errors.copy[0])
            both = asked[:, place] & asked[:, source]
            copies = both & (view.stream("copy").random(len(asked)) < view.errors.copy[1])
            boxes = _joined([_within(boxes, ~copies), _within(own[source], copies)])
        # 8 s per box on average, with an hour's rest every two hours.
        each = view.stream("time").exponential(_SECONDS - 1, len(boxes)) + 1
        worked = np.cumsum(each).astype(np.int64)
        seconds = _FIRST_DAY + worked + worked // _SESSION * _PAUSE
        who = np.full(len(boxes), place, np.int32)
        found.append(replace(boxes, annotator=who, seconds=seconds))
    return _joined(found)


def _within(boxes: Boxes, images: BoolArray) -> Boxes:
    return boxes.take(np.flatnonzero(images[boxes.image]))


def _drawn(view: _View) -> Boxes:
    """Return the boxes of objects: whole ones, merged ones, halves, duplicates; and extras."""
    scene, errors = view.scene, view.errors
    edges, category = _placed(view, view.stream("jitter")), _named(view)
    seen = np.flatnonzero(~view.happens("miss", errors.miss))
    first, second = _merged_pairs(view, seen)
    alone = seen[~np.isin(seen, np.concatenate([first, second]))]
    is_split = view.happens("split", errors.split)[alone]
    whole, parted = alone[~is_split], alone[is_split]
    twice = whole[view.happens("duplicate", errors.duplicate)[whole]]
    again = _placed(view, view.stream("again"))[twice]
    one, other = edges[first], edges[second]
    around = np.hstack([np.minimum(one, other)[:, :2], np.maximum(one, other)[:, 2:]])
    return _joined(
        [
            _boxes(scene, whole, category, edges[whole]),
            _boxes(scene, first, category, around, second),
            *(_boxes(scene, parted, category, half) for half in _halves(view, edges[parted])),
            _boxes(scene, twice, category, again),
            _extras(view),
        ]
    )


def _placed(view: _View, rng: Generator) -> FloatArray:
    """Return the edges of all objects as the annotator places them in their images, (N, 4).

    They are clipped to the images, or to true boxes that extend beyond them.
    """
    scene, errors, true = view.scene, view.errors, view.scene.edges
    sides = true[:, 2:] - true[:, :2]
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
    scene = view.scene
    wanting = np.flatnonzero(view.happens("merge", view.errors.merge)[seen])
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


def _halves(view: _View, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two parts of boxes that are cut near the middle of their longer side."""
    sides = edges[:, 2:] - edges[:, :2]
    rows, axis = np.arange(len(edges)), sides.argmax(axis=1)
    share = view.stream("cut").uniform(*_CUT, len(edges))
    cut = (edges[rows, axis] + share * sides[rows, axis]).round(DECIMALS)
    first, second = edges.copy(), edges.copy()
    first[rows, axis + 2] = second[rows, axis] = cut
    return first, second


def _extras(view: _View) -> Boxes:
    """Return boxes that show nothing, each with the size and category of some object."""
    scene, rng = view.scene, view.stream("extra")
    # Images are independent of each other, as intervals that draw images assume.
    counts = rng.poisson(view.errors.extra * scene.density, len(scene.image_names))
    image = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    shape = rng.integers(0, max(1, len(scene)), len(image))
    sides = (scene.edges[:, 2:] - scene.edges[:, :2])[shape]
    edges = free_boxes(image, sides, scene.image_size, (scene.image, scene.edges), 0.0, rng)
    found = _boxes(scene, shape, scene.category, edges.round(DECIMALS))
    return replace(found, image=image, truth=found.merged)


def document_text(
    scene: Scene,
    ids: IndexArray,
    boxes: Boxes,
    asked: BoolArray,
    annotators: Sequence[str],
    info: Mapping[str, Any],
) -> bytes:
    """Return a COCO document, with one line for each record."""
    sizes = zip(scene.image_names, scene.image_size.tolist(), asked, strict=True)
    images = [
        {
            "id": number,
            "file_name": name,
            "width": width,
            "height": height,
            "annotators": [annotators[each] for each in np.flatnonzero(who).tolist()],
        }
        for number, (name, (width, height), who) in enumerate(sizes, 1)
    ]
    names = enumerate(scene.category_names, 1)
    text = b'{"info": ' + msgspec.json.encode(info) + b',\n"licenses": []'
    for key, records in (
        (b"images", images),
        (b"categories", [{"id": number, "name": name} for number, name in names]),
        (b"annotations", _records(scene, ids, boxes, annotators)),
    ):
        text += b',\n"%s": [\n%s\n]' % (key, b",\n".join(map(msgspec.json.encode, records)))
    return text + b"}\n"


def _records(
    scene: Scene, ids: IndexArray, boxes: Boxes, annotators: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for part in blocks(len(ids)):
        some, edges = boxes.take(part), boxes.edges[part]
        sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
        bbox = np.concatenate([edges[:, :2].round(DECIMALS), sides], axis=1).tolist()
        times = np.datetime_as_string(some.seconds.astype("datetime64[s]")).tolist()
        for place, number in enumerate(ids[part].tolist()):
            record = {
                "id": number,
                "image_id": int(some.image[place]) + 1,
                "category_id": int(some.category[place]) + 1,
                "bbox": bbox[place],
                "area": 0.0,
                "annotator": annotators[some.annotator[place]],
                "iscrowd": 0,
            }
            rings, area = _outline(scene, int(some.shape[place]), edges[place])
            record["area"] = float(np.round(area if rings else sides[place].prod(), DECIMALS))
            if rings:
                record["segmentation"] = rings
            for key, objects in (("true_id", some.truth), ("merged_id", some.merged)):
                if objects[place] >= 0:
                    record[key] = int(scene.id[objects[place]])
            if some.seconds[place] >= 0:
                record["created_at"] = times[place].replace("T", " ")
            yield record


def _outline(scene: Scene, shape: int, edges: FloatArray) -> tuple[list[list[float]], float]:
    """Return the rings of an object, stretched to a box, and their area; no rings of a box."""
    outlines, true = scene.outlines, scene.edges[shape]
    if outlines is None or outlines.kind[shape] != SegmentationKind.POLYGON:
        return [], 0.0
    rings, area = [], 0.0
    for ring in outlines.rings(shape):
        # Without errors, vertices stay as they are.
        if (edges != true).any():
            factor = (edges[2:] - edges[:2]) / (true[2:] - true[:2])
            ring = (edges[:2] + (ring - true[:2]) * factor).round(DECIMALS)  # noqa: PLW2901
        following = np.roll(ring, -1, axis=0)
        area += abs((ring[:, 0] * following[:, 1] - following[:, 0] * ring[:, 1]).sum()) / 2
        rings.append(ring.ravel().tolist())
    return rings, area
