"""The limits to one image that very many annotators were asked about."""

import numpy as np

from bboxqa.core.arrays import IndexArray, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import UnitTable

# Memory in bytes of an object and an annotator who was asked, and of two annotations of an object;
# and that of one image if there is no limit.
_BYTES = 100
_MEMORY = 10**9


def check_annotators(data: Dataset, units: UnitTable, memory: int | None) -> None:
    """Raise DatasetError if an image has too many annotators for its objects.

    Its objects times annotators are a table, and so are the pairs of annotations of an object. Of
    each, 1 GB is always allowed, and as much as `memory` if it is more.
    """
    n_asked = data.assigned.sum(1)
    n_images = len(n_asked)
    n_units = np.bincount(units.image, minlength=n_images)
    _check(data, n_units * n_asked, memory, "answers on", n_units)
    size = np.bincount(units.unit, minlength=len(units))
    pairs = sum_by(units.image, size * (size - 1) // 2, n_images).astype(np.int64)
    _check(data, pairs, memory, "pairs of annotations of", n_units)


def _check(
    data: Dataset, n_rows: IndexArray, memory: int | None, rows: str, n_units: IndexArray
) -> None:
    most = max(memory or 0, _MEMORY) // _BYTES
    if n_rows.max(initial=0) <= most:
        return
    worst = int(n_rows.argmax())
    problem = (
        f"image {data.image_names[worst]!r}: {int(data.assigned[worst].sum()):,} annotators give "
        f"{n_rows[worst]:,} {rows} {count(int(n_units[worst]), 'object')}; "
        f"expected {most:,} at most"
    )
    needed = int(n_rows[worst]) * _BYTES // 10**9 + 1
    raise DatasetError(
        [problem],
        "Look whether annotator keys name persons, and not annotations.\n"
        f"To compare them anyway, give --memory {needed}GB.",
    )
