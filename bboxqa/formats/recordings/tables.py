"""One table of segments: its rows, and the columns of start, end and label."""

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.recordings.times import TimeUnit, clock_time, is_number, milliseconds
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
_ELAN_TIME = re.compile(r"(.+) - (\S+)")
# In order of preference; all of them have the same precision of milliseconds.
_ELAN_FORMATS: dict[str, TimeUnit] = {"msec": "ms", "ss.msec": "s", "hh:mm:ss.ms": "s"}
_DURATION = ("duration", "durée", "dauer", "duur", "duración", "duração")
_ADVICE = "The first line has to name the columns: start, end and label at least."


@dataclass(frozen=True, slots=True)
class Layout:
    """The meaning of the columns of a table."""

    start: int
    end: int
    """Indices of columns."""
    labels: tuple[tuple[str | None, int], ...]
    """The tier and the index of each column of labels. A column of one tier is empty where nothing
    was marked. The tier is None if the column `tier`, if any, names the tier of each row.
    """
    names: tuple[str, ...]
    """The name of each column in messages."""
    tier: int | None = None
    annotator: int | None = None
    recording: int | None = None
    file: int | None = None
    """Indices of optional columns."""
    unit: TimeUnit | None = None
    """{"ms", "s"}. The unit of the times; None if the header does not name it."""
    headed: bool = True
    """Whether the first row is a header."""


def headed_layout(name: str, line: int, header: Sequence[str]) -> Layout:
    """Return the layout given by a header; `name` and `line` locate it in messages.

    Raises DatasetError if a column is missing or ambiguous.
    """
    where = f"{name}: line {line}"
    if is_elan_header(header):
        return _headed_by_elan(where, header)
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
        labels=((None, found["label"]),),
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
    match = _UNIT.fullmatch(field)
    base = re.sub(r"[\W_]+", " ", match[1] if match else field).strip()
    if match is None:
        return base, None
    return base, "ms" if match[2].startswith("m") else "s"


def is_elan_header(header: Sequence[str]) -> bool:
    """Return whether a header names times as ELAN does, such as "Begin Time - ss.msec"."""
    matches = [_ELAN_TIME.fullmatch(field.strip()) for field in header]
    return any(match is not None and match[2] in _ELAN_FORMATS for match in matches)


def _headed_by_elan(where: str, header: Sequence[str]) -> Layout:
    """Return the layout of ELAN's export with a header."""
    start, end, unit, times = _elan_times(where, header)
    others = {
        place: field.strip()
        for place, field in enumerate(header)
        if place not in times and field.strip().lower() != "participant"
    }
    found, _, _ = _named_columns(where, ["" if p in times else f for p, f in enumerate(header)])
    named = {key: found[key] for key in ("tier", "file") if key in found}
    rest = [place for place in others if place not in named.values()]
    if "tier" in named and len(rest) != 1:
        rest = [found["label"]] if "label" in found else []
    if not rest:
        raise DatasetError(
            [f"{where}: has no column of annotations next to the times"],
            "Export again from ELAN with at least one tier selected.",
        )
    return Layout(
        start=start,
        end=end,
        labels=tuple((None if "tier" in named else others[place], place) for place in rest),
        names=tuple(header),
        tier=named.get("tier"),
        file=named.get("file"),
        unit=unit,
    )


def _elan_times(where: str, header: Sequence[str]) -> tuple[int, int, TimeUnit, set[int]]:
    """Return the columns of begin and end with their unit, and all columns of times."""
    matches = ((p, _ELAN_TIME.fullmatch(field.strip())) for p, field in enumerate(header))
    timed = [(p, match[1].strip().lower(), match[2]) for p, match in matches if match]
    places = {(kind, form): p for p, kind, form in timed}
    # Not every " - " precedes a format, as a tier may be called "hand - left".
    kinds = list(dict.fromkeys(kind for _, kind, form in timed if form in _ELAN_FORMATS))
    if len(kinds) < 2 or kinds[1].startswith(_DURATION) or kinds[0].startswith(_DURATION):
        raise DatasetError(
            [f"{where}: has no begin and end time; found {', '.join(map(repr, kinds))}"],
            "Export again from ELAN with the begin time and the end time selected.",
        )
    both = [form for form in _ELAN_FORMATS if all((kind, form) in places for kind in kinds[:2])]
    if not both:
        raise DatasetError(
            [f"{where}: begin and end time have no format in common"],
            "Export again from ELAN with the times in msec.",
        )
    begin, end = (places[kind, both[0]] for kind in kinds[:2])
    times = {p for p, kind, _ in timed if kind in kinds}
    return begin, end, _ELAN_FORMATS[both[0]], times


_FRAMES = re.compile(r"\d\d:\d\d:\d\d[:;]\d\d")
_SAMPLE = 50


