"""By how many degrees annotations say that their boxes are turned."""

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.annotations.records import Annotation

FARTHEST = 1e6
"""In degrees; no tool turns further."""


def rotations(records: Sequence[Annotation]) -> FloatArray:
    """Return by how many degrees annotations say to be turned; NaN where they do not say it."""
    attributes = list(map(attrgetter("attributes"), records))
    said = np.full(len(records), np.nan)
    if attributes.count(None) == len(attributes):
        return said
    for row, each in enumerate(attributes):
        if each is None:
            continue
        value = each.get("rotation") if isinstance(each, dict) else getattr(each, "rotation", None)
        if isinstance(value, int | float) and abs(value) < FARTHEST:
            said[row] = value
    return said


def count_turned(records: Sequence[Annotation]) -> int:
    """Return how many annotations say that they are turned, other than by full turns."""
    said = rotations(records)
    return int((np.mod(said[np.isfinite(said)], 360) != 0).sum())
