"""Optimal matching of the annotations of two annotators."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    blocks,
    connected_components,
    find,
    numbered_nodes,
    rows_where,
    run_starts,
)

# Fewer pairs take little memory as a list.
_MANY = 1 << 16
# A table takes less memory than a list if at least one cell in so many is a pair.
FULL = 4
# Columns per chunk, as numpy copies an array that it searches along columns.
_COLUMNS = 256

Ranks = Callable[[IndexArray], IndexArray] | None


class Table(NamedTuple):
    """The weights of pairs, with each side in the order of its ranks."""

    weight: FloatArray
    """(R, C) float64. The weight of each pair; 0 where there is no pair."""
    lefts: IndexArray
    rights: IndexArray
    """(R,) and (C,) int64. The node of each row and column."""
    place: IndexArray
    rank: IndexArray
    """(N,) int64. The row or column of each node, and its rank."""


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
    """Yield the rows and the columns of each connected component, (R,) and (C,) bool."""
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
    # Negated in place, as maximising with scipy would negate a copy.
    np.negative(weight, out=weight)
    ends = _solver()(weight.T if swapped else weight)
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


# For components of at most this many pairs, trying all matchings is faster than a solver.
_FEW = 6
# A long chain settles one pair per round, so a solver gets the rest after this many rounds.
_ROUNDS = 10
# Components with larger tables are solved as sparse graphs, unless the table is nearly full.
_DENSE = 1 << 22


def best_other(node: IndexArray, weight: IndexArray) -> IndexArray:
    """Return, for each pair, the largest weight of other pairs at its node; 0 if there are none.

    `node` is one end of each pair; weights are positive.
    """
    n_nodes = int(node.max(initial=-1)) + 1
    best, second = np.zeros((2, n_nodes), np.int64)
    np.maximum.at(best, node, weight)
    others: IndexArray = best[node]
    top = others == weight
    # A unique best pair of a node competes with the second best.
    np.maximum.at(second, node[~top], weight[~top])
    top &= np.bincount(node[top], minlength=n_nodes)[node] == 1
    others[top] = second[node[top]]
    return others


def _settled(left: IndexArray, right: IndexArray, weight: IndexArray) -> BoolArray:
    """Return the pairs that are in every optimal matching."""
    settled: BoolArray = weight > best_other(left, weight) + best_other(right, weight)
    return settled


def assign(
    left: IndexArray,
    right: IndexArray,
    weight: IndexArray,
    ranks: Callable[[IndexArray], IndexArray] | None = None,
) -> IndexArray:
    """Return the pairs of a matching of maximum total weight [1]_.

    Pairs that are in every optimal matching are chosen first. The remaining pairs are split into
    connected components, each solved by `scipy.optimize.linear_sum_assignment` [2]_.

    If there are several optimal matchings, ranks and weights alone decide which is returned:
    swapping left and right does not change it.

    Parameters
    ----------
    left, right : (P,) int64
        The two ends of each pair; no node is both a left and a right end. P may be 0.
    weight : (P,) int64
        Positive; integers, so that totals are exact.
    ranks : callable, optional
        Returns the ranks of nodes, which are unique per side. By default, nodes are ranked by
        number.

    Returns
    -------
    (M,) int64
        Indices of the chosen pairs, sorted; no node is in two of them.

    References
    ----------
    .. [1] Kuhn, H. W. (1955). The Hungarian Method for the Assignment Problem. Naval Research
       Logistics Quarterly 2(1-2), 83-97. doi:10.1002/nav.3800020109
    .. [2] Crouse, D. F. (2016). On Implementing 2D Rectangular Assignment Algorithms. IEEE
       Transactions on Aerospace and Electronic Systems 52(4), 1679-1696.
       doi:10.1109/TAES.2016.140952
    """
    if len(left) == 0:
        return np.zeros(0, np.int64)
    if is_full(left, right):
        chosen, open_pairs = match_full(left, right, weight, ranks, _ROUNDS)
    else:
        chosen, open_pairs = _settle(left, right, weight)
    if len(open_pairs):
        chosen.append(_solve(left, right, weight, open_pairs, ranks))
    return np.sort(np.concatenate(chosen))


def _settle(
    left: IndexArray, right: IndexArray, weight: IndexArray
) -> tuple[list[IndexArray], IndexArray]:
    """Return pairs that are in every optimal matching, and pairs that are still to be matched."""
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    chosen = [np.flatnonzero(alone)]
    open_pairs = np.flatnonzero(~alone)
    _, a, b = numbered_nodes(left[open_pairs], right[open_pairs])
    w = weight[open_pairs]
    for _ in range(_ROUNDS):
        if len(open_pairs) == 0:
            break
        settled = _settled(a, b, w)
        if not settled.any():
            break
        chosen.append(open_pairs[settled])
        taken = np.isin(a, a[settled]) | np.isin(b, b[settled])
        open_pairs, a, b, w = (each[~taken] for each in (open_pairs, a, b, w))
    return chosen, open_pairs


def _solve(
    left: IndexArray,
    right: IndexArray,
    weight: IndexArray,
    pairs: IndexArray,
    ranks: Callable[[IndexArray], IndexArray] | None,
) -> IndexArray:
    """Return the chosen pairs among `pairs`, component by component."""
    left, right, weight = left[pairs], right[pairs], weight[pairs]
    component = connected_components(left, right)
    left, right = _ranked(component, left, right, ranks)
    order = np.lexsort((right, left, component))
    starts = run_starts(component[order])
    sizes = np.diff(starts, append=len(order))
    chosen: list[IndexArray] = []
    for size in np.unique(sizes[sizes <= _FEW]).tolist():
        parts = order[starts[sizes == size][:, None] + np.arange(size)]
        chosen.append(parts[_best_subsets(left[parts], right[parts], weight[parts])])
    for start, size in zip(starts[sizes > _FEW], sizes[sizes > _FEW], strict=True):
        part = order[start : start + size]
        rows, row = np.unique(left[part], return_inverse=True)
        columns, column = np.unique(right[part], return_inverse=True)
        cells = len(rows) * len(columns)
        solver = _dense if cells <= _DENSE or cells <= FULL * len(part) else _sparse
        chosen.append(part[solver(row, column, weight[part], len(rows), len(columns))])
    return pairs[np.concatenate(chosen)]


def _ranked(
    component: IndexArray,
    left: IndexArray,
    right: IndexArray,
    ranks: Callable[[IndexArray], IndexArray] | None,
) -> tuple[IndexArray, IndexArray]:
    """Return the ranks of the ends of pairs, with sides swapped in some components."""
    nodes, left, right = numbered_nodes(left, right)
    rank = nodes if ranks is None else ranks(nodes)
    is_right = np.zeros(len(nodes), np.bool_)
    is_right[right] = True
    home = np.zeros(len(nodes), np.int64)
    home[left] = component
    home[right] = component
    swapped = find(swapped_components(home, rank, is_right), component) >= 0
    left, right = rank[left], rank[right]
    if not swapped.any():
        return left, right
    return np.where(swapped, right, left), np.where(swapped, left, right)


def _best_subsets(left: IndexArray, right: IndexArray, weight: IndexArray) -> BoolArray:
    """Return the pairs of maximum total weight in C components of K pairs each, (C, K).

    All subsets are tried, so K has to be small.
    """
    n_pairs = left.shape[1]
    # The first of equal totals has the earlier pairs, so that results are deterministic.
    subsets = np.arange(2**n_pairs)[::-1, None] >> np.arange(n_pairs)[::-1] & 1
    total = weight @ subsets.T
    for a, b in combinations(range(n_pairs), 2):
        clash = (left[:, a] == left[:, b]) | (right[:, a] == right[:, b])
        total[clash[:, None] & (subsets[:, a] & subsets[:, b] == 1)] = -1
    found: BoolArray = subsets[total.argmax(axis=1)] == 1
    return found


@cache
def _solver() -> Callable[..., tuple[IndexArray, IndexArray]]:
    """Return `scipy.optimize.linear_sum_assignment` alone.

    Importing all of `scipy.optimize` takes as long as measuring a hundred images.
    """
    import scipy

    spec = PathFinder.find_spec("_lsap", [str(Path(scipy.__file__).parent / "optimize")])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "linear_sum_assignment"):
            return module.linear_sum_assignment  # type: ignore[no-any-return]
    # Of other versions of scipy.
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment  # type: ignore[no-any-return]


def _dense(
    row: IndexArray, column: IndexArray, weight: IndexArray, n_rows: int, n_columns: int
) -> IndexArray:
    table = np.zeros((n_rows, n_columns))
    table[row, column] = weight
    rows, columns = _solver()(table, maximize=True)
    partner = np.full(n_rows, -1)
    partner[rows] = columns
    return np.flatnonzero(partner[row] == column)


def _sparse(
    row: IndexArray, column: IndexArray, weight: IndexArray, n_rows: int, n_columns: int
) -> IndexArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    # The solver needs a partner for every row, so each row gets its own column of weight 0.
    own = np.arange(n_rows)
    table = coo_array(
        (
            np.concatenate([weight, np.zeros(n_rows, np.int64)]) + 1.0,
            (np.concatenate([row, own]), np.concatenate([column, n_columns + own])),
        )
    )
    rows, columns = min_weight_full_bipartite_matching(table.tocsr(), maximize=True)
    partner = np.full(n_rows, -1)
    partner[rows] = columns
    return np.flatnonzero(partner[row] == column)
