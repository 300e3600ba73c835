"""How annotators agree on tracks through videos."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, compress
from typing import NamedTuple

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, run_starts, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.assignment import assign
from bboxqa.model.table import Categorical, Table, figure_columns
from bboxqa.model.units import MatchedUnits

_DIGITS = re.compile(r"\d+")
_LONGEST = 20


@frozen_arrays
class TrackPairs:
    """P pairs of overlapping annotations in tracks, and T tracks."""

    first: IndexArray
    second: IndexArray
    """(P,) int64. The tracks of the two; the first is by the annotator with the lower index."""
    image: IndexArray
    """(P,) int64. The image in which they overlap."""
    similarity: FloatArray
    """(P,) float64. At least the threshold."""
    annotator: IndexArray
    """(T,) int64. The annotator of each track."""


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
    """Return the rank of each image in natural order of the names, (I,) int64."""
    keys = [_DIGITS.sub(lambda found: found[0].zfill(_LONGEST), name) for name in image_names]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))
    return place


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


_ONE = "nothing: one object in one video"
_NO_DRAWS = "nothing: --bootstrap 0"


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two annotators, and the contributions of T tracks to their figures, (T,) float64."""

    people: tuple[int, int]
    n_boxes: FloatArray
    """Boxes of both in frames about which both were asked."""
    n_same: FloatArray
    """For tracks of the first annotator: the frames shared with the assigned track."""
    n_switches: FloatArray
    partner: IndexArray
    """(T,) int64. The assigned track of the first annotator, or the track itself."""


def tracks(matched: MatchedUnits) -> Table:
    """Return the identity agreement of each pair of annotators on tracks in videos [1]_.

    The tracks of both are assigned one to one, so that as many frames as possible have boxes of
    both that reach the threshold.

    Columns: annotator_1, annotator_2; n_tracks_1, n_tracks_2, n_boxes_1 and n_boxes_2, the numbers
    of tracks and of their boxes in frames about which both were asked; idtp, the frames in which
    assigned tracks overlap; idfn and idfp, the other boxes of the first and of the second
    annotator, as if the first were right; idf1, 2 idtp / (n_boxes_1 + n_boxes_2), with its 95 %
    interval; switches_1 and switches_2, how often a track of each switches to another track of the
    other annotator; switches, their sum, with its interval; and interval_over, what intervals draw:
    videos, or the objects of a single video.

    References
    ----------
    .. [1] Ristani, E., Solera, F., Zou, R., Cucchiara, R. and Tomasi, C. (2016). Performance
       Measures and a Data Set for Multi-Target, Multi-Camera Tracking. ECCV Workshops.
       doi:10.1007/978-3-319-48881-3_2
    """
    names = matched.data.annotator_names
    annotator = track_pairs(matched).annotator
    pairs = [_pair(matched, *people) for people in combinations(range(len(names)), 2)]
    pairs = [each for each in pairs if np.isin(each.people, annotator[each.n_boxes > 0]).all()]
    whose = np.array([each.people for each in pairs], np.int32).reshape(-1, 2)
    owned = [annotator == person for person in range(len(names))]

    def of(each: _Pair, amount: FloatArray) -> list[int]:
        return [int(amount[owned[person]].sum()) for person in each.people]

    n_tracks = _counts([of(each, np.sign(each.n_boxes)) for each in pairs])
    n_boxes = _counts([of(each, each.n_boxes) for each in pairs])
    n_switches = _counts([of(each, each.n_switches) for each in pairs])
    same = np.array([int(each.n_same.sum()) for each in pairs], np.int64)
    bounds = [_intervals(matched, each) for each in pairs]
    intervals = np.array([each for each, _ in bounds]).reshape(-1, 2, 2)
    return Table(
        {
            "annotator_1": Categorical(whose[:, 0], names),
            "annotator_2": Categorical(whose[:, 1], names),
            "n_tracks_1": n_tracks[:, 0],
            "n_tracks_2": n_tracks[:, 1],
            "n_boxes_1": n_boxes[:, 0],
            "n_boxes_2": n_boxes[:, 1],
            "idtp": same,
            "idfn": n_boxes[:, 0] - same,
            "idfp": n_boxes[:, 1] - same,
            **figure_columns("idf1", 2 * same / n_boxes.sum(1), intervals[:, 0]),
            "switches_1": n_switches[:, 0],
            "switches_2": n_switches[:, 1],
            **figure_columns("switches", n_switches.sum(1), intervals[:, 1]),
            "interval_over": np.array([over for _, over in bounds], np.str_),
        }
    )


def _counts(rows: list[list[int]]) -> IndexArray:
    return np.array(rows, np.int64).reshape(-1, 2)


def _pair(matched: MatchedUnits, first: int, second: int) -> _Pair:
    """Return two annotators with their tracks assigned one to one."""
    annotations, assigned = matched.data.annotations, matched.data.assigned
    found, track = track_pairs(matched), tracks_of(matched)
    n_tracks = len(found.annotator)
    both = (assigned[:, first] & assigned[:, second])[annotations.image]
    both &= np.isin(annotations.annotator, (first, second)) & (track >= 0)
    n_boxes = np.bincount(track[both], minlength=n_tracks).astype(np.float64)
    of_both = found.annotator[found.first] == first
    of_both &= found.annotator[found.second] == second
    ends, n_frames = np.unique(
        np.stack([found.first, found.second], 1)[of_both], axis=0, return_counts=True
    )
    chosen = assign(ends[:, 0], ends[:, 1], n_frames)
    n_same = np.zeros(n_tracks)
    n_same[ends[chosen, 0]] = n_frames[chosen]
    partner = np.arange(n_tracks)
    partner[ends[chosen, 1]] = ends[chosen, 0]
    over = np.array(switches(matched), np.int64).reshape(-1, 5)
    over = over[np.isin(found.annotator[over[:, :2]], (first, second)).all(1), 0]
    n_switches = np.bincount(over, minlength=n_tracks).astype(np.float64)
    return _Pair((first, second), n_boxes, n_same, n_switches, partner)


def _intervals(matched: MatchedUnits, pair: _Pair) -> tuple[FloatArray, str]:
    """Return the intervals of IDF1 and of the number of switches, (2, 2), and what they draw."""
    unknown = np.full((2, 2), np.nan)
    tracks = matched.data.tracks
    used = np.flatnonzero(pair.n_boxes)
    if not matched.bootstrap or tracks is None:
        return unknown, _NO_DRAWS
    clusters: IndexArray = tracks.video[used].astype(np.int64)
    over = "videos"
    if (clusters == clusters[0]).all():
        clusters, over = pair.partner[used], "objects"
    _, cluster = np.unique(clusters, return_inverse=True)
    n_clusters = int(cluster.max()) + 1
    if n_clusters < 2:
        return unknown, _ONE

    def added(amount: FloatArray) -> FloatArray:
        return sum_by(cluster, amount[used], n_clusters)[None]

    drawn = matched.bootstrap, matched.seed
    ones = np.ones((1, n_clusters))
    return (
        np.concatenate(
            [
                ratio_intervals(2 * added(pair.n_same), added(pair.n_boxes), *drawn),
                ratio_intervals(added(pair.n_switches), ones, *drawn) * n_clusters,
            ]
        ),
        over,
    )
