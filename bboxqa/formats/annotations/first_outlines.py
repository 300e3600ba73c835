"""Detecting from the first outlines of a file whether its outlines are rotated boxes."""

import mmap
import re
from collections.abc import Iterator

import numpy as np

from bboxqa.model.shapes.rotated_boxes import from_corners

# Bytes of annotations to examine.
_BEGINNING = 1 << 16
_RINGS = re.compile(rb'"segmentation"\s*:\s*\[\s*\[([^\[\]]*)\]\s*([\],])')
_FEW = 3
_CORNERS = 8
# A box is rotated above this angle in degrees; at least this share of the boxes has to be.
_UPRIGHT, _TURNED = 0.5, 0.1


def outline_notes(text: bytes | mmap.mmap, start: int = 0) -> Iterator[str]:
    """Yield a note if all of the first outlines after `start` are rotated boxes.

    Examples
    --------
    >>> ring = b'{"segmentation": [[9, 0, 18, 9, 9, 18, 0, 9]]}'
    >>> len(list(outline_notes(ring * 3))), len(list(outline_notes(ring * 2)))
    (1, 0)
    """
    found = [match.groups() for match in _RINGS.finditer(text, start, start + _BEGINNING)]
    rings = [numbers.split(b",") for numbers, end in found if end == b"]"]
    if len(rings) < max(_FEW, len(found)) or any(len(ring) != _CORNERS for ring in rings):
        return
    try:
        corners = np.array(rings, np.float64).reshape(-1, 4, 2)
    except ValueError:
        return
    boxes, is_rectangle = from_corners(corners)
    is_turned = np.minimum(boxes[:, 4], 90 - boxes[:, 4]) > _UPRIGHT
    if is_rectangle.all() and is_turned.mean() >= _TURNED:
        yield (
            f"outlines are rotated boxes in the first {len(rings):,} annotations: their bbox is "
            "compared; --similarity obb compares rotated boxes"
        )
