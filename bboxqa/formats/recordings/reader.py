"""Reading segments from tables of start, end and label, by one or several annotators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import clean, count, in_natural_order
from bboxqa.formats.recordings.tables import Row, Table, read_table
from bboxqa.formats.recordings.times import TimeUnit, fraction, is_number, milliseconds
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
    """A segment with names, times in milliseconds, and its location in the files."""

    recording: str
    annotator: str
    tier: str
    label: str
    start: int
    end: int
    file: int
    line: int


class SegmentReading:
    """Converts the rows of one table to records, and collects their problems.

    Parameters
    ----------
    number : int
        The index of the file.
    name : str
        The annotator, if no column names one.
    recording_column : int or None
        None if there is only one recording.
    unit : {"ms", "s"}
        The unit of times without a colon.

    Attributes
    ----------
    problems : list of str
        One problem for each field that cannot be used.
    asked : set of (str, str)
        The recordings and annotators that occur.
    n_rounded : int
        The number of times finer than 1 ms.
    """

    def __init__(
        self, table: Table, number: int, name: str, recording_column: int | None, unit: TimeUnit
    ) -> None:
        self._layout = table.layout
        self._file = table.source.name
        self._number = number
        self._annotator = name
        self._recording_column = recording_column
        self._unit = unit
        self.problems: list[str] = []
        self.asked: set[tuple[str, str]] = set()
        self.n_rounded = 0
        if recording_column is None and table.layout.annotator is None:
            self.asked.add((ONE_RECORDING, name))

    def record(self, row: Row) -> Record | None:
        """Return the segment of a row; None if it has problems."""
        before = len(self.problems)
        layout = self._layout
        recording = self._text(row, self._recording_column, "the name of a recording")
        annotator = self._text(row, layout.annotator, "the name of an annotator")
        tier = self._text(row, layout.tier, "the name of a tier")
        start, end = self._time(row, layout.start), self._time(row, layout.end)
        label = self._text(row, layout.label, "a label")
        if len(self.problems) > before:
            return None
        where = recording or ONE_RECORDING, annotator or self._annotator
        self.asked.add(where)
        return Record(*where, tier or ONE_TIER, label, start, end, self._number, row.line)

    def _text(self, row: Row, column: int | None, expected: str) -> str:
        if column is None:
            return ""
        if not row.fields[column]:
            self._problem(row, column, expected)
        return row.fields[column]

    def _time(self, row: Row, column: int) -> int:
        time = milliseconds(row.fields[column], self._unit)
        if time is None:
            words = "seconds" if self._unit == "s" else "milliseconds"
            self._problem(row, column, f"a number of {words}, or hh:mm:ss.mmm")
            return 0
        self.n_rounded += time[1]
        return time[0]

    def _problem(self, row: Row, column: int, expected: str) -> None:
        found = repr(clean(row.fields[column])) if row.fields[column] else "empty"
        name = clean(self._layout.names[column])
        self.problems.append(
            f"{self._file}: line {row.line}: column '{name}' is {found}; expected {expected}"
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
    problems = [problem for table in tables for problem in table.problems]
    records: list[Record] = []
    asked: set[tuple[str, str]] = set()
    n_rounded = 0
    n_guessed = 0
    names = _file_names([table.path for table in tables])
    for number, table in enumerate(tables):
        counted = _unit(table, unit)
        if counted is None:
            problems.append(_unknown_unit(table))
            continue
        n_guessed += unit == "auto" and table.layout.unit is None and counted == "s"
        reading = SegmentReading(table, number, names[number], recording_columns[number], counted)
        records += filter(None, map(reading.record, table.rows))
        problems += reading.problems
        asked |= reading.asked
        n_rounded += reading.n_rounded
    if problems:
        unknown = any(_NOTHING_SAYS in problem for problem in problems)
        raise DatasetError(problems, _UNIT_ADVICE if unknown else _CORRECT)
    if not records:
        listed = ", ".join(table.source.name for table in tables)
        raise DatasetError([f"no file has a segment: {listed}"], "Export them again.")
    return _assembled(tables, records, sorted(asked), duration_ms, n_rounded, n_guessed)


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
    if not any(column is not None for column in columns) and any(
        _has_several(table, table.layout.file) for table in tables
    ):
        columns = [table.layout.file for table in tables]
    _refuse_mixture(tables, [column is not None for column in columns], "recording")
    return columns


def _has_several(table: Table, column: int | None) -> bool:
    return column is not None and len({row.fields[column] for row in table.rows}) > 1


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


def _file_names(paths: Sequence[Path]) -> list[str]:
    """Return the name of each file without its suffix, with its folder where needed."""
    stems = [own_name(path) for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    longer = [(path.parent / stem).as_posix() for path, stem in zip(paths, stems, strict=True)]
    return longer if len(set(longer)) == len(longer) else [path.as_posix() for path in paths]


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
    tables: Sequence[Table],
    records: Sequence[Record],
    asked: Sequence[tuple[str, str]],
    duration_ms: int | Mapping[str, int] | None,
    n_rounded: int,
    n_guessed: int,
) -> Segments:
    recordings = sorted({recording for recording, _ in asked})
    annotators = in_natural_order({annotator for _, annotator in asked})
    tiers = sorted({record.tier for record in records})
    labels = sorted({record.label for record in records})
    recording = _codes((record.recording for record in records), recordings)
    end = np.array([record.end for record in records], np.int64)
    duration, guessed = _durations(recordings, recording, end, duration_ms)
    matrix = np.zeros((len(recordings), len(annotators)), np.bool_)
    matrix[_codes((pair[0] for pair in asked), recordings),
           _codes((pair[1] for pair in asked), annotators)] = True  # fmt: skip
    segments = Segments(
        recording=recording,
        annotator=_codes((record.annotator for record in records), annotators),
        tier=_codes((record.tier for record in records), tiers),
        start=np.array([record.start for record in records], np.int64),
        end=end,
        label=_codes((record.label for record in records), labels),
        recording_names=tuple(recordings),
        annotator_names=tuple(annotators),
        tier_names=tuple(tiers),
        label_names=tuple(labels),
        duration=duration,
        asked=matrix,
        file=np.array([record.file for record in records], np.int32),
        line=np.array([record.line for record in records], np.int64),
        sources=tuple(table.source for table in tables),
    )
    if problems := segment_problems(segments):
        raise DatasetError(problems, _CORRECT)
    notes = [f"{count(n_rounded, 'time')} finer than 1 ms, rounded half to even"]
    notes = (notes if n_rounded else []) + ([_SECONDS_NOTE] if n_guessed else [])
    notes += ([_LENGTH_NOTE] if guessed else []) + _silent(segments)
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
