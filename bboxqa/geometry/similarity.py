"""What a similarity is, and what annotations need to be compared by it."""

from collections import Counter
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, rows
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import Dataset
from bboxqa.model.masks import MAX_MASK_PIXELS, SegmentationKind, Segmentations

Needs = Literal["boxes", "rotated boxes", "polygons", "outlines", "masks", "keypoints"]
"""The compared shapes: boxes; rotated boxes; polygons only; outlines, with polygons rasterised in
images that have a mask; masks, with all polygons rasterised; or key points.
"""
OUTLINES: tuple[Needs, ...] = ("polygons", "outlines", "masks")
"""The shapes that are outlines."""

# Limits the image side, as rasterising takes memory in proportion to the outline's length.
_MAX_SIDE = 100_000


def describe(dataset: Dataset, index: int) -> str:
    """Return the description of an annotation in messages."""
    annotations = dataset.annotations
    image = dataset.image_names[annotations.image[index]]
    annotator = dataset.annotator_names[annotations.annotator[index]]
    return f"annotation {annotations.shown_ids([index])[0]} of {annotator!r} in image {image!r}"


def check_shapes(dataset: Dataset, similarity: str, needs: Needs) -> None:
    """Refuse annotations that a similarity cannot compare."""
    if needs == "boxes":
        return
    of, image_of = dataset.annotations, dataset.annotations.image
    segmentation = of.segmentation
    shapes, name, setting = {
        "keypoints": (of.keypoints, "key points", "keypoints"),
        "rotated boxes": (of.rotated_box, "rotated boxes", "segmentation"),
    }.get(needs, (segmentation, "segmentations", "segmentation"))
    if shapes is None:
        raise DatasetError(
            [f"the {name} were not read; similarity {similarity!r} needs them"],
            f"Read the file with `bboxqa.read(path, {setting}=True)`.",
        )
    if segmentation is None or needs not in OUTLINES:
        return
    absent = np.flatnonzero(segmentation.kind == SegmentationKind.NONE)
    is_mask = segmentation.kind == SegmentationKind.RLE
    problems = [f"{describe(dataset, index)} has no segmentation" for index in absent.tolist()]
    if needs == "polygons":
        rle = np.flatnonzero(is_mask).tolist()
        problems += [f"{describe(dataset, index)} is RLE, not polygons" for index in rle]
    if problems:
        how = "mask, polygon or bbox" if needs == "polygons" else "bbox"
        if 0 < len(absent) < len(segmentation.kind):
            how += ", or the files of the annotation tool, in which a box is a rectangular outline"
        raise DatasetError(
            problems,
            f"Similarity {similarity!r} needs {'polygons' if needs == 'polygons' else 'outlines'} "
            f"on every annotation; compare with --similarity {how}.",
        )
    if needs == "masks" or (needs == "outlines" and is_mask.any()):
        # Polygons are rasterised if their image has a mask to compare with.
        drawn = ~is_mask if needs == "masks" else ~is_mask & np.isin(image_of, image_of[is_mask])
        unknown = (dataset.image_size[image_of] == 0).any(1) & drawn
        if images := np.unique(image_of[unknown]).tolist():
            raise DatasetError(
                [
                    f"image {dataset.image_names[image]!r} has no width and height; "
                    f"similarity {similarity!r} needs them"
                    for image in images
                ],
                "Add `width` and `height` to the image records, or compare with --similarity bbox.",
            )
        _check_drawing(dataset, segmentation, drawn)
    _check_mask_sizes(dataset, segmentation)


def _check_mask_sizes(dataset: Dataset, segmentation: Segmentations) -> None:
    """Refuse masks whose size differs from their image, or from other masks of the image."""
    rle = np.flatnonzero(segmentation.kind == SegmentationKind.RLE)
    image = dataset.annotations.image[rle]
    expected = dataset.image_size[image][:, ::-1].copy()
    unknown = (expected == 0).any(1)
    first = rle[np.searchsorted(image, image)]
    expected[unknown] = segmentation.size[first][unknown]
    wrong = np.flatnonzero((segmentation.size[rle] != expected).any(1)).tolist()
    if wrong:
        raise DatasetError(
            [
                f"{describe(dataset, int(rle[place]))}: the mask is "
                f"{' × '.join(map(str, segmentation.size[rle[place]].tolist()))} (height × width);"
                f" expected {' × '.join(map(str, expected[place].tolist()))}, as the image"
                for place in wrong
            ],
            "Export the masks at the size of their image.",
        )


