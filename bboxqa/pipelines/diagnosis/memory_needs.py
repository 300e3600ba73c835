"""The memory that a diagnosis needs."""

from math import ceil

import numpy as np

from bboxqa.core.spool import check_memory
from bboxqa.model.annotations import Dataset

# Memory of all diagnostics in bytes, about: per annotation, per annotation if images are counted
# separately, and per image for its draws.
_BYTES = 2000
_BYTES_BESIDE_IMAGES = 1500
_OF_IMAGE = 9500


def check_diagnosis(data: Dataset, memory: int | None) -> None:
    """Raise OutputError if the diagnosis needs more memory than allowed."""
    lonely = data.assigned.sum(1) < 2
    compared = ~data.annotations.iscrowd & ~lonely[data.annotations.image]
    n_compared = int(np.count_nonzero(compared))
    n_images = int(np.count_nonzero(~lonely))
    of_images = _BYTES_BESIDE_IMAGES + ceil(_OF_IMAGE * n_images / max(n_compared, 1))
    of_each = max(_BYTES, of_images)
    check_memory("diagnosis", n_compared, memory, of_each, "leave out the diagnosis")
