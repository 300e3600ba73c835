"""Optimal matching of the annotations of two annotators."""

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from itertools import combinations
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, compact, component_of_each, find, run_starts

# For components of at most this many pairs, trying all matchings is faster than a solver.
_FEW = 6
# A long chain settles one pair per round, so a solver gets the rest after this many rounds.
_ROUNDS = 10
# Components with larger tables are solved as sparse graphs, unless one cell in four is a pair.
_DENSE, _FULL = 1 << 22, 4


def best_other(node: IndexArray, weight: IndexArray) -> IndexArray:
    """Return, for each pair, the largest weight of other pairs at its node; 0 if there are none."""
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


def assign(
    left: IndexArray,
    right: IndexArray,
    weight: IndexArray,
    ranks: Callable[[IndexArray], IndexArray] | None = None,
) -> IndexArray:
    """Return the pairs of a matching of maximum total weight, sorted (Kuhn 1955).

    `left` and `right`, (P,), are the ends of pairs; no node is both a left and a right one. Weights
    are positive integers, so that totals are exact. Pairs that are in every optimal matching are
    chosen first. The remaining pairs are split into connected components, each solved by
    `scipy.optimize.linear_sum_assignment`.

    If there are several optimal matchings, weights and `ranks` (unique per side; by default, the
    numbers of nodes) alone decide which is returned: swapping left and right does not change it.
    """
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    chosen = [np.flatnonzero(alone)]
    open_pairs = np.flatnonzero(~alone)
    a, b, w = left[open_pairs], right[open_pairs], weight[open_pairs]
    for _ in range(_ROUNDS):
        # Pairs that are in every optimal matching.
        settled = w > best_other(a, w) + best_other(b, w)
        if not settled.any():
            break
        chosen.append(open_pairs[settled])
        taken = np.isin(a, a[settled]) | np.isin(b, b[settled])
        open_pairs, a, b, w = (each[~taken] for each in (open_pairs, a, b, w))
    # An image can have millions of pairs.
    del a, b, w
    if len(open_pairs):
        chosen.append(_solve(left, right, weight, open_pairs, ranks))
    return np.sort(np.concatenate(chosen))


def _solve(
    left: IndexArray,
    right: IndexArray,
    weight: IndexArray,
    pairs: IndexArray,
    ranks: Callable[[IndexArray], IndexArray] | None,
) -> IndexArray:
    """Return the chosen pairs among `pairs`, component by component."""
    size = int(max(left.max(), right.max())) + 1
    nodes, ends = compact(np.append(left[pairs], right[pairs]), size)
    left, right = np.split(ends, 2)
    del ends
    weight, home = weight[pairs], component_of_each(len(nodes), left, right)
    component = home[left]
    # The ranks of the ends of pairs, with sides swapped in components in which the least rank that
    # only one side has is on the right.
    rank = nodes if ranks is None else ranks(nodes)
    is_right = np.zeros(len(nodes), np.bool_)
    is_right[right] = True
    order = np.lexsort((is_right, rank, home))
    new = (np.diff(home[order], prepend=-1) != 0) | (np.diff(rank[order], prepend=-1) != 0)
    starts, stops = order[new], order[np.append(new[1:], True)]
    # If a rank occurs on both sides, its first row is left and its last row is right.
    single = starts[is_right[starts] == is_right[stops]]
    first = single[run_starts(home[single])]
    swapped = find(home[first[is_right[first]]], component) >= 0
    left, right = rank[left], rank[right]
    if swapped.any():
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    del swapped
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
        solver = _dense if cells <= _DENSE or cells <= _FULL * len(part) else _sparse
        partner = np.full(len(rows), -1)
        matched = solver(row, column, weight[part], len(rows), len(columns))
        partner[matched[0]] = matched[1]
        chosen.append(part[partner[row] == column])
    return pairs[np.concatenate(chosen)]


def _best_subsets(left: IndexArray, right: IndexArray, weight: IndexArray) -> BoolArray:
    """Return the pairs of maximum total weight in C components of K pairs each, (C, K)."""
    n_pairs = left.shape[1]
    # The first of equal totals has the earlier pairs, so that results are deterministic.
    subsets = np.arange(2**n_pairs)[::-1, None] >> np.arange(n_pairs)[::-1] & 1
    total = weight @ subsets.T
    for a, b in combinations(range(n_pairs), 2):
        clash = (left[:, a] == left[:, b]) | (right[:, a] == right[:, b])
        total[clash[:, None] & (subsets[:, a] & subsets[:, b] == 1)] = -1
    return np.asarray(subsets[total.argmax(axis=1)] == 1)


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
) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns that are matched, by a table."""
    table = np.zeros((n_rows, n_columns))
    table[row, column] = weight
    return _solver()(table, maximize=True)


def _sparse(
    row: IndexArray, column: IndexArray, weight: IndexArray, n_rows: int, n_columns: int
) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns that are matched, by a sparse graph."""
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
    return rows, columns
