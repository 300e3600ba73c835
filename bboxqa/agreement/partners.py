"""Every two ratings of one unit, in chunks that bound the memory."""

from collections.abc import Iterator

import numpy as np

from bboxqa.arrays import rows
from bboxqa.model import BoolArray, IndexArray

__all__ = ["partners"]

# Pairs of cells looked at in one go.
_CHUNK = 1 << 22


def partners(
    unit: IndexArray, drawn: BoolArray, missing: str
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield every two cells of one unit of which at least one was drawn, in chunks.

    Two cells that are missing tell nothing of their annotators, and there are most of those.

    Parameters
    ----------
    unit : (M,) int64
        Sorted.
    drawn : (M,) bool
        Which cells hold a category.
    missing : {"category", "ignore"}
        Whether cells that hold none are partners too.

    Yields
    ------
    left, right : (P,) int64
        Places of cells; each two come once.
    """
    cells = np.arange(len(unit)) if missing == "category" else np.flatnonzero(drawn)
    of = unit[cells]
    begins = np.searchsorted(of, of[drawn[cells]])
    ends = np.searchsorted(of, of[drawn[cells]], side="right")
    sources = cells[drawn[cells]]
    total = np.concatenate([[0], np.cumsum(ends - begins)])
    start = 0
    while start < len(sources):
        stop = int(np.searchsorted(total, total[start] + _CHUNK, side="right")) - 1
        stop = max(stop, start + 1)
        place, _ = rows(begins[start:stop], ends[start:stop])
        left = np.repeat(sources[start:stop], np.diff(total[start : stop + 1]))
        right = cells[place]
        # Two who drew find each other twice; the first finding is enough.
        once = np.flatnonzero(~drawn[right] | (left < right))
        yield left[once], right[once]
        start = stop
