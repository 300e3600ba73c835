"""One table of segments: its rows, and the columns of start, end and label."""

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.recordings.times import TimeUnit, milliseconds
from bboxqa.formats.unreadable import NOT_A_FOLDER, refuse_foreign
from bboxqa.model.annotations import Source

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
_UNIT = re.compile(r"(.*[^\W_])[\W_]+(ms|msec|millis|milliseconds|s|sec|secs|seconds)\W*")
# How ELAN names the unit of a column.
_ELAN_TIME = "begin time - "
_ELAN_UNITS: dict[str, TimeUnit] = {" - msec": "ms", " - ss.msec": "s", " - hh:mm:ss.ms": "s"}
_ADVICE = (
    "The first line has to name the columns: start, end and label at least. ELAN's export needs "
    "the columns tier, participant, begin, end and duration, and no columns of its own for tiers."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The meaning of the columns of a table."""

    start: int
    end: int
    label: int
    """Indices of columns."""
    names: tuple[str, ...]
    """The name of each column in messages."""
    tier: int | None = None
    annotator: int | None = None
    recording: int | None = None
    file: int | None = None
    """Indices of optional columns."""
    unit: TimeUnit | None = None
    """{"ms", "s"}. The unit of the times; None if the header does not name it."""


def headed_layout(name: str, line: int, header: Sequence[str]) -> Layout:
    """Return the layout given by a header; `name` and `line` locate it in messages.

    Raises DatasetError if a column is missing or ambiguous.
    """
    where = f"{name}: line {line}"
    found, units, problems = _named_columns(where, header)
    listed = ", ".join(repr(clean(field)) for field in header)
    problems += [
        f"{where}: has no column {key!r}; found {listed}; expected {key!r}"
        + (f" or one of: {', '.join(_ALIASES[key])}" if _ALIASES[key] else "")
        for key in ("start", "end", "label")
        if key not in found
    ]
    if len(set(units.values())) > 1:
        problems.append(f"{where}: the columns of start and end name different units")
    if problems:
        raise DatasetError(problems, _ADVICE)
    return Layout(
        start=found["start"],
        end=found["end"],
        label=found["label"],
        names=tuple(header),
        unit=next(iter(units.values()), None),
        tier=found.get("tier"),
        annotator=found.get("annotator"),
        recording=found.get("recording"),
        file=found.get("file"),
    )


def _named_columns(
    where: str, header: Sequence[str]
) -> tuple[dict[str, int], dict[str, TimeUnit], list[str]]:
    """Return the index of each known column, the units of times, and ambiguities as problems."""
    found: dict[str, int] = {}
    units: dict[str, TimeUnit] = {}
    problems = []
    plain = [_plain(field) for field in header]
    for key, aliases in _ALIASES.items():
        timed = key in ("start", "end")
        bases = [base if timed or unit is None else "" for base, unit in plain]
        places = [place for place, base in enumerate(bases) if base == key]
        places = places or [place for place, base in enumerate(bases) if base in aliases]
        if len(places) > 1:
            several = " and ".join(repr(clean(header[place])) for place in places)
            problems.append(
                f"{where}: the columns {several} could each be the {key}; "
                f"expected one of them; rename it to {key!r}, or drop the other"
            )
        if places:
            found[key] = places[0]
            unit = plain[places[0]][1]
            if timed and unit is not None:
                units[key] = unit
    return found, units, problems


def _plain(field: str) -> tuple[str, TimeUnit | None]:
    """Return the name of a column in lower case without a unit, and the unit."""
    field = field.strip().lower()
    for end, unit in _ELAN_UNITS.items():
        if field.endswith(end):
            return field.removesuffix(end), unit
    match = _UNIT.fullmatch(field)
    base = re.sub(r"[\W_]+", " ", match[1] if match else field).strip()
    if match is None:
        return base, None
    return base, "ms" if match[2].startswith("m") else "s"


def _of_elan(fields: Sequence[str]) -> Layout | None:
    """Return the layout of ELAN's export without a header, from the first row; None for others.

    The columns are tier, participant, begin, end and duration, each in up to three formats (clock,
    seconds, milliseconds), and the annotation.
    """
    for formats in (3, 2, 1):
        label = 2 + 3 * formats
        for place in range(2, 2 + formats):
            times = fields[place:label:formats]
            unit: TimeUnit = "ms" if all(map(str.isdigit, times)) else "s"
            found = [milliseconds(each, unit) for each in times]
            begin, end, duration = (
                each[0] if each else -1 for each in [*found, None, None, None][:3]
            )
            if len(fields) > label and -1 < begin == end - duration:
                names = tuple(f"column {number}" for number in range(1, len(fields) + 1))
                file = label + 1 if fields[-1].lower().endswith(".eaf") else None
                return Layout(place, place + formats, label, names, tier=0, file=file, unit=unit)
    return None


@dataclass(frozen=True, slots=True)
class Row:
    """The stripped fields of a row, and its first line."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A file with its layout and its rows below the header.

    Rows whose number of fields differs from the first row are in `problems` instead.
    """

    path: Path
    source: Source
    layout: Layout
    rows: tuple[Row, ...]
    problems: tuple[str, ...]


def read_table(path: Path) -> Table:
    """Read a table of segments delimited by commas, semicolons or tabs.

    The encoding is UTF-8, or the one that a byte order mark indicates. Lines before the first row
    that begin with "#" are skipped, and so are rows with only empty fields. Raises DatasetError if
    the file cannot be read, is empty, or has no columns of start, end and label.
    """
    name = str(path)
    refuse_foreign(path, table=True)
    with named_errors(path, "a table of segments", NOT_A_FOLDER):
        data = read_whole(path)
    rows = _rows(name, decoded(name, data))
    if not rows:
        raise DatasetError([f"{name}: the file is empty"], "Export it again.")
    first = rows[0]
    layout = _of_elan(first.fields)
    body = rows if layout else rows[1:]
    layout = layout or headed_layout(name, first.line, first.fields)
    width = len(first.fields)
    return Table(
        path=path,
        source=Source(name, len(data), hashlib.blake2b(data).hexdigest()),
        layout=layout,
        rows=tuple(row for row in body if len(row.fields) == width),
        problems=tuple(
            f"{name}: line {row.line}: has {count(len(row.fields), 'field')}; "
            f"expected {width}, as in the first row"
            for row in body
            if len(row.fields) != width
        ),
    )


def _rows(name: str, text: str) -> list[Row]:
    lines = io.StringIO(text, newline="").readlines()
    skipped = 0
    while skipped < len(lines) and (
        not lines[skipped].strip() or lines[skipped].lstrip(' "').startswith("#")
    ):
        skipped += 1
    if skipped == len(lines):
        return []
    delimiter = next((mark for mark in "\t;" if mark in lines[skipped]), ",")
    # In exports of ELAN, quotation marks are plain text.
    fields = [field.strip() for field in lines[skipped].split("\t")]
    quoted = _of_elan(fields) is None and not lines[skipped].lower().count(_ELAN_TIME)
    try:
        return _parse("".join(lines[skipped:]), delimiter, skipped, quoted=quoted)
    except csv.Error as error:
        raise DatasetError(
            [f"{name}: is not a table that can be read: {clean(str(error))}"],
            "Look for a quotation mark that opens and never closes.",
        ) from None


def _parse(text: str, delimiter: str, skipped: int, *, quoted: bool) -> list[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    rows = []
    line = skipped + 1
    for fields in reader:
        if any(field.strip() for field in fields):
            rows.append(Row(line, tuple(field.strip() for field in fields)))
        line = skipped + reader.line_num + 1
    return rows
