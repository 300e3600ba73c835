"""Two versions of a data set as one: the annotations before and after as two annotators."""

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, compact
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.outlines import Segmentations
from bboxqa.model.selection import join_columns, join_outlines, joints_of, select_annotations
from bboxqa.model.shapes.keypoints import Keypoints, join_keypoints
from bboxqa.pipelines.versions.aligned import Aligned


def side_by_side(
    before: Dataset, after: Dataset, images: Aligned, annotators: Aligned, categories: Aligned
) -> tuple[Dataset, IndexArray]:
    """Return all annotations as those of two annotators, "before" and "after".

    Each pair of image and annotator becomes an image of the data set.

    Returns
    -------
    both : Dataset
    order : (N,) int64
        The index of each annotation among those before, and then those after.
    """
    old, new = before.annotations, after.annotations
    n_annotators = len(annotators)
    group = np.concatenate(
        [
            images.place_before[old.image] * n_annotators + annotators.place_before[old.annotator],
            images.place_after[new.image] * n_annotators + annotators.place_after[new.annotator],
        ]
    )
    side = np.repeat(np.array([0, 1], np.int32), [len(old), len(new)])
    order = np.argsort(group * 2 + side, kind="stable")
    groups, image = compact(group, len(images) * n_annotators)
    category = [categories.place_before[old.category], categories.place_after[new.category]]
    names = images.names
    place = groups // max(n_annotators, 1)
    outlines, joints = _shapes(old, new)
    joined = Annotations(
        id=np.concatenate([old.id, new.id]),
        image=image.astype(np.int32),
        annotator=side,
        category=np.concatenate(category).astype(np.int32),
        bbox=np.concatenate([old.bbox, new.bbox]),
        iscrowd=np.concatenate([old.iscrowd, new.iscrowd]),
        segmentation=outlines,
        keypoints=joints,
        rotated_box=join_columns([old.rotated_box, new.rotated_box]),
    )
    named = joints_of(categories.names, [before, after])
    both = Dataset(
        image_names=tuple(names[index] for index in place.tolist()),
        image_size=_sizes(before, after, images)[place],
        category_names=categories.names,
        annotator_names=("before", "after"),
        annotations=select_annotations(joined, order),
        assigned=np.ones((len(groups), 2), np.bool_),
        joint_names=named.names,
        limbs=named.limbs,
    )
    return both, order


def _shapes(old: Annotations, new: Annotations) -> tuple[Segmentations | None, Keypoints | None]:
    """Return the outlines and key points of all annotations, where both versions have them."""
    every = [np.arange(len(old)), np.arange(len(new))]
    outlines = joints = None
    if old.segmentation is not None and new.segmentation is not None:
        outlines = join_outlines([old.segmentation, new.segmentation], every)
    if old.keypoints is not None and new.keypoints is not None:
        joints = join_keypoints([old.keypoints, new.keypoints], every)
    return outlines, joints


def _sizes(before: Dataset, after: Dataset, images: Aligned) -> IntArray:
    """Return the size of each image, of the version after if it is known there."""
    sizes = np.zeros((len(images), 2), np.int32)
    for data, index in ((before, images.before), (after, images.after)):
        known = np.flatnonzero(index >= 0)
        known = known[data.image_size[index[known]].all(1)]
        sizes[known] = data.image_size[index[known]]
    return sizes
