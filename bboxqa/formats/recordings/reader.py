"""Reading segments from tables of start, end and label, by one or several annotators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import clean, count, in_natural_order
from bboxqa.formats.recordings.tables import Table, read_table
from bboxqa.formats.recordings.times import TimeUnit, fraction, is_number, milliseconds
from bboxqa.formats.sources import names_of
from bboxqa.model.ratings import Segments, segment_problems

_NOTHING_SAYS = "the file does not show whether the times are"
_CORRECT = "Correct the file and try again."
_UNIT_ADVICE = (
    "Give --unit s or --unit ms, or name the columns start_s and end_s, or start_ms and end_ms."
)
_SECONDS_NOTE = "times with decimals are taken as seconds; give --unit ms if they are not"
_LENGTH_NOTE = (
    "each recording is taken to end with its last segment; give its duration if it is longer"
)


ONE_RECORDING = "recording"
ONE_TIER = "segments"


class Record(NamedTuple):
    """A segment with names, times in milliseconds, and its place; or lists of these."""

    recording: Any
    annotator: Any
    tier: Any
    label: Any
    start: Any
    end: Any
    file: Any
    line: Any


@dataclass(slots=True)
class _Reading:
    """What was read of all files: records, and who was asked about which recording."""

    records: list[Record] = field(default_factory=list)
    asked: set[tuple[str, str]] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    n_rounded: int = 0
    """The number of times finer than 1 ms."""
    n_guessed: int = 0
    """The number of files whose unit is told by decimals."""

    def add(self, table: Table, number: int, name: str, column: int | None, unit: TimeUnit) -> None:
        """Add the rows of a file, whose annotator is called `name` if no column names one."""
        layout = table.layout
        words = "seconds" if unit == "s" else "milliseconds"
        time = f"a number of {words}, or hh:mm:ss.mmm"
        expected = (
            (column, ONE_RECORDING, "the name of a recording"),
            (layout.annotator, name, "the name of an annotator"),
            (layout.tier, ONE_TIER, "the name of a tier"),
            (layout.start, "", time),
            (layout.end, "", time),
            (layout.label, "", "a label"),
        )
        if column is None and layout.annotator is None:
            self.asked.add((ONE_RECORDING, name))
        for row in table.rows:
            cells, before = [], len(self.problems)
            for place, default, what in expected:
                cell = default if place is None else row.fields[place]
                found = milliseconds(cell, unit) if what == time else (cell, False)
                if found is None or not cell:
                    shown = repr(clean(cell)) if cell else "empty"
                    title = clean(layout.names[place or 0])
                    self.problems.append(
                        f"{table.source.name}: line {row.line}: column '{title}' is {shown}; "
                        f"expected {what}"
                    )
                    continue
                cells.append(found[0])
                self.n_rounded += found[1]
            if len(self.problems) == before:
                recording, annotator, tier, start, end, label = cells
                self.asked.add((str(recording), str(annotator)))
                self.records.append(
                    Record(recording, annotator, tier, label, start, end, number, row.line)
                )


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
    recording_columns = _recording_columns(tables)
    read = _Reading(problems=[problem for table in tables for problem in table.problems])
    names = names_of([table.path for table in tables])
    for number, table in enumerate(tables):
        counted = _unit(table, unit)
        if counted is None:
            read.problems.append(_unknown_unit(table))
            continue
        read.n_guessed += unit == "auto" and table.layout.unit is None and counted == "s"
        read.add(table, number, names[number], recording_columns[number], counted)
    if read.problems:
        unknown = any(_NOTHING_SAYS in problem for problem in read.problems)
        raise DatasetError(read.problems, _UNIT_ADVICE if unknown else _CORRECT)
    if not read.records:
        listed = ", ".join(table.source.name for table in tables)
        raise DatasetError([f"no file has a segment: {listed}"], "Export them again.")
    return _assembled(tables, read, duration_ms)


def _tables(paths: Sequence[Path]) -> list[Table]:
    """Read all tables; raises DatasetError with the problems of all of them."""
    tables, problems, advice = [], [], []
    if not paths:
        raise DatasetError(["no files are given"], "Name at least one file of segments.")
    for path in dict.fromkeys(paths):
        if paths.count(path) > 1:
            problems.append(f"{path}: is given {paths.count(path)} times; expected once")
        try:
            tables.append(read_table(path))
        except DatasetError as error:
            problems += error.problems
            advice.append(error.advice)
    if problems:
        raise DatasetError(problems, " ".join(filter(None, dict.fromkeys(advice))))
    _refuse_mixture(tables, [table.layout.tier is not None for table in tables], "tier")
    return tables


def _recording_columns(tables: Sequence[Table]) -> list[int | None]:
    """Return the column of each table that names the recording."""
    columns = [table.layout.recording for table in tables]
    of_files = [table.layout.file for table in tables]
    held = [
        {row.fields[column] for row in table.rows}
        for table, column in zip(tables, of_files, strict=True)
        if column is not None
    ]
    if not any(column is not None for column in columns) and any(len(each) > 1 for each in held):
        columns = of_files
    _refuse_mixture(tables, [column is not None for column in columns], "recording")
    return columns


def _refuse_mixture(tables: Sequence[Table], has: Sequence[bool], what: str) -> None:
    """Refuse tables of which only some have a column, as the others would not be compared."""
    if len(set(has)) > 1:
        names = [table.source.name for table in tables]
        raise DatasetError(
            [
                (
                    f"{names[has.index(True)]}: has a column for the {what}, "
                    f"and {names[has.index(False)]} has none; expected it in all files or in none"
                )
            ],
            f"Add the column '{what}' where it is missing, or drop it.",
        )


def _unit(table: Table, given: str) -> TimeUnit | None:
    """Return the unit of the times of a table; None if unknown."""
    named = table.layout.unit
    if given in ("ms", "s"):
        if named not in (None, given):
            raise ConfigError(
                f"the unit is {given!r}, but {table.source.name} says that its times are in {named}"
            )
        return "ms" if given == "ms" else "s"
    times = _numbers(table)
    if named is None and fraction(times):
        return "s"
    # If all times have colons, the unit does not matter.
    return named or (None if times else "ms")


def _numbers(table: Table) -> list[str]:
    columns = table.layout.start, table.layout.end
    times = (row.fields[column] for row in table.rows for column in columns)
    return [time for time in times if is_number(time)]


def _unknown_unit(table: Table) -> str:
    return (
        f"{table.source.name}: {_NOTHING_SAYS} seconds or milliseconds: "
        f"none has decimals, such as '{_numbers(table)[0]}'"
    )


def _assembled(
    tables: Sequence[Table], read: _Reading, duration_ms: int | Mapping[str, int] | None
) -> Segments:
    of = Record(*zip(*read.records, strict=True))
    recordings = sorted({recording for recording, _ in read.asked})
    annotators = in_natural_order({annotator for _, annotator in read.asked})
    tiers, labels = sorted({*of.tier}), sorted({*of.label})
    recording, end = _codes(of.recording, recordings), np.array(of.end, np.int64)
    duration, is_guessed = _durations(recordings, recording, end, duration_ms)
    asked = np.zeros((len(recordings), len(annotators)), np.bool_)
    for each, annotator in read.asked:
        asked[recordings.index(each), annotators.index(annotator)] = True
    segments = Segments(
        recording=recording,
        annotator=_codes(of.annotator, annotators),
        tier=_codes(of.tier, tiers),
        start=np.array(of.start, np.int64),
        end=end,
        label=_codes(of.label, labels),
        recording_names=tuple(recordings),
        annotator_names=tuple(annotators),
        tier_names=tuple(tiers),
        label_names=tuple(labels),
        duration=duration,
        asked=asked,
        file=np.array(of.file, np.int32),
        line=np.array(of.line, np.int64),
        sources=tuple(table.source for table in tables),
    )
    if problems := segment_problems(segments):
        raise DatasetError(problems, _CORRECT)
    notes = [
        *[f"{count(read.n_rounded, 'time')} finer than 1 ms, rounded half to even"]
        * bool(read.n_rounded),
        *[_SECONDS_NOTE] * bool(read.n_guessed),
        *[_LENGTH_NOTE] * is_guessed,
        *_silent(segments),
    ]
    return replace(segments, notes=tuple(notes))


def _codes(values: Iterable[str], names: Sequence[str]) -> IntArray:
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[value] for value in values], np.int32)


def _durations(
    names: Sequence[str],
    recording: IntArray,
    end: IndexArray,
    given: int | Mapping[str, int] | None,
) -> tuple[IndexArray, bool]:
    """Return the length of each recording, and whether any was inferred from the segments."""
    duration = np.zeros(len(names), np.int64)
    np.maximum.at(duration, recording, end)
    lengths = dict.fromkeys(names, given) if isinstance(given, int) else dict(given or {})
    for name, length in lengths.items():
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise ConfigError(f"a duration names recording {name!r}; expected one of: {listed}")
        if length < 1:
            raise ConfigError(f"the duration of {name!r} is {length} ms; expected 1 ms or more")
        duration[names.index(name)] = length
    return duration, len(lengths) < len(names)


def _silent(segments: Segments) -> list[str]:
    """Return notes on recordings that are not compared, and on tiers without segments."""
    alone = np.flatnonzero(segments.asked.sum(axis=1) == 1).tolist()
    notes = []
    if alone:
        names = ", ".join(segments.recording_names[place] for place in alone)
        notes.append(
            f"{count(len(alone), 'recording')} by only one annotator, not compared: {names}"
        )
    marked = np.zeros((len(segments.annotator_names), len(segments.tier_names)), np.bool_)
    marked[segments.annotator, segments.tier] = True
    notes += [
        f"{segments.annotator_names[annotator]} has no segment in the tier "
        f"{segments.tier_names[tier]!r}: taken to have marked nothing"
        for annotator, tier in np.argwhere(~marked).tolist()
    ]
    return notes