def _check_drawing(dataset: Dataset, segmentation: Segmentations, drawn: BoolArray) -> None:
    """Refuse polygons that would take too much memory to draw as masks."""
    size = dataset.image_size[dataset.annotations.image].astype(np.int64)
    large = (size.max(1, initial=0) > _MAX_SIDE) | (size.prod(1) >= MAX_MASK_PIXELS)
    first, last = segmentation.part_start[drawn], segmentation.part_stop[drawn]
    rings, parts = rows(first, last)
    vertices, _ = rows(segmentation.ring_offsets[:-1][rings], segmentation.ring_offsets[1:][rings])
    lengths = np.diff(segmentation.ring_offsets)[rings]
    owner = np.repeat(np.repeat(np.flatnonzero(drawn), np.diff(parts)), lengths)
    # A vertex this far outside is an error in the file, not an object at the edge.
    outside = np.abs(segmentation.xy.take(vertices, axis=0)) > 10 * size.take(owner, axis=0) + 1000
    far = np.zeros(len(drawn), np.bool_)
    far[owner[outside.any(1)]] = True
    problems = [
        f"{describe(dataset, index)}: its image is {size[index, 0]} × {size[index, 1]} px; "
        f"polygons are drawn as masks up to {_MAX_SIDE:,} px per side and "
        f"{MAX_MASK_PIXELS:,} px in all"
        for index in np.flatnonzero(large & drawn).tolist()
    ] + [
        f"{describe(dataset, index)}: its polygon reaches far outside its image of "
        f"{size[index, 0]} × {size[index, 1]} px"
        for index in np.flatnonzero(far & ~large).tolist()
    ]
    if problems:
        raise DatasetError(problems, "Repair the file, or compare with --similarity bbox.")


ONE_PIXEL = np.array([-1.0, -1.0, 1.0, 1.0])
"""Added to bounds, since rasterising can move an edge by up to a pixel."""
ONE_PIXEL.setflags(write=False)

Compare = Callable[[IndexArray, IndexArray], FloatArray]


class Options(msgspec.Struct, frozen=True):
    """The settings that a similarity may depend on."""

    iou_threshold: float
    """The lowest similarity of interest."""
    all_touched: bool = False
    """For `raster`: burn every pixel that a ring touches."""


class Comparison(msgspec.Struct, frozen=True, eq=False):
    """A similarity prepared for N annotations."""

    compare: Compare
    """(left, right), each (P,) int64 and sorted by left, → (P,) float64."""
    bounds: FloatArray | None
    """(N, 4) float64. left, top, right, bottom; pairs whose bounds do not overlap are not compared.
    None where distant annotations can be similar."""
    limit: Compare | None = None
    """A cheap upper bound of `compare`."""
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """The number of "flat" and "repaired" annotations, and of "short" rings."""


class Similarity(msgspec.Struct, frozen=True):
    """One way to compare two annotations."""

    prepare: Callable[[Dataset, Options], Comparison]
    """(dataset, options) → `Comparison`, for a data set of whole images."""
    needs: Needs
    """The shape that every annotation must have; see `bboxqa.geometry.similarity.Needs`."""
    threads: bool = True
    """Whether several threads may prepare and compare parts of a data set at once."""
    lowest: float = 0.0
    """Lower bound of the similarity; thresholds must be above it."""
    is_iou: bool = False
    """Whether it is an intersection over union, so that results call its threshold "IoU"; other
    thresholds have the name of the similarity."""


def packed_outlines(dataset: Dataset) -> tuple[Segmentations, Counter[str]]:
    """Return the outlines, and the number of rings with fewer than three vertices as "short"."""
    segmentation = dataset.annotations.segmentation
    if segmentation is None:
        raise DatasetError(["the segmentations were not read"])
    segmentation = segmentation.packed()
    short = int((np.diff(segmentation.ring_offsets) < 3).sum())
    return segmentation, Counter(short=short)
