"""Opening image files without decoding them or starting other programs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from bboxqa.core.text import clean

# Formats that Pillow decodes itself: for some others it starts external programs.
_FORMATS = (
    "JPEG", "MPO", "PNG", "TIFF", "WEBP", "BMP", "DIB", "GIF", "JPEG2000", "PPM", "AVIF", "TGA",
    "SGI", "PCX", "ICO",
)  # fmt: skip
# GDAL drivers by the first bytes of a file. Other GDAL formats may refer to further files.
RASTERS = {
    b"II*\0": "GTiff",
    b"MM\0*": "GTiff",
    b"II+\0": "GTiff",
    b"MM\0+": "GTiff",
    b"\0\0\0\x0c": "JP2OpenJPEG",
}
MOST_WHOLE, MOST_PIXELS = 89_478_485, 10**9
"""Pixels above which an image is decoded in part, and above which it is not decoded."""
SIDEWAYS = (5, 6, 7, 8)
MAX_BLOCK_BYTES = 1 << 26
ORIENTATION = 0x0112
_bomb_lock = Lock()
_raster_lock = Lock()
_RASTER_OPTIONS = {"GDAL_PAM_ENABLED": "NO", "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR"}


def opened(file: BinaryIO) -> Any:
    """Return an image that is open but not decoded, however large it is."""
    from PIL import Image

    Image.init()
    formats = [name for name in _FORMATS if name in Image.OPEN]
    try:
        return Image.open(file, formats=formats)
    except Image.DecompressionBombError:
        file.seek(0)
        # Pillow's size limit is global to the process.
        with _bomb_lock:
            limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            try:
                return Image.open(file, formats=formats)
            finally:
                Image.MAX_IMAGE_PIXELS = limit


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, without the address of an open file."""
    lines = str(getattr(error, "strerror", None) or error).partition(" <_io.")[0].splitlines()
    return clean((lines or [type(error).__name__])[0])


def turn_of(image: Any) -> Any:
    """Return the EXIF orientation of an image, 1 for upright."""
    from PIL import Image

    try:
        # A PNG decodes all its pixels to look for EXIF behind them.
        return Image.Image.getexif(image).get(ORIENTATION, 1)
    # Broken metadata does not make the image unreadable.
    except Exception:  # noqa: BLE001
        return 1


@contextmanager
def opened_raster(path: Path | BinaryIO, driver: str) -> Iterator[Any]:
    """Yield an open rasterio dataset, not decoded; None where the file is not a raster."""
    import rasterio
    from rasterio.errors import RasterioError

    # Warning filters and GDAL's environment are global to the process.
    with _raster_lock, rasterio.Env(**_RASTER_OPTIONS):
        try:
            raster = rasterio.open(path, driver=driver)
        except (RasterioError, OSError, ValueError):
            yield None
            return
        with raster:
            yield raster


def block_problem(raster: Any) -> str:
    """Return why a raster cannot be decoded block by block; "" where it can."""
    height, width = raster.block_shapes[0] if raster.count else (0, 0)
    n_bytes = height * width * raster.count * np.dtype(raster.dtypes[0]).itemsize
    is_large = n_bytes > MAX_BLOCK_BYTES
    return f"not decoded, for its blocks are of {n_bytes:,} bytes" if is_large else ""
