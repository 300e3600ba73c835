"""Coefficients from a dense table of codes, for annotators who rate most units.

Comparing whole rows takes a fraction of the time of sorting ratings by unit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.nominal import Alpha, alpha_of_sums
from bboxqa.agreement.pair_kappas import kappa_of
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from bboxqa.core.errors import ConfigError
from bboxqa.model.ratings import PairTable

# Units compared at a time, so that their rows stay in the cache.
_CHUNK = 1 << 15


def _checked(codes: NDArray[Any], n_values: int) -> IntArray | IndexArray:
    """Return the codes as int32 or int64, so that n_values itself fits."""
    codes = np.asarray(codes)
    if not isinstance(n_values, int | np.integer) or not 0 <= n_values < 1 << 31:
        raise ConfigError(f"n_values is {n_values!r}; expected a whole number, 0 or more")
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ConfigError(
            f"codes has shape {codes.shape} of {codes.dtype}; expected annotators x units of "
            "integers; for other values use ratings_from_table"
        )
    if codes.dtype.kind == "u" and int(codes.max(initial=0)) >= n_values:
        raise ConfigError(f"a code is {int(codes.max())}; expected 0 to {n_values - 1}")
    wide: IntArray | IndexArray = codes
    if codes.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        wide = codes.astype(np.int64)
    highest = int(wide.max(initial=-1))
    if highest >= n_values:
        raise ConfigError(f"a code is {highest}; expected -1 (missing) to {n_values - 1}")
    return wide


def alpha_of_codes(codes: NDArray[Any], n_values: int) -> Alpha:
    """Return Krippendorff's nominal alpha of a table of codes.

    The result is that of `measure` on the same ratings. Time grows with A² U; memory does not grow
    with the number of units.

    Parameters
    ----------
    codes : (A, U) integers
        0 to ``n_values - 1``, or negative where missing.
    n_values : int
        K.

    Raises
    ------
    ConfigError
        If the table is not two-dimensional, not of integers, or holds a code of K or more.

    Examples
    --------
    >>> import numpy as np
    >>> round(alpha_of_codes(np.array([[0, 1, 1, -1], [0, 1, 0, 1]]), 2).value, 4)
    0.4444
    """
    codes = _checked(codes, n_values)
    n_annotators, n_units = codes.shape
    kept = np.zeros(n_values + 1, np.int64)
    most = n_annotators * (n_annotators - 1) // 2 + 1
    agreeing = 0.0
    for start in range(0, n_units, _CHUNK):
        part = codes[:, start : start + _CHUNK]
        given = part >= 0
        size = given.sum(0, dtype=np.int32)
        alike = np.zeros(part.shape[1], np.int32)
        for row in range(1, n_annotators):
            for other in range(row):
                alike += (part[row] == part[other]) & given[row]
        shown = np.where(given & (size >= 2), part, -1)
        kept += np.bincount(shown.ravel() + 1, minlength=n_values + 1)
        # Units with the same size and number of equal pairs are counted, not added one by one.
        found, times = np.unique(size.astype(np.int64) * most + alike, return_counts=True)
        sizes, alikes = np.divmod(found, most)
        agreeing += float((times * 2 * alikes / np.maximum(sizes - 1, 1)).sum())
    marginal = kept[1:].astype(np.float64)
    return alpha_of_sums(marginal, agreeing, one_group=False)


def kappa_of_codes(codes: NDArray[Any], n_values: int) -> PairTable:
    """Return Cohen's kappa of each pair of annotators of a table of codes.

    Parameters
    ----------
    codes : (A, U) integers
        0 to ``n_values - 1``, or negative where missing.
    n_values : int
        K.

    Returns
    -------
    PairTable
        Of the pairs that share a unit, without standard errors and intervals; `measure` has these.

    Raises
    ------
    ConfigError
        If the table is not two-dimensional, not of integers, or holds a code of K or more.

    References
    ----------
    .. [1] J. Cohen (1960), A coefficient of agreement for nominal scales, Educational and
           Psychological Measurement 20(1), doi:10.1177/001316446002000104.

    Examples
    --------
    >>> import numpy as np
    >>> kappa_of_codes(np.array([[0, 1, 1, -1], [0, 1, 0, 1]]), 2).kappa.round(4)
    array([0.4])
    """
    codes = _checked(codes, n_values)
    n_annotators = len(codes)
    given = codes >= 0
    # Missing codes differ between annotators, so that they never agree; narrow rows are faster.
    narrow = np.int16 if n_values + n_annotators < np.iinfo(np.int16).max else np.int32
    marked = np.where(given, codes, n_values + np.arange(n_annotators)[:, None]).astype(narrow)
    gaps = [np.flatnonzero(~row) for row in given]
    total = [_tally(row, n_values) for row in marked]
    first, second = np.triu_indices(n_annotators, 1)
    agreeing, chance = np.empty(len(first)), np.empty(len(first))
    shared = np.empty(len(first))
    for place, (left, right) in enumerate(zip(first, second, strict=True)):
        agreeing[place] = np.count_nonzero(marked[left] == marked[right])
        ours = _margin(marked[left], total[left], gaps[right], given[right])
        theirs = _margin(marked[right], total[right], gaps[left], given[left])
        shared[place] = ours.sum()
        chance[place] = ours @ theirs
    kept = np.flatnonzero(shared)
    observed = agreeing[kept] / shared[kept]
    expected = chance[kept] / shared[kept] ** 2
    return PairTable(
        first=first[kept].astype(np.int32),
        second=second[kept].astype(np.int32),
        n_shared=shared[kept].astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa_of(observed, expected),
        standard_error=np.full(len(kept), np.nan),
        interval=np.full((len(kept), 2), np.nan),
    )


def _tally(marked: IntArray, n_values: int) -> FloatArray:
    """Return how often each value occurs among the codes that are not missing."""
    return np.bincount(marked, minlength=n_values)[:n_values].astype(np.float64)


def _margin(marked: IntArray, total: FloatArray, gaps: IndexArray, given: BoolArray) -> FloatArray:
    """Return how often each value occurs on the units that the other annotator rated too."""
    if 2 * len(gaps) < len(marked):
        return total - _tally(marked[gaps], len(total)) if len(gaps) else total
    return _tally(marked[given], len(total))
