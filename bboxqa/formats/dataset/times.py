"""Parsing the times at which annotations were made."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.dataset.people import listed_files
from bboxqa.formats.records import AnnotationFile

# Seconds since 1970, for 1973 to 2100. Smaller numbers are not times.
_EARLIEST, _LATEST = 1e8, 4.1e9
_LISTED = 5
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of dates without a time zone, which are UTC
_ADVICE = (
    "Times are ISO 8601, such as 2026-01-31T08:15:00 or 2026-01-31 08:15:00+01:00, or seconds or "
    "milliseconds since 1970."
)


def seconds_of(text: str) -> float | None:
    """Return a time in seconds since 1970; None if the text is not a time.

    Times without a time zone are read as UTC.

    Examples
    --------
    >>> seconds_of("1970-04-26 17:46:40"), seconds_of("1970-04-26T17:46:41.5+00:00")
    (10000000.0, 10000001.5)
    >>> seconds_of("1767600000"), seconds_of("1767600000000"), seconds_of("12"), seconds_of("today")
    (1767600000.0, 1767600000.0, None, None)
    """
    # A date without a time of day does not tell sessions apart.
    if ":" in text:
        return _seconds_of_date(text)
    try:
        number = float(text)
    except ValueError:
        return None
    if _EARLIEST <= number <= _LATEST:
        return number
    return number / 1000 if 1000 * _EARLIEST <= number <= 1000 * _LATEST else None


def _seconds_of_date(text: str) -> float | None:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    # This is faster than attaching a time zone.
    return (found - _EPOCH).total_seconds() if found.tzinfo is None else found.timestamp()


def read_times(files: Sequence[AnnotationFile], key: str) -> list[FloatArray]:
    """Return the time of each annotation by file, (N,), in seconds since 1970.

    Times are NaN where the key is absent. Raises DatasetError if no annotation has the key, or if a
    value is not a time.
    """
    found, problems, n_wrong = [], list[str](), 0
    for file in files:
        texts = file.columns.authors[key]
        values = [seconds_of(text) for text in texts.names]
        wrong = np.array([value is None for value in values] + [False], np.bool_)
        rows = np.flatnonzero(wrong[texts.code])
        n_wrong += len(rows)
        for row in rows[: max(_LISTED - len(problems), 0)].tolist():
            value = one_line(texts.names[texts.code[row]])
            problems.append(
                f"{file.source.name}: annotation {file.shown_ids[row]}: {key} is {value!r}; "
                "expected a time"
            )
        table = np.array([*(np.nan if value is None else value for value in values), np.nan])
        found.append(table[texts.code])
    if problems:
        raise DatasetError(problems, _ADVICE, total=n_wrong)
    if all(np.isnan(seconds).all() for seconds in found):
        n_annotations = count(sum(map(len, found)), "annotation")
        raise DatasetError(
            [f"{listed_files(files)}: none of {n_annotations} has the key {key!r}"],
            "Name the key of annotations that says when they were made with --time-key.",
        )
    return found


def untimed_notes(seconds: Sequence[FloatArray], key: str) -> Iterator[str]:
    """Yield a note on annotations without a time, if there are any."""
    n_without = sum(int(np.isnan(each).sum()) for each in seconds)
    if n_without:
        n_annotations = count(sum(map(len, seconds)), "annotation")
        yield f"{n_without:,} of {n_annotations} have no key {key!r}, and are in no session"
