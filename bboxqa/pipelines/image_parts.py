"""The images in which annotations are compared, whole or in parts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from bboxqa.agreement.counts.object_counts import paired_annotators
from bboxqa.core.arrays import BoolArray, IntArray, frozen_arrays
from bboxqa.geometry.candidates import possible_pairs
from bboxqa.model.annotations import Dataset
from bboxqa.model.selection import select_annotations

# An image with more pairs is a part of its own, so that two crowded images are never in memory
# together.
_CROWDED = 1 << 20


@frozen_arrays
class ImagePart:
    """Images and the annotations that are compared in them."""

    data: Dataset
    """The whole data set, or some of its images."""
    empty: IntArray
    """(K,) int32. Images that two annotators or more were asked about and all left empty."""
    paired: BoolArray | None = None
    """(A,) bool. The annotators whose pairs are counted, if not all."""


def compared_images(data: Dataset) -> ImagePart:
    """Return a data set without crowds and without annotations in images of one annotator."""
    lonely = data.assigned.sum(1) < 2
    drawn = np.bincount(data.annotations.image, minlength=len(lonely)) > 0
    empty = np.flatnonzero(~drawn & ~lonely).astype(np.int32)
    kept = np.flatnonzero(~data.annotations.iscrowd & ~lonely[data.annotations.image])
    if len(kept) < len(data.annotations):
        data = replace(data, annotations=select_annotations(data.annotations, kept))
    paired = paired_annotators(data.annotations.annotator, data.assigned)
    return ImagePart(replace(data, repeats=None), empty, paired)


def split_images(whole: ImagePart, n_parts: int) -> Iterator[ImagePart]:
    """Yield about `n_parts` parts of whole images, each with about as many annotations.

    An image with very many pairs is a part of its own. Each part has its own images and
    outlines only; it can be without annotations.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> from bboxqa.pipelines.read import read_coco
    >>> whole = ImagePart(read_coco(example_file("fruits")), np.zeros(0, np.int32))
    >>> [len(part.data.annotations) for part in split_images(whole, 4)]
    [9]
    """
    data = whole.data
    image = data.annotations.image
    n_images = len(data.image_names)
    ends = np.linspace(0, len(image), max(n_parts, 1) + 1).astype(np.int64)[1:-1]
    cuts = np.unique(image[ends]) if len(image) else np.zeros(0, np.int64)
    crowded = np.flatnonzero(are_crowded(data))
    cuts = np.unique(np.concatenate([cuts, crowded, crowded + 1]))
    bounds = [0, *(int(cut) for cut in cuts if 0 < cut < n_images), n_images]
    for low, high in pairwise(bounds):
        start, stop = np.searchsorted(image, [low, high])
        taken = data.annotations.take(np.arange(start, stop))
        outlines, joints = taken.segmentation, taken.keypoints
        annotations = replace(
            taken,
            image=taken.image - np.int32(low),
            segmentation=None if outlines is None else outlines.packed(),
            keypoints=None if joints is None else joints.packed(),
        )
        images = replace(
            data,
            image_names=data.image_names[low:high],
            image_size=data.image_size[low:high],
            annotations=annotations,
            assigned=data.assigned[low:high],
        )
        empty = whole.empty[(whole.empty >= low) & (whole.empty < high)]
        yield ImagePart(images, empty - np.int32(low), whole.paired)


def are_crowded(data: Dataset) -> BoolArray:
    """Return which images have so many pairs that each is a part of its own, (I,) bool."""
    result: BoolArray = possible_pairs(data.annotations, len(data.image_names)) > _CROWDED
    return result
