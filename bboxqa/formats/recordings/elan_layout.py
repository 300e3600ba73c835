"""Detecting the columns of ELAN's export without a header from the content of the fields."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from bboxqa.formats.recordings.clock_times import clock_time, is_number, milliseconds
from bboxqa.formats.recordings.segment_layouts import Layout

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
