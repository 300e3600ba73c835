"""Random exchange of images between places, for agreement by chance."""

from collections.abc import Iterator
from itertools import pairwise, starmap

import numpy as np

from bboxqa.core.arrays import IndexArray, frozen_arrays, run_starts


@frozen_arrays
class ChanceSlots:
    """The image that each annotator brings to a place: S rows, by place and annotator.

    A place has at least two annotators, who bring different images.
    """

    place: IndexArray
    """(S,) int64. The index of the pass times the number of images, plus the image."""
    annotator: IndexArray
    source: IndexArray
    """(S,) int64. The image that the annotator brings."""

    def take(self, index: IndexArray | slice) -> "ChanceSlots":
        """Return some of the rows."""
        return ChanceSlots(self.place[index], self.annotator[index], self.source[index])


def chance_slots(
    image: IndexArray,
    annotator: IndexArray,
    kind: IndexArray,
    ranks: tuple[IndexArray, IndexArray],
    n_passes: int,
    generator: np.random.Generator,
) -> ChanceSlots:
    """Return a random image of the same kind for each image that an annotator was asked about.

    In each pass, the images of an annotator and a kind form a circle in a random order, which is
    the same for all annotators, and are rotated by a different number of places for each annotator.
    So annotators of the same images never bring the same image to a place, unless there are more
    annotators than images. Of annotators who bring the same image, one is kept.

    Parameters
    ----------
    image, annotator, kind : (C,) int64
        The images that each annotator was asked about, and the kind of the image. Only images of
        the same kind are exchanged.
    ranks : tuple of (I,) and (A,) int64
        The order of images and annotators in which random numbers are assigned.
    n_passes : int
    generator : numpy.random.Generator

    Examples
    --------
    >>> cells = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4, int)
    >>> ranks = np.arange(2), np.arange(2)
    >>> slots = chance_slots(*cells, ranks, 1, np.random.default_rng(0))
    >>> slots.place, slots.annotator, slots.source
    (array([0, 0, 1, 1]), array([0, 1, 0, 1]), array([1, 0, 0, 1]))
    """
    of_images, of_annotators = ranks
    n_images, n_annotators = len(of_images), len(of_annotators)
    order = generator.random((n_passes, n_images))[:, of_images]
    turns = generator.permuted(np.tile(np.arange(n_annotators), (n_passes, 1)), axis=1)
    circle = np.unique(kind * n_annotators + annotator, return_inverse=True)[1]
    in_passes = np.broadcast_to(circle, (n_passes, len(circle)))
    cell = np.lexsort((order[:, image], in_passes), axis=1)
    size = np.bincount(circle)
    start = np.cumsum(size) - size
    circle = np.sort(circle)
    start, size = start[circle], size[circle]
    turn = np.take_along_axis(turns[:, of_annotators], annotator[cell], axis=1)
    moved = start + (np.arange(len(circle)) - start + turn) % size
    source = image[np.take_along_axis(cell, moved, axis=1)]
    place = np.arange(n_passes)[:, None] * n_images + image[cell]
    slots = ChanceSlots(place.ravel(), annotator[cell].ravel(), source.ravel())
    return _with_different_images(slots, turn.ravel(), n_images)


def _with_different_images(slots: ChanceSlots, turn: IndexArray, n_images: int) -> ChanceSlots:
    """Keep one annotator per image and place, and places with two annotators or more."""
    brought = slots.place * n_images + slots.source
    order = np.lexsort((turn, brought))
    slots = slots.take(order[np.diff(brought[order], prepend=-1) != 0])
    slots = slots.take(np.flatnonzero(np.bincount(slots.place)[slots.place] >= 2))
    return slots.take(np.lexsort((slots.annotator, slots.place)))


def whole_places(place: IndexArray, work: IndexArray, most: int) -> Iterator[slice]:
    """Yield slices of whole places, each with about `most` work."""
    done = np.cumsum(work)
    ends = np.append(run_starts(place)[1:], len(place))
    chunk = done[ends - 1] // most
    ends = ends[np.diff(chunk, append=chunk[-1] + 1) > 0]
    yield from starmap(slice, pairwise([0, *ends.tolist()]))
