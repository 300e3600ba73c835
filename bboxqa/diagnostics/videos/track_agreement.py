"""Identity agreement of tracks in videos (IDF1)."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.videos.track_pairs import track_pairs, tracks_of
from bboxqa.diagnostics.videos.track_switches import switches
from bboxqa.matching.assignment import assign
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

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
            "idf1": 2 * same / n_boxes.sum(1),
            "idf1_low": intervals[:, 0, 0],
            "idf1_high": intervals[:, 0, 1],
            "switches_1": n_switches[:, 0],
            "switches_2": n_switches[:, 1],
            "switches": n_switches.sum(1),
            "switches_low": intervals[:, 1, 0],
            "switches_high": intervals[:, 1, 1],
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
