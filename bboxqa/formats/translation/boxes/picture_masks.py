"""Reading masks that are stored as pictures."""

import base64
import binascii
import io
import warnings
import zlib
from typing import TYPE_CHECKING

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.formats.translation.boxes.masks import Masks, RowMask, Size
from bboxqa.formats.translation.untrusted import MaskProblemError
from bboxqa.model.shapes.masks import spans_of_pixels

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 1 << 27
"""Pixels that a picture of a mask may have."""

_MOST_UNPACKED = 1 << 26
_NO_PICTURE = "is not a PNG in base64"
_VALUES_BY_COLOUR = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""The number of values of a pixel, by the colour type of a PNG."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def picture_mask(
    text: object, masks: Masks, *, within: Size | None = None, packed: bool = False
) -> RowMask:
    """Return the mask in a base64 image: the pixels that are not transparent, or not black.

    The size of the picture is checked before it is decoded.

    Parameters
    ----------
    text : object
        Expected is base64 of a PNG.
    masks : Masks
        The masks of the source, which bound the pixels of all its pictures.
    within : tuple of int or None
        Size of the image, if the picture may not be larger.
    packed : bool
        Whether the PNG is additionally compressed with zlib.

    Raises
    ------
    MaskProblemError
        If the value is not such an image, or too large.
    """
    if not isinstance(text, str):
        raise MaskProblemError("is missing")
    try:
        data = base64.b64decode(text, validate=False)
        if packed:
            data = zlib.decompressobj().decompress(data, _MOST_UNPACKED)
        width, height = _size_of(data, within)
        n_values = _VALUES_BY_COLOUR.get(data[25], 4)
        masks.pictures.take(width * height * n_values, len(text))
        pixels = _pixels(data, (width, height))
    except MaskProblemError:
        raise
    except (binascii.Error, zlib.error, OSError, SyntaxError, ValueError):
        raise MaskProblemError(_NO_PICTURE) from None
    return RowMask(spans_of_pixels(pixels), width, height, n_characters=len(text))


def _size_of(data: bytes, within: Size | None) -> Size:
    """Return the size of a PNG from its beginning, before a library takes memory for it."""
    if not data.startswith(_SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 26:
        raise MaskProblemError(_NO_PICTURE)
    width, height = (int.from_bytes(data[place : place + 4]) for place in (16, 20))
    if within is not None and (width > within[0] or height > within[1]):
        image = f"its image has {within[0]} × {within[1]}"
        raise MaskProblemError(f"has {width} × {height} pixels; {image}")
    if width * height > MOST_PIXELS:
        raise MaskProblemError(
            f"has {width:,} × {height:,} pixels; expected at most {MOST_PIXELS:,} pixels in all: "
            "draw it as a polygon"
        )
    return width, height


def _pixels(data: bytes, size: Size) -> BoolArray:
    """Return the (H, W) pixels of a PNG that are not transparent, or not black."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = Image.open(io.BytesIO(data), formats=["PNG"])
        if picture.size != size:
            raise MaskProblemError(_NO_PICTURE)
        return _is_filled(picture)


def _is_filled(picture: "Image") -> BoolArray:
    if "A" in picture.getbands():
        return np.asarray(picture.getchannel("A")) > 0
    transparent = picture.info.get("transparency")
    if picture.mode == "P" and transparent is not None:
        is_filled = np.ones(256, np.bool_)
        if isinstance(transparent, int):
            is_filled[transparent] = False
        else:
            is_filled[: len(transparent)] = np.frombuffer(transparent, np.uint8) > 0
        found: BoolArray = is_filled[np.asarray(picture)]
        return found
    if transparent is not None:
        return np.asarray(picture.convert("RGBA").getchannel("A")) > 0
    return np.asarray(picture.convert("L")) > 0
