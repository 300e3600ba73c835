"""Segments from tables of start, end and label, by one or several annotators."""

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import clean, count, in_natural_order
from bboxqa.formats.opening import NOT_A_FOLDER, decoded, refuse_foreign
from bboxqa.formats.source import read_whole
from bboxqa.formats.sources import names_of, refuse_repeated_files
from bboxqa.formats.tables import split_rows
from bboxqa.model.annotations import Source
from bboxqa.model.ratings import Segments, segment_problems

_Unit = Literal["ms", "s"]

_CORRECT = "Correct the file and try again."
_UNIT_ADVICE = (
    "Give --unit s or --unit ms, or name the columns start_s and end_s, or start_ms and end_ms."
)
_SECONDS_NOTE = "times with decimals are taken as seconds; give --unit ms if they are not"
_LENGTH_NOTE = (
    "each recording is taken to end with its last segment; give its duration if it is longer"
)
_COLUMNS_ADVICE = (
    "The first line has to name the columns: start, end and label at least. ELAN's export needs "
    "the columns tier, participant, begin, end and duration, and no columns of its own for tiers."
)
_ALIASES = {
    "start": ("begin", "onset", "from", "start time", "begin time", "time start", "tmin", "xmin"),
    "end": ("stop", "offset", "to", "until", "end time", "stop time", "time end", "tmax", "xmax"),
    "label": ("category", "value", "annotation", "annotation value", "code", "text", "class",
              "behavior", "behaviour", "event", "tag"),
    "tier": ("tier name", "track", "layer"),
    "annotator": ("rater", "coder", "observer"),
    "recording": ("video", "session", "media", "clip", "audio"),
    "file": ("filename", "file name", "file path"),
}  # fmt: skip
_TIMES = ("start", "end")
_NAMED = ("recording", "annotator", "tier", "label")
_TITLE_UNIT = re.compile(r"(.*[^\W_])[\W_]+(ms|msec|millis|milliseconds|s|sec|secs|seconds)\W*")
# How ELAN names a column of times, and seconds as its unit.
_ELAN_TIME, _ELAN_SECONDS = "begin time - ", r" - (?:hh:mm:ss\.ms|ss\.msec)$"

_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d*)?)", re.ASCII)
_LONGEST_MS = 10**13
_Row = tuple[str, str, str, str, int, int, int, int]
"""Recording, annotator, tier, label, start and end in milliseconds, number of the file, line."""


def read_segments(
    paths: Sequence[str | Path],
    *,
    unit: Literal["auto", "ms", "s"] = "auto",
    duration_ms: int | None = None,
) -> Segments:
    """Read segments from tables, CSV or TSV, with a column each for start, end and label.

    Without columns for annotator and recording, each file is of one annotator, named after it, and
    all are about one recording. Times without a colon are in `unit`: "auto" takes it from column
    names such as start_ms, else it is seconds if any time has decimals. They become whole
    milliseconds, rounded half to even. Recordings last `duration_ms`, else up to the largest end.
    """
    files = [Path(path) for path in paths]
    refuse_repeated_files(files)
    tables = [_read_table(path) for path in files]
    named = [table for table in tables if "file" in table.column]
    held = [{fields[table.column["file"]] for _, fields in table.rows} for table in named]
    if not any("recording" in table.column for table in tables) and any(len(e) > 1 for e in held):
        for table in named:
            table.column["recording"] = table.column["file"]
    for key in ("tier", "recording"):
        having = {key in table.column: table.source.name for table in reversed(tables)}
        # Tables without the column would not be compared with the others.
        if len(having) > 1:
            problem = f"{having[True]}: has a column for the {key}, and {having[False]} has none"
            raise DatasetError([f"{problem}; expected it in all files or in none"])
    problems = [each for table in tables for each in table.problems]
    rows, asked = list[_Row](), set[tuple[str, str]]()
    is_guessed = False
    names = names_of([Path(table.source.name) for table in tables])
    for number, (table, name) in enumerate(zip(tables, names, strict=True)):
        counted, is_shown = _unit_of(table, None if unit == "auto" else unit)
        is_guessed |= is_shown
        if not {"recording", "annotator"} & {*table.column}:
            asked.add(("recording", name))
        rows += _rows_of(table, number, name, counted, problems)
    if problems:
        raise DatasetError(problems, _CORRECT)
    if not rows:
        listed = ", ".join(table.source.name for table in tables)
        raise DatasetError([f"no file has a segment: {listed}"], "Export them again.")
    asked |= {row[:2] for row in rows}
    notes = [_SECONDS_NOTE] * is_guessed
    return _assembled(rows, asked, [table.source for table in tables], duration_ms, notes)


