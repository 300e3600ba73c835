"""Annotators over time: sessions, speed and changes of work, and tracks through videos."""

from datetime import UTC, datetime
from itertools import chain, combinations, compress

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.intervals import ratio_intervals
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    distinct_rows,
    remembered,
    run_starts,
    sum_by,
)
from bboxqa.core.text import in_natural_order
from bboxqa.diagnostics.object_cells import RatioSums, drawn_figures, medians
from bboxqa.diagnostics.rates import image_f1, reaching_pairs
from bboxqa.matching.assignment import assign
from bboxqa.model.annotations import Times, Tracks
from bboxqa.model.diagnosis import EVERYONE
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits


class Work(FrozenArrays, frozen=True, eq=False):
    """S sessions of annotators, and C pairs of an image and an annotator, of timed annotations."""

    times: Times
    place: IndexArray
    """(N,) int64. The session of each annotation; -1 where its time is unknown."""
    owner: IndexArray
    number: IndexArray
    start: FloatArray
    length: FloatArray
    """(S,). The annotator of each session, its number, from 0, and its start and length in s."""
    image: IndexArray
    annotator: IndexArray
    session: IndexArray
    elapsed: FloatArray
    matched: FloatArray
    drawn: FloatArray
    """(C,). The session of the annotation with the median time, the seconds since it began, and the
    sums of `image_f1`."""


