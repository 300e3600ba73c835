"""Whether outlines that are not read are rotated boxes, told from the first of them."""

import mmap
import re
from collections.abc import Iterator

import numpy as np

from bboxqa.model.shapes.rotated_boxes import from_corners

# Bytes of annotations that are looked at.
_BEGINNING = 1 << 16
_RINGS = re.compile(rb'"segmentation"\s*:\s*\[\s*\[([^\[\]]*)\]\s*([\],])')
_FEW = 3
_CORNERS = 8
# In degrees, and the share of boxes that are turned.
_UPRIGHT, _TURNED = 0.5, 0.1


def outline_notes(text: bytes | mmap.mmap, start: int = 0) -> Iterator[str]:
    """Yield that the outlines from `start` on are rotated boxes, if all of the first ones are.

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
            "compared; --similarity obb compares what is turned"
        )