class _Table(msgspec.Struct, frozen=True, eq=False):
    """A file: its columns, and its rows below the header with the line of each."""

    source: Source
    header: Sequence[str]
    column: dict[str, int]
    """The index of each key of `_ALIASES` that there is."""
    unit: _Unit | None
    """The unit of the times; None if the header does not name it."""
    rows: list[tuple[int, list[str]]]
    problems: list[str]


def _rows_of(
    table: _Table, number: int, name: str, unit: _Unit, problems: list[str]
) -> Iterator[_Row]:
    """Yield the rows of a file, by `name` if no column names the annotator."""
    time = f"a number of {'seconds' if unit == 's' else 'milliseconds'}, or hh:mm:ss.mmm"
    expected = {"recording": "the name of a recording", "annotator": "the name of an annotator"}
    expected |= {"tier": "the name of a tier", "start": time, "end": time, "label": "a label"}
    usual = {"recording": "recording", "annotator": name, "tier": "segments"}
    for line, fields in table.rows:
        cells = usual | {key: fields[place] for key, place in table.column.items()}
        times = {key: milliseconds(cells[key], unit) for key in _TIMES}
        wrong = [key for key in expected if not cells[key] or times.get(key, 0) is None]
        for key in wrong:
            shown = repr(clean(cells[key])) if cells[key] else "empty"
            problem = f"column '{clean(table.header[table.column[key]])}' is {shown}"
            problems.append(
                f"{table.source.name}: line {line}: {problem}; expected {expected[key]}"
            )
        if not wrong:
            start, end = (time for time in times.values() if time is not None)
            recording, annotator, tier, label = map(cells.__getitem__, _NAMED)
            yield recording, annotator, tier, label, start, end, number, line


def _unit_of(table: _Table, given: _Unit | None) -> tuple[_Unit, bool]:
    """Return the unit of the times, and whether only decimals show it."""
    named = table.unit
    if given is not None:
        if named not in (None, given):
            raise ConfigError(
                f"the unit is {given!r}, but {table.source.name} says that its times are in {named}"
            )
        return given, False
    times = (fields[table.column[key]] for _, fields in table.rows for key in _TIMES)
    numbers = [_decimal(time) for time in times if _NUMBER.fullmatch(time)]
    if named is None and any(number != number.to_integral_value() for number in numbers):
        return "s", True
    if named is None and numbers:
        unknown = "the file does not show whether the times are seconds or milliseconds"
        problem = f"{unknown}: none has decimals, such as '{numbers[0]}'"
        raise DatasetError([f"{table.source.name}: {problem}"], _UNIT_ADVICE)
    # If all times have colons, the unit does not matter.
    return named or "ms", False


def milliseconds(text: str, unit: Literal["ms", "s"]) -> int | None:
    """Return a number in a unit, or hh:mm:ss, as whole milliseconds; None for other texts.

    >>> milliseconds("1.5", "s"), milliseconds("1:02:03,5", "s"), milliseconds("00:61", "s")
    (1500, 3723500, None)
    """
    exact = Decimal("Infinity")
    if _NUMBER.fullmatch(text):
        exact = _decimal(text) * (1000 if unit == "s" else 1)
    elif match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = match[1], int(match[2]), _decimal(match[3])
        if seconds < 60 and (minutes < 60 or hours is None):
            exact = 1000 * (3600 * int(hours or 0) + 60 * minutes + seconds)
    return int(exact.to_integral_value(ROUND_HALF_EVEN)) if abs(exact) <= _LONGEST_MS else None


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


def _read_table(path: Path) -> _Table:
    name = str(path)
    refuse_foreign(path, table=True)
    data = read_whole(path, "a table of segments", NOT_A_FOLDER)
    lines = io.StringIO(decoded(name, data), newline="").readlines()
    is_row = [line.lstrip(' "').strip()[:1] not in ("", "#") for line in lines]
    skipped = is_row.index(True) if True in is_row else len(lines)
    first = "".join(lines[skipped : skipped + 1])
    # In exports of ELAN, quotation marks are plain text.
    found = _of_elan([each.strip() for each in first.split("\t")])
    is_elan = found is not None or _ELAN_TIME in first.lower()
    delimiter = next((mark for mark in "\t;" if mark in first), ",")
    quoting = csv.QUOTE_NONE if is_elan else csv.QUOTE_MINIMAL
    plain = "\n" * skipped + "".join(lines[skipped:])
    split = split_rows(name, plain, delimiter, quoting)
    every = ((line, [field.strip() for field in fields]) for line, fields in split)
    rows = [row for row in every if any(row[1])]
    if not rows:
        raise DatasetError([f"{name}: the file is empty"], "Export it again.")
    line, header = rows[0]
    width = len(header)
    if found is None:
        found = _columns(f"{name}: line {line}", header)
        del rows[0]
    else:
        header = [f"column {number}" for number in range(1, width + 1)]
    ragged = [
        f"{name}: line {line}: has {count(len(fields), 'field')}; "
        f"expected {width}, as in the first row"
        for line, fields in rows
        if len(fields) != width
    ]
    source = Source(name, len(data), hashlib.blake2b(data).hexdigest())
    return _Table(source, header, *found, [row for row in rows if len(row[1]) == width], ragged)


