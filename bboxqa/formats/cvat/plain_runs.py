"""Reading images and tracks that contain only plain boxes, without a parser.

Most boxes of large files are plain. A parser creates an object for each attribute, which takes ten
times as long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.cvat.plain_lines import Coded, Lines, lines_of

_NAMES = re.compile("[a-z_]+=(?: +[a-z_]+=)* *")
_NAME = re.compile(b"(?: *<box)? ([a-z_]+)=")
_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml\b[^>]*?(?:\bencoding\s*=\s*["']([^"']+)["']\s*)?\?>"""
)
_SIDES = ("xtl", "ytl", "xbr", "ybr")
_PLAIN = {*_SIDES, "label", "source", "occluded", "z_order", "frame", "keyframe", "outside"}
_WANTED = {"label", "source", "outside", "frame"}
SAID = {"occluded", "z_order", "keyframe", "source"}
"""Further attributes of a box."""
_LEAST_QUOTES = 8
_FARTHEST = 1e9
# Fewer bytes are not worth a run; more are not held back while waiting for the end of an image.
_LEAST, _MOST = 1 << 15, 1 << 24


class Holder(NamedTuple):
    """An image or a track, and its boxes."""

    values: dict[str, str]
    line: int
    n_boxes: int


@dataclass(frozen=True, slots=True, eq=False)
class PlainRun:
    """Consecutive images or tracks."""

    is_tracks: bool
    holders: Sequence[Holder]
    bbox: FloatArray
    """(N, 4) float64. x, y, width and height of all boxes."""
    columns: dict[str, Coded]
    """The other attributes of the boxes, by name."""
    lines: IndexArray
    """(N,) int64."""
    frames: IndexArray
    """(N,) int64 of the boxes of tracks; (0,) for images."""


class PlainRuns:
    """Extracts runs from a file that is read in chunks.

    With `in_full`, boxes keep all their keys, and boxes with child elements are not plain.

    The rest is for a parser; the line ends of extracted runs are kept, so that line numbers stay
    right. Nothing is extracted after a comment, a CDATA section or a processing instruction, which
    may contain any text, or from a file that is not in UTF-8.
    """

    def __init__(self, *, in_full: bool = False) -> None:
        self.in_full = in_full
        self._rest = b""
        self._line = self._line_of_parser = 1
        self._is_plain: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether what follows may be taken out."""
        return self._is_plain is True

    def begin_inside(self, line: int) -> None:
        """Begin with a line of a file of which all before may be taken out."""
        self._is_plain, self._line, self._line_of_parser = True, line, line

    def parts(self, chunk: bytes) -> Iterator[bytes | PlainRun]:
        """Yield the content of the next chunk, as runs and as text for a parser."""
        text = self._rest + chunk
        if self._is_plain is False:
            self._rest = b""
            yield text
            return
        begin = 0
        if self._is_plain is None:
            # The XML declaration looks like a processing instruction, but is not one.
            found = _DECLARATION.match(text)
            begin = found.end() if found else 0
            encoding = (found and found[1]) or b"utf-8"
            self._is_plain = encoding.lower() in (b"utf-8", b"utf8")
            yield self._at(text[:begin], 1)
            self._line = self._line_of_parser
        if self._is_plain:
            lines = lines_of(text, begin)
            for start, stop in _runs(lines):
                gap = text[begin : lines.begin[lines.first[start]]]
                yield self._passed(gap)
                if not self._is_plain:
                    begin += len(gap)
                    break
                yield from self._taken(lines, start, stop)
                begin = int(lines.end[lines.last[stop - 1]])
        end = self._safe_end(text, begin)
        yield self._passed(text[begin:end])
        self._rest = text[end:]

    def last(self) -> bytes:
        """Return what is left at the end of the file, or before a place between elements."""
        rest, self._rest = self._rest, b""
        return self._passed(rest)

    def _passed(self, text: bytes) -> bytes:
        if b"<!" in text or b"<?" in text:
            self._is_plain = False
        sent = self._at(text, self._line)
        self._line = self._line_of_parser
        return sent

    def _at(self, text: bytes, line: int) -> bytes:
        """Return text of a line, preceded by the line ends that were extracted before it."""
        skipped = b"\n" * (line - self._line_of_parser)
        self._line_of_parser = line + text.count(b"\n")
        return skipped + text

    def _safe_end(self, text: bytes, begin: int) -> int:
        """Return where the last, maybe incomplete element begins; the end if there is none."""
        if not self._is_plain:
            return len(text)
        end = max(text.rfind(b"<image ", begin), text.rfind(b"<track ", begin))
        if end < 0 or len(text) - end > _MOST:
            end = text.rfind(b"<", begin)
        return len(text) if end < 0 else end

    def _taken(self, lines: Lines, start: int, stop: int) -> Iterator[bytes | PlainRun]:
        """Yield a run, or parts of it, and the text that the parser needs in its place."""
        first, last = lines.first[start], lines.last[stop - 1]
        begin, end = int(lines.begin[first]), int(lines.end[last])
        run = None if end - begin < _LEAST else self._run(lines, start, stop)
        if run is not None:
            yield run
            self._line += int(last - first)
        elif stop - start == 1 or end - begin < _LEAST:
            yield self._passed(lines.text[begin:end])
        else:
            half = (start + stop) // 2
            yield from self._taken(lines, start, half)
            between = lines.text[lines.end[lines.last[half - 1]] : lines.begin[lines.first[half]]]
            yield self._passed(between)
            yield from self._taken(lines, half, stop)

    def _run(self, lines: Lines, start: int, stop: int) -> PlainRun | None:
        if self.in_full and lines.has_attributes(start, stop):
            return None
        return _run_of(lines, start, stop, self._line, _WANTED | SAID if self.in_full else _WANTED)


def _runs(lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield start and stop of each sequence of consecutive images or tracks."""
    kinds = lines.kind[lines.first]
    breaks = (lines.first[1:] != lines.last[:-1] + 1) | (kinds[1:] != kinds[:-1])
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(kinds)]
    for start, stop in pairwise(edges):
        if start < stop:
            size = lines.end[lines.last[stop - 1]] - lines.begin[lines.first[start]]
            if size >= _LEAST:
                yield start, stop


