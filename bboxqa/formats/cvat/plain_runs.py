"""Images and tracks with nothing but plain boxes, which are read without a parser.

Most boxes of large files are such. A parser makes an object of each of their attributes, which
takes ten times as long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray

_BOXES = rb"((?:\r?\n[ \t]*<box [^<>&]*>\r?\n[ \t]*</box>)*+)"
_HOLDER = re.compile(rb"<(image|track) ([^<>&]*)>" + _BOXES + rb"\r?\n[ \t]*</\1>")
_ATTRIBUTE = re.compile('([A-Za-z_]+)="([^"]*)" *')
_ATTRIBUTES = re.compile('(?:[A-Za-z_]+="[^"]*" *)+')
_FIRST = re.compile(rb"[>\s]*(?:</box>\s*)?<box ([a-z_]+)=")
_NEXT = re.compile(rb" ([a-z_]+)=")
_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml\b[^>]*?(?:\bencoding\s*=\s*["']([^"']+)["']\s*)?\?>"""
)
_SIDES = ("xtl", "ytl", "xbr", "ybr")
_PLAIN = {*_SIDES, "label", "source", "occluded", "z_order", "frame", "keyframe", "outside"}
_FARTHEST = 1e9
# Fewer bytes are not worth columns of their own; more are not kept for the rest of an image.
_LEAST, _MOST = 1 << 15, 1 << 24


class Holder(NamedTuple):
    """An image or a track, and its boxes."""

    values: dict[str, str]
    line: int
    n_boxes: int


@dataclass(frozen=True, slots=True, eq=False)
class PlainRun:
    """Images, or tracks, that follow each other."""

    is_tracks: bool
    holders: Sequence[Holder]
    bbox: FloatArray
    """(N, 4) float64. x, y, width and height of all boxes."""
    columns: dict[str, list[bytes]]
    """The other attributes of the boxes by name. Box i of a holder is 1 + 2 * i lines below it."""
    frames: list[int]
    """Of the boxes of tracks; empty for images."""


class _Match(NamedTuple):
    found: re.Match[bytes]
    """Its groups are the name of the element, its attributes, and the boxes."""
    line: int
    n_boxes: int

    @property
    def size(self) -> int:
        return self.found.end() - self.found.start()


