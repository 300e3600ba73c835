"""Maximum-weight matching of components in which most lefts are paired with most rights.

A table of weights then takes a fraction of the memory and time of sorted lists of pairs. The
results, including ties, are the same as with lists.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, run_starts
from bboxqa.core.blocks import blocks, rows_where

# Fewer pairs take little memory as a list.
_MANY = 1 << 16
# A table takes less memory than a list if at least one cell in so many is a pair.
FULL = 4
# Columns per chunk, as numpy copies an array that it searches along columns.
_COLUMNS = 256

Ranks = Callable[[IndexArray], IndexArray] | None


class Table(NamedTuple):
    """The weights of pairs, with each side in the order of its ranks.

    Attributes
    ----------
    weight : (R, C) float64
        The weight of each pair; 0 where there is no pair.
    lefts, rights : (R,) and (C,) int64
        The node of each row and column.
    place, rank : (N,) int64
        The row or column of each node, and its rank.
    """

    weight: FloatArray
    lefts: IndexArray
    rights: IndexArray
    place: IndexArray
    rank: IndexArray


def is_full(left: IndexArray, right: IndexArray) -> bool:
    """Return whether there are many pairs, and at least a quarter of all possible pairs."""
    if len(left) < _MANY:
        return False
    return len(_different(left)) * len(_different(right)) <= FULL * len(left)


def _different(nodes: IndexArray) -> IndexArray:
    occurs = np.zeros(nodes.max() + 1, np.bool_)
    occurs[nodes] = True
    return np.flatnonzero(occurs)


def match_full(
    left: IndexArray, right: IndexArray, weight: IndexArray, ranks: Ranks, rounds: int
) -> tuple[list[IndexArray], IndexArray]:
    """Return the pairs chosen in large full components, and the pairs still to be matched.

    The parameters are the same as in `bboxqa.matching.assignment.assign`; P must be positive. Pairs
    that are in every optimal matching are chosen first, in up to `rounds` rounds.
    """
    table = _table(left, right, weight, ranks)
    cells = table.weight
    partner = np.full(len(table.lefts), -1)
    for _ in range(rounds):
        rows, columns = settled_cells(cells)
        if not len(rows):
            break
        partner[rows] = columns
        cells[rows] = 0
        cells[:, columns] = 0
    undecided = np.zeros(len(partner), np.bool_)
    for in_rows, in_columns in components(cells):
        rows, columns = np.flatnonzero(in_rows), np.flatnonzero(in_columns)
        n_pairs = sum(int(np.count_nonzero(cells[row])) for row in rows)
        if n_pairs < max(_MANY, len(rows) * len(columns) // FULL):
            undecided[rows] = True
            continue
        whole = in_rows.all() and in_columns.all()
        part = cells if whole else cells[np.ix_(rows, columns)]
        taken, of = _best_cells(part, swapped=_is_swapped(table, rows, columns))
        partner[rows[taken]] = columns[of]

    def where(condition: Callable[[IndexArray, IndexArray], BoolArray]) -> IndexArray:
        place = table.place
        found = rows_where(len(left), lambda at: condition(place[left[at]], place[right[at]]))
        return np.flatnonzero(found)

    chosen = where(lambda row, column: partner[row] == column)
    if not undecided.any():
        return [chosen], chosen[:0]
    free = np.ones(len(table.rights), np.bool_)
    free[partner[partner >= 0]] = False
    return [chosen], where(lambda row, column: undecided[row] & free[column])


def _table(left: IndexArray, right: IndexArray, weight: IndexArray, ranks: Ranks) -> Table:
    lefts, rights = _different(left), _different(right)
    nodes = np.sort(np.concatenate([lefts, rights]))
    rank = np.zeros(nodes[-1] + 1, np.int64)
    rank[nodes] = nodes if ranks is None else ranks(nodes)
    lefts, rights = (side[np.argsort(rank[side])] for side in (lefts, rights))
    place = np.zeros_like(rank)
    place[lefts] = np.arange(len(lefts))
    place[rights] = np.arange(len(rights))
    cells = np.zeros((len(lefts), len(rights)))
    for part in blocks(len(left)):
        cells[place[left[part]], place[right[part]]] = weight[part]
    return Table(cells, lefts, rights, place, rank)


def settled_cells(weight: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns of the pairs that are in every optimal matching.

    A pair is in all of them if its weight exceeds the sum of the best other weights in its row and
    in its column.

    Examples
    --------
    >>> import numpy as np
    >>> settled_cells(np.array([[9.0, 5, 0], [0, 4, 4]]))
    (array([0]), array([0]))
    """
    rows, columns = np.arange(weight.shape[0]), np.arange(weight.shape[1])
    best_column = weight.argmax(1)
    starts = range(0, len(columns), _COLUMNS)
    best_row = np.concatenate([weight[:, at : at + _COLUMNS].argmax(0) for at in starts])
    top, top_of_column = weight[rows, best_column], weight[best_row, columns]
    weight[rows, best_column] = 0
    other_in_row = weight.max(1)
    weight[rows, best_column] = top
    weight[best_row, columns] = 0
    second = weight.max(0)
    weight[best_row, columns] = top_of_column
    is_best = best_row[best_column] == rows
    other_in_column = np.where(is_best, second[best_column], top_of_column[best_column])
    settled = np.flatnonzero(top > other_in_row + other_in_column)
    return settled, best_column[settled]


