"""Whether two features of annotations have anything to do with each other."""

from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.arrays import FloatArray, IndexArray, freeze
from bboxqa.errors import DatasetError
from bboxqa.words import count

__all__ = ["NOT_AGREEMENT", "NO_TABLE", "OK", "Independence", "cross_table", "independence"]

OK = "ok"
NO_TABLE = "undefined: a feature has fewer than two values that occur"
NOT_AGREEMENT = (
    "Association is not agreement: annotators who always contradict each other are associated "
    "as strongly as annotators who always agree."
)

# Cochran (1954), Some methods for strengthening the common chi-square tests.
_FEW = 5


@dataclass(frozen=True, slots=True, eq=False)
class Independence:
    """A chi-square test of independence.

    Attributes
    ----------
    statistic : float
        Chi-square; NaN where undefined.
    p_value : float
        How probable so large a statistic is for independent features.
    degrees_of_freedom : int
        Of the rows and columns that are not empty; 0 where undefined.
    expected : (R, C) float64
        The counts of independent features with these totals; NaN where undefined.
    cramers_v : float
        The strength of the association in [0, 1], without correction.
    status : str
        Why it is undefined, or "ok".
    notes : tuple of str
        What the reader of the numbers has to know.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: int
    expected: FloatArray
    cramers_v: float
    status: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def sentence(self) -> str:
        """What the test says, for a reader who does not know the test."""
        if isnan(self.p_value):
            return f"The test of independence is {self.status}."
        return (
            "If the two features were independent, a table at least as far from the expected one "
            f"would come about in {_percent(self.p_value)} of samples. That is the risk of being "
            "wrong when one takes so large a difference for an association "
            f"(p = {self.p_value:.3g}). The association is {self.cramers_v:.3f} strong on a scale "
            f"from 0 to 1 (Cramér's V). {NOT_AGREEMENT}"
        )


def _percent(share: float) -> str:
    return "less than 0.01 %" if share < 1e-4 else f"{100 * share:.3g} %"


def cross_table(
    first_codes: NDArray[Any], second_codes: NDArray[Any], shape: tuple[int, int]
) -> IndexArray:
    """Return how often each value of one feature goes with each value of another.

    Parameters
    ----------
    first_codes, second_codes : (N,) integers
        One value per annotation, 0 to ``R - 1`` and 0 to ``C - 1``; N may be 0.
    shape : (R, C)
        How many values each feature has.

    Returns
    -------
    (R, C) int64

    Raises
    ------
    DatasetError
        The features have different lengths, or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> cross_table(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3))
    array([[0, 0, 2],
           [1, 0, 0]])
    """
    if len(first_codes) != len(second_codes):
        lengths = f"{len(first_codes)} and {len(second_codes)}"
        raise DatasetError(
            [f"cross table: lengths of the features are {lengths}; expected equal ones"],
            "Leave out annotations that lack one of the two.",
        )
    features = (("first", first_codes, shape[0]), ("second", second_codes, shape[1]))
    problems = [
        f"cross table: record {place}: {name} code is {codes[place]}; "
        f"expected 0 or more and less than {size}"
        for name, codes, size in features
        for place in np.flatnonzero((codes < 0) | (codes >= size)).tolist()
    ]
    if problems:
        raise DatasetError(problems, "Leave out annotations that lack one of the two.")
    cell = first_codes.astype(np.int64) * shape[1] + second_codes
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _counts(table: NDArray[Any]) -> FloatArray:
    """Return the counts of a table, if it is one."""
    counts = np.asarray(table, np.float64)
    if counts.ndim != 2:
        raise DatasetError(
            [f"cross table has {count(counts.ndim, 'dimension')}; expected rows and columns"]
        )
    wrong = np.argwhere(~(np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts))))
    if len(wrong):
        raise DatasetError(
            [
                f"cross table: row {row}, column {column}: count is {counts[row, column]:g}; "
                "expected a whole number, 0 or more"
                for row, column in wrong.tolist()
            ],
            "Give counts of annotations, not shares or percentages.",
        )
    return counts


def _notes(counts: FloatArray, used: FloatArray, expected: FloatArray) -> tuple[str, ...]:
    notes = []
    empty = [a - b for a, b in zip(counts.shape, used.shape, strict=True)]
    if any(empty):
        left_out = f"{count(empty[0], 'empty row')} and {count(empty[1], 'empty column')}"
        notes.append(f"{left_out} left out: values that do not occur")
    few = int((expected < _FEW).sum())
    if few:
        notes.append(
            f"{few:,} of {count(expected.size, 'expected count')} below {_FEW}: "
            "the p-value is a rough one; join rare values"
        )
    return tuple(notes)


def independence(table: NDArray[Any], *, correction: bool = True) -> Independence:
    """Return Pearson's chi-square test of independence of two features of annotations.

    It takes the annotations as independent of each other; where an image has many, the
    p-value is too small.

    Parameters
    ----------
    table : (R, C) whole numbers
        How often each value of one feature goes with each of the other; rows and columns of
        zeros are left out.
    correction : bool
        Moves each count of a 2 × 2 table by up to 0.5 towards the expected one (Yates 1934), for
        the statistic and its p-value. Larger tables have no correction.

    Returns
    -------
    Independence
        Cramér's V is √(χ² / (n (min(R, C) − 1))) (Cramér 1946, Mathematical Methods of
        Statistics, p. 282) of the uncorrected χ², so that it is 1 for a perfect association.
        Undefined where fewer than two rows or two columns occur.

    Raises
    ------
    DatasetError
        The table is not one of counts.

    Examples
    --------
    >>> import numpy as np
    >>> test = independence(np.array([[5000, 2500], [3000, 1580]]))
    >>> round(test.statistic, 5), round(test.p_value, 5), round(test.cramers_v, 5)
    (1.67222, 0.19596, 0.01195)
    """
    from scipy.stats import chi2_contingency

    counts = _counts(table)
    occur = np.ix_(counts.sum(1) > 0, counts.sum(0) > 0)
    used = counts[occur]
    if min(used.shape) < 2:
        return Independence(nan, nan, 0, np.full(counts.shape, np.nan), nan, NO_TABLE)
    statistic, p_value, freedom, expected = chi2_contingency(used, correction=correction)
    plain = float(((used - expected) ** 2 / expected).sum())
    everywhere = np.zeros(counts.shape)
    everywhere[occur] = expected
    return Independence(
        statistic=float(statistic),
        p_value=float(p_value),
        degrees_of_freedom=int(freedom),
        expected=everywhere,
        cramers_v=min(1.0, sqrt(plain / (used.sum() * (min(used.shape) - 1)))),
        status=OK,
        notes=_notes(counts, used, expected),
    )
