"""Segments from tables of start, end and label, by one or several annotators."""

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import astuple, replace

from bboxqa.core.arrays import IntArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import clean, count, in_natural_order
from bboxqa.formats.opening import decoded
from bboxqa.formats.source import named_errors, read_whole
from bboxqa.formats.sources import names_of
from bboxqa.formats.unreadable import NOT_A_FOLDER, refuse_foreign
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
_TITLE_UNIT = re.compile(r"(.*[^\W_])[\W_]+(ms|msec|millis|milliseconds|s|sec|secs|seconds)\W*")
# How ELAN names the unit of a column.
_ELAN_TIME = "begin time - "
_ELAN_UNITS: dict[str, _Unit] = {" - msec": "ms", " - ss.msec": "s", " - hh:mm:ss.ms": "s"}

_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d*)?)", re.ASCII)
_LONGEST_MS = 10**13


def read_segments(
    paths: Sequence[str | Path],
    *,
    unit: Literal["auto", "ms", "s"] = "auto",
    duration_ms: int | Mapping[str, int] | None = None,
) -> Segments:
    """Read segments from tables with a column each for start, end and label.

    Columns for tier, annotator and recording are used if there are any. Without them, each file has
    one annotator, named after the file, and all files are about one recording. ELAN's tab-delimited
    export is recognised by its times. A column of file names names the recordings if a file
    contains several.

    Parameters
    ----------
    paths : sequence of str or Path
        At least one CSV or TSV file.
    unit : {"auto", "ms", "s"}
        The unit of times without a colon. "auto" takes the unit from column names such as start_ms;
        otherwise, it is seconds if any time has decimals. Times are converted to whole
        milliseconds. Finer times are rounded half to even, and a note says so.
    duration_ms : int or mapping of str to int, optional
        The length of all recordings, or of some by name; by default, the largest end.

    Returns
    -------
    Segments
        An annotator with a file of their own was asked about every recording in it, even if the
        file has no rows. An annotator named in a column was asked about the recordings of those
        rows.

    Raises
    ------
    ConfigError
        If the unit contradicts a file, or if a duration names an unknown recording.
    DatasetError
        If files cannot be read or have errors, with every problem.
    """
    if unit not in ("auto", "ms", "s"):
        raise ConfigError(f"unit is {unit!r}; expected one of: auto, ms, s")
    tables = _tables([Path(path) for path in paths])
    problems, advice = [each for table in tables for each in table.problems], _CORRECT
    rows: list[_Segment] = []
    asked: set[tuple[str, str]] = set()
    is_guessed = False
    for number, (table, name) in enumerate(
        zip(tables, names_of([table.path for table in tables]), strict=True)
    ):
        counted, is_shown = _unit_of(table, None if unit == "auto" else unit)
        is_guessed |= is_shown
        if counted is None:
            problems.append(
                f"{table.source.name}: the file does not show whether the times are seconds or "
                f"milliseconds: none has decimals, such as '{table.numbers()[0]}'"
            )
            advice = _UNIT_ADVICE
            continue
        if not {"recording", "annotator"} & {*table.column}:
            asked.add(("recording", name))
        for each in _segments_of(table, number, name, counted):
            if isinstance(each, str):
                problems.append(each)
            else:
                rows.append(each)
    if problems:
        raise DatasetError(problems, advice)
    if not rows:
        listed = ", ".join(table.source.name for table in tables)
        raise DatasetError([f"no file has a segment: {listed}"], "Export them again.")
    notes = [_SECONDS_NOTE] * is_guessed
    if n_rounded := sum(each.n_rounded for each in rows):
        notes.insert(0, f"{count(n_rounded, 'time')} finer than 1 ms, rounded half to even")
    asked |= {(each.recording, each.annotator) for each in rows}
    return _assembled(rows, asked, [table.source for table in tables], duration_ms, notes)


class _Segment(msgspec.Struct, frozen=True):
    """A row of a file."""

    recording: str
    annotator: str
    tier: str
    label: str
    start: int
    end: int
    """In milliseconds."""
    file: int
    """The number of the file."""
    line: int
    n_rounded: int
    """The number of its times that are finer than 1 ms."""


