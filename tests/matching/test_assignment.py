"""Matchings of largest weight, against every matching there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csgraph
from support.brute import best_matchings

from bboxqa.core.arrays import component_of_each
from bboxqa.matching import assignment
from bboxqa.matching.assignment import assign


@st.composite
def graphs(draw, most_weight=6):
    """Draw pairs of lefts 0 to 4 and rights 10 to 14, each pair once, in any order."""
    possible = [(left, right) for left in range(5) for right in range(10, 15)]
    pairs = draw(st.lists(st.sampled_from(possible), unique=True, max_size=11))
    weights = draw(st.lists(st.integers(1, most_weight), min_size=len(pairs), max_size=len(pairs)))
    return pairs, weights


def columns(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2).T


def check_optimum(pairs, weights):
    left, right = columns(pairs)
    chosen = assign(left, right, np.array(weights, np.int64)).tolist()
    best, optima = best_matchings(pairs, weights)
    assert chosen == sorted(set(chosen))
    assert tuple(chosen) in optima
    assert sum(weights[place] for place in chosen) == best


@pytest.mark.parametrize("dense", [1 << 22, 0], ids=["tables", "lists"])
# All tied, and as large as those in use.
@given(graphs() | graphs(most_weight=1) | graphs(most_weight=2**42))
def test_total_weight_is_the_largest(dense, graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "_DENSE", dense)
        check_optimum(*graph)


@pytest.mark.parametrize("dense", [1 << 22, 0])
def test_a_large_tangled_component(dense, monkeypatch):
    from scipy.optimize import linear_sum_assignment

    monkeypatch.setattr(assignment, "_DENSE", dense)
    rng = np.random.default_rng(2)
    pairs = np.add(np.unique(rng.integers(0, 60, (400, 2)), axis=0), [0, 100])
    weight = rng.integers(1, 50, len(pairs))
    table = np.zeros((60, 60))
    table[pairs[:, 0], pairs[:, 1] - 100] = weight
    rows, places = linear_sum_assignment(table, maximize=True)
    chosen = assign(*pairs.T, weight)
    assert weight[chosen].sum() == table[rows, places].sum()
    assert len(np.unique(pairs[chosen, 0])) == len(np.unique(pairs[chosen, 1])) == len(chosen)


@given(graphs())
def test_components_are_those_of_scipy(graph):
    left, right = columns(graph[0])
    found = component_of_each(20, left, right)
    matrix = coo_array((np.ones(len(left)), (left, right)), shape=(20, 20))
    _, label = csgraph.connected_components(matrix, directed=False)
    expected = [int(np.flatnonzero(label == own)[0]) for own in label]
    assert found.tolist() == expected


def test_a_long_chain_is_one_component():
    rng = np.random.default_rng(0)
    nodes = rng.permutation(2000)
    found = component_of_each(2000, nodes[:-1], nodes[1:])
    assert found.tolist() == [0] * 2000
