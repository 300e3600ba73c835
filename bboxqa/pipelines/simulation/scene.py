"""The true objects that simulated annotators see: drawn at random, or those of a data set."""

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, frozen_arrays
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import Dataset
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.coco_joints import COCO_JOINTS
from bboxqa.model.shapes.rotated_boxes import bounds
from bboxqa.pipelines.simulation.placement import free_boxes
from bboxqa.pipelines.simulation.poses import joints_of_all, poses_of, poses_of_people

WIDTH, HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
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
    """Return random boxes in images of 640 by 480 pixels, with room around them.

    Parameters
    ----------
    n_images : int
        Number of images.
    mean_objects : float
        Objects per image; their number has a Poisson distribution.
    shares : dict of str to float
        The categories, and how frequent each is.
    overlap : float
        Highest IoU of two boxes in one image, where there is room.
    rng : Generator
        Source of random numbers.
    rotated : bool
        Whether boxes are turned by any angle.
    keypoints : bool
        Whether objects are people with key points.
    """
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
        poses=poses_of_people(n) if keypoints else None,
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
    joint_names = joints_of_all(data, where) if keypoints else ()
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
        poses=poses_of(kept, edges, len(joint_names)) if keypoints else None,
    )
