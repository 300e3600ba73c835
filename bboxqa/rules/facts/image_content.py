"""Reading one image file: its size, whether it can be decoded, and its hashes."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bboxqa.core.image_opening import (
    MOST_PIXELS,
    MOST_WHOLE,
    ORIENTATION,
    RASTERS,
    SIDEWAYS,
    block_problem,
    opened,
    opened_raster,
    reason_of,
    silent_libtiff,
    turn_of,
)

_STARTS = {
    b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF87a": "GIF", b"GIF89a": "GIF",
    b"II*\0": "TIFF", b"MM\0*": "TIFF", b"BM": "BMP",
}  # fmt: skip
# The side in pixels of the last corner, which is decoded to find out whether a TIFF is whole.
_WINDOW = 16
# The tags of width and height in TIFF.
_WIDTH, _HEIGHT = 256, 257
# The perceptual hash compares neighbours in an image that is reduced to this size.
_LOOK = (9, 8)
# Grey levels out of 256; images with less contrast all look alike.
_MIN_CONTRAST = 8
# With fewer bits that are set, or not set, the hash is that of a plain or shaded surface.
_MIN_BITS = 5
_NOT_DECODED = "not decoded, it may be a decompression bomb"


@dataclass(frozen=True, slots=True)
class ImageContent:
    """The content of one image file."""

    problem: str = ""
    """Why the file cannot be decoded; "" if it can."""
    truncated: bool = False
    """Whether the end of the file is missing."""
    stored: tuple[int, int] = (-1, -1)
    """(int, int). Width and height in the file, in pixels; (-1, -1) for unknown."""
    shown: tuple[int, int] = (-1, -1)
    """(int, int). Width and height after the EXIF orientation is applied."""
    digest: bytes = b""
    """Hash of the whole file; empty for unknown."""
    look: int | None = None
    """Difference hash: for 64 pairs of neighbouring pixels in a small grey copy, whether the right
    one is brighter; None if unknown, and for images with too little structure."""
    format: str = ""
    """By the first bytes: "JPEG", "PNG", "GIF", "WebP", "BMP" or "TIFF"; "" for others."""


def read_picture(path: Path) -> ImageContent:
    """Return the content of a regular file, with the problem if it cannot be decoded.

    Images with more than 89 megapixels are decoded in part, and images with more than a gigapixel
    not at all.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
            if not file.tell():
                return ImageContent("the file is empty", digest=digest)
            file.seek(0)
            head = file.read(12)
            driver = RASTERS.get(head[:4])
            file.seek(0)
            with silent_libtiff():
                picture = _with_pillow(file, in_parts=driver is not None)
        if picture is None and driver is not None:
            picture = _with_rasterio(path, driver)
        unknown = ImageContent("it is not an image of a known format, or its header is broken")
        return replace(picture or unknown, digest=digest, format=_format(head))
    except OSError as error:
        return ImageContent(f"the file cannot be read: {reason_of(error)}")


def _format(head: bytes) -> str:
    """Return the format of a file from its first bytes; "" if it is not a common format."""
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "WebP"
    return next((name for start, name in _STARTS.items() if head.startswith(start)), "")


def _with_pillow(file: BinaryIO, *, in_parts: bool) -> ImageContent | None:
    """Return the content of a file read with Pillow."""
    from PIL import UnidentifiedImageError

    try:
        with opened(file) as image:
            picture = _header(image)
            n_pixels = picture.stored[0] * picture.stored[1]
            if n_pixels > MOST_PIXELS:
                allowed = f"at most {MOST_PIXELS:,} are allowed"
                problem = f"{_NOT_DECODED}: {n_pixels:,} pixels; {allowed}"
                return replace(picture, problem=problem)
            if n_pixels <= MOST_WHOLE:
                return _decoded(image, picture)
            return None if in_parts else _partly_decoded(image, picture)
    except UnidentifiedImageError:
        return None
    # Decoders may raise any exception for broken files.
    except Exception as error:  # noqa: BLE001
        return ImageContent(f"its header cannot be read: {reason_of(error)}")


def _partly_decoded(image: Any, picture: ImageContent) -> ImageContent:
    """Return the content of a large image, as far as it can be read with little memory."""
    if image.format in ("JPEG", "MPO") and not image.info.get("progressive"):
        return _decoded(image, picture)
    if image.format == "PNG":
        try:
            image.verify()
        except Exception as error:  # noqa: BLE001
            return replace(picture, problem=reason_of(error), truncated=True)
    return picture


def _header(image: Any) -> ImageContent:
    """Return the size of an open image that is not decoded."""
    stored = (int(image.size[0]), int(image.size[1]))
    turn = 1
    if image.format == "TIFF":
        # The tags are read, since some versions of Pillow apply the orientation to the size.
        tags: Any = image.tag_v2
        stored = (int(tags.get(_WIDTH, stored[0])), int(tags.get(_HEIGHT, stored[1])))
        turn = int(tags.get(ORIENTATION, 1))
    elif image.format in ("JPEG", "MPO", "WEBP", "AVIF"):
        turn = turn_of(image)
    return _sized(stored, turn)


def _sized(stored: tuple[int, int], turn: object) -> ImageContent:
    return ImageContent(stored=stored, shown=stored[::-1] if turn in SIDEWAYS else stored)


def _decoded(image: Any, picture: ImageContent) -> ImageContent:
    """Return the content after decoding the image."""
    try:
        if image.format in ("JPEG", "MPO"):
            # Decoding at a lower resolution is far faster, and still reads the whole file.
            image.draft("L", (_LOOK[0] * 8, _LOOK[1] * 8))
        image.load()
        if image.format == "PNG":
            # Read again, as metadata may follow the pixels.
            picture = _sized(picture.stored, turn_of(image))
        return replace(picture, look=_look(image))
    except Exception as error:  # noqa: BLE001
        reason = reason_of(error)
        if reason.startswith("decoder error"):
            reason = f"its {image.format} data are broken ({reason} of Pillow)"
        return replace(picture, problem=reason, truncated="truncated" in reason.lower())


def _look(image: Any) -> int | None:
    """Return the difference hash of a decoded image; None if it has too little structure."""
    from PIL import Image

    if image.mode.startswith("I;"):
        image = image.convert("I")
    elif image.mode not in ("L", "I", "F"):
        image = image.convert("L")
    grey = np.asarray(image.resize(_LOOK, Image.Resampling.BOX), np.float64)
    contrast = np.ptp(grey)
    if not np.isfinite(contrast) or contrast <= (_MIN_CONTRAST if image.mode == "L" else 0):
        return None
    bits = (grey[:, 1:] > grey[:, :-1]).ravel()
    if not _MIN_BITS <= bits.sum() <= len(bits) - _MIN_BITS:
        return None
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _with_rasterio(path: Path, driver: str) -> ImageContent | None:
    """Return the size of a raster after reading its last pixels; None if it is not a raster."""
    from rasterio.errors import RasterioError
    from rasterio.windows import Window

    with opened_raster(path, driver) as raster:
        if raster is None:
            return None
        size = (int(raster.width), int(raster.height))
        picture = ImageContent(stored=size, shown=size)
        if problem := block_problem(raster):
            return replace(picture, problem=problem)
        left, top = max(size[0] - _WINDOW, 0), max(size[1] - _WINDOW, 0)
        try:
            raster.read(1, window=Window(left, top, size[0] - left, size[1] - top))
        except (RasterioError, OSError, ValueError) as error:
            # rasterio's exception only refers to its cause for details.
            problem = reason_of(error.__cause__ or error)
            return replace(picture, problem=problem, truncated=True)
        return picture
