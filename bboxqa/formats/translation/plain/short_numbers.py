"""Parsing numbers of up to eight characters, each as one machine word."""

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray

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
