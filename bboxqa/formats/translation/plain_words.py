"""Parsing numbers of up to eight characters, each as one machine word."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import MIX, BoolArray, ByteArray, FloatArray, IndexArray, TextArray

WORD = 8
"""Number of bytes of a machine word."""
Codes = NDArray[np.uint64]

_BYTE, _LAST = np.uint64(8), np.uint64(56)
_ONES = np.uint64(0x0101010101010101)
_LOW_BITS, _HIGH_BITS = np.uint64(0x7F) * _ONES, np.uint64(0x80) * _ONES
_POINTS, _ZEROS = np.uint64(ord(".")) * _ONES, np.uint64(ord("0")) * _ONES
_ABOVE_NINE = np.uint64(0x76) * _ONES
_PLACES = np.uint64(0x0706050403020100)
_POWERS = 10.0 ** np.arange(WORD)
# Masks to join two, four and eight digits in turn, for all digits of a word at once.
_FOUR = np.uint64(0x000000FF000000FF)
_UPPER, _LOWER = np.uint64((1_000_000 << 32) + 100), np.uint64((10_000 << 32) + 1)


def short_numbers(codes: Codes, lengths: IndexArray) -> tuple[FloatArray, BoolArray]:
    r"""Return texts as numbers, and which texts are digits with at most one point.

    Parameters
    ----------
    codes : (N,) uint64
        The characters, the first in the lowest byte; bytes after a text are ignored.
    lengths : (N,) int64
        From 1 to 8.

    Examples
    --------
    >>> codes = np.frombuffer(b"12.5\n0.1-7      ", "<u8")
    >>> values, is_plain = short_numbers(codes, np.array([4, 2]))
    >>> values[is_plain].tolist(), is_plain.tolist()
    ([12.5], [True, False])
    """
    length = lengths.astype(np.uint64)
    text = codes << (_BYTE * (_BYTE - length))
    apart = text ^ _POINTS
    # Sets the lowest bit of each byte that is a point.
    point = ~(((apart & _LOW_BITS) + _LOW_BITS) | apart | _LOW_BITS) >> np.uint64(7)
    has_point = point != 0
    before = point - has_point
    joined = (text & ~(before | point * np.uint64(0xFF))) | ((text & before) << _BYTE)
    n_digits = length - has_point
    unused = np.minimum(_BYTE * (_BYTE - n_digits), _LAST)
    digits = joined ^ (_ZEROS >> unused << unused)
    is_plain = ((digits + _ABOVE_NINE) | digits) & _HIGH_BITS == 0
    is_plain &= (point & before == 0) & (n_digits > 0)
    decimals = (point * _PLACES) >> _LAST & np.uint64(WORD - 1)
    # Integers below 2 ** 53 are exact, and a quotient of two is correctly rounded, as in `float`.
    values: FloatArray = _whole(digits) / _POWERS[decimals.astype(np.intp)]
    return values, is_plain


def alike_numbers(codes: Codes, length: int) -> FloatArray | None:
    r"""Return texts of one length as numbers, in half the time of `short_numbers`.

    None if not all are digits with a point in the same position, or without a point.

    Examples
    --------
    >>> alike_numbers(np.frombuffer(b"0.5,0.25", "<u8"), 3).tolist()
    [0.5]
    >>> alike_numbers(np.frombuffer(b"0.5     5.0     50.     ", "<u8"), 3) is None
    True
    """
    place = codes[:1].tobytes()[:length].find(b".")
    text = codes << (_BYTE * np.uint64(WORD - length))
    if place < 0:
        joined, n_digits, decimals = text, length, 0
    else:
        first = 8 * (WORD - length + place)
        if (text >> np.uint64(first) & np.uint64(0xFF) != ord(".")).any():
            return None
        before = np.uint64((1 << first) - 1)
        joined = (text & ~(before << _BYTE | np.uint64(0xFF))) | ((text & before) << _BYTE)
        n_digits, decimals = length - 1, length - 1 - place
    unused = np.uint64(8 * (WORD - n_digits))
    digits = joined ^ (_ZEROS >> unused << unused)
    if n_digits == 0 or (((digits + _ABOVE_NINE) | digits) & _HIGH_BITS).any():
        return None
    values: FloatArray = _whole(digits) / _POWERS[decimals]
    return values


def _whole(digits: Codes) -> FloatArray:
    """Return words of eight digits, one in each byte, as whole numbers."""
    digits = digits * np.uint64(10) + (digits >> _BYTE)
    upper, lower = (digits & _FOUR) * _UPPER, (digits >> np.uint64(16) & _FOUR) * _LOWER
    whole: FloatArray = ((upper + lower) >> np.uint64(32)).astype(np.float64)
    return whole


_NEWLINE, _BLANK, _POINT, _ZERO = np.frombuffer(b"\n .0", np.uint8)
_ASCII = 0x80
_HALF, _TOP = np.uint64(32), np.uint64(48)
_EXACT = 15
"""Number of decimal digits that floats represent exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainWords:
    """The words of a text, between separators.

    Attributes
    ----------
    text : bytes
        Padded at the end.
    begin, end : (K, N) int64
        The begins and ends of words, by column and line.
    """

    text: bytes
    begin: IndexArray
    end: IndexArray

    def __len__(self) -> int:
        return len(self.begin[0])

    def numbers(self, column: int) -> FloatArray:
        """Return the numbers of a column. Raises ValueError if a word is not a number."""
        begin = self.begin[column]
        lengths = self.end[column] - begin
        length = int(lengths[0]) if len(lengths) else 0
        if 0 < length <= WORD and (lengths == length).all():
            alike = alike_numbers(self._words()[begin], length)
            if alike is not None:
                return alike
        values, is_plain = short_numbers(self._words()[begin], np.clip(lengths, 1, WORD))
        others = np.flatnonzero(~is_plain | (lengths < 1) | (lengths > WORD))
        if len(others):
            values[others] = self._other_numbers(begin[others], lengths[others])
        return values

    def _other_numbers(self, begin: IndexArray, lengths: IndexArray) -> FloatArray:
        """Return numbers that are long, or contain more than digits and a point."""
        codes = np.frombuffer(self.text, np.uint8)
        values = np.zeros(len(begin))
        for length in np.flatnonzero(np.bincount(lengths)).tolist():
            chosen = np.flatnonzero(lengths == length)
            values[chosen] = _numbers(codes[begin[chosen, None] + np.arange(length)])
        return values

    def _words(self) -> Codes:
        """Return the eight bytes that begin at each byte of the text."""
        return np.ndarray((len(self.text) - WORD + 1,), "<u8", self.text, strides=(1,))

    def texts(self, column: int) -> list[str]:
        """Return the words of a column. Raises ValueError if they are not UTF-8."""
        places = zip(self.begin[column].tolist(), self.end[column].tolist(), strict=True)
        text = self.text
        return b"\n".join([text[begin:end] for begin, end in places]).decode().split("\n")

    def short_texts(self, column: int, most: int) -> TextArray | None:
        """Return the words of a column as an array, (N,); None if any is longer, or not ASCII."""
        begin, lengths = self.begin[column], self.end[column] - self.begin[column]
        width = int(lengths.max(initial=1))
        if width > most:
            return None
        words = np.zeros((len(self), -(-width // WORD)), "<u8")
        for place, (rows, word) in enumerate(self._pieces(begin, lengths)):
            words[rows, place] = word >> _beyond(lengths[rows] - place * WORD)
        signs = words.view(np.uint8)[:, : max(width, 1)]
        if signs.max(initial=0) >= _ASCII:
            return None
        found: TextArray = signs.astype("<u4").view(f"<U{signs.shape[1]}")[:, 0]
        return found

    def numbered(self, column: int) -> tuple[IndexArray, list[str]]:
        """Return (N,) codes of the words of a column, and the distinct words in order.

        Raises ValueError if a word is not UTF-8.
        """
        changed = np.flatnonzero(self.changes(column))
        begin = self.begin[column][changed]
        lengths = self.end[column][changed] - begin
        hashes = self._hashes(begin, lengths)
        row, code = _distinct(hashes)
        if (lengths != lengths[row[code]]).any() or len(
            self._differing(begin, begin[row[code]], lengths)
        ):
            # Two words have the same hash.
            known: dict[str, int] = {}
            numbers = np.array(
                [known.setdefault(e, len(known)) for e in self.rows(changed).texts(column)]
            )
            words = [*known]
        else:
            order = np.argsort(row)
            numbers = np.argsort(order)[code]
            words = self.rows(changed[row[order]]).texts(column)
        return np.repeat(numbers, np.diff(changed, append=len(self))), words

    def rows(self, rows: IndexArray) -> "PlainWords":
        """Return some of the lines."""
        return PlainWords(self.text, self.begin[:, rows], self.end[:, rows])

    def changes(self, column: int) -> BoolArray:
        """Return which words differ from the word in the previous line, (N,) bool."""
        begin, lengths = self.begin[column], self.end[column] - self.begin[column]
        changed = np.ones(len(begin), np.bool_)
        changed[1:] = np.diff(lengths) != 0
        for rows, word in self._pieces(begin, lengths):
            # If the previous row is not among the rows, its word is shorter, and thus different.
            changed[rows[1:][word[1:] != word[:-1]]] = True
        return changed

    def _differing(self, begin: IndexArray, other: IndexArray, lengths: IndexArray) -> IndexArray:
        """Return which words differ from other words of the same lengths, as indices."""
        pairs = zip(self._pieces(begin, lengths), self._pieces(other, lengths), strict=True)
        found = [rows[word != other_word] for (rows, word), (_, other_word) in pairs]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _hashes(self, begin: IndexArray, lengths: IndexArray) -> Codes:
        """Return a hash of each word, (N,) uint64."""
        hashes = lengths.astype(np.uint64)
        for rows, word in self._pieces(begin, lengths):
            mixed = (hashes[rows] ^ word) * MIX
            hashes[rows] = mixed ^ (mixed >> _HALF)
        return hashes

    def _pieces(self, begin: IndexArray, lengths: IndexArray) -> Iterator[tuple[IndexArray, Codes]]:
        """Yield eight bytes of each word at a time, in the upper bytes where fewer are left.

        With them, the indices of the words that are so long.
        """
        words, rows = self._words(), np.arange(len(begin))
        for offset in range(0, int(lengths.max(initial=0)), WORD):
            rows = rows[lengths[rows] > offset]
            yield rows, words[begin[rows] + offset] << _beyond(lengths[rows] - offset)


def _distinct(hashes: Codes) -> tuple[IndexArray, IndexArray]:
    """Return the first rows of distinct hashes, and the index of each hash among them."""
    # Sorting 16 bits takes a third of the time.
    short = (hashes >> _TOP).astype(np.uint16)
    _, row, code = np.unique(short, return_index=True, return_inverse=True)
    if (hashes != hashes[row[code]]).any():
        _, row, code = np.unique(hashes, return_index=True, return_inverse=True)
    return row, code


def _beyond(lengths: IndexArray) -> Codes:
    """Return the number of bits in eight bytes behind so many bytes."""
    return (8 * (WORD - np.minimum(lengths, WORD))).astype(np.uint64)


def plain_words(text: bytes, n_columns: int, separator: bytes = b" ") -> PlainWords | None:
    r"""Return the words of lines; None if a line has another number, or control characters.

    Examples
    --------
    >>> words = plain_words(b"1 cat\n.5 dog", 2)
    >>> words.numbers(0).tolist(), words.texts(1)
    ([1.0, 0.5], ['cat', 'dog'])
    >>> plain_words(b"1 cat\n2", 2) is None
    True
    """
    if not text:
        return None
    # The end of the text is the end of the last line.
    padded = text + b"\n" + bytes(WORD - 1)
    codes = np.frombuffer(padded, np.uint8, len(text) + 1)
    is_end = codes <= _BLANK if separator == b" " else codes < _BLANK
    if separator > b" ":
        is_end |= codes == ord(separator)
    ends = np.flatnonzero(is_end)
    if len(ends) % n_columns:
        return None
    columns = np.ascontiguousarray(ends.reshape(-1, n_columns).T)
    signs = codes[columns]
    if (signs[:-1] != ord(separator)).any() or (signs[-1] != _NEWLINE).any():
        return None
    begins = np.empty_like(columns)
    begins[1:] = columns[:-1] + 1
    begins[0, 0], begins[0, 1:] = 0, columns[-1, :-1] + 1
    return PlainWords(padded, begins, columns)


def _numbers(signs: ByteArray) -> FloatArray:
    """Parse texts of equal length as numbers; raises ValueError if one is not a number.

    Parameters
    ----------
    signs : (N, L) uint8
    """
    n, length = signs.shape
    if not length:
        raise ValueError("a number is missing")
    is_point = signs == _POINT
    places = np.where(is_point.any(1), is_point.argmax(1), length)
    values = np.zeros(n)
    for place in np.flatnonzero(np.bincount(places)).tolist():
        chosen = np.flatnonzero(places == place)
        # Most texts of equal length have their point at the same position.
        values[chosen] = _with_point(signs if len(chosen) == n else signs[chosen], place)
    return values


def _with_point(signs: ByteArray, place: int) -> FloatArray:
    """Parse texts of equal length whose first point is at the same position."""
    n, length = signs.shape
    digits = np.delete(signs, place, 1) - _ZERO if place < length else signs - _ZERO
    if (digits > 9).any() or not 0 < digits.shape[1] <= _EXACT:
        texts = np.ascontiguousarray(signs).view(f"S{length}").reshape(n)
        written: FloatArray = texts.astype(np.float64)
        return written
    # Integers below 2 ** 53 are exact, and a quotient of two is correctly rounded, as in `float`.
    weights = 10.0 ** np.arange(digits.shape[1] - 1, -1, -1)
    found: FloatArray = digits @ weights / 10.0 ** max(length - 1 - place, 0)
    return found
