"""Decoding Label Studio's brush masks, bit-packed run lengths of the bytes of an RGBA image."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.translation.masks import RowMask
from bboxqa.formats.translation.untrusted import MaskProblemError
from bboxqa.model.shapes.masks import joined


def brush_mask(numbers: object, width: int, height: int) -> RowMask:
    """Decode the numbers under `rle` to a mask of the pixels that are not transparent.

    The bits are: 32 for the number of bytes of the image, 4 per pixel; 5 for the bit width of a
    value minus 1; 4 times 4 for the bit widths of run lengths minus 1; then the runs. A run
    consists of 1 bit that is set if one value is repeated, 2 bits that select the width of its
    length, the length minus 1, and the value or values. Pixels go row by row.

    Raises MaskProblemError if the numbers are not such bits, or have another size than the image.
    Memory is taken for the bits only, as a run of one value may be long.
    """
    try:
        data = bytes(numbers)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise MaskProblemError("is not a list of bytes") from None
    bit, n_bits = 0, 8 * len(data)

    def read(n: int) -> int:
        """Return the number in the next bits, the highest bit first."""
        nonlocal bit
        first, bit = bit, bit + n
        if bit > n_bits:
            raise MaskProblemError("is cut off")
        number = int.from_bytes(data[first >> 3 : (bit + 7) >> 3], "big")
        return (number >> (-bit % 8)) & ((1 << n) - 1)

    n_bytes, value_width = read(32), read(5) + 1
    if n_bytes != 4 * width * height:
        raise MaskProblemError(f"has {n_bytes // 4:,} pixels; expected {width} × {height}")
    if value_width != 8:
        raise MaskProblemError(f"has values of {value_width} bits; expected 8")
    length_widths = [read(4) + 1 for _ in range(4)]
    opaque: list[tuple[int, int]] = []
    literal: list[tuple[int, int, int]] = []
    place = 0
    while place < n_bytes:
        repeats = read(1)
        n = read(length_widths[read(2)]) + 1
        if place + n > n_bytes:
            raise MaskProblemError("has more pixels than it says")
        if not repeats:
            literal.append((place, n, bit))
            bit += 8 * n
            if bit > n_bits:
                raise MaskProblemError("is cut off")
        # The last of the four bytes of a pixel is its opacity.
        elif read(8) > 0 and place // 4 < (place + n) // 4:
            opaque.append((place // 4, (place + n) // 4))
        place += n
    runs, pixels = np.array(opaque, np.int64).reshape(-1, 2), _opaque_pixels(literal, data)
    spans = np.concatenate([runs, np.column_stack([pixels, pixels + 1])])
    spans = joined(spans[np.argsort(spans[:, 0])])
    # A byte takes two characters or more, with its comma.
    return RowMask(spans, width, height, n_characters=2 * len(data))


def _opaque_pixels(literal: Sequence[tuple[int, int, int]], data: bytes) -> IndexArray:
    """Return the pixels of runs of several values that are not transparent, (P,).

    A run is its first byte in the image, its number of bytes, and its place in `data` in bits.
    """
    begin, n, place = np.array(literal, np.int64).reshape(-1, 3).T
    skipped = (3 - begin) % 4
    n_pixels = (n - skipped + 3) // 4
    run = np.repeat(np.arange(len(n)), n_pixels)
    number = np.arange(len(run)) - np.repeat(np.cumsum(n_pixels) - n_pixels, n_pixels)
    # A value may begin inside a byte.
    byte, shift = np.divmod((place + 8 * skipped)[run] + 32 * number, 8)
    held = np.frombuffer(data + b"\0", np.uint8).astype(np.uint16)
    is_opaque = (held[byte] << 8 | held[byte + 1]) >> (8 - shift).astype(np.uint16) & 255 > 0
    found: IndexArray = (((begin + skipped) // 4)[run] + number)[is_opaque]
    return found


_LENGTH_WIDTHS = (3, 4, 8, 16)


def brush_numbers(runs: IndexArray) -> list[int]:
    """Encode (R,) run lengths of all pixels, row by row, as the numbers under `rle`.

    The first run is outside the mask. This is the inverse of `brush_mask`.

    Examples
    --------
    >>> brush_mask(brush_numbers(np.array([1, 2, 2, 1])), 3, 2).spans.tolist()
    [[1, 3], [5, 6]]
    """
    bits = [f"{4 * runs.sum():032b}{7:05b}", *(f"{width - 1:04b}" for width in _LENGTH_WIDTHS)]
    longest = 1 << _LENGTH_WIDTHS[-1]
    for number, length in enumerate(runs.tolist()):
        value = 255 * (number % 2)
        # A run has four equal bytes for each pixel.
        n_longest, rest = divmod(4 * length, longest)
        bits.append(_run_bits(longest, value) * n_longest)
        if rest:
            bits.append(_run_bits(rest, value))
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


@lru_cache(1 << 12)
def _run_bits(n: int, value: int) -> str:
    place = next(i for i, width in enumerate(_LENGTH_WIDTHS) if n <= 1 << width)
    return f"1{place:02b}{n - 1:0{_LENGTH_WIDTHS[place]}b}{value:08b}"