_Columns = tuple[dict[str, int], _Unit | None]


def _columns(where: str, header: Sequence[str]) -> _Columns:
    """Return the place of each known column, and the unit of its times."""
    found: dict[str, int] = {}
    problems = []
    # The name of each column in lower case without a unit, and the unit.
    plain: list[tuple[str, _Unit | None]] = []
    for field in map(str.lower, header):
        match = _TITLE_UNIT.fullmatch(re.sub(_ELAN_SECONDS, " - s", field))
        base = re.sub(r"[\W_]+", " ", match[1] if match else field).strip()
        plain.append((base, None if match is None else "ms" if match[2][0] == "m" else "s"))
    for key, aliases in _ALIASES.items():
        bases = [base if unit is None or key in _TIMES else "" for base, unit in plain]
        places = [place for place, base in enumerate(bases) if base == key]
        places = places or [place for place, base in enumerate(bases) if base in aliases]
        if places:
            found[key] = places[0]
        if len(places) > 1:
            several = " and ".join(repr(clean(header[place])) for place in places)
            problems.append(
                f"{where}: the columns {several} could each be the {key}; expected one of them"
            )
        elif not places and key in ("start", "end", "label"):
            listed = ", ".join(repr(clean(field)) for field in header)
            problems.append(
                f"{where}: has no column {key!r}; found {listed}; expected {key!r} or one of: "
                f"{', '.join(aliases)}"
            )
    units = {plain[found[key]][1] for key in _TIMES if key in found} - {None}
    if len(units) > 1:
        problems.append(f"{where}: the columns of start and end name different units")
    if problems:
        raise DatasetError(problems, _COLUMNS_ADVICE)
    return found, next(iter(units), None)


def _of_elan(fields: Sequence[str]) -> _Columns | None:
    """Return the columns of ELAN's export without a header, from the first row; None for others."""
    for formats in (3, 2, 1):
        label = 2 + 3 * formats
        for place in range(2, 2 + formats):
            times = fields[place:label:formats]
            unit: _Unit = "ms" if all(map(str.isdigit, times)) else "s"
            found = [each for time in times if (each := milliseconds(time, unit)) is not None]
            if len(fields) > label and len(found) == 3 and 0 <= found[0] == found[1] - found[2]:
                column = {"start": place, "end": place + formats, "label": label, "tier": 0}
                is_named = fields[-1].lower().endswith(".eaf")
                return column | ({"file": label + 1} if is_named else {}), unit
    return None


def _assembled(
    rows: Sequence[_Row],
    asked_about: set[tuple[str, str]],
    sources: Sequence[Source],
    duration_ms: int | None,
    notes: Sequence[str],
) -> Segments:
    *named, start, end, file, line = zip(*rows, strict=True)
    recordings = sorted({name for name, _ in asked_about})
    annotators = in_natural_order({name for _, name in asked_about})
    tiers, labels = sorted({*named[2]}), sorted({*named[3]})
    tables, codes = (recordings, annotators, tiers, labels), dict[str, Any]()
    for key, values, names in zip(_NAMED, named, tables, strict=True):
        place = {name: number for number, name in enumerate(names)}
        codes[key] = np.array([place[value] for value in values], np.int32)
        codes[f"{key}_names"] = tuple(names)
    ends = np.array(end, np.int64)
    duration = np.full(len(recordings), duration_ms or 0, np.int64)
    if duration_ms is None:
        np.maximum.at(duration, codes["recording"], ends)
        notes = [*notes, _LENGTH_NOTE]
    asked = np.zeros((len(recordings), len(annotators)), np.bool_)
    for each, name in asked_about:
        asked[recordings.index(each), annotators.index(name)] = True
    if alone := [recordings[number] for number in np.flatnonzero(asked.sum(axis=1) == 1)]:
        some = f"{count(len(alone), 'recording')} by only one annotator, not compared"
        notes = [*notes, f"{some}: {', '.join(alone)}"]
    marked = np.zeros((len(annotators), len(tiers)), np.bool_)
    marked[codes["annotator"], codes["tier"]] = True
    for who, which in np.argwhere(~marked).tolist():
        unmarked = f"{annotators[who]} has no segment in the tier {tiers[which]!r}"
        notes = [*notes, f"{unmarked}: taken to have marked nothing"]
    segments = Segments(
        **codes,
        start=np.array(start, np.int64),
        end=ends,
        duration=duration,
        asked=asked,
        file=np.array(file, np.int32),
        line=np.array(line, np.int64),
        sources=tuple(sources),
        notes=tuple(notes),
    )
    if problems := segment_problems(segments):
        raise DatasetError(problems, _CORRECT)
    return segments
