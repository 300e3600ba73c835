"""The true objects that simulated annotators see: drawn at random, or those of a data set."""

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays, rows
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.boxes import bbox_iou
from bboxqa.model.annotations import Dataset
from bboxqa.model.outlines import SegmentationKind, Segmentations

WIDTH, HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
# Attempts to place a box, and the margin of an image as a share of its side.
_TRIES, _MARGIN = 100, 0.05
DECIMALS = 2
"""Coordinates are rounded to hundredths of a pixel."""


@frozen_arrays
class Scene:
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
