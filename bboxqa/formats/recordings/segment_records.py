"""Converting the rows of a table of segments to named segments."""

from typing import NamedTuple

from bboxqa.core.text import clean
from bboxqa.formats.recordings.clock_times import TimeUnit, milliseconds
from bboxqa.formats.recordings.segment_tables import Row, Table

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

    def records(self, row: Row) -> list[Record]:
        """Return the segments of a row: one, or one per tier that has its own column."""
        before = len(self.problems)
        layout = self._layout
        recording = self._text(row, self._recording_column, "the name of a recording")
        annotator = self._text(row, layout.annotator, "the name of an annotator")
        tier = self._text(row, layout.tier, "the name of a tier")
        start, end = self._time(row, layout.start), self._time(row, layout.end)
        labels = []
        for name, column in layout.labels:
            label = row.fields[column]
            if not label and name is None:
                self._problem(row, column, "a label")
            if label:
                labels.append((name or tier or ONE_TIER, label))
        if len(self.problems) > before:
            return []
        where = recording or ONE_RECORDING, annotator or self._annotator
        self.asked.add(where)
        return [
            Record(*where, name, label, start, end, self._number, row.line)
            for name, label in labels
        ]

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