def _segments_of(table: "_Table", number: int, name: str, unit: _Unit) -> Iterator[_Segment | str]:
    """Yield the rows of a file, or what is wrong with them.

    The annotator is called `name` if no column names one.
    """
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
            title = clean(table.header[table.column[key]])
            problem = f"column '{title}' is {shown}; expected {expected[key]}"
            yield f"{table.source.name}: line {line}: {problem}"
        if not wrong:
            (start, is_rounded), (end, is_end_rounded) = filter(None, times.values())
            names = (cells["recording"], cells["annotator"], cells["tier"], cells["label"])
            yield _Segment(*names, start, end, number, line, is_rounded + is_end_rounded)


class _Table(msgspec.Struct, frozen=True, eq=False):
    """A file: its columns, and its rows below the header with the line of each."""

    path: Path
    source: Source
    header: Sequence[str]
    column: dict[str, int]
    """The index of each key of `_ALIASES` that there is."""
    unit: _Unit | None
    """The unit of the times; None if the header does not name it."""
    rows: list[tuple[int, list[str]]]
    problems: list[str]
    """Rows whose number of fields differs from that of the first row."""

    def numbers(self) -> list[str]:
        """Return the times that are numbers."""
        times = (fields[self.column[key]] for _, fields in self.rows for key in _TIMES)
        return [time for time in times if _NUMBER.fullmatch(time)]


def _tables(paths: Sequence[Path]) -> list[_Table]:
    """Read all tables; raises DatasetError with the problems of all of them."""
    tables, problems, advice = [], [], []
    if not paths:
        raise DatasetError(["no files are given"], "Name at least one file of segments.")
    for path in dict.fromkeys(paths):
        if paths.count(path) > 1:
            problems.append(f"{path}: is given {paths.count(path)} times; expected once")
        try:
            tables.append(_read_table(path))
        except DatasetError as error:
            problems += error.problems
            advice.append(error.advice)
    if problems:
        raise DatasetError(problems, " ".join(filter(None, dict.fromkeys(advice))))
    named = [table for table in tables if "file" in table.column]
    held = [{fields[table.column["file"]] for _, fields in table.rows} for table in named]
    if not any("recording" in table.column for table in tables) and any(len(e) > 1 for e in held):
        for table in named:
            table.column["recording"] = table.column["file"]
    for key in ("tier", "recording"):
        names = {key in table.column: table.source.name for table in reversed(tables)}
        # Tables without the column would not be compared with the others.
        if len(names) > 1:
            problem = f"{names[True]}: has a column for the {key}, and {names[False]} has none"
            raise DatasetError(
                [f"{problem}; expected it in all files or in none"],
                f"Add the column '{key}' where it is missing, or drop it.",
            )
    return tables


def _unit_of(table: _Table, given: _Unit | None) -> tuple[_Unit | None, bool]:
    """Return the unit of the times, None if unknown, and whether only decimals show it."""
    named = table.unit
    if given is not None:
        if named not in (None, given):
            raise ConfigError(
                f"the unit is {given!r}, but {table.source.name} says that its times are in {named}"
            )
        return given, False
    numbers = [_decimal(text) for text in table.numbers()]
    if named is None and any(number != number.to_integral_value() for number in numbers):
        return "s", True
    # If all times have colons, the unit does not matter.
    return named or (None if numbers else "ms"), False


def milliseconds(text: str, unit: Literal["ms", "s"]) -> tuple[int, bool] | None:
    """Return a time as whole milliseconds, and whether it was rounded (half to even).

    The text is a number in the unit, "ms" or "s", or hours, minutes and seconds separated by
    colons. Decimal arithmetic is used. None if the text is not a time, or is more than three
    centuries.

    Examples
    --------
    >>> milliseconds("1.5", "s"), milliseconds("0:02.0005", "ms"), milliseconds("soon", "s")
    ((1500, False), (2000, True), None)
    >>> milliseconds("1:02:03,5", "s"), milliseconds("00:61", "s")
    ((3723500, False), None)
    """
    exact = None
    if _NUMBER.fullmatch(text):
        exact = _decimal(text) * (1000 if unit == "s" else 1)
    elif match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = match[1], int(match[2]), _decimal(match[3])
        if seconds < 60 and (minutes < 60 or hours is None):
            exact = 1000 * (3600 * int(hours or 0) + 60 * minutes + seconds)
    if exact is None or abs(exact) > _LONGEST_MS:
        return None
    whole = exact.to_integral_value(ROUND_HALF_EVEN)
    return int(whole), whole != exact


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


