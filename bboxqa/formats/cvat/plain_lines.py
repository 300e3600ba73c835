"""The lines of a CVAT file, as arrays of their begins, ends and kinds."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray

_OTHER, _IMAGE, _TRACK, _BOX, _END_BOX, _END_IMAGE, _END_TRACK, _ATTRIBUTE = range(8)
# Lines as CVAT writes them: the first eight bytes, the rest of the tag, and the kind.
_KINDS = (
    (b"  <image", b" ", _IMAGE),
    (b"  <track", b" ", _TRACK),
    (b"    <box", b" ", _BOX),
    (b"    </bo", b"x>", _END_BOX),
    (b"  </imag", b"e>", _END_IMAGE),
    (b"  </trac", b"k>", _END_TRACK),
    (b"      <a", b"ttribute name=", _ATTRIBUTE),
)
_FOLLOWING = {
    (_IMAGE, _BOX), (_IMAGE, _END_IMAGE), (_TRACK, _BOX), (_TRACK, _END_TRACK), (_BOX, _END_BOX),
    (_END_BOX, _BOX), (_END_BOX, _END_IMAGE), (_END_BOX, _END_TRACK), (_BOX, _ATTRIBUTE),
    (_ATTRIBUTE, _ATTRIBUTE), (_ATTRIBUTE, _END_BOX),
}  # fmt: skip
_FOLLOWS = np.array([[(a, b) in _FOLLOWING for b in range(8)] for a in range(8)])
_WORD = 8
_END = np.frombuffer(b"tribute>", "<u8")[0]
# The attribute that names the annotator of the box.
_ANNOTATOR = b' name="annotator"'


class Coded(NamedTuple):
    """Texts, most of which are equal to others."""

    values: list[bytes]
    """Each text once."""
    code: IndexArray
    """(N,) int64. Index into `values`."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The complete lines of a text.

    Attributes
    ----------
    text : bytes
    words : (N,) uint64
        The eight bytes from each position of the text, as a little-endian integer.
    begin, end : (L,) int64
        Where the content of each line begins and ends.
    kind : (L,) uint8
    first, last : (H,) int64
        The first and last lines of each image and track that contains only boxes.
    """

    text: bytes
    words: np.ndarray[tuple[int], np.dtype[np.uint64]]
    begin: IndexArray
    end: IndexArray
    kind: np.ndarray[tuple[int], np.dtype[np.uint8]]
    first: IndexArray
    last: IndexArray

    def is_tracks(self, holder: int) -> bool:
        """Return whether an element is a track rather than an image."""
        return bool(self.kind[self.first[holder]] == _TRACK)

    def has_only_tags(self, start: int, stop: int) -> bool:
        """Return whether each line of elements is one tag, or an attribute in a pair of tags.

        The elements are consecutive, and each of their lines begins and ends like a tag.
        """
        first, last = self.first[start], self.last[stop - 1]
        place = int(self.begin[first]), int(self.end[last])
        ends = self.end[first : last + 1][self.kind[first : last + 1] == _ATTRIBUTE]
        n_tags = last - first + 1 + len(ends)
        signs = np.frombuffer(self.text, np.uint8)[slice(*place)]
        counts = [np.count_nonzero(signs == ord(sign)) for sign in "<>&"]
        if counts != [n_tags, n_tags, 0]:
            return False
        is_whole = bool((self.words[ends - _WORD] == _END).all())
        return not len(ends) or (is_whole and self.text.find(_ANNOTATOR, *place) < 0)

    def has_attributes(self, start: int, stop: int) -> bool:
        """Return whether boxes of consecutive elements have attributes."""
        kinds = self.kind[self.first[start] : self.last[stop - 1] + 1]
        return bool((kinds == _ATTRIBUTE).any())

    def boxes_of(self, start: int, stop: int) -> IndexArray:
        """Return the lines of the boxes of consecutive elements."""
        lines = np.arange(self.first[start], self.last[stop - 1] + 1)
        found: IndexArray = lines[self.kind[lines] == _BOX]
        return found

    def same(self, begin: IndexArray, length: int) -> bool:
        """Return whether the same bytes are at all positions."""
        for offset in range(0, length, _WORD):
            found = self.words[begin + offset]
            rest = length - offset
            if rest < _WORD:
                found = found & np.uint64((1 << 8 * rest) - 1)
            if (found != found[0]).any():
                return False
        return True

    def coded(self, begin: IndexArray, end: IndexArray) -> Coded:
        """Return what stands between places."""
        lengths = end - begin
        if (lengths == lengths[0]).all() and self.same(begin, int(lengths[0])):
            return Coded([self.text[begin[0] : end[0]]], np.zeros(len(begin), np.int64))
        known: dict[bytes, int] = {}
        codes = [known.setdefault(text, len(known)) for text in self.texts(begin, end)]
        return Coded([*known], np.array(codes))

    def texts(self, begin: IndexArray, end: IndexArray) -> list[bytes]:
        """Return what stands between places."""
        places = zip(begin.tolist(), end.tolist(), strict=True)
        return [self.text[start:stop] for start, stop in places]

    def numbers(self, begin: IndexArray, end: IndexArray) -> FloatArray:
        """Return the numbers between positions. Raises ValueError if one is not a number."""
        found = self._hundredths(begin, end)
        if found is not None:
            return found / 100
        texts = self.texts(begin, end)
        return np.fromiter(map(float, texts), np.float64, len(texts))

    def _hundredths(self, begin: IndexArray, end: IndexArray) -> FloatArray | None:
        """Return numbers times 100 if all have two decimals; else None."""
        length = end - begin
        if length.min() < 4 or length.max() > _WORD:
            return None
        word = self.words[end - _WORD]
        total, weight = np.zeros(len(end)), 1
        for place in range(int(length.max())):
            sign = (word >> np.uint64(8 * (_WORD - 1 - place))).astype(np.uint8)
            if place == 2:
                if (sign != ord(".")).any():
                    return None
                continue
            digit = sign - np.uint8(ord("0"))
            digit[length <= place] = 0
            if (digit > 9).any():
                return None
            total += digit * float(weight)
            weight *= 10
        return total


def lines_of(text: bytes, begin: int) -> Lines:
    """Return the lines after a position, without a last line that is incomplete."""
    # The beginning of a line is compared up to the length of the longest of `_KINDS`.
    padded = text + bytes(4 * _WORD)
    signs = np.frombuffer(padded, np.uint8)
    words = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded, strides=(1,))
    stops = np.flatnonzero(signs[begin : len(text)] == ord("\n")) + begin
    starts = np.concatenate([[begin], stops[:-1] + 1])[: len(stops)]
    ends = stops - (signs[stops - 1] == ord("\r"))
    is_whole = signs[ends - 1] == ord(">")
    kind = np.zeros(len(starts), np.uint8)
    word = words[starts]
    for head, rest, code in _KINDS:
        chosen = is_whole & (word == np.frombuffer(head, "<u8")[0])
        for place, sign in enumerate(rest, start=_WORD):
            chosen &= signs[starts + place] == sign
        if rest[-1:] == b">":
            chosen &= ends - starts == _WORD + len(rest)
        kind[chosen] = code
    first, last = _holders(kind)
    return Lines(text, words, starts, ends, kind, first, last)


def _holders(kind: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> tuple[IndexArray, IndexArray]:
    """Return the first and last lines of images and tracks that contain only boxes."""
    first = np.flatnonzero((kind == _IMAGE) | (kind == _TRACK))
    ends = np.flatnonzero((kind == _END_IMAGE) | (kind == _END_TRACK))
    which = np.searchsorted(ends, first)
    first = first[which < len(ends)]
    last = ends[which[which < len(ends)]]
    wrong = np.concatenate([[0], np.cumsum(~_FOLLOWS[kind[:-1], kind[1:]])])
    # The kind of an end tag is the kind of its start tag plus a constant.
    alike = kind[last] - kind[first] == _END_IMAGE - _IMAGE
    chosen = alike & (wrong[last] == wrong[first])
    return first[chosen], last[chosen]
