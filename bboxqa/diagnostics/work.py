"""Sessions, speed and changes of annotators over time."""

from datetime import UTC, datetime

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    find,
    sum_by,
)
from bboxqa.diagnostics.object_cells import RatioSums, drawn_figures, medians
from bboxqa.diagnostics.rates import image_f1
from bboxqa.model.annotations import Times
from bboxqa.model.diagnosis import EVERYONE
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits


class WorkSessions(FrozenArrays, frozen=True, eq=False):
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


class ImageWork(FrozenArrays, frozen=True, eq=False):
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
        return ImageWork(*(getattr(self, each)[index] for each in self.__struct_fields__))


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


# Sums of a group: weights w, w·x, w·x², w·y and w·x·y.
_SUMS = 5


def _slopes(
    matched: MatchedUnits, work: ImageWork, x: FloatArray, group: IndexArray, owner: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the slopes of F1 over `x` within groups, with their intervals, (A + 1,) and (…, 2).

    They are least-squares slopes of the F1 of images, weighted by the number of annotations. Each
    group has its own intercept, so that differences between groups do not count; the groups of an
    annotator, `owner`, have a common slope. The last one is of all together. NaN where nothing
    varies.
    """
    weight, n_groups = work.drawn, len(owner)
    n_images, n_owners = len(matched.data.image_names), len(matched.data.annotator_names)
    amounts = (weight, weight * x, weight * x * x, work.matched, work.matched * x)
    row = np.concatenate([group + n_groups * number for number in range(_SUMS)])
    table = table_of(
        row, np.tile(work.image, _SUMS), np.concatenate(amounts), (_SUMS * n_groups, n_images)
    )

    def evaluate(sums: FloatArray) -> FloatArray:
        # The slopes of each owner, and of all, (A + 1, B), from sums of groups, (5, G, B).
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
    made_of = np.append(in_images, len(np.unique(work.image)))
    return drawn_figures(matched, [table], evaluate, made_of)


LEAST_SESSIONS, LEAST_IMAGES, LEAST_MINUTES = 3, 10, 30
"""With fewer sessions or images, or shorter sessions, changes are not reported."""

OK = "ok"
IMPORTED = "annotations made at once, as an import does"
FEW_SESSIONS = f"fewer than {LEAST_SESSIONS} sessions"
SHORT_SESSIONS = f"no session of {LEAST_MINUTES} minutes"
FEW_IMAGES = f"fewer than {LEAST_IMAGES} images with times"
_STATUSES = (OK, FEW_SESSIONS, SHORT_SESSIONS, FEW_IMAGES, IMPORTED)


def _changes(
    matched: MatchedUnits, work: ImageWork, sessions: WorkSessions, at_once: BoolArray
) -> dict[str, Column]:
    """Return the columns of drift and fatigue, of A annotators and of all.

    Each is a slope with its interval over images, and a status: "ok", or why there is no slope.
    `at_once`, (A,) bool, marks annotators who made most annotations at once.
    """
    n_annotators, owner = len(at_once), sessions.annotator
    used = work.take(np.flatnonzero(~at_once[work.annotator]))
    # Sessions are compared with others of their annotator, images with others of their session.
    session = sessions.number[used.session].astype(np.float64)
    n_sessions = np.bincount(owner, minlength=n_annotators)
    longest = np.zeros(n_annotators)
    np.maximum.at(longest, owner, sessions.length)
    few = np.bincount(work.annotator, minlength=n_annotators) < LEAST_IMAGES
    over = session, used.annotator, np.arange(n_annotators)
    within = used.elapsed / 3600, used.session, owner
    columns: dict[str, Column] = {}
    for name, of, is_short, reason in (
        ("drift", over, n_sessions < LEAST_SESSIONS, FEW_SESSIONS),
        ("fatigue", within, longest < 60 * LEAST_MINUTES, SHORT_SESSIONS),
    ):
        code = np.zeros(n_annotators, np.int32)
        for which, why in ((few, FEW_IMAGES), (is_short, reason), (at_once, IMPORTED)):
            code[which] = _STATUSES.index(why)
        code = np.append(code, code.min(initial=len(_STATUSES) - 1)).astype(np.int32)
        value, interval = _slopes(matched, used, *of)
        value[code > 0], interval[code > 0] = np.nan, np.nan
        columns |= figure_columns(name, value, interval)
        columns[f"{name}_status"] = Categorical(code, _STATUSES)
    return columns


# Faster annotations were imported, or made by a machine.
_AT_ONCE = 0.2


def _are_at_once(times: Times, annotator: IntArray, n_annotators: int) -> BoolArray:
    """Return (A,) bool: annotators most of whose annotations were made at once."""
    known = ~np.isnan(times.step)
    n_steps = np.bincount(annotator[known], minlength=n_annotators)
    at_once = np.bincount(annotator[known & (times.step < _AT_ONCE)], minlength=n_annotators)
    return 2 * at_once > n_steps


_HOUR = 3600


def _times(matched: MatchedUnits) -> Times:
    """Return when annotations were made; `registry.names` leaves the tables out without times."""
    if matched.data.annotations.times is None:
        raise ValueError("the times were not read")
    return matched.data.annotations.times


def work(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator, and the change of F1 with the others over time.

    A row for all annotators together, and one for each. A session
    ends with a pause of more than 30 minutes. Columns: annotator; n_sessions; per_minute, the
    annotations per minute within sessions, with its 95 % interval over images; median_seconds
    between two annotations of a session; hours, the duration of all sessions; n, the number of
    annotations with a time; and

    - drift, the change of F1 from one session to the next,
    - fatigue, the change of F1 with each hour within sessions,

    each with its interval over images and a status. Both are least-squares slopes of the F1 of
    images, weighted by the number of annotations. The slopes of all compare each annotator only
    with themselves. An annotator whose annotations were mostly made at once, as by an import, has
    no speed and no change.
    """
    times = _times(matched)
    names, author = matched.data.annotator_names, matched.data.annotations.annotator
    n_annotators = len(names)
    sessions = sessions_of(times, author)
    n_sessions = np.bincount(sessions.annotator, minlength=n_annotators)
    hours = np.bincount(sessions.annotator, sessions.length, n_annotators) / _HOUR
    n = np.bincount(author[sessions.place >= 0], minlength=n_annotators)
    at_once = _are_at_once(times, author, n_annotators)
    worked = image_work(matched, times, sessions)
    place, whose = _with_all(author, n_annotators)
    drawn = np.flatnonzero(~at_once[author[place]])
    everyone = np.arange(n_annotators + 1, dtype=np.int32)
    table = Table(
        {
            "annotator": Categorical(everyone, (*names, EVERYONE)),
            "n_sessions": np.append(n_sessions, n_sessions.sum()),
            **_speeds(matched, place[drawn], whose[drawn], n_annotators + 1),
            **_changes(matched, worked, sessions, at_once),
            "hours": np.append(hours, hours.sum()),
            "n": np.append(n, n.sum()),
        }
    )
    return table.take(np.roll(np.arange(len(table)), 1))


def work_sessions(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator and F1 with the others in each session.

    A row for each annotator and session. Columns: annotator;
    session, numbered from 1; start, in UTC; minutes until the last annotation; n, the number of
    annotations; n_images; per_minute and f1 with their 95 % intervals over images; and
    median_seconds between two annotations. An image counts in the session of its median annotation.
    """
    times = _times(matched)
    sessions = sessions_of(times, matched.data.annotations.annotator)
    worked = image_work(matched, times, sessions)
    known = np.flatnonzero(sessions.place >= 0)
    n, whose = len(sessions.annotator), sessions.annotator.astype(np.int32)
    starts = tuple(
        datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
        for seconds in sessions.start.tolist()
    )
    return Table(
        {
            "annotator": Categorical(whose, matched.data.annotator_names),
            "session": sessions.number + 1,
            "start": Categorical(np.arange(n, dtype=np.int32), starts),
            "minutes": sessions.length / 60,
            "n": np.bincount(sessions.place[known], minlength=n),
            "n_images": np.bincount(worked.session, minlength=n),
            **_f1(matched, worked, worked.session, n),
            **_speeds(matched, known, sessions.place[known], n),
        }
    )


def work_hours(matched: MatchedUnits) -> Table:
    """Return F1 with the others and speed in each hour of the sessions.

    A row for each hour of all annotators together and of each one.
    Columns: annotator; hour of the session, from 1, over all sessions of an annotator; n_images; f1
    and per_minute, with their 95 % intervals over images; and median_seconds between two
    annotations.
    """
    times = _times(matched)
    names, author = matched.data.annotator_names, matched.data.annotations.annotator
    worked = image_work(matched, times, sessions_of(times, author))
    most = int(np.nanmax(times.elapsed, initial=0) // _HOUR) + 1
    place, whose = _with_all(worked.annotator, len(names))
    hours = (worked.elapsed[place] // _HOUR).astype(np.int64)
    keys, row = np.unique(whose * most + hours, return_inverse=True)
    n, people = len(keys), (*names, EVERYONE)
    drawn, whose = _with_all(author, len(names))
    elapsed = np.nan_to_num(times.elapsed[drawn])
    key = whose * most + (elapsed // _HOUR).astype(np.int64)
    # An hour in which no image has its middle annotation has no row.
    found = find(keys, key)
    drawn, found = drawn[found >= 0], found[found >= 0]
    table = Table(
        {
            "annotator": Categorical((keys // most).astype(np.int32), people),
            "hour": keys % most + 1,
            "n_images": np.bincount(row, minlength=n),
            **_f1(matched, worked.take(place), row, n),
            **_speeds(matched, drawn, found, n),
        }
    )
    # All together come first.
    return table.take(np.argsort(keys // most != len(names), kind="stable"))


def _with_all(annotator: IndexArray | IntArray, n_annotators: int) -> tuple[IndexArray, IndexArray]:
    """Return each row twice: for its annotator, and for all annotators together."""
    place = np.tile(np.arange(len(annotator)), 2)
    whose = np.concatenate([annotator, np.full(len(annotator), n_annotators)])
    return place, whose.astype(np.int64)


def _f1(matched: MatchedUnits, work: ImageWork, row: IndexArray, n: int) -> dict[str, Column]:
    """Return F1 of K rows with its interval; `row` is the row of each image and annotator."""
    sums = RatioSums(matched, n)
    sums.add("f1", row, work.image, work.matched, work.drawn)
    return sums.ratios()["f1"].columns("f1")


def _speeds(matched: MatchedUnits, of: IndexArray, row: IndexArray, n: int) -> dict[str, Column]:
    """Return the speeds of K rows; `row` is the row of each of the annotations `of`."""
    step = _times(matched).step[of]
    rows = np.flatnonzero(~np.isnan(step))
    step, row = step[rows], row[rows]
    sums = RatioSums(matched, n)
    sums.add("speed", row, matched.data.annotations.image[of][rows], 60.0, step)
    return {**sums.ratios()["speed"].columns("per_minute"), "median_seconds": medians(step, row, n)}
