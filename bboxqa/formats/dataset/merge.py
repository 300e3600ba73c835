"""The annotations of several files as those of one data set, in its order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, TextArray
from bboxqa.formats.records import AnnotationFile, FileColumns, RotatedColumns
from bboxqa.model.annotations import OF_ANNOTATIONS, Annotations, join_outlines, times_of
from bboxqa.model.file_places import FilePlaces, joined_ids
from bboxqa.model.shapes.keypoints import join_keypoints

_BITS, _SIGN = np.uint64(64), np.uint64(63)


@dataclass(frozen=True, slots=True, eq=False)
class IndexedAnnotations:
    """The valid annotations of one file, with indices in place of ids."""

    place: IndexArray
    image: IntArray
    category: IntArray
    image_of_record: IntArray

    def take(self, rows: IndexArray) -> "IndexedAnnotations":
        """Return some of the annotations."""
        return replace(
            self, place=self.place[rows], image=self.image[rows], category=self.category[rows]
        )


def merge(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    seconds: Sequence[FloatArray] | None = None,
    tracks: Sequence[IntArray] | None = None,
) -> Annotations:
    """Return the annotations of all files, ordered by image, annotator, box, category and id.

    If they were read, `seconds` are the times of all annotations of each file, and `tracks` the
    tracks of the indexed annotations.
    """
    joined, place = _concatenated(files, indexed)
    segmentation, keypoints, rotated = joined.segmentation, joined.keypoints, joined.rotated
    image = np.concatenate([part.image for part in indexed])
    category = np.concatenate([part.category for part in indexed])
    annotator = np.concatenate(authors).astype(np.int32)
    order = _order(image, annotator, joined.bbox, category, joined.id, place)
    rows = place[order]
    annotator = annotator[order]
    times = None
    if seconds is not None:
        known = [each[part.place] for each, part in zip(seconds, indexed, strict=True)]
        times = times_of(np.concatenate(known)[order], annotator)
    if segmentation is not None:
        segmentation = replace(
            segmentation,
            **{name: getattr(segmentation, name)[rows] for name in OF_ANNOTATIONS},
        )
    return Annotations(
        id=joined.id[rows],
        image=image[order],
        annotator=annotator,
        category=category[order],
        bbox=joined.bbox[rows],
        iscrowd=joined.iscrowd[rows],
        segmentation=segmentation,
        times=times,
        own_id=_own_ids(files, indexed, order),
        keypoints=None if keypoints is None else keypoints.take(rows),
        rotated_box=None if rotated is None else rotated.box[rows],
        track=None if tracks is None else np.concatenate(tracks)[order],
    )


def _concatenated(
    files: Sequence[AnnotationFile], indexed: Sequence[IndexedAnnotations]
) -> tuple[FileColumns, IndexArray]:
    """Return the joint columns of all files, and the rows of the valid annotations in them.

    The columns of a single file are not copied.
    """
    columns = [file.columns for file in files]
    used = [part.place for part in indexed]
    if len(files) == 1:
        return columns[0], used[0]
    ids, bbox, iscrowd = (
        np.concatenate([getattr(c, name)[rows] for c, rows in zip(columns, used, strict=True)])
        for name in ("id", "bbox", "iscrowd")
    )
    outlines = [c.segmentation for c in columns if c.segmentation is not None]
    joints = [c.keypoints for c in columns if c.keypoints is not None]
    rotated = [c.rotated.box for c in columns if c.rotated is not None]
    if rotated:
        boxes = np.concatenate([each[rows] for each, rows in zip(rotated, used, strict=True)])
    whole = replace(
        columns[0], id=ids, bbox=bbox, iscrowd=iscrowd,
        segmentation=join_outlines(outlines, used) if outlines else None,
        keypoints=join_keypoints(joints, used) if joints else None,
        rotated=RotatedColumns(boxes, np.zeros(0, np.uint8)) if rotated else None,
    )  # fmt: skip
    return whole, np.arange(len(ids))


def _own_ids(
    files: Sequence[AnnotationFile], indexed: Sequence[IndexedAnnotations], order: IndexArray
) -> TextArray | FilePlaces | None:
    """Return the ids that tools show, in the given order; None if they are the ids of the files."""
    if all(file.shown_ids is file.columns.id for file in files):
        return None
    parts = [file.shown_ids[part.place] for file, part in zip(files, indexed, strict=True)]
    return joined_ids(parts)[order]


def _order(
    image: IntArray,
    annotator: IntArray,
    bbox: FloatArray,
    category: IntArray,
    ids: IndexArray,
    place: IndexArray,
) -> IndexArray:
    """Return the order by image, annotator, box, category and id; `place` indexes box and id.

    Box and category precede the id, so that renumbering does not change the result.
    """
    n_annotators = int(annotator.max(initial=0)) + 1
    group = image.astype(np.int64) * n_annotators + annotator
    group -= group.min(initial=0)
    x = bbox[place, 0]
    keys = _joint_keys(group, x)
    order = np.argsort(keys)
    # Few annotations of an annotator have nearly equal x; only these are sorted by all keys.
    same = np.diff(keys[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = np.sort(order[tied])
    x, y, width, height = bbox[place[rows]].T
    order[tied] = rows[
        np.lexsort((ids[place[rows]], category[rows], height, width, y, x, group[rows]))
    ]
    return order


def _joint_keys(group: IndexArray, x: FloatArray) -> NDArray[np.uint64]:
    """Return numbers in the order of group and x, equal where x differs in its last bits only.

    One sort of these takes half the time of a sort by each.

    Parameters
    ----------
    group : (N,) int64
        Not negative.
    x : (N,) float64
    """
    # As unsigned integers, floats of positive sign are in order, and the others in reverse order.
    bits = (x + 0.0).view(np.uint64)
    ordered = np.where(bits >> _SIGN, ~bits, bits | np.uint64(1) << _SIGN)
    n_bits = np.uint64(int(group.max(initial=0)).bit_length())
    return group.astype(np.uint64) << _BITS - n_bits | ordered >> n_bits
