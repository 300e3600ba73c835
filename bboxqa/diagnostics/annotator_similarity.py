"""Similarity of annotators on the units that both rated."""

from typing import Literal, get_args

import numpy as np

from bboxqa.agreement.uncertainty.estimator import ROUNDING
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.model.reliability import Cell, ReliabilityData

Measure = Literal["agreement", "cosine", "correlation"]


def annotator_similarity(
    data: ReliabilityData,
    n_annotators: int,
    numbers: FloatArray | None = None,
    measure: Measure = "agreement",
) -> FloatArray:
    """Return the similarity of each pair of annotators on the units that both rated.

    If annotators rated a unit several times, each rating of one is paired with each of the other.

    Parameters
    ----------
    data : ReliabilityData
        Ratings; missing ones do not count.
    n_annotators : int
        A.
    numbers : (K,) float64, optional
        The values as numbers; cosine and correlation need them.
    measure : {"agreement", "cosine", "correlation"}
        The share of equal values; the cosine of the angle between two vectors of numbers;
        Pearson's correlation.

    Returns
    -------
    (A, A) float64
        Symmetric, 1 on the diagonal. NaN where two annotators share no unit; for a cosine, where
        one gave zeros only; for a correlation, where one gave equal numbers only.

    Raises
    ------
    ConfigError
        The measure is not known.
    DatasetError
        The measure needs numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.counts.unit_counts import from_table
    >>> table = from_table(np.array([[0, 1], [0, 0]]), np.ones((2, 2), bool), 2)
    >>> annotator_similarity(table, 2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    if measure not in get_args(Measure):
        raise ConfigError(f"measure is {measure!r}; expected one of {', '.join(get_args(Measure))}")
    if measure == "agreement":
        similarity = _agreement(data, n_annotators)
    elif numbers is None:
        raise DatasetError(
            [f"{measure} of annotators: values are not numbers; expected numbers"],
            'Use measure "agreement", which needs none.',
        )
    else:
        similarity = _of_numbers(data, n_annotators, numbers, measure)
    own = np.diag(similarity)
    np.fill_diagonal(similarity, np.where(np.isnan(own), np.nan, 1.0))
    return similarity


def shared_units(data: ReliabilityData, n_annotators: int) -> IndexArray:
    """Return the number of units that each pair of annotators rated, (A, A) int64.

    Weighted units count with their weight; several ratings of a unit count once.
    """
    from scipy.sparse import csr_array

    rated = data.state == Cell.CATEGORY
    shape = (n_annotators, len(data.group))
    table = csr_array(
        (np.ones(int(rated.sum())), (data.annotator[rated], data.unit[rated])), shape=shape
    )
    table.data[:] = np.minimum(table.data, 1)
    weight = 1.0 if data.weight is None else data.weight
    found: IndexArray = ((table * weight) @ table.T).toarray().astype(np.int64)
    return found


def _products(
    data: ReliabilityData,
    n_annotators: int,
    column: IndexArray,
    pairs: list[tuple[FloatArray, FloatArray]],
) -> list[FloatArray]:
    """Return the (A, A) products of pairs of sparse tables of annotators × columns, by weight."""
    from scipy.sparse import csr_array

    rated = data.state == Cell.CATEGORY
    unit = data.unit[rated]
    weight = np.ones(len(unit)) if data.weight is None else data.weight[unit].astype(np.float64)
    # A column belongs to one unit, so its weight is that of any of its entries.
    weights = np.zeros(int(column.max(initial=-1)) + 1)
    weights[column] = weight
    shape = (n_annotators, len(weights))
    place = (data.annotator[rated], column)
    products = []
    for first, second in pairs:
        left, right = (csr_array((amount, place), shape=shape) for amount in (first, second))
        products.append(((left * weights) @ right.T).toarray())
    return products


def _agreement(data: ReliabilityData, n_annotators: int) -> FloatArray:
    rated = data.state == Cell.CATEGORY
    one = np.ones(int(rated.sum()))
    unit = data.unit[rated]
    _, answer = np.unique(unit * data.n_values + data.value[rated], return_inverse=True)
    (shared,) = _products(data, n_annotators, unit, [(one, one)])
    (equal,) = _products(data, n_annotators, answer, [(one, one)])
    with np.errstate(invalid="ignore"):
        return equal / shared


def _of_numbers(
    data: ReliabilityData, n_annotators: int, numbers: FloatArray, measure: Measure
) -> FloatArray:
    rated = data.state == Cell.CATEGORY
    annotator, x = data.annotator[rated], numbers[data.value[rated]]
    if measure == "correlation":
        # Centring reduces cancellation in the sums below.
        n = np.maximum(np.bincount(annotator, minlength=n_annotators), 1)
        x = x - (np.bincount(annotator, x, n_annotators) / n)[annotator]
    one = np.ones(len(x))
    shared, sums, products, squares = _products(
        data, n_annotators, data.unit[rated], [(one, one), (x, one), (x, x), (x * x, one)]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "correlation":
            products = products - sums * sums.T / shared
            spread = squares - sums**2 / shared
        else:
            spread = squares
        spread = np.where(spread > ROUNDING * squares, spread, np.nan)
        similarity: FloatArray = products / np.sqrt(spread) / np.sqrt(spread.T)
    return np.clip(similarity, -1, 1)
