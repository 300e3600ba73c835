"""Decoding Label Studio's brush masks, bit-packed run lengths of the bytes of an RGBA image."""

from functools import lru_cache

import numpy as np

from bboxqa.core.arrays import ByteArray, IndexArray
from bboxqa.formats.translation.boxes.masks import RowMask
from bboxqa.formats.translation.untrusted import MaskProblemError
from bboxqa.model.shapes.mask_spans import joined, spans_of_pixels


class _Bits:
    """Reads numbers of any width, the highest bit first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def read(self, width: int) -> int:
        first, last = self.place >> 3, (self.place + width + 7) >> 3
        if last > len(self.data):
            raise MaskProblemError("is cut off")
        number = int.from_bytes(self.data[first:last], "big")
        self.place += width
        return (number >> (8 * last - self.place)) & ((1 << width) - 1)

    def read_bytes(self, n: int) -> ByteArray:
        """Return (n,) bytes, which may begin inside a byte."""
        first, shift = self.place >> 3, self.place & 7
        last = (self.place + 8 * n + 7) >> 3
        if last > len(self.data):
            raise MaskProblemError("is cut off")
        self.place += 8 * n
        held = np.frombuffer(self.data[first:last] + b"\0", np.uint8).astype(np.uint16)
        wide: ByteArray = ((held[:-1] << 8 | held[1:]) >> (8 - shift) & 255)[:n].astype(np.uint8)
        return wide


def brush_mask(numbers: object, width: int, height: int) -> RowMask:
    """Decode the numbers under `rle` to a mask of the pixels that are not transparent.

    The bits are: 32 for the number of bytes of the image, 4 per pixel; 5 for the bit width of a
    value minus 1; 4 times 4 for the bit widths of run lengths minus 1; then the runs. A run
    consists of 1 bit that is set if one value is repeated, 2 bits that select the width of its
    length, the length minus 1, and the value or values. Pixels go row by row.

    Raises MaskProblemError if the numbers are not such bits, or have another size. Memory is taken
    for the bits only, as a run of one value may be long.

    Parameters
    ----------
    numbers : object
        The value in the file; expected is a list of bytes as integers.
    width, height : int
        Size of the image in pixels.

    Returns
    -------
    RowMask
        The mask, in the whole image.
    """
    try:
        data = bytes(numbers)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise MaskProblemError("is not a list of bytes") from None
    bits = _Bits(data)
    n_bytes, value_width = bits.read(32), bits.read(5) + 1
    if n_bytes != 4 * width * height:
        raise MaskProblemError(f"has {n_bytes // 4:,} pixels; expected {width} × {height}")
    if value_width != 8:
        raise MaskProblemError(f"has values of {value_width} bits; expected 8")
    length_widths = [bits.read(4) + 1 for _ in range(4)]
    found = [np.zeros((0, 2), np.int64)]
    place = 0
    while place < n_bytes:
        repeats = bits.read(1)
        n = bits.read(length_widths[bits.read(2)]) + 1
        if place + n > n_bytes:
            raise MaskProblemError("has more pixels than it says")
        # The last of the four bytes of a pixel is its opacity.
        first, last = place // 4, (place + n) // 4
        if repeats:
            spans = np.array([[first, last]] if bits.read(8) > 0 else [], np.int64)
        else:
            opacity = bits.read_bytes(n)[3 - place % 4 :: 4]
            spans = first + spans_of_pixels(opacity > 0)
        if first < last:
            found.append(spans.reshape(-1, 2))
        place += n
    # A byte takes two characters or more, with its comma.
    return RowMask(joined(np.concatenate(found)), width, height, n_characters=2 * len(data))


_LENGTH_WIDTHS = (3, 4, 8, 16)


def brush_numbers(runs: IndexArray) -> list[int]:
    """Encode a mask as the numbers under `rle`; the inverse of `brush_mask`.

    Parameters
    ----------
    runs : (R,) int64
        Run lengths of all pixels, row by row, beginning with a run outside the mask.

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
