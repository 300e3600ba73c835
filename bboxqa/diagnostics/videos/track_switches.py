"""Identity switches: a track of one annotator continues in another track of another annotator."""

from collections.abc import Iterator
from itertools import chain, compress
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import IndexArray, run_starts
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.videos.track_pairs import TrackPairs, frame_order, track_pairs
from bboxqa.matching.assignment import assign
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

# Weights are whole numbers.
_STEPS = 1 << 30


class Switch(NamedTuple):
    """An identity switch: tracks and images by index."""

    track: int
    before: int
    after: int
    until: int
    """The last image in which it is `before`."""
    since: int
    """The first image in which it is `after`."""


def track_switches(matched: MatchedUnits) -> Table:
    """Return the identity switches between each pair of annotators [1]_.

    Two tracks that are assigned to each other stay so in every frame in which they overlap. In each
    frame, the remaining ones are assigned one to one by similarity. A track that was assigned to
    another one before has an identity switch.

    A row for each switch: annotator_1 and track; annotator_2, and before and after, this
    annotator's two tracks; until and since, the last image with the former and the first with the
    latter; and video. Rows are sorted by annotators, then image.

    References
    ----------
    .. [1] Bernardin, K. and Stiefelhagen, R. (2008). Evaluating Multiple Object Tracking
       Performance: The CLEAR MOT Metrics. EURASIP Journal on Image and Video Processing.
       doi:10.1155/2008/246309
    """
    tracks, data = matched.data.tracks, matched.data
    found = np.array(switches(matched), np.int64).reshape(-1, 5)
    annotator = track_pairs(matched).annotator
    place = frame_order(data.image_names)
    own, before, since = found[:, 0], found[:, 1], found[:, 4]
    order = np.lexsort((own, place[since], annotator[before], annotator[own]))
    own, before, after, until, since = found[order].T
    names = () if tracks is None else tracks.names
    video = np.zeros(0, np.int32) if tracks is None else tracks.video[own]
    return Table(
        {
            "annotator_1": Categorical(annotator[own].astype(np.int32), data.annotator_names),
            "track": Categorical(own.astype(np.int32), names),
            "annotator_2": Categorical(annotator[before].astype(np.int32), data.annotator_names),
            "before": Categorical(before.astype(np.int32), names),
            "after": Categorical(after.astype(np.int32), names),
            "until": Categorical(until.astype(np.int32), data.image_names),
            "since": Categorical(since.astype(np.int32), data.image_names),
            "video": Categorical(video, () if tracks is None else tracks.videos),
        }
    )


@remembered
def switches(matched: MatchedUnits) -> list[Switch]:
    """Return the identity switches between all pairs of annotators."""
    pairs = track_pairs(matched)
    place = frame_order(matched.data.image_names)[pairs.image]
    people = pairs.annotator[pairs.first] * len(matched.data.annotator_names)
    people += pairs.annotator[pairs.second]
    order = np.lexsort((place, people))
    parts = np.split(order, run_starts(people[order])[1:])
    return [switch for rows in parts for switch in _of_people(pairs, rows, place)]


def _of_people(pairs: TrackPairs, rows: IndexArray, place: IndexArray) -> Iterator[Switch]:
    """Yield the switches of two annotators; `rows` are their pairs, frame by frame."""
    now: dict[int, int] = {}
    until: dict[int, int] = {}
    for frame in np.split(rows, run_starts(place[rows])[1:]):
        if not len(frame):
            continue
        image = int(pairs.image[frame[0]])
        first, second = pairs.first[frame].tolist(), pairs.second[frame].tolist()
        both = [*zip(first, second, strict=True)]
        kept = [now.get(a) == b and now.get(b) == a for a, b in both]
        taken = {track for pair in compress(both, kept) for track in pair}
        is_free = [a not in taken and b not in taken for a, b in both]
        new = [both[row] for row in _chosen(pairs, frame, np.flatnonzero(is_free))]
        for track, other in chain.from_iterable(((a, b), (b, a)) for a, b in new):
            if now.setdefault(track, other) != other:
                yield Switch(track, now[track], other, until[track], image)
                now[track] = other
        until |= dict.fromkeys(chain(taken, *new), image)


def _chosen(pairs: TrackPairs, frame: IndexArray, free: IndexArray) -> list[int]:
    """Return the free pairs of a frame that assign tracks one to one, by similarity."""
    rows = frame[free]
    weight = np.maximum(np.rint(pairs.similarity[rows] * _STEPS), 1).astype(np.int64)
    chosen = free[assign(pairs.first[rows], pairs.second[rows], weight)]
    return [int(row) for row in chosen]
