"""When annotations were made, and in which session of work."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, frozen_arrays

GAP_SECONDS = 1800.0
"""A longer pause between two annotations of one annotator ends a session."""


@frozen_arrays
class Times:
    """When N annotations were made.

    Attributes
    ----------
    seconds : (N,) float64
        Seconds since 1970; NaN where unknown.
    session : (N,) int32
        The annotator's session of work, counted from 0; -1 where unknown.
    elapsed : (N,) float64
        Seconds since the first annotation of the session.
    step : (N,) float64
        Seconds since the previous annotation of the session; NaN for the first.
    """

    seconds: FloatArray
    session: IntArray
    elapsed: FloatArray
    step: FloatArray

    def take(self, index: IndexArray) -> "Times":
        """Return the times at `index`, in that order."""
        return Times(
            self.seconds[index], self.session[index], self.elapsed[index], self.step[index]
        )


def times_of(seconds: FloatArray, annotator: IntArray) -> Times:
    """Return times with sessions, which end where an annotator makes a long pause.

    Parameters
    ----------
    seconds : (N,) float64
        NaN where unknown.
    annotator : (N,) int32

    Examples
    --------
    >>> found = times_of(np.array([60.0, 0.0, 4000.0, 5.0]), np.array([0, 0, 0, 1], np.int32))
    >>> found.session.tolist(), found.elapsed.tolist(), found.step.tolist()
    ([0, 0, 1, 0], [60.0, 0.0, 0.0, 0.0], [60.0, nan, nan, nan])
    """
    known = np.flatnonzero(~np.isnan(seconds))
    order = known[np.lexsort((seconds[known], annotator[known]))]
    who, when = annotator[order], seconds[order]
    step = np.diff(when, prepend=np.nan)
    begins_annotator = np.diff(who, prepend=-1) != 0
    begins = begins_annotator | (step > GAP_SECONDS)
    number = np.cumsum(begins)
    # Sessions are numbered from 0 for each annotator.
    first_of_annotator = number[begins_annotator][np.cumsum(begins_annotator) - 1]
    session = np.full(len(seconds), -1, np.int32)
    elapsed, since_last = np.full((2, len(seconds)), np.nan)
    session[order] = number - first_of_annotator
    elapsed[order] = when - when[begins][number - 1]
    since_last[order] = np.where(begins, np.nan, step)
    return Times(seconds, session, elapsed, since_last)
