"""Every two answers on one unit: what coefficients of pairs of annotators are made of."""

from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.partners import partners
from bboxqa.arrays import FloatArray, IndexArray, IntArray, freeze
from bboxqa.model import Cell, ReliabilityData

__all__ = ["AnswerPairs", "answer_pairs"]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPairs:
    """C times that two annotators answered one unit.

    Attributes
    ----------
    first, second : (P,) int32
        The pairs of annotators, ``first < second``, sorted.
    pair : (C,) int64
        Index of the pair.
    left, right : (C,) int64
        The values of the first and of the second annotator.
    unit : (C,) int64
    weight : (C,) float64
        How many equal ones it stands for.
    group : (U,) int32
        The cluster of each unit.
    n_values, n_groups : int
    """

    first: IntArray
    second: IntArray
    pair: IndexArray
    left: IndexArray
    right: IndexArray
    unit: IndexArray
    weight: FloatArray
    group: IntArray
    n_values: int
    n_groups: int

    def __post_init__(self) -> None:
        freeze(self)


def answer_pairs(data: ReliabilityData, n_annotators: int) -> AnswerPairs:
    """Return every answer of an annotator beside every answer of another on the same unit.

    An annotator may have answered a unit several times: each answer pairs with each of the
    other's.

    Parameters
    ----------
    data : ReliabilityData
        M ratings. Missing ones are left out.
    n_annotators : int

    Returns
    -------
    AnswerPairs

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1], [0, 0]]), np.ones((2, 2), bool), 2)
    >>> answer_pairs(table, 2).left, answer_pairs(table, 2).right
    (array([0, 1]), array([0, 0]))
    """
    nothing = np.zeros(0, np.int64)
    lefts, rights = [nothing], [nothing]
    for left, right in partners(data.unit, data.state == Cell.CATEGORY, "ignore"):
        other = data.annotator[left] != data.annotator[right]
        lefts.append(left[other])
        rights.append(right[other])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    swap = data.annotator[left] > data.annotator[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    key = data.annotator[left].astype(np.int64) * n_annotators + data.annotator[right]
    keys, pair = np.unique(key, return_inverse=True)
    first, second = np.divmod(keys, n_annotators)
    unit = data.unit[left]
    return AnswerPairs(
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        pair=pair,
        left=data.value[left].astype(np.int64),
        right=data.value[right].astype(np.int64),
        unit=unit,
        weight=np.ones(len(unit)) if data.weight is None else data.weight[unit].astype(np.float64),
        group=data.group,
        n_values=data.n_values,
        n_groups=data.n_groups,
    )
