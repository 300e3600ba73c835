"""Annotations that CVAT marks as crowds, though they are single objects."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count
from bboxqa.formats.annotations.records import Annotation


def cvat_crowds(records: Sequence[Annotation], crowd: BoolArray) -> BoolArray:
    """Return which crowds are single objects that CVAT exported as run lengths.

    CVAT's COCO has `iscrowd` 1 for every mask and ellipse, as its documentation of `is_crowd` says
    (docs.cvat.ai, COCO format). Its attributes tell whether an object is occluded; those of data
    sets with crowds do not, or also whether it is truncated.

    Parameters
    ----------
    records : sequence of N Annotation
        The annotations.
    crowd : (N,) bool
        Whether `iscrowd` is 1.

    Returns
    -------
    (N,) bool
        True where an annotation is no crowd although `iscrowd` is 1.
    """
    found = np.zeros(len(crowd), np.bool_)
    for row in np.flatnonzero(crowd).tolist():
        said = records[row].attributes
        if isinstance(said, dict):
            found[row] = isinstance(said.get("occluded"), bool) and "truncated" not in said
        else:
            is_said = isinstance(getattr(said, "occluded", None), bool)
            found[row] = is_said and getattr(said, "truncated", None) is None
    return found


def cvat_crowds_note(n: int) -> str:
    """Return a note on annotations with `iscrowd` 1 that are compared.

    Examples
    --------
    >>> cvat_crowds_note(2)
    '2 annotations with iscrowd 1 count as single objects: CVAT writes 1 for every mask and ellipse'
    """
    counted = "counts as a single object" if n == 1 else "count as single objects"
    return (
        f"{count(n, 'annotation')} with iscrowd 1 {counted}: CVAT writes 1 for every mask and "
        "ellipse"
    )