def components(weight: FloatArray) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Yield the rows and the columns of each connected component, (R,) and (C,) bool.

    Examples
    --------
    >>> import numpy as np
    >>> for rows, columns in components(np.array([[1.0, 0, 0], [0, 2, 3]])):
    ...     print(rows, columns)
    [ True False] [ True False False]
    [False  True] [False  True  True]
    """
    n_rows, n_columns = weight.shape
    left_over = np.array([row.any() for row in weight])
    while left_over.any():
        rows, columns = np.zeros(n_rows, np.bool_), np.zeros(n_columns, np.bool_)
        new = np.flatnonzero(left_over)[:1]
        while len(new):
            rows[new] = True
            reached = np.zeros(n_columns, np.bool_)
            for row in new:
                reached |= weight[row] > 0
            new = np.flatnonzero(reached & ~columns)
            columns[new] = True
            reached = np.zeros(n_rows, np.bool_)
            for at in range(0, len(new), _COLUMNS):
                reached |= weight[:, new[at : at + _COLUMNS]].any(1)
            new = np.flatnonzero(reached & ~rows)
        left_over &= ~rows
        yield rows, columns


def _best_cells(weight: FloatArray, *, swapped: bool) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns of a maximum-weight matching; `weight` is overwritten."""
    from scipy.optimize import linear_sum_assignment

    # Negated in place, as maximising with scipy would negate a copy.
    np.negative(weight, out=weight)
    ends = linear_sum_assignment(weight.T if swapped else weight)
    rows, columns = reversed(ends) if swapped else ends
    paired = weight[rows, columns] < 0
    return rows[paired], columns[paired]


def _is_swapped(table: Table, rows: IndexArray, columns: IndexArray) -> bool:
    rank = np.concatenate([table.rank[table.lefts[rows]], table.rank[table.rights[columns]]])
    is_right = np.arange(len(rank)) >= len(rows)
    return len(swapped_components(np.zeros(len(rank), np.int64), rank, is_right)) > 0


def swapped_components(component: IndexArray, rank: IndexArray, is_right: BoolArray) -> IndexArray:
    """Return the components in which the least rank that only one side has is on the right.

    `component`, `rank` and `is_right`, (K,), describe each node.
    """
    order = np.lexsort((is_right, rank, component))
    new = (np.diff(component[order], prepend=-1) != 0) | (np.diff(rank[order], prepend=-1) != 0)
    last = np.append(new[1:], True)
    starts, stops = order[new], order[last]
    # If a rank occurs on both sides, its first row is left and its last row is right.
    single = starts[is_right[starts] == is_right[stops]]
    first = single[run_starts(component[single])]
    swapped: IndexArray = component[first[is_right[first]]]
    return swapped
