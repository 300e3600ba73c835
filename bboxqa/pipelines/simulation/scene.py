"""The true objects that simulated annotators see: drawn at random, or those of a data set."""

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays, rows
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.keypoints import COCO_JOINTS
from bboxqa.model.shapes.rotated_boxes import bounds

WIDTH, HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
# Attempts to place a box, and the margin of an image as a share of its side.
_TRIES, _MARGIN = 100, 0.05
# COCO's joints of a standing person who faces the camera, as shares of width and height.
_PEOPLE = np.array(
    [
        (0.5, 0.1), (0.55, 0.08), (0.45, 0.08), (0.6, 0.1), (0.4, 0.1), (0.75, 0.22), (0.25, 0.22),
        (0.88, 0.38), (0.12, 0.38), (0.95, 0.52), (0.05, 0.52), (0.66, 0.53), (0.34, 0.53),
        (0.66, 0.74), (0.34, 0.74), (0.66, 0.95), (0.34, 0.95),
    ]
)  # fmt: skip
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
    outlines: Segmentations | None = None
    angle: FloatArray | None = None
    """(N,). By how many degrees each box is turned clockwise about its middle, from 0 up to 360;
    None of upright boxes."""
    joint_names: tuple[str, ...] = ()
    poses: FloatArray | None = None
    """(N, J, 3). The joints as shares of width and height of the box, and their visibility; None
    without key points."""
    expected: float | None = None
    """How many objects an image is expected to show; None where only their number is known."""

    def __len__(self) -> int:
        return len(self.id)

    @property
    def density(self) -> float:
        """How many objects an image shows: as expected where that is known, or on average.

        0 without any object.
        """
        if not len(self):
            return 0.0
        return len(self) / len(self.image_names) if self.expected is None else self.expected


def drawn_scene(
    n_images: int,
    mean_objects: float,
    shares: dict[str, float],
    overlap: float,
    rng: Generator,
    *,
    rotated: bool = False,
    keypoints: bool = False,
) -> Scene:
    """Return random boxes in images of 640 by 480 pixels, with room around them."""
    image = np.repeat(np.arange(n_images, dtype=np.int32), rng.poisson(mean_objects, n_images))
    n = len(image)
    low, high = np.log(_SIDES)
    side, aspect = rng.uniform(low, high, n), rng.normal(0, _ASPECT, n)
    sides = np.exp(np.stack([side + aspect, side - aspect], axis=1))
    size = np.full((n_images, 2), (WIDTH, HEIGHT), np.int32)
    none = np.zeros(0, np.int64), np.zeros((0, 4))
    angle = rng.uniform(0, 360, n).round(DECIMALS) % 360 if rotated else None
    room = sides if angle is None else turned_bounds(sides, angle)
    edges = free_boxes(image, room, size, none, overlap, rng)
    if angle is not None:
        edges = around(edges[:, :2] + room / 2, sides)
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
        angle=angle,
        joint_names=COCO_JOINTS if keypoints else (),
        poses=_poses_of_people(n) if keypoints else None,
        expected=mean_objects,
    )


def turned_bounds(sides: FloatArray, angle: FloatArray) -> FloatArray:
    """Return width and height of the upright bounds of turned boxes, (N, 2)."""
    edges = bounds(np.column_stack([np.zeros_like(sides), sides, angle]))
    return edges[:, 2:] - edges[:, :2]


def turned(edges: FloatArray, angle: FloatArray) -> FloatArray:
    """Return boxes that are turned about their middles as rotated boxes, (N, 5)."""
    centre, sides = (edges[:, :2] + edges[:, 2:]) / 2, edges[:, 2:] - edges[:, :2]
    return np.column_stack([centre, sides, angle])


def around(centre: FloatArray, sides: FloatArray) -> FloatArray:
    """Return the edges of upright boxes, (N, 4)."""
    return np.concatenate([centre - sides / 2, centre + sides / 2], axis=1)


def scene_of(data: Dataset, *, rotated: bool = False, keypoints: bool = False) -> Scene:
    """Return the objects of a data set by one annotator, without crowds, by image and id.

    Masks are replaced by their boxes, and outlines by rotated boxes if these are asked for. Ids
    that are not above 0, or not distinct, are replaced.

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
    boxes = kept.rotated_box if rotated else None
    corner, sides = kept.bbox[:, :2], kept.bbox[:, 2:]
    if boxes is not None:
        corner, sides = boxes[:, :2] - boxes[:, 2:4] / 2, boxes[:, 2:4]
    flat = np.flatnonzero((sides <= 0).any(axis=1))
    if len(flat):
        raise DatasetError([f"{where}: annotation {kept.shown_ids(flat[:1])[0]}: box has no area"])
    ids = kept.id
    if len(ids) and (ids.min() < 1 or len(np.unique(ids)) < len(ids)):
        ids = np.arange(1, len(ids) + 1)
    edges = np.concatenate([corner, corner + sides], axis=1)
    joint_names = _joints_of_all(data, where) if keypoints else ()
    outlines = None if rotated else kept.segmentation
    has_outlines = outlines is not None and (outlines.kind == SegmentationKind.POLYGON).any()
    return Scene(
        image_names=data.image_names,
        image_size=data.image_size,
        category_names=data.category_names,
        id=ids,
        image=kept.image,
        category=kept.category,
        edges=edges,
        outlines=outlines if has_outlines else None,
        angle=None if boxes is None else boxes[:, 4],
        joint_names=joint_names,
        poses=_poses_of(kept, edges, len(joint_names)) if keypoints else None,
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
    hit = (_iou(edges[own], edges[right]) > overlap) & (own != right)
    return np.bincount(left[hit], minlength=len(chosen)) > 0


def _iou(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the intersection over union of each two boxes, (N,)."""
    shared = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    inter = np.clip(shared, 0, None).prod(axis=1)
    area = [(edges[:, 2:] - edges[:, :2]).prod(axis=1) for edges in (one, other)]
    share: FloatArray = inter / (area[0] + area[1] - inter)
    return share


def _poses_of_people(n: int) -> FloatArray:
    """Return the joints of people who fill their boxes, (N, 17, 3)."""
    poses = np.full((n, len(COCO_JOINTS), 3), 2.0)
    poses[..., :2] = _PEOPLE
    return poses


def _joints_of_all(data: Dataset, where: str) -> tuple[str, ...]:
    """Return the names of the joints of all categories."""
    named = list(dict.fromkeys(names for names in data.joint_names if names))
    if len(named) == 1:
        return named[0]
    found = "categories have different key points" if named else "annotations have no key points"
    raise DatasetError([f"{where}: {found}; expected the same joints of all objects"])


def _poses_of(objects: Annotations, edges: FloatArray, n_joints: int) -> FloatArray:
    """Return the joints of objects as shares of their boxes, and the visibility, (N, J, 3)."""
    poses = np.zeros((len(objects), n_joints, 3))
    if objects.keypoints is None:
        return poses
    points = objects.keypoints.packed()
    held = points.stop - points.start
    owner = np.repeat(np.arange(len(held)), held)
    joint = np.arange(len(owner)) - points.start[owner]
    shares = (points.xy - edges[owner, :2]) / (edges[:, 2:] - edges[:, :2])[owner]
    is_labelled = (points.visibility > 0) & (joint < n_joints)
    place = owner[is_labelled], joint[is_labelled]
    poses[(*place, slice(2))] = shares[is_labelled]
    poses[(*place, 2)] = points.visibility[is_labelled]
    return poses
