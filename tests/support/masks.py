"""Masks as pycocotools encodes and decodes them."""

import warnings

import numpy as np
from pycocotools import mask as coco


def encode(picture):
    """Return a picture, (height, width) bool, as COCO's compressed run lengths."""
    return coco.encode(np.asfortranarray(picture, np.uint8))


def drawn_spans(spans, height, width):
    """Return spans row by row as a picture, (height, width) bool."""
    picture = np.zeros(height * width, bool)
    for start, stop in spans.tolist():
        picture[start:stop] = True
    return picture.reshape(height, width)


def decode(rle):
    """Return run lengths as a picture, (height, width) bool."""
    with warnings.catch_warnings():
        # pycocotools itself calls numpy in a way of the past.
        warnings.simplefilter("ignore", DeprecationWarning)
        return coco.decode(rle).astype(bool)
