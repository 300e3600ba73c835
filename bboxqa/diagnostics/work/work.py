"""Speed of annotators, and their agreement with the others over time."""

from datetime import UTC, datetime

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, find
from bboxqa.diagnostics.annotators.image_ratios import RatioSums
from bboxqa.diagnostics.work.changes import changes
from bboxqa.diagnostics.work.image_work import ImageWork, image_work
from bboxqa.diagnostics.work.sessions import sessions_of
from bboxqa.diagnostics.work.speed import are_at_once, speeds
from bboxqa.model.diagnosis import EVERYONE
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

_NOTHING = Table({"annotator": Categorical(np.zeros(0, np.int32), ())})
_HOUR = 3600


def work(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator, and the change of F1 with the others over time.

    A row for all annotators together, and one for each; no rows if times were not read. A session
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
    times = matched.data.annotations.times
    if times is None:
        return _NOTHING
    names, author = matched.data.annotator_names, matched.data.annotations.annotator
    n_annotators = len(names)
    sessions = sessions_of(times, author)
    n_sessions = np.bincount(sessions.annotator, minlength=n_annotators)
    hours = np.bincount(sessions.annotator, sessions.length, n_annotators) / _HOUR
    n = np.bincount(author[sessions.place >= 0], minlength=n_annotators)
    at_once = are_at_once(times, author, n_annotators)
    worked = image_work(matched, times, sessions)
    place, whose = _with_all(author, n_annotators)
    drawn = np.flatnonzero(~at_once[author[place]])
    everyone = np.arange(n_annotators + 1, dtype=np.int32)
    table = Table(
        {
            "annotator": Categorical(everyone, (*names, EVERYONE)),
            "n_sessions": np.append(n_sessions, n_sessions.sum()),
            **_speeds(matched, place[drawn], whose[drawn], n_annotators + 1),
            **changes(matched, worked, sessions, at_once),
            "hours": np.append(hours, hours.sum()),
            "n": np.append(n, n.sum()),
        }
    )
    return table.take(np.roll(np.arange(len(table)), 1))


def work_sessions(matched: MatchedUnits) -> Table:
    """Return the speed of each annotator and F1 with the others in each session.

    A row for each annotator and session; no rows if times were not read. Columns: annotator;
    session, numbered from 1; start, in UTC; minutes until the last annotation; n, the number of
    annotations; n_images; per_minute and f1 with their 95 % intervals over images; and
    median_seconds between two annotations. An image counts in the session of its median annotation.
    """
    times = matched.data.annotations.times
    if times is None:
        return _NOTHING
    sessions = sessions_of(times, matched.data.annotations.annotator)
    worked = image_work(matched, times, sessions)
    known = np.flatnonzero(sessions.place >= 0)
    n, whose = len(sessions.annotator), sessions.annotator.astype(np.int32)
    starts = tuple(_text(seconds) for seconds in sessions.start.tolist())
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

    A row for each hour of all annotators together and of each one; no rows if times were not read.
    Columns: annotator; hour of the session, from 1, over all sessions of an annotator; n_images; f1
    and per_minute, with their 95 % intervals over images; and median_seconds between two
    annotations.
    """
    times = matched.data.annotations.times
    if times is None:
        return _NOTHING
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
    sums = RatioSums(n, len(matched.data.image_names))
    sums.add(row, work.image, work.matched, work.drawn)
    found = sums.ratios(matched.bootstrap, matched.seed)
    return {"f1": found.value, "f1_low": found.interval[:, 0], "f1_high": found.interval[:, 1]}


def _speeds(matched: MatchedUnits, of: IndexArray, row: IndexArray, n: int) -> dict[str, Column]:
    """Return the speeds of K rows; `row` is the row of each of the annotations `of`."""
    drawn, n_images = matched.data.annotations, len(matched.data.image_names)
    step = np.full(len(of), np.nan) if drawn.times is None else drawn.times.step[of]
    return speeds(step, row, n, drawn.image[of], n_images, matched.bootstrap, matched.seed)


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