@remembered
def worked(matched: MatchedUnits) -> Work:
    """Return when annotators worked on which image."""
    of, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    times = of.times
    if times is None:
        raise ValueError("the times were not read")
    author, known = of.annotator.astype(np.int64), np.flatnonzero(times.session >= 0)
    most = int(times.session.max(initial=0)) + 1
    sessions, first, place = np.unique(
        author[known] * most + times.session[known], return_index=True, return_inverse=True
    )
    length, every = np.zeros(len(sessions)), np.full(len(of), -1)
    np.maximum.at(length, place, times.elapsed[known])
    every[known] = place
    cell = of.image[known] * n_annotators + author[known]
    order = np.lexsort((times.seconds[known], cell))
    cells, start, n = np.unique(cell[order], return_index=True, return_counts=True)
    middle = known[order[start + (n - 1) // 2]]
    image, annotator, same, drawn = image_f1(matched)
    found = np.searchsorted(image * n_annotators + annotator, cells)
    return Work(
        times=times,
        place=every,
        owner=sessions // most,
        number=sessions % most,
        start=times.seconds[known][first] - times.elapsed[known][first],
        length=length,
        image=image[found],
        annotator=annotator[found],
        session=every[middle],
        elapsed=times.elapsed[middle],
        matched=same[found],
        drawn=drawn[found],
    )


_HOUR = 3600
# Sums of a group: weights w, w·x, w·x², w·y and w·x·y.
_SUMS = 5


def _slopes(
    matched: MatchedUnits, cells: IndexArray, x: FloatArray, group: IndexArray, owner: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the slopes of F1 over `x` within groups of images, (A + 1,), and their intervals."""
    # Each group has its own intercept; the groups of an annotator, `owner`, have one slope.
    work, n_groups = worked(matched), len(owner)
    image, weight, y = work.image[cells], work.drawn[cells], work.matched[cells]
    n_images, n_owners = len(matched.data.image_names), len(matched.data.annotator_names)
    amounts = (weight, weight * x, weight * x * x, y, y * x)
    row = np.concatenate([group + n_groups * number for number in range(_SUMS)])
    table = table_of(
        row, np.tile(image, _SUMS), np.concatenate(amounts), (_SUMS * n_groups, n_images)
    )

    def evaluate(sums: FloatArray) -> FloatArray:
        weight, of_x, of_squares, of_y, of_products = sums.reshape(_SUMS, n_groups, -1)
        mean = np.nan_to_num(ratio(of_x, weight))
        spread = np.maximum(of_squares - mean * of_x, 0)
        # Rounding leaves a residue where x does not vary.
        spread[spread <= 1e-9 * of_squares] = 0
        found = []
        for part in (of_products - mean * of_y, spread):
            by_owner = np.stack([sum_by(owner, draw, n_owners) for draw in part.T], axis=1)
            found.append(np.concatenate([by_owner, by_owner.sum(0, keepdims=True)]))
        return ratio(*found)

    in_images = np.bincount(owner[group], minlength=n_owners)
    made_of = np.append(in_images, len(np.unique(image)))
    return drawn_figures(matched, [table], evaluate, made_of)


LEAST_SESSIONS, LEAST_IMAGES, LEAST_MINUTES = 3, 10, 30
"""With fewer sessions or images, or shorter sessions, changes are not reported."""

OK = "ok"
IMPORTED = "annotations made at once, as an import does"
FEW_SESSIONS = f"fewer than {LEAST_SESSIONS} sessions"
SHORT_SESSIONS = f"no session of {LEAST_MINUTES} minutes"
FEW_IMAGES = f"fewer than {LEAST_IMAGES} images with times"
_STATUSES = (OK, FEW_SESSIONS, SHORT_SESSIONS, FEW_IMAGES, IMPORTED)


def _changes(matched: MatchedUnits, at_once: BoolArray) -> dict[str, Column]:
    """Return the columns of drift and fatigue, of A annotators and of all."""
    work, n_annotators = worked(matched), len(at_once)
    used = np.flatnonzero(~at_once[work.annotator])
    # Sessions are compared with others of their annotator, images with others of their session.
    session = work.session[used]
    n_sessions = np.bincount(work.owner, minlength=n_annotators)
    longest = np.zeros(n_annotators)
    np.maximum.at(longest, work.owner, work.length)
    few = np.bincount(work.annotator, minlength=n_annotators) < LEAST_IMAGES
    over = work.number[session].astype(np.float64), work.annotator[used], np.arange(n_annotators)
    within = work.elapsed[used] / _HOUR, session, work.owner
    columns: dict[str, Column] = {}
    for name, of, is_short, reason in (
        ("drift", over, n_sessions < LEAST_SESSIONS, FEW_SESSIONS),
        ("fatigue", within, longest < 60 * LEAST_MINUTES, SHORT_SESSIONS),
    ):
        reasons = [_STATUSES.index(why) for why in (IMPORTED, reason, FEW_IMAGES)]
        code = np.select([at_once, is_short, few], reasons)
        code = np.append(code, code.min(initial=len(_STATUSES) - 1)).astype(np.int32)
        value, interval = _slopes(matched, used, *of)
        value[code > 0], interval[code > 0] = np.nan, np.nan
        columns |= figure_columns(name, value, interval)
        columns[f"{name}_status"] = Categorical(code, _STATUSES)
    return columns


# Faster annotations were imported, or made by a machine.
_AT_ONCE = 0.2


def work(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator, and the change of F1 with the others over time.

    A row for all annotators together, and one for each. A session ends with a pause of more than 30
    minutes. Columns: annotator; n_sessions; per_minute, the annotations per minute within sessions,
    and median_seconds between two annotations of a session; hours, the duration of all sessions; n,
    the number of annotations with a time; drift, the change of F1 from one session to the next, and
    fatigue, that with each hour within sessions, each with a status. All but numbers have 95 %
    intervals over images. Changes are least-squares slopes of the F1 of images, weighted by the
    number of annotations; those of all compare each annotator only with themselves. An annotator
    whose annotations were mostly made at once, as by an import, has no speed and no change.
    """
    found, names = worked(matched), matched.data.annotator_names
    author, n_annotators = matched.data.annotations.annotator, len(names)
    n_sessions = np.bincount(found.owner, minlength=n_annotators)
    hours = np.bincount(found.owner, found.length, n_annotators) / _HOUR
    n = np.bincount(author[found.place >= 0], minlength=n_annotators)
    timed, fast = ~np.isnan(found.times.step), found.times.step < _AT_ONCE
    n_timed, n_fast = (np.bincount(author[each], minlength=n_annotators) for each in (timed, fast))
    at_once = 2 * n_fast > n_timed
    # Each annotation counts for its annotator, and for all together.
    drawn = np.flatnonzero(~at_once[author])
    whose = np.append(author[drawn].astype(np.int64), np.full(len(drawn), n_annotators))
    everyone = np.arange(n_annotators + 1, dtype=np.int32)
    table = Table(
        {
            "annotator": Categorical(everyone, (*names, EVERYONE)),
            "n_sessions": np.append(n_sessions, n_sessions.sum()),
            **_speeds(matched, np.tile(drawn, 2), whose, n_annotators + 1),
            **_changes(matched, at_once),
            "hours": np.append(hours, hours.sum()),
            "n": np.append(n, n.sum()),
        }
    )
    return table.take(np.roll(np.arange(len(table)), 1))


def work_sessions(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator and F1 with the others in each session.

    Columns: annotator; session, numbered from 1; start, in UTC; minutes until the last annotation;
    n, the number of annotations; n_images; per_minute and f1 with their 95 % intervals over images;
    and median_seconds between two. An image counts in the session of its median annotation.
    """
    found = worked(matched)
    known, n = np.flatnonzero(found.place >= 0), len(found.owner)
    starts = tuple(
        datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
        for seconds in found.start.tolist()
    )
    f1 = found.session, found.image, found.matched, found.drawn
    return Table(
        {
            "annotator": Categorical(found.owner.astype(np.int32), matched.data.annotator_names),
            "session": found.number + 1,
            "start": Categorical(np.arange(n, dtype=np.int32), starts),
            "minutes": found.length / 60,
            "n": np.bincount(found.place[known], minlength=n),
            "n_images": np.bincount(found.session, minlength=n),
            **RatioSums(matched, n, {"f1": [f1]}).columns(),
            **_speeds(matched, known, found.place[known], n),
        }
    )


def _speeds(matched: MatchedUnits, of: IndexArray, row: IndexArray, n: int) -> dict[str, Column]:
    """Return the speeds of K rows; `row` is the row of each of the annotations `of`."""
    step = worked(matched).times.step[of]
    kept = np.flatnonzero(~np.isnan(step))
    step, row, image = step[kept], row[kept], matched.data.annotations.image[of[kept]]
    sums = RatioSums(matched, n, {"per_minute": [(row, image, 60.0, step)]})
    return {**sums.columns(), "median_seconds": medians(step, row, n)}


class TrackPairs(FrozenArrays, frozen=True, eq=False):
    """P pairs of overlapping annotations in tracks, T tracks, and N annotations in I images."""

    first: IndexArray
    second: IndexArray
    image: IndexArray
    similarity: FloatArray
    """(P,). The tracks of the two, that of the first annotator first, and where they overlap."""
    annotator: IndexArray
    track: IndexArray
    frame: IndexArray
    """(T,), (N,), (I,) int64. The annotator of each track, the track of each annotation, -1 without
    one, and the rank of each image in natural order of the names."""


@remembered
def track_pairs(matched: MatchedUnits) -> TrackPairs:
    """Return the pairs of annotations in tracks that reach the threshold."""
    annotations, names = matched.data.annotations, matched.data.image_names
    near, given = reaching_pairs(matched), annotations.track
    track = np.full(len(annotations), -1) if given is None else given.astype(np.int64)
    near = near.take((track[near.left] >= 0) & (track[near.right] >= 0))
    annotator = np.zeros(int(track.max(initial=-1)) + 1, np.int64)
    annotator[track[track >= 0]] = annotations.annotator[track >= 0]
    rank = {name: place for place, name in enumerate(in_natural_order(names))}
    return TrackPairs(
        first=track[near.left],
        second=track[near.right],
        image=annotations.image[near.left].astype(np.int64),
        similarity=near.similarity,
        annotator=annotator,
        track=track,
        frame=np.array([rank[name] for name in names], np.int64),
    )


# Weights are whole numbers.
_STEPS = 1 << 30


def track_switches(matched: MatchedUnits) -> Table:
    """Return the identity switches between each pair of annotators.

    Two tracks that are assigned to each other stay so in every frame in which they overlap. In each
    frame, the remaining ones are assigned one to one by similarity (Bernardin and Stiefelhagen
    2008, doi:10.1155/2008/246309). A track that was assigned to another one before has an identity
    switch: annotator_1 and track; annotator_2, and before and after, this annotator's two tracks;
    until and since, the last image with the former and the first with the latter; and video. Rows
    are sorted by annotators, then image.
    """
    data, found, pairs = matched.data, switches(matched), track_pairs(matched)
    tracks = data.tracks or Tracks((), np.zeros(0, np.int32), ())
    own, before, since = found[:, 0], found[:, 1], found[:, 4]
    annotator = pairs.annotator
    found = found[np.lexsort((own, pairs.frame[since], annotator[before], annotator[own]))]
    own, before, after, until, since = found.astype(np.int32).T
    return Table(
        {
            "annotator_1": Categorical(annotator[own].astype(np.int32), data.annotator_names),
            "track": Categorical(own, tracks.names),
            "annotator_2": Categorical(annotator[before].astype(np.int32), data.annotator_names),
            "before": Categorical(before, tracks.names),
            "after": Categorical(after, tracks.names),
            "until": Categorical(until, data.image_names),
            "since": Categorical(since, data.image_names),
            "video": Categorical(tracks.video[own], tracks.videos),
        }
    )


@remembered
def switches(matched: MatchedUnits) -> IndexArray:
    """Return the identity switches between all pairs of annotators, (S, 5) int64."""
    pairs = track_pairs(matched)
    place = pairs.frame[pairs.image]
    people = pairs.annotator[pairs.first] * len(matched.data.annotator_names)
    people += pairs.annotator[pairs.second]
    order = np.lexsort((place, people))
    weight = np.maximum(np.rint(pairs.similarity * _STEPS), 1).astype(np.int64)
    found: list[tuple[int, ...]] = []
    # By pair of annotators, the track to which each track is assigned, and until which image.
    now: dict[tuple[int, int], int] = {}
    until: dict[tuple[int, int], int] = {}
    for rows in np.split(order, run_starts(people[order] * len(pairs.frame) + place[order])[1:]):
        if not len(rows):
            continue
        who, image = int(people[rows[0]]), int(pairs.image[rows[0]])
        both = [*zip(pairs.first[rows].tolist(), pairs.second[rows].tolist(), strict=True)]
        kept = [now.get((who, a)) == b and now.get((who, b)) == a for a, b in both]
        taken = {track for pair in compress(both, kept) for track in pair}
        free = np.flatnonzero([a not in taken and b not in taken for a, b in both])
        left = rows[free]
        chosen = free[assign(pairs.first[left], pairs.second[left], weight[left])]
        new = [both[row] for row in chosen.tolist()]
        for track, other in chain.from_iterable(((a, b), (b, a)) for a, b in new):
            before = now.setdefault((who, track), other)
            if before != other:
                found.append((track, before, other, until[who, track], image))
                now[who, track] = other
        until |= dict.fromkeys(((who, track) for track in chain(taken, *new)), image)
    return np.array(found, np.int64).reshape(-1, 5)


_ONE = "nothing: one object in one video"
_NO_DRAWS = "nothing: --bootstrap 0"


def tracks(matched: MatchedUnits) -> Table:
    """Return the identity agreement of each pair of annotators on tracks in videos.

    The tracks of both are assigned one to one, so that as many frames as possible have boxes of
    both that reach the threshold (Ristani et al. 2016, doi:10.1007/978-3-319-48881-3_2).

    Columns: annotator_1, annotator_2; n_tracks_1, n_tracks_2, n_boxes_1 and n_boxes_2, the numbers
    of tracks and of their boxes in frames about which both were asked; idtp, the frames in which
    assigned tracks overlap; idfn and idfp, the other boxes of the first and of the second; idf1, 2
    idtp / (n_boxes_1 + n_boxes_2); switches_1 and switches_2, how often a track of each switches to
    another track of the other; switches, their sum, with an interval as idf1; and interval_over,
    what intervals draw.
    """
    data, found, over = matched.data, track_pairs(matched), switches(matched)
    names, annotator, n_tracks = data.annotator_names, found.annotator, len(found.annotator)
    of, rows = data.annotations, []
    for first, second in combinations(range(len(names)), 2):
        owned = np.stack([annotator == first, annotator == second])
        both = (data.assigned[:, first] & data.assigned[:, second])[of.image]
        both &= np.isin(of.annotator, (first, second)) & (found.track >= 0)
        of_both = (annotator[found.first] == first) & (annotator[found.second] == second)
        (own, other), _, n_frames = distinct_rows(found.first[of_both], found.second[of_both])
        chosen = assign(own, other, n_frames)
        n_same, partner = np.zeros(n_tracks), np.arange(n_tracks)
        n_same[own[chosen]] = n_frames[chosen]
        partner[other[chosen]] = own[chosen]
        switched = over[np.isin(annotator[over[:, :2]], (first, second)).all(1), 0]
        boxes, n_switches = (
            np.bincount(each, minlength=n_tracks).astype(np.float64)
            for each in (found.track[both], switched)
        )
        if not (owned & (boxes > 0)).any(1).all():
            continue
        sums = [owned @ each for each in (np.sign(boxes), boxes, n_switches)]
        intervals, drawn = _intervals(matched, (boxes, n_same, n_switches), partner)
        rows.append((first, second, np.concatenate([*sums, [n_same.sum()]]), intervals, drawn))
    firsts, seconds, counts, bounds, units = zip(*rows, strict=True) if rows else ((),) * 5
    n, intervals = np.array(counts, np.int64).reshape(-1, 7), np.array(bounds).reshape(-1, 2, 2)
    n_tracks_of, n_boxes, n_switched, same = n[:, :2], n[:, 2:4], n[:, 4:6], n[:, 6]
    return Table(
        {
            "annotator_1": Categorical(np.array(firsts, np.int32), names),
            "annotator_2": Categorical(np.array(seconds, np.int32), names),
            "n_tracks_1": n_tracks_of[:, 0],
            "n_tracks_2": n_tracks_of[:, 1],
            "n_boxes_1": n_boxes[:, 0],
            "n_boxes_2": n_boxes[:, 1],
            "idtp": same,
            "idfn": n_boxes[:, 0] - same,
            "idfp": n_boxes[:, 1] - same,
            **figure_columns("idf1", 2 * same / n_boxes.sum(1), intervals[:, 0]),
            "switches_1": n_switched[:, 0],
            "switches_2": n_switched[:, 1],
            **figure_columns("switches", n_switched.sum(1), intervals[:, 1]),
            "interval_over": np.array(units, np.str_),
        }
    )


def _intervals(
    matched: MatchedUnits, amounts: tuple[FloatArray, ...], partner: IndexArray
) -> tuple[FloatArray, str]:
    """Return the intervals of IDF1 and of the number of switches, (2, 2), and what they draw."""
    tracks, used = matched.data.tracks, np.flatnonzero(amounts[0])
    if not matched.bootstrap or tracks is None:
        return np.full((2, 2), np.nan), _NO_DRAWS
    clusters, over = tracks.video[used].astype(np.int64), "videos"
    if (clusters == clusters[0]).all():
        clusters, over = partner[used], "objects"
    _, cluster = np.unique(clusters, return_inverse=True)
    n_clusters = int(cluster.max()) + 1
    if n_clusters < 2:
        return np.full((2, 2), np.nan), _ONE
    boxes, same, switched = (sum_by(cluster, each[used], n_clusters)[None] for each in amounts)
    drawn = matched.bootstrap, matched.seed
    idf1 = ratio_intervals(2 * same, boxes, *drawn)
    per_cluster = ratio_intervals(switched, np.ones((1, n_clusters)), *drawn)
    return np.concatenate([idf1, per_cluster * n_clusters]), over
