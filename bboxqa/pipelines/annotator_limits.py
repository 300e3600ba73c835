"""The limits to very many annotators, of all images and of one."""

import numpy as np

from bboxqa.core.arrays import IndexArray, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import UnitTable

# Memory in bytes of an object and an annotator who was asked, and of two annotations of an object;
# and the most of one image.
_BYTES = 100
_MEMORY = 10**9
# Memory in bytes of a pair of annotators, and of an annotator and an image. Crowds of people who
# have few images each need many of these, but not so many for each annotation.
_BYTES_OF_TABLES = 40
_MOST_CELLS = 1000
_ADVICE = "Look whether annotator keys name persons, and not annotations."


def check_number(data: Dataset) -> None:
    """Raise DatasetError if there are too many annotators for so few annotations.

    The pairs of annotators are a table, and so are annotators and images. Both may take as
    much memory as in `check_annotators`.
    """
    n_images, n_annotators = data.assigned.shape
    n_annotations = len(data.annotations)
    n_cells = n_annotators * (n_annotators + n_images)
    most = max(_MEMORY // _BYTES_OF_TABLES, _MOST_CELLS * n_annotations)
    if n_cells <= most:
        return
    problem = (
        f"{n_annotators:,} annotators of {count(n_annotations, 'annotation')} in "
        f"{count(n_images, 'image')} give {n_cells:,} pairs of two annotators, or of one and an "
        f"image; expected {most:,} at most"
    )
    raise DatasetError([problem], _ADVICE)


def check_annotators(data: Dataset, units: UnitTable) -> None:
    """Raise DatasetError if an image has too many annotators for its objects.

    Its objects times annotators are a table, and so are the pairs of annotations of an object. Each
    may take 1 GB.
    """
    n_asked = data.assigned.sum(1)
    n_images = len(n_asked)
    n_units = np.bincount(units.image, minlength=n_images)
    _check(data, n_units * n_asked, "answers on", n_units)
    size = np.bincount(units.unit, minlength=len(units))
    pairs = sum_by(units.image, size * (size - 1) // 2, n_images).astype(np.int64)
    _check(data, pairs, "pairs of annotations of", n_units)


def _check(data: Dataset, n_rows: IndexArray, rows: str, n_units: IndexArray) -> None:
    most = _MEMORY // _BYTES
    if n_rows.max(initial=0) <= most:
        return
    worst = int(n_rows.argmax())
    problem = (
        f"image {data.image_names[worst]!r}: {int(data.assigned[worst].sum()):,} annotators give "
        f"{n_rows[worst]:,} {rows} {count(int(n_units[worst]), 'object')}; "
        f"expected {most:,} at most"
    )
    raise DatasetError([problem], _ADVICE)
