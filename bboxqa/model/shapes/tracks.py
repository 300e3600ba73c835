"""Tracks: which annotations of the frames of a video show one object."""

from bboxqa.core.arrays import IntArray, frozen_arrays


@frozen_arrays
class Tracks:
    """T tracks, each of one annotator in one video."""

    names: tuple[str, ...]
    """The id of each track in its file."""
    video: IntArray
    """(T,) int32. The video of each track, as an index into `videos`."""
    videos: tuple[str, ...]
    """The ids of videos, or the folders of their frames; "" where neither is known."""
