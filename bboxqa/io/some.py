"""Some of the annotations, with what is in files left in files."""

from dataclasses import fields, replace

from bboxqa.arrays import IndexArray
from bboxqa.io.spool import taken
from bboxqa.model import Annotations

__all__ = ["OF_ANNOTATIONS", "some"]

OF_ANNOTATIONS = ("kind", "part_start", "part_stop", "counts_start", "counts_stop", "size")
"""The columns of outlines that have a row for each annotation."""


def some(annotations: Annotations, index: IndexArray) -> Annotations:
    """Return the annotations at `index`, in that order.

    As `Annotations.take`, but columns that are mapped from files are not copied into memory.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.examples import example_file
    >>> from bboxqa.io.coco import read_coco
    >>> annotations = read_coco(example_file("fruits")).annotations
    >>> len(some(annotations, np.array([2, 0])))
    2
    """
    outlines = annotations.segmentation
    if outlines is not None:
        columns = {name: taken(getattr(outlines, name), index) for name in OF_ANNOTATIONS}
        outlines = replace(outlines, **columns)
    columns = {
        field.name: taken(getattr(annotations, field.name), index)
        for field in fields(annotations)
        if field.name != "segmentation"
    }
    return replace(annotations, **columns, segmentation=outlines)
