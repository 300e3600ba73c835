"""Annotations that CVAT marks as crowds, though they are single objects."""

import mmap
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count
from bboxqa.formats.annotations.records import Annotation, Attributes, Rle

_HEAD = 1 << 20


def may_be_of_cvat(text: bytes | mmap.mmap, start: int) -> bool:
    """Return whether annotations that begin at `start` tell what is occluded, as all of CVAT's do.

    Examples
    --------
    >>> may_be_of_cvat(b'[{"attributes": {"occluded": false}}]', 1), may_be_of_cvat(b'[{}]', 1)
    (True, False)
    """
    # Attributes follow `iscrowd`, and may be after megabytes of an outline.
    first = max(start, text.find(b'"iscrowd"', start))
    return text.find(b'"occluded"', start, first + _HEAD) >= 0


def cvat_crowds(records: Sequence[Annotation], crowd: BoolArray) -> BoolArray:
    """Return which crowds are single objects that CVAT exported as run lengths.

    CVAT's COCO has `iscrowd` 1 for every mask and ellipse, as its documentation of `is_crowd` says
    (docs.cvat.ai, COCO format). Both are run lengths there; polygons with `iscrowd` 1 are not.

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
        found[row] = are_of_cvat(records[row].attributes) and _has_run_lengths(records[row])
    return found


def _has_run_lengths(record: Annotation) -> bool:
    """Return whether the outline of a record is run lengths, also where outlines are not read."""
    outline = getattr(record, "segmentation", None)
    if isinstance(outline, msgspec.Raw):
        return bytes(memoryview(outline)[:1]) == b"{"
    return isinstance(outline, Rle | Mapping)


def are_of_cvat(attributes: object) -> bool:
    """Return whether attributes of an annotation in COCO JSON are as CVAT writes them.

    They tell whether the object is occluded. So do those of Pascal VOC that Datumaro wrote, which
    also tell whether it is truncated, and whether it is difficult.

    Examples
    --------
    >>> are_of_cvat({"occluded": False, "truncated": "no"}), are_of_cvat({"truncated": False})
    (True, False)
    """
    if isinstance(attributes, Attributes):
        attributes = msgspec.structs.asdict(attributes)
    if not isinstance(attributes, Mapping):
        return False
    is_of_voc = all(attributes.get(key) is not None for key in ("truncated", "difficult"))
    return isinstance(attributes.get("occluded"), bool) and not is_of_voc


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
