"""Alpha of every pair of annotators, from the units that both were asked about."""

import numpy as np

from bboxqa.agreement.krippendorff import nominal_alpha
from bboxqa.agreement.partners import partners
from bboxqa.arrays import sum_by
from bboxqa.model import Cell, FloatArray, IndexArray, IntArray, ReliabilityData

__all__ = ["alpha_per_pair"]


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
    drawn = data.state == Cell.CATEGORY
    code = np.where(drawn, data.value, data.n_values).astype(np.int64)
    units, agreeing, values = _Tally(), _Tally(), _Tally()
    for left, right in partners(data.unit, drawn, missing):
        ends = np.sort(data.annotator[np.stack([left, right])].astype(np.int64), axis=0)
        pair = ends[0] * n_annotators + ends[1]
        units.add(pair)
        agreeing.add(pair[code[left] == code[right]])
        values.add(np.concatenate([pair * n_values + code[left], pair * n_values + code[right]]))
    keys, n_units = units.done()
    agreeing_keys, n_agreeing = agreeing.done()
    value_keys, marginal = values.done()
    total = (2 * n_units).astype(np.float64)
    same = sum_by(np.searchsorted(keys, agreeing_keys), 2 * n_agreeing, len(keys))
    squares = sum_by(np.searchsorted(keys, value_keys // n_values), marginal * marginal, len(keys))
    alpha = nominal_alpha(total, same, squares)[0]
    first, second = (side.astype(np.int32) for side in np.divmod(keys, n_annotators))
    return first, second, alpha, n_units


class _Tally:
    """Counts keys that come in parts, and keeps only the counts."""

    def __init__(self) -> None:
        self._keys: IndexArray = np.zeros(0, np.int64)
        self._counts: IndexArray = np.zeros(0, np.int64)

    def add(self, keys: IndexArray) -> None:
        new, counts = np.unique(keys, return_counts=True)
        all_keys = np.concatenate([self._keys, new])
        self._keys, place = np.unique(all_keys, return_inverse=True)
        amount = np.concatenate([self._counts, counts])
        self._counts = sum_by(place, amount, len(self._keys)).astype(np.int64)

    def done(self) -> tuple[IndexArray, IndexArray]:
        return self._keys, self._counts
