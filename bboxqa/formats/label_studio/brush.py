"""Decoding Label Studio's brush masks, bit-packed run lengths of the bytes of an RGBA image."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray
from bboxqa.model.shapes.run_lengths import MAX_MASK_PIXELS


class MaskError(ValueError):
    """A mask that is not as Label Studio writes it."""


class _Bits:
    """Reads numbers of any width, the highest bit first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def read(self, width: int) -> int:
        first, last = self.place >> 3, (self.place + width + 7) >> 3
        if last > len(self.data):
            raise MaskError("is cut off")
        number = int.from_bytes(self.data[first:last], "big")
        self.place += width
        return (number >> (8 * last - self.place)) & ((1 << width) - 1)

    def read_bytes(self, n: int) -> ByteArray:
        """Return (n,) bytes, which may begin inside a byte."""
        first, shift = self.place >> 3, self.place & 7
        last = (self.place + 8 * n + 7) >> 3
        if last > len(self.data):
            raise MaskError("is cut off")
        self.place += 8 * n
        held = np.frombuffer(self.data[first:last] + b"\0", np.uint8).astype(np.uint16)
        wide: ByteArray = ((held[:-1] << 8 | held[1:]) >> (8 - shift) & 255)[:n].astype(np.uint8)
        return wide


def brush_mask(numbers: object, width: int, height: int) -> BoolArray:
    """Decode the numbers under `rle` to a mask of the pixels that are not transparent.

    The bits are: 32 for the number of bytes of the image, 4 per pixel; 5 for the bit width of a
    value minus 1; 4 times 4 for the bit widths of run lengths minus 1; then the runs. A run
    consists of 1 bit that is set if one value is repeated, 2 bits that select the width of its
    length, the length minus 1, and the value or values. Pixels go row by row.

    Raises MaskError if the numbers are not such bits, or have another size; memory is allocated
    only for an image of the given size.

    Parameters
    ----------
    numbers : object
        The value in the file; expected is a list of bytes as integers.
    width, height : int
        Size of the image in pixels.

    Returns
    -------
    (height, width) bool
    """
    if not 0 < width * height < MAX_MASK_PIXELS:
        raise MaskError(f"is of an image of {width} × {height} pixels")
    try:
        data = bytes(numbers)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise MaskError("is not a list of bytes") from None
    bits = _Bits(data)
    n_bytes, value_width = bits.read(32), bits.read(5) + 1
    if n_bytes != 4 * width * height:
        raise MaskError(f"has {n_bytes // 4:,} pixels; expected {width} × {height}")
    if value_width != 8:
        raise MaskError(f"has values of {value_width} bits; expected 8")
    length_widths = [bits.read(4) + 1 for _ in range(4)]
    alpha = np.zeros(width * height, np.bool_)
    place = 0
    while place < n_bytes:
        repeats = bits.read(1)
        n = bits.read(length_widths[bits.read(2)]) + 1
        if place + n > n_bytes:
            raise MaskError("has more pixels than it says")
        # The last of the four bytes of a pixel is its opacity.
        first, last = place // 4, (place + n) // 4
        if repeats:
            alpha[first:last] = bits.read(8) > 0
        else:
            alpha[first:last] = bits.read_bytes(n)[3 - place % 4 :: 4] > 0
        place += n
    return alpha.reshape(height, width)


_LENGTH_WIDTHS = (3, 4, 8, 16)


def brush_numbers(mask: BoolArray) -> list[int]:
    """Encode a mask as the numbers under `rle`; the inverse of `brush_mask`.

    Examples
    --------
    >>> mask = np.array([[False, True, True], [False, False, True]])
    >>> bool((brush_mask(brush_numbers(mask), 3, 2) == mask).all())
    True
    """
    flat = mask.ravel()
    bits = [f"{4 * len(flat):032b}{7:05b}", *(f"{width - 1:04b}" for width in _LENGTH_WIDTHS)]
    stops = np.append(np.flatnonzero(np.diff(flat)) + 1, len(flat))
    starts = np.append(0, stops[:-1])
    longest = 1 << _LENGTH_WIDTHS[-1]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        value = 255 if flat[start] else 0
        # A run has four equal bytes for each pixel.
        for n in _parts(4 * (stop - start), longest):
            place = next(i for i, width in enumerate(_LENGTH_WIDTHS) if n <= 1 << width)
            bits.append(f"1{place:02b}{n - 1:0{_LENGTH_WIDTHS[place]}b}{value:08b}")
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


def _parts(total: int, longest: int) -> Iterator[int]:
    while total > 0:
        yield min(total, longest)
        total -= longest
