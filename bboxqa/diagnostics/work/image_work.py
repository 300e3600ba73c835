"""The time at which each annotator worked on each image, and F1 with the others there."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.diagnostics.annotators.image_f1 import image_f1
from bboxqa.diagnostics.work.sessions import WorkSessions
from bboxqa.model.times import Times
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class ImageWork:
    """C pairs of an image and an annotator who drew something there at a known time.

    Sorted by image, then annotator. An image in which an annotator drew nothing has no time.
    """

    image: IndexArray
    annotator: IndexArray
    session: IndexArray
    """(C,) int64. The session of the annotation with the median time."""
    elapsed: FloatArray
    """(C,) float64. Seconds since the beginning of the session."""
    matched: FloatArray
    drawn: FloatArray
    """(C,) float64. The sums of `ImageF1`."""

    def take(self, index: IndexArray) -> "ImageWork":
        """Return the pairs at `index`."""
        return ImageWork(
            self.image[index], self.annotator[index], self.session[index], self.elapsed[index],
            self.matched[index], self.drawn[index],
        )  # fmt: skip


def image_work(matched: MatchedUnits, times: Times, sessions: WorkSessions) -> ImageWork:
    """Return the times at which images were annotated, and the sums of F1 in them."""
    of, found = matched.data.annotations, image_f1(matched)
    n_annotators = len(matched.data.annotator_names)
    rows = np.flatnonzero(sessions.place >= 0)
    cell = of.image[rows].astype(np.int64) * n_annotators + of.annotator[rows]
    order = np.lexsort((times.seconds[rows], cell))
    keys, start, number = np.unique(cell[order], return_index=True, return_counts=True)
    middle = rows[order[start + (number - 1) // 2]]
    place = np.searchsorted(found.image * n_annotators + found.annotator, keys)
    return ImageWork(
        image=found.image[place],
        annotator=found.annotator[place],
        session=sessions.place[middle],
        elapsed=times.elapsed[middle],
        matched=found.matched[place],
        drawn=found.drawn[place],
    )
