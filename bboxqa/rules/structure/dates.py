"""S: years and dates."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import value_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.document import Document

_YEARS = range(1900, 2101)
_ISO = re.compile(r"\s*(\d{4})[-/.:](\d{1,2})[-/.:](\d{1,2})(?!\d)")
# Day and month come in either order before the year.
_YEAR_LAST = re.compile(r"\s*(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)")
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)")
# The date formats of many tools and languages contain a year, or three numbers.
_SOME_DATE = re.compile(r"\d{4}|\d{1,2}\D+\d{1,2}\D+\d{2}")
_A_DATE = 'a date such as "2026-01-31 12:00:00"'


def _is_date(value: Any) -> bool:
    """Return whether a value may be a date; numbers may be timestamps, or 0 for unknown.

    Examples
    --------
    >>> [_is_date(v) for v in ("2024-02-29", "Jan 5, 2024", "25/12/2024", 0, "")]
    [True, True, True, True, True]
    >>> [_is_date(v) for v in ("2024-02-30", "2024-02-29 25:61", "13/25/2024", "today")]
    [False, False, False, False]
    """
    if not isinstance(value, str):
        return value is None or type(value) in (int, float)
    if found := _ISO.match(value):
        dates = [tuple(map(int, found.groups()))]
    elif found := _YEAR_LAST.match(value):
        one, other, year = map(int, found.group(1, 3, 4))
        dates = [(year, one, other), (year, other, one)]
    else:
        return not value.strip() or bool(_SOME_DATE.search(value))
    # The year 0 is a placeholder in databases.
    return any(_is_day(*each) for each in dates) and _has_no_odd_clock(value[found.end() :])


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _has_no_odd_clock(rest: str) -> bool:
    """Return whether the rest of a date has no time, or one that clocks show."""
    found = _CLOCK.search(rest)
    if found is None:
        return True
    hour, minute, second = (int(part or 0) for part in found.groups())
    # Leap seconds are written as 60, and the end of a day as 24:00.
    return (hour < 24 and minute < 60 and second <= 60) or (hour, minute, second) == (24, 0, 0)


def _dates(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    info = document.top.get("info")
    founds = [] if not isinstance(info, dict) else [*_year(info), *_created(info)]
    yield from described_hits(founds)
    for name, records in document.lists:
        if name == "images":
            odd = [not _is_date(records.get(row, "date_captured")) for row in range(len(records))]
            yield from value_hits(
                document, name, "date_captured", np.flatnonzero(np.array(odd, np.bool_)), _A_DATE
            )


def _year(info: dict[str, Any]) -> Iterator[Defect]:
    year, pointer = info.get("year"), pointer_to("info", "year")
    # S004 reports the empty year.
    if year in (None, "") or (type(year) is int and (year in _YEARS or year == 0)):
        return
    is_text = isinstance(year, str) and year.strip().isdecimal() and int(year) in _YEARS
    yield Defect(
        f"year is {shortened(year)}; expected a number such as 2026",
        pointer,
        found=year,
        expected="a number such as 2026",
        edits=(Edit(pointer, "replace", int(year)),) if is_text else (),
    )


def _created(info: dict[str, Any]) -> Iterator[Defect]:
    value = info.get("date_created")
    if not _is_date(value):
        message = f"date_created is {shortened(value)}; expected {_A_DATE}"
        yield Defect(message, pointer_to("info", "date_created"), found=value, expected=_A_DATE)


RULES = (
    Rule(
        code="S013",
        title="year is not a number, or a date is invalid",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Readers with a strict schema expect the year as a number and refuse the file;
            readers that parse dates stop with a ValueError.""",
        explanation="""The year of info is text, as Roboflow writes it, or not a year; or
            date_created or the date_captured of an image is not a date, for example the 30th of
            February, or its time is none, such as 25:61. Other date formats, numbers and empty
            text are accepted. The annotations are not affected. The fix writes "2026" as 2026.""",
        bad={"info": {"year": "2026"}},
        good={"info": {"year": 2026, "date_created": "2026-01-31"}},
        check=_dates,
        fix="safe",
    ),
)