def _read_table(path: Path) -> _Table:
    name = str(path)
    refuse_foreign(path, table=True)
    with named_errors(path, "a table of segments", NOT_A_FOLDER):
        data = read_whole(path)
    rows = _rows(name, decoded(name, data))
    if not rows:
        raise DatasetError([f"{name}: the file is empty"], "Export it again.")
    line, header = rows[0]
    width, found = len(header), _of_elan(header)
    if found is None:
        found = _columns(f"{name}: line {line}", header)
        del rows[0]
    else:
        header = [f"column {number}" for number in range(1, width + 1)]
    return _Table(
        path,
        Source(name, len(data), hashlib.blake2b(data).hexdigest()),
        header,
        *found,
        [row for row in rows if len(row[1]) == width],
        [
            f"{name}: line {line}: has {count(len(fields), 'field')}; "
            f"expected {width}, as in the first row"
            for line, fields in rows
            if len(fields) != width
        ],
    )


def _columns(where: str, header: Sequence[str]) -> tuple[dict[str, int], _Unit | None]:
    found: dict[str, int] = {}
    units: set[_Unit] = set()
    problems = []
    plain = [_plain(field) for field in header]
    for key, aliases in _ALIASES.items():
        bases = [base if unit is None or key in _TIMES else "" for base, unit in plain]
        places = [place for place, base in enumerate(bases) if base == key]
        places = places or [place for place, base in enumerate(bases) if base in aliases]
        if len(places) > 1:
            several = " and ".join(repr(clean(header[place])) for place in places)
            problems.append(
                f"{where}: the columns {several} could each be the {key}; "
                f"expected one of them; rename it to {key!r}, or drop the other"
            )
        elif not places and key in ("start", "end", "label"):
            listed = ", ".join(repr(clean(field)) for field in header)
            problems.append(
                f"{where}: has no column {key!r}; found {listed}; expected {key!r} or one of: "
                f"{', '.join(aliases)}"
            )
        for place in places[:1]:
            found[key], unit = place, plain[place][1]
            if key in _TIMES and unit is not None:
                units.add(unit)
    if len(units) > 1:
        problems.append(f"{where}: the columns of start and end name different units")
    if problems:
        raise DatasetError(problems, _COLUMNS_ADVICE)
    return found, next(iter(units), None)


def _plain(field: str) -> tuple[str, _Unit | None]:
    """Return the name of a column in lower case without a unit, and the unit."""
    field = field.lower()
    for end, unit in _ELAN_UNITS.items():
        if field.endswith(end):
            return field.removesuffix(end), unit
    match = _TITLE_UNIT.fullmatch(field)
    base = re.sub(r"[\W_]+", " ", match[1] if match else field).strip()
    return base, None if match is None else "ms" if match[2].startswith("m") else "s"


def _of_elan(fields: Sequence[str]) -> tuple[dict[str, int], _Unit | None] | None:
    """Return the columns of ELAN's export without a header, from the first row; None for others."""
    for formats in (3, 2, 1):
        label = 2 + 3 * formats
        for place in range(2, 2 + formats):
            times = fields[place:label:formats]
            unit: _Unit = "ms" if all(map(str.isdigit, times)) else "s"
            found = [each[0] if (each := milliseconds(time, unit)) else -1 for time in times]
            if len(fields) > label and -1 < found[0] == found[1] - found[2]:
                column = {"start": place, "end": place + formats, "label": label, "tier": 0}
                if fields[-1].lower().endswith(".eaf"):
                    column["file"] = label + 1
                return column, unit
    return None


