"""Compressed masks whose backslashes were written as slashes."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.model.run_lengths import decode_counts
from bboxqa.rules.facts.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class SlashedMasks:
    """Masks that are valid once each slash is a backslash again.

    Attributes
    ----------
    row : (H,) int64
        Their annotations.
    has_area : (H,) bool
        Whether the mask then has the area that the annotation gives.
    """

    row: IndexArray
    has_area: BoolArray


def slashed_masks(document: Document) -> SlashedMasks:
    """Return the masks that cannot be read, but fill their size with backslashes for slashes."""
    rles, found, proven = document.annotations.rles, [], []
    for mask in np.flatnonzero((rles.problem > 0) & rles.compressed).tolist():
        row = int(rles.row[mask])
        counts = document.record(row)["segmentation"]["counts"]
        if "/" not in counts:
            continue
        try:
            runs = decode_counts(with_backslashes(counts).encode())
        except ValueError:
            continue
        if runs.sum() == rles.size[mask].prod():
            found.append(row)
            proven.append(runs[1::2].sum() == document.annotations.area[row])
    return SlashedMasks(np.array(found, np.int64), np.array(proven, np.bool_))


def with_backslashes(counts: str) -> str:
    r"""Return compressed counts with a backslash for each slash, which the format does not use.

    Examples
    --------
    >>> print(with_backslashes("m:/k"))
    m:\k
    """
    return counts.replace("/", "\\")