def _run_of(lines: Lines, start: int, stop: int, line: int, wanted: set[str]) -> PlainRun | None:
    """Return a run if all of its boxes have the same attributes, all of them plain; else None."""
    rows = lines.boxes_of(start, stop)
    is_plain = len(rows) > 0 and lines.has_only_tags(start, stop)
    columns = _columns_of(lines, rows) if is_plain else None
    if columns is None:
        return None
    is_tracks = lines.is_tracks(start)
    try:
        holders = _holders(lines, start, stop, rows, line)
        x, y, right, bottom = (lines.numbers(*columns.pop(side)) for side in _SIDES)
        texts = {name: lines.coded(*columns[name]) for name in columns.keys() & wanted}
        for each in texts.values():
            b" ".join(each.values).decode()
        said = texts.pop("frame", Coded([], np.zeros(0, np.int64)))
        frames = np.array([int(number) for number in said.values], np.int64)[said.code]
    except (ValueError, OverflowError):
        return None
    bbox = np.stack([x, y, (right - x).round(6), (bottom - y).round(6)], 1)
    wrong = not (np.abs(bbox) < _FARTHEST).all() or bool((frames < 0).any())
    wrong = wrong or len(frames) != (len(bbox) if is_tracks else 0)
    numbers = rows - lines.first[start] + line
    return None if wrong else PlainRun(is_tracks, holders, bbox, texts, numbers, frames)


def _holders(lines: Lines, start: int, stop: int, rows: IndexArray, line: int) -> list[Holder]:
    """Return images or tracks. Raises ValueError if they need a parser."""
    first, last = lines.first[start:stop], lines.last[start:stop]
    counts = (np.searchsorted(rows, last) - np.searchsorted(rows, first)).tolist()
    numbers = (first - first[0] + line).tolist()
    begins, ends = (lines.begin[first] + len("  <image ")).tolist(), (lines.end[first] - 1).tolist()
    texts = [lines.text[begin:end] for begin, end in zip(begins, ends, strict=True)]
    parts = b'"'.join(texts).decode().split('"')
    n_parts = texts[0].count(b'"') + 1
    if any(len({*parts[place::n_parts]}) > 1 for place in range(0, n_parts, 2)):
        raise ValueError
    names = _names("".join(parts[:n_parts:2]))
    values = zip(*(parts[place::n_parts] for place in range(1, n_parts, 2)), strict=True)
    return [
        Holder(dict(zip(names, each, strict=True)), number, count)
        for each, number, count in zip(values, numbers, counts, strict=True)
    ]


@lru_cache(1 << 10)
def _names(text: str) -> list[str]:
    """Return attribute names from the text between the values."""
    if _NAMES.fullmatch(text) is None:
        raise ValueError
    names = text.replace("=", " ").split()
    if len(set(names)) < len(names):
        raise ValueError
    return names


def _columns_of(lines: Lines, rows: IndexArray) -> dict[str, tuple[IndexArray, IndexArray]] | None:
    """Return where the attribute values of boxes begin and end, by name.

    None if boxes differ in anything but their values.
    """
    begin, end = lines.begin[rows], lines.end[rows]
    text = np.frombuffer(lines.text, np.uint8)[begin[0] : end[-1]]
    quotes = np.flatnonzero(text == ord('"')) + begin[0]
    before = np.searchsorted(quotes, begin)
    counts = np.searchsorted(quotes, end) - before
    if counts[0] % 2 or counts[0] < _LEAST_QUOTES or (counts != counts[0]).any():
        return None
    place = np.ascontiguousarray(quotes[before[:, None] + np.arange(counts[0])].T)
    columns = {}
    behind = begin
    for start, stop in zip(place[::2], place[1::2], strict=True):
        length = int(start[0] - behind[0])
        name = _NAME.fullmatch(lines.text[behind[0] : start[0]])
        if name is None or (start - behind != length).any() or not lines.same(behind, length):
            return None
        columns[name[1].decode()] = (start + 1, stop)
        behind = stop + 1
    is_whole = (end - behind == 1).all() and len(columns) * 2 == counts[0]
    return columns if is_whole and {*_SIDES} <= columns.keys() <= _PLAIN else None