def _rows(name: str, text: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, each with its first line and its stripped fields."""
    lines = io.StringIO(text, newline="").readlines()
    skipped = 0
    while skipped < len(lines) and lines[skipped].lstrip(' "').strip()[:1] in ("", "#"):
        skipped += 1
    if skipped == len(lines):
        return []
    first = lines[skipped]
    # In exports of ELAN, quotation marks are plain text.
    cells = [each.strip() for each in first.split("\t")]
    is_elan = _ELAN_TIME in first.lower() or _of_elan(cells) is not None
    reader = csv.reader(
        io.StringIO("".join(lines[skipped:]), newline=""),
        delimiter=next((mark for mark in "\t;" if mark in first), ","),
        quoting=csv.QUOTE_NONE if is_elan else csv.QUOTE_MINIMAL,
        strict=True,
    )
    rows, line = [], skipped + 1
    try:
        for fields in reader:
            stripped = [field.strip() for field in fields]
            rows += [(line, stripped)] * any(stripped)
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        raise DatasetError(
            [f"{name}: is not a table that can be read: {clean(str(error))}"],
            "Look for a quotation mark that opens and never closes.",
        ) from None
    return rows


def _assembled(
    rows: Sequence[_Segment],
    asked_about: set[tuple[str, str]],
    sources: Sequence[Source],
    duration_ms: int | Mapping[str, int] | None,
    notes: Sequence[str],
) -> Segments:
    recording, annotator, tier, label, start, end, file, line, _ = zip(
        *map(astuple, rows), strict=True
    )
    recordings = sorted({name for name, _ in asked_about})
    annotators = in_natural_order({name for _, name in asked_about})
    tiers, labels = sorted({*tier}), sorted({*label})

    def codes(values: Sequence[str], names: Sequence[str]) -> IntArray:
        place = {name: number for number, name in enumerate(names)}
        return np.array([place[value] for value in values], np.int32)

    places, ends = codes(recording, recordings), np.array(end, np.int64)
    duration = np.zeros(len(recordings), np.int64)
    np.maximum.at(duration, places, ends)
    given = {} if duration_ms is None else duration_ms
    lengths = dict.fromkeys(recordings, given) if isinstance(given, int) else given
    for name, length in lengths.items():
        if name not in recordings:
            listed = ", ".join(map(repr, recordings)) or "none"
            raise ConfigError(f"a duration names recording {name!r}; expected one of: {listed}")
        if length < 1:
            raise ConfigError(f"the duration of {name!r} is {length} ms; expected 1 ms or more")
        duration[recordings.index(name)] = length
    asked = np.zeros((len(recordings), len(annotators)), np.bool_)
    for each, name in asked_about:
        asked[recordings.index(each), annotators.index(name)] = True
    segments = Segments(
        recording=places,
        annotator=codes(annotator, annotators),
        tier=codes(tier, tiers),
        start=np.array(start, np.int64),
        end=ends,
        label=codes(label, labels),
        recording_names=tuple(recordings),
        annotator_names=tuple(annotators),
        tier_names=tuple(tiers),
        label_names=tuple(labels),
        duration=duration,
        asked=asked,
        file=np.array(file, np.int32),
        line=np.array(line, np.int64),
        sources=tuple(sources),
    )
    if problems := segment_problems(segments):
        raise DatasetError(problems, _CORRECT)
    notes = [*notes, *[_LENGTH_NOTE] * (len(lengths) < len(recordings))]
    alone = [recordings[place] for place in np.flatnonzero(asked.sum(axis=1) == 1)]
    if alone:
        some = f"{count(len(alone), 'recording')} by only one annotator, not compared"
        notes.append(f"{some}: {', '.join(alone)}")
    marked = np.zeros((len(annotators), len(tiers)), np.bool_)
    marked[segments.annotator, segments.tier] = True
    for who, which in np.argwhere(~marked).tolist():
        problem = f"{annotators[who]} has no segment in the tier {tiers[which]!r}"
        notes.append(f"{problem}: taken to have marked nothing")
    return replace(segments, notes=tuple(notes))
