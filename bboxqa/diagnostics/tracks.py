"""How annotators agree on tracks through videos."""

from collections.abc import Iterator
from itertools import chain, combinations, compress

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.core.arrays import FloatArray, FrozenArrays, IndexArray, run_starts, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.core.text import in_natural_order
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.assignment import assign
from bboxqa.model.table import Categorical, Table, figure_columns
from bboxqa.model.units import MatchedUnits


class TrackPairs(FrozenArrays, frozen=True, eq=False):
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
    rank = {name: place for place, name in enumerate(in_natural_order(image_names))}
    return np.array([rank[name] for name in image_names], np.int64)


# Weights are whole numbers.
_STEPS = 1 << 30


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
    names, videos = ((), ()) if tracks is None else (tracks.names, tracks.videos)
    found, annotator = switches(matched), track_pairs(matched).annotator
    own, before, since = found[:, 0], found[:, 1], found[:, 4]
    place = frame_order(data.image_names)
    found = found[np.lexsort((own, place[since], annotator[before], annotator[own]))]
    own, before, after, until, since = found.astype(np.int32).T
    video = np.zeros(0, np.int32) if tracks is None else tracks.video[own]
    return Table(
        {
            "annotator_1": Categorical(annotator[own].astype(np.int32), data.annotator_names),
            "track": Categorical(own, names),
            "annotator_2": Categorical(annotator[before].astype(np.int32), data.annotator_names),
            "before": Categorical(before, names),
            "after": Categorical(after, names),
            "until": Categorical(until, data.image_names),
            "since": Categorical(since, data.image_names),
            "video": Categorical(video, videos),
        }
    )


@remembered
def switches(matched: MatchedUnits) -> IndexArray:
    """Return the identity switches between all pairs of annotators, (S, 5) int64.

    The columns are the track, the other annotator's tracks before and after, the last image with
    the former, and the first one with the latter.
    """
    pairs = track_pairs(matched)
    place = frame_order(matched.data.image_names)[pairs.image]
    people = pairs.annotator[pairs.first] * len(matched.data.annotator_names)
    people += pairs.annotator[pairs.second]
    order = np.lexsort((place, people))
    parts = np.split(order, run_starts(people[order])[1:])
    found = [switch for rows in parts for switch in _of_people(pairs, rows, place)]
    return np.array(found, np.int64).reshape(-1, 5)


def _of_people(
    pairs: TrackPairs, rows: IndexArray, place: IndexArray
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the switches of two annotators; `rows` are their pairs, frame by frame."""
    now: dict[int, int] = {}
    until: dict[int, int] = {}
    weight = np.maximum(np.rint(pairs.similarity * _STEPS), 1).astype(np.int64)
    for frame in np.split(rows, run_starts(place[rows])[1:]):
        if not len(frame):
            continue
        image = int(pairs.image[frame[0]])
        both = [*zip(pairs.first[frame].tolist(), pairs.second[frame].tolist(), strict=True)]
        kept = [now.get(a) == b and now.get(b) == a for a, b in both]
        taken = {track for pair in compress(both, kept) for track in pair}
        free = np.flatnonzero([a not in taken and b not in taken for a, b in both])
        # Free tracks are assigned one to one, by similarity.
        left = frame[free]
        chosen = free[assign(pairs.first[left], pairs.second[left], weight[left])]
        new = [both[row] for row in chosen.tolist()]
        for track, other in chain.from_iterable(((a, b), (b, a)) for a, b in new):
            if now.setdefault(track, other) != other:
                yield track, now[track], other, until[track], image
                now[track] = other
        until |= dict.fromkeys(chain(taken, *new), image)


_ONE = "nothing: one object in one video"
_NO_DRAWS = "nothing: --bootstrap 0"


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
    names, annotator = matched.data.annotator_names, track_pairs(matched).annotator
    people, numbers, bounds, over = [], [], [], []
    for first, second in combinations(range(len(names)), 2):
        amounts = _of_pair(matched, first, second)
        boxes, frames, switched, _ = amounts
        owned = np.stack([annotator == first, annotator == second])
        if not (owned & (boxes > 0)).any(1).all():
            continue
        people.append((first, second))
        sums = [owned @ each for each in (np.sign(boxes), boxes, switched)]
        numbers.append([*np.concatenate(sums), frames.sum()])
        interval, drawn = _intervals(matched, *amounts)
        bounds.append(interval)
        over.append(drawn)
    whose = np.array(people, np.int32).reshape(-1, 2)
    intervals = np.array(bounds).reshape(-1, 2, 2)
    n = np.array(numbers, np.int64).reshape(-1, 7)
    n_tracks, n_boxes, n_switches, same = n[:, :2], n[:, 2:4], n[:, 4:6], n[:, 6]
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
            "interval_over": np.array(over, np.str_),
        }
    )


def _of_pair(
    matched: MatchedUnits, first: int, second: int
) -> tuple[FloatArray, FloatArray, FloatArray, IndexArray]:
    """Return what tracks add to the figures of two annotators, (T,) each.

    These are boxes of both in frames about which both were asked; for tracks of the first
    annotator, frames shared with the assigned track; switches; and the assigned track of the first
    annotator, or the track itself.
    """
    annotations, assigned = matched.data.annotations, matched.data.assigned
    found, track = track_pairs(matched), tracks_of(matched)
    n_tracks = len(found.annotator)
    both = (assigned[:, first] & assigned[:, second])[annotations.image]
    both &= np.isin(annotations.annotator, (first, second)) & (track >= 0)
    of_both = found.annotator[found.first] == first
    of_both &= found.annotator[found.second] == second
    ends, n_frames = np.unique(
        np.stack([found.first, found.second], 1)[of_both], axis=0, return_counts=True
    )
    chosen = assign(ends[:, 0], ends[:, 1], n_frames)
    n_same, partner = np.zeros(n_tracks), np.arange(n_tracks)
    n_same[ends[chosen, 0]] = n_frames[chosen]
    partner[ends[chosen, 1]] = ends[chosen, 0]
    over = switches(matched)
    over = over[np.isin(found.annotator[over[:, :2]], (first, second)).all(1), 0]
    n_boxes, n_switches = (
        np.bincount(each, minlength=n_tracks).astype(np.float64) for each in (track[both], over)
    )
    return n_boxes, n_same, n_switches, partner


def _intervals(
    matched: MatchedUnits,
    n_boxes: FloatArray,
    n_same: FloatArray,
    n_switches: FloatArray,
    partner: IndexArray,
) -> tuple[FloatArray, str]:
    """Return the intervals of IDF1 and of the number of switches, (2, 2), and what they draw."""
    unknown, tracks = np.full((2, 2), np.nan), matched.data.tracks
    used = np.flatnonzero(n_boxes)
    if not matched.bootstrap or tracks is None:
        return unknown, _NO_DRAWS
    clusters, over = tracks.video[used].astype(np.int64), "videos"
    if (clusters == clusters[0]).all():
        clusters, over = partner[used], "objects"
    _, cluster = np.unique(clusters, return_inverse=True)
    n_clusters = int(cluster.max()) + 1
    if n_clusters < 2:
        return unknown, _ONE
    boxes, same, switched = (
        sum_by(cluster, each[used], n_clusters)[None] for each in (n_boxes, n_same, n_switches)
    )
    drawn = matched.bootstrap, matched.seed
    idf1 = ratio_intervals(2 * same, boxes, *drawn)
    per_cluster = ratio_intervals(switched, np.ones((1, n_clusters)), *drawn)
    return np.concatenate([idf1, per_cluster * n_clusters]), over
