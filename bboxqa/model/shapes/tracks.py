"""Tracks: which annotations of the frames of a video show one object."""

from bboxqa.core.arrays import IntArray, frozen_arrays


@frozen_arrays
class Tracks:
    """T tracks, each of one annotator in one video.

    Attributes
    ----------
    names : tuple of str
        The id of each track in its file.
    video : (T,) int32
        The video of each track, as an index into `videos`.
    videos : tuple of str
        The ids of videos, or the folders of their frames; "" where neither is known.
    """

    names: tuple[str, ...]
    video: IntArray
    videos: tuple[str, ...]
