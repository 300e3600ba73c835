"""Overlapping annotations of two annotators in a frame, and their tracks."""

import re

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.core.remembered import remembered
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.model.units import MatchedUnits

_DIGITS = re.compile(r"\d+")
_LONGEST = 20


@frozen_arrays
class TrackPairs:
    """P pairs of overlapping annotations in tracks, and T tracks.

    Attributes
    ----------
    first, second : (P,) int64
        The tracks of the two; the first is by the annotator with the lower index.
    image : (P,) int64
        The image in which they overlap.
    similarity : (P,) float64
        At least the threshold.
    annotator : (T,) int64
        The annotator of each track.
    """

    first: IndexArray
    second: IndexArray
    image: IndexArray
    similarity: FloatArray
    annotator: IndexArray


@remembered
def track_pairs(matched: MatchedUnits) -> TrackPairs:
    """Return the pairs of annotations in tracks that reach the threshold."""
    annotations, near = matched.data.annotations, matched.near
    track = tracks_of(matched)
    reaches = near.similarity >= matched.threshold - TOLERANCE
    reaches &= (track[near.left] >= 0) & (track[near.right] >= 0)
    # Annotations are ordered by annotator within an image.
    left, right = near.left[reaches], near.right[reaches]
    annotator = np.zeros(int(track.max(initial=-1)) + 1, np.int64)
    annotator[track[track >= 0]] = annotations.annotator[track >= 0]
    return TrackPairs(
        first=track[left],
        second=track[right],
        image=annotations.image[left].astype(np.int64),
        similarity=near.similarity[reaches],
        annotator=annotator,
    )


def tracks_of(matched: MatchedUnits) -> IndexArray:
    """Return the track of each annotation, (N,) int64; -1 without one."""
    track = matched.data.annotations.track
    n_annotations = len(matched.data.annotations)
    return np.full(n_annotations, -1) if track is None else track.astype(np.int64)


def frame_order(image_names: tuple[str, ...]) -> IndexArray:
    """Return the rank of each image in natural order of the names, (I,) int64.

    Examples
    --------
    >>> frame_order(("a/frame_10.jpg", "a/frame_9.jpg", "b/1.jpg")).tolist()
    [1, 0, 2]
    """
    keys = [_DIGITS.sub(lambda found: found[0].zfill(_LONGEST), name) for name in image_names]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))
    return place