class PlainRuns:
    """Takes runs out of a file that is read part by part.

    What is left is for a parser, with the ends of lines of what was taken out. Nothing is taken out
    after a comment, a CDATA section or a processing instruction, in which anything may stand, or of
    a file that is not in UTF-8.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._line = self._line_of_parser = 1
        self._is_plain: bool | None = None

    def parts(self, chunk: bytes) -> Iterator[bytes | PlainRun]:
        """Yield what follows in the file: runs, and text for a parser."""
        text = self._rest + chunk
        if self._is_plain is False:
            self._rest = b""
            yield text
            return
        begin = 0
        if self._is_plain is None:
            # The declaration is no processing instruction.
            found = _DECLARATION.match(text)
            begin = found.end() if found else 0
            encoding = (found and found[1]) or b"utf-8"
            self._is_plain = encoding.lower() in (b"utf-8", b"utf8")
            yield self._at(text[:begin], 1)
            self._line = self._line_of_parser
        run: list[_Match] = []
        for match in _HOLDER.finditer(text, begin):
            gap = text[begin : match.start()]
            if gap.strip():
                yield from self._taken(run)
                yield self._passed(gap)
                run = []
                if not self._is_plain:
                    begin = match.start()
                    break
            else:
                self._line += gap.count(b"\n")
            # A box has two lines, and the end of the element another.
            n_boxes = text.count(b"\n", *match.span(3)) // 2
            run.append(_Match(match, self._line, n_boxes))
            self._line += 2 * n_boxes + 1
            begin = match.end()
        yield from self._taken(run)
        end = self._safe_end(text, begin)
        yield self._passed(text[begin:end])
        self._rest = text[end:]

    def last(self) -> bytes:
        """Return what is left at the end of the file."""
        return self._at(self._rest, self._line)

    def _passed(self, text: bytes) -> bytes:
        if b"<!" in text or b"<?" in text:
            self._is_plain = False
        sent = self._at(text, self._line)
        self._line = self._line_of_parser
        return sent

    def _at(self, text: bytes, line: int) -> bytes:
        """Return text that begins in a line, with the ends of the lines that were taken out."""
        skipped = b"\n" * (line - self._line_of_parser)
        self._line_of_parser = line + text.count(b"\n")
        return skipped + text

    def _safe_end(self, text: bytes, begin: int) -> int:
        """Return up to where text is passed on: what begins behind may be cut off."""
        if not self._is_plain:
            return len(text)
        end = max(text.rfind(b"<image ", begin), text.rfind(b"<track ", begin))
        if end < 0 or len(text) - end > _MOST:
            end = text.rfind(b"<", begin)
        return len(text) if end < 0 else end

    def _taken(self, run: Sequence[_Match]) -> Iterator[bytes | PlainRun]:
        """Yield a run, or parts of it, and what the parser needs instead."""
        if not run:
            return
        size = sum(each.size for each in run)
        found = None if size < _LEAST else _run_of(run)
        if found is not None:
            yield found
        elif len(run) == 1 or size < _LEAST:
            for each in run:
                yield self._at(each.found[0], each.line)
        else:
            half = len(run) // 2
            yield from self._taken(run[:half])
            yield from self._taken(run[half:])


def _run_of(run: Sequence[_Match]) -> PlainRun | None:
    """Return a run, if all of its boxes have the same attributes, and none but plain ones."""
    boxes = b"".join([each.found[3] for each in run])
    columns = _columns_of(boxes)
    kinds = {each.found[1] for each in run}
    if columns is None or len(kinds) > 1:
        return None
    try:
        boxes.decode()
        holders = [Holder(_values(each.found[2]), each.line, each.n_boxes) for each in run]
        x, y, right, bottom = (_numbers(columns.pop(side)) for side in _SIDES)
        frames = [int(number) for number in columns.get("frame", ())]
    except ValueError:
        return None
    bbox = np.stack([x, y, (right - x).round(6), (bottom - y).round(6)], 1)
    is_tracks = kinds == {b"track"}
    wrong = not (np.abs(bbox) < _FARTHEST).all() or min(frames, default=0) < 0
    wrong = wrong or len(frames) != (len(bbox) if is_tracks else 0)
    return None if wrong else PlainRun(is_tracks, holders, bbox, columns, frames)


def _values(attributes: bytes) -> dict[str, str]:
    """Return attributes by name. Raises ValueError where a parser has to look at them."""
    text = attributes.decode()
    if _ATTRIBUTES.fullmatch(text) is None:
        raise ValueError
    return dict(_ATTRIBUTE.findall(text))


def _numbers(texts: list[bytes]) -> FloatArray:
    return np.fromiter(map(float, texts), np.float64, len(texts))


def _columns_of(boxes: bytes) -> dict[str, list[bytes]] | None:
    """Return the attributes of boxes by name; None if they differ in anything but values."""
    parts = boxes.split(b'"')
    n_parts = boxes.partition(b"</box>")[0].count(b'"')
    if n_parts < 8 or n_parts % 2 or (len(parts) - 1) % n_parts or parts[-1][:1] != b">":
        return None
    columns: dict[str, list[bytes]] = {}
    for place in range(0, n_parts, 2):
        before = set(parts[place : len(parts) - 1 : n_parts])
        matches = map((_NEXT if place else _FIRST).fullmatch, before)
        found = {None if match is None else match[1] for match in matches}
        name = found.pop()
        if name is None or found:
            return None
        columns[name.decode()] = parts[place + 1 :: n_parts]
    right = len(columns) * 2 == n_parts and columns.keys() <= _PLAIN
    return columns if right and columns.keys() >= {*_SIDES} else None