def elan_layout(rows: Sequence[Sequence[str]]) -> Layout | None:
    """Return the layout of ELAN's export without a header, detected from the fields.

    The columns are, in this order: tier and participant, both optional; begin, end and optionally
    duration, each in up to four formats (hours, seconds, milliseconds, frames); the annotation; and
    optionally the file name.

    Parameters
    ----------
    rows : sequence of rows
        At least one.

    Returns
    -------
    Layout or None
        None if the rows have no such times.

    Examples
    --------
    >>> row = ["posture", "K", "00:00:01.000", "1.0", "00:00:02.500", "2.5",
    ...        "00:00:01.500", "1.5", "sit"]
    >>> found = elan_layout([row])
    >>> found.tier, found.start, found.end, found.labels, found.unit
    (0, 3, 5, ((None, 8),), 's')
    """
    sample = rows[:_SAMPLE]
    for parts, formats, first in product((3, 2), (4, 3, 2, 1), (0, 1, 2)):
        if all(_are_times(row, first, formats, parts) for row in sample):
            found = _without_header(sample, first, formats, first + parts * formats)
            # Two whole numbers may be in any unit, whereas a matching duration shows that all are
            # times.
            vague = parts == 2 and formats == 1 and found.unit == "ms"
            return replace(found, unit=None) if vague else found
    return None


def _are_times(row: Sequence[str], first: int, formats: int, parts: int) -> bool:
    """Return whether fields are begin, end and, if `parts` is 3, duration, in the same formats."""
    label = first + parts * formats
    if len(row) <= label:
        return False
    blocks = [row[start : start + formats] for start in range(first, label, formats)]
    kinds = [[_kind(field) for field in block] for block in blocks]
    if None in kinds[0] or len(set(kinds[0])) < formats or any(kind != kinds[0] for kind in kinds):
        return False
    if kinds[0] == ["frames"]:
        return False
    for kind, *fields in zip(kinds[0], *blocks, strict=True):
        times = [milliseconds(field, "ms" if kind == "ms" else "s") for field in fields]
        known = [time[0] for time in times if time is not None]
        if kind != "frames" and (
            len(known) < parts
            or known[0] > known[1]
            or (parts == 3 and known[1] - known[0] != known[2])
        ):
            return False
    return True


def _kind(field: str) -> str | None:
    if _FRAMES.fullmatch(field):
        return "frames"
    if clock_time(field) is not None:
        return "clock"
    if not is_number(field):
        return None
    return "s" if "." in field else "ms"


def _without_header(
    sample: Sequence[Sequence[str]], first: int, formats: int, label: int
) -> Layout:
    kinds = [_kind(field) for field in sample[0][first : first + formats]]
    chosen = next(place for kind in ("ms", "s", "clock") for place in range(formats)
                  if kinds[place] == kind)  # fmt: skip
    width = len(sample[0])
    filed = width > label + 1 and all(row[-1].lower().endswith(".eaf") for row in sample)
    names = [f"column {place + 1}" for place in range(width)]
    return Layout(
        start=first + chosen,
        end=first + formats + chosen,
        labels=((None, label),),
        names=tuple(names),
        tier=0 if first else None,
        file=width - 1 if filed else None,
        unit="ms" if kinds[chosen] == "ms" else "s",
        headed=False,
    )


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
    name, data = str(path), _read(path)
    if data[:4] == PARQUET:
        raise DatasetError(
            [f"{name}: is a Parquet table; expected text, with a row for each segment"],
            "Save the table as CSV in utf-8.",
        )
    text = decoded(name, data)
    if text.lstrip()[:1] in ("[", "{"):
        raise DatasetError(
            [f"{name}: is json; expected a table of segments"], "Save the table as CSV in utf-8."
        )
    rows = _rows(name, text)
    if not rows:
        raise DatasetError([f"{name}: the file is empty"], "Export it again.")
    first = rows[0]
    layout = None if is_elan_header(first.fields) else elan_layout([row.fields for row in rows])
    layout = layout or headed_layout(name, first.line, first.fields)
    width = len(first.fields)
    as_where = "in the header" if layout.headed else "in the first row"
    body = rows[1:] if layout.headed else rows
    return Table(
        path=path,
        source=Source(name, len(data), hashlib.blake2b(data).hexdigest()),
        layout=layout,
        rows=tuple(row for row in body if len(row.fields) == width),
        problems=tuple(
            f"{name}: line {row.line}: has {count(len(row.fields), 'field')}; "
            f"expected {width}, as {as_where}"
            for row in body
            if len(row.fields) != width
        ),
    )


def _read(path: Path) -> bytes:
    refuse_foreign(path, table=True)
    with named_errors(path, "a table of segments", NOT_A_FOLDER):
        return read_whole(path)


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
    quoted = not _is_raw(lines[skipped:], delimiter)
    try:
        return _parse("".join(lines[skipped:]), delimiter, skipped, quoted=quoted)
    except csv.Error as error:
        raise DatasetError(
            [f"{name}: is not a table that can be read: {clean(str(error))}"],
            "Look for a quotation mark that opens and never closes.",
        ) from None


def _is_raw(lines: list[str], delimiter: str) -> bool:
    """Return whether ELAN wrote the lines, in which quotation marks are plain text."""
    if delimiter != "\t":
        return False
    fields = [[field.strip() for field in line.split(delimiter)] for line in lines[:50]]
    return is_elan_header(fields[0]) or elan_layout([row for row in fields if any(row)]) is not None


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
