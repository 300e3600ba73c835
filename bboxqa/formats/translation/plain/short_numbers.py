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
    digits = digits * np.uint64(10) + (digits >> _BYTE)
    upper, lower = (digits & _FOUR) * _UPPER, (digits >> np.uint64(16) & _FOUR) * _LOWER
    whole = (upper + lower) >> np.uint64(32)
    decimals = (point * _PLACES) >> _LAST & np.uint64(WORD - 1)
    # Integers below 2 ** 53 are exact, and a quotient of two is correctly rounded, as in `float`.
    values: FloatArray = whole.astype(np.float64) / _POWERS[decimals.astype(np.intp)]
    return values, is_plain
