"""Small image files."""

import numpy as np
from PIL import Image

__all__ = ["picture", "save"]


def picture(size=(60, 40), seed=0):
    """Return coarse coloured noise, with a structure of its own for each seed."""
    noise = np.random.default_rng(seed).integers(0, 256, (8, 9, 3), np.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BILINEAR)


def save(path, *, size=(60, 40), seed=0, orientation=None, suffix=None):
    """Write a picture, with an EXIF orientation where one is given."""
    exif = Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    more = {"exif": exif} if orientation is not None else {}
    picture(size, seed).save(path, format=suffix, **more)
