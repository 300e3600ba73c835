"""Alpha of every pair of annotators, from the units that both were asked about."""

from collections.abc import Iterator

import numpy as np

from bboxqa.agreement.krippendorff import nominal_alpha
from bboxqa.arrays import sum_by
from bboxqa.model import Cell, FloatArray, IndexArray, IntArray, ReliabilityData

__all__ = ["alpha_per_pair"]

# Pairs of cells looked at in one go.
_CHUNK = 1 << 21


def alpha_per_pair(
    data: ReliabilityData, n_annotators: int, missing: str
) -> tuple[IntArray, IntArray, FloatArray, IndexArray]:
    """Return alpha of each pair of annotators who were asked about some unit together.

    Each pair is measured on the units that both were asked about and at least one of them drew;
    the units are those of all annotators.

    Parameters
    ----------
    data : ReliabilityData
        M cells of any number of annotators.
    n_annotators : int
        How many there are.
    missing : {"category", "ignore"}
        Whether a missing annotation is a value of its own, or none.

    Returns
    -------
    first, second : (P,) int32
        The annotators, ``first < second``, sorted.
    alpha : (P,) float64
        NaN where undefined.
    n_units : (P,) int64
        Units that were compared.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2)
    >>> alpha_per_pair(table, 2, "category")[2].round(4)
    array([0.4])
    """
    n_values = data.n_values + 1
    code = np.where(data.state == Cell.MISSING, data.n_values, data.value).astype(np.int64)
    pair_keys, value_keys, value_counts = [], [], []
    agreements, units = [], []
    for left, right in _cells(data):
        drawn = (code[left] < data.n_values).astype(np.int8) + (code[right] < data.n_values)
        keep = drawn >= (1 if missing == "category" else 2)
        a, b = code[left[keep]], code[right[keep]]
        pair = data.annotator[left[keep]].astype(np.int64) * n_annotators
        pair += data.annotator[right[keep]]
        keys, place = np.unique(pair, return_inverse=True)
        pair_keys.append(keys)
        agreements.append(np.bincount(place, a == b, len(keys)))
        units.append(np.bincount(place, minlength=len(keys)))
        key, count = np.unique(
            np.concatenate([pair * n_values + a, pair * n_values + b]), return_counts=True
        )
        value_keys.append(key)
        value_counts.append(count)
    none: IndexArray = np.zeros(0, np.int64)
    keys, place = np.unique(np.concatenate([none, *pair_keys]), return_inverse=True)
    n_units = sum_by(place, np.concatenate([none, *units]), len(keys))
    agreeing = sum_by(place, np.concatenate([none, *agreements]), len(keys))
    value, place = np.unique(np.concatenate([none, *value_keys]), return_inverse=True)
    marginal = sum_by(place, np.concatenate([none, *value_counts]), len(value))
    squares = sum_by(np.searchsorted(keys, value // n_values), marginal**2, len(keys))
    alpha = nominal_alpha(2 * n_units, 2 * agreeing, squares)[0]
    first, second = (side.astype(np.int32) for side in np.divmod(keys, n_annotators))
    return first, second, alpha, n_units.astype(np.int64)


def _cells(data: ReliabilityData) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Return every two cells of one unit, in chunks."""
    n = len(data.unit)
    ends = np.searchsorted(data.unit, data.unit, side="right")
    later = ends - np.arange(n) - 1
    total = np.concatenate([[0], np.cumsum(later)])
    start = 0
    while start < n:
        stop = max(int(np.searchsorted(total, total[start] + _CHUNK, side="right")) - 1, start + 1)
        stop = min(stop, n)
        counts = later[start:stop]
        left = np.repeat(np.arange(start, stop), counts)
        shift = np.repeat(total[start:stop] - total[start], counts)
        right = left + 1 + np.arange(len(left)) - shift
        yield left, right
        start = stop
