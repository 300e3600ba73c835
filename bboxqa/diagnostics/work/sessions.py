"""The sessions in which annotators worked."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, frozen_arrays
from bboxqa.model.times import Times


@frozen_arrays
class WorkSessions:
    """S sessions, sorted by annotator, then time, and N annotations."""

    place: IndexArray
    """(N,) int64. The session of each annotation; -1 where its time is unknown."""
    annotator: IndexArray
    number: IndexArray
    """(S,) int64 each. The annotator of each session, and its number, from 0."""
    start: FloatArray
    """(S,) float64. Seconds since 1970."""
    length: FloatArray
    """(S,) float64. Seconds until the last annotation."""


def sessions_of(times: Times, annotator: IntArray) -> WorkSessions:
    """Return the sessions of annotations with times."""
    most = int(times.session.max(initial=0)) + 1
    known = np.flatnonzero(times.session >= 0)
    key = annotator[known].astype(np.int64) * most + times.session[known]
    keys, first, place = np.unique(key, return_index=True, return_inverse=True)
    length = np.zeros(len(keys))
    np.maximum.at(length, place, times.elapsed[known])
    every = np.full(len(annotator), -1)
    every[known] = place
    return WorkSessions(
        place=every,
        annotator=keys // most,
        number=keys % most,
        start=times.seconds[known][first] - times.elapsed[known][first],
        length=length,
    )
