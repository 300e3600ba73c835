"""Identifying the columns of a table of segments by its header."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean
from bboxqa.formats.recordings.clock_times import TimeUnit

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
    """Return the index of each known column, the units of times, and ambiguities as problems.

    The name itself takes precedence over an alias.
    """
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
    """Return the name of a column in lower case without a unit, and the unit.

    >>> _plain("Start_Time (ms)"), _plain("end")
    (('start time', 'ms'), ('end', None))
    """
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
    """Return the layout of ELAN's export with a header.

    ELAN translates the header into the user's language, except for the formats of times.
    """
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
