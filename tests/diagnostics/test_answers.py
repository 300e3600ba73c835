"""Groups and similarity of annotators, and alpha without a unit, an annotator or a value."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import brute
from support import brute_statistics as definition
from support.ratings import LEVELS, NUMBERS, reliability, tables, units_of

from bboxqa.agreement.estimators import OK
from bboxqa.agreement.unit_counts import from_table, unit_counts
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.diagnostics.answers import (
    NO_CONTRAST,
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
    annotator_similarity,
    cluster_annotators,
)
from bboxqa.model.units import Cell, ReliabilityData

K = 4
levels = st.sampled_from(list(LEVELS))


def same(found, expected):
    expected = [np.nan if value is None else float(value) for value in expected]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def counted_again(units, level, numbers=NUMBERS):
    """Return alpha by its definition, None where it is undefined."""
    found = definition.alpha(units, level, numbers)
    return found and found[0]


@given(tables(units=(1, 8)), levels)
def test_without_a_unit(values, level):
    units = units_of(values)
    rest = [units[:place] + units[place + 1 :] for place in range(len(units))]
    expected = [counted_again(units, level) for units in rest]
    same(alpha_without_units(unit_counts(reliability(values)), LEVELS[level], NUMBERS), expected)


@given(tables(annotators=(2, 5), units=(1, 8)), levels)
def test_without_an_annotator(values, level):
    rest = [units_of(np.delete(values, row, axis=0)) for row in range(len(values))]
    expected = [counted_again(units, level) for units in rest]
    data = reliability(values)
    same(alpha_without_annotators(data, len(values), LEVELS[level], NUMBERS), expected)


def distance(level, c, k, marginal, numbers):
    """Return the distance of two values that occur as often as `marginal` says."""
    if level == "ordinal":
        low, high = min(c, k), max(c, k)
        return (sum(marginal[low : high + 1]) - (marginal[low] + marginal[high]) / 2) ** 2
    return definition.DISTANCES[level](c, k, None, numbers)


def without_value(units, value, level, numbers=NUMBERS):
    """Return alpha of the coincidence matrix without the row and column of a value."""
    matrix = brute.matrix(units)
    rest = {pair: amount for pair, amount in matrix.items() if value not in pair}
    n, codes = sum(rest.values()), range(len(numbers))
    marginal = [sum(x for (a, _), x in rest.items() if a == code) for code in codes]
    apart = {
        (c, k): distance(level, c, k, marginal, numbers) if c != k else 0
        for c in codes
        for k in codes
    }
    chance = sum(marginal[c] * marginal[k] * far for (c, k), far in apart.items())
    unlike = sum(amount * apart[pair] for pair, amount in rest.items())
    # Of one value or less, nothing is expected: D_e would be divided by n − 1.
    return 1 - (n - 1) * unlike / chance if chance and n > 1 else None


@given(tables(annotators=(2, 5), units=(1, 8)), levels)
@example(np.array([[0], [1], [2]]), "nominal")
def test_without_a_value(values, level):
    units = units_of(values)
    expected = [without_value(units, value, level) for value in range(K)]
    same(alpha_without_values(unit_counts(reliability(values)), LEVELS[level], NUMBERS), expected)


@pytest.mark.parametrize("n_annotators", [2, 3, 4])
def test_without_a_value_of_many(n_annotators):
    random = np.random.default_rng(n_annotators)
    # One value is nearly all; some occur once.
    values = np.minimum(random.geometric(0.3, (n_annotators, 300)) - 1, 9)
    values[:, 100:] = 0
    units = units_of(values)
    expected = [without_value(units, value, "nominal", range(10)) for value in range(10)]
    same(alpha_without_values(unit_counts(reliability(values, n_values=10))), expected)


@given(tables(), st.integers(0, 2**32))
def test_weights_of_units_repeat_them(values, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    weighted = reliability(values, weight=weight)
    repeated = reliability(np.repeat(values, weight, axis=1))
    assert alpha_without_annotators(weighted, len(values)) == pytest.approx(
        alpha_without_annotators(repeated, len(values)), nan_ok=True
    )
    assert alpha_without_values(unit_counts(weighted)) == pytest.approx(
        alpha_without_values(unit_counts(repeated)), nan_ok=True
    )
    units = units_of(values)
    expected = [
        brute.alpha([unit for other, unit in enumerate(units) if other != out
                     for _ in range(weight[other])])
        for out in range(len(units))
    ]  # fmt: skip
    same(alpha_without_units(unit_counts(weighted)), expected)


# Annotators 0, 3, 4 and 5 mostly say yes, the others mostly no.
TWO_GROUPS = np.array([[1, 1, 1], [0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]])
methods = pytest.mark.parametrize("method", ["kmeans", "hierarchical"])


@st.composite
def scores(draw):
    shape = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    size = shape[0] * shape[1]
    return np.reshape(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), shape)


def inertia(table, labels):
    return sum(np.var(table[labels == one], axis=0).sum() * (labels == one).sum()
               for one in np.unique(labels))  # fmt: skip


def silhouette(table, labels):
    widths = []
    for i, own in enumerate(labels):
        distance = np.linalg.norm(table - table[i], axis=1)
        fellows = [distance[j] for j in range(len(table)) if labels[j] == own and j != i]
        if not fellows:
            widths.append(0)
            continue
        a = np.mean(fellows)
        b = min(distance[labels == other].mean() for other in set(labels.tolist()) - {own})
        widths.append((b - a) / max(a, b) if max(a, b) else 0)
    return np.mean(widths)


@methods
@pytest.mark.parametrize("seed", range(3))
def test_two_groups_are_found(method, seed):
    found = cluster_annotators(TWO_GROUPS, 2, method, seed)
    assert found.labels.tolist() == [0, 1, 1, 0, 0, 0, 1]
    assert found.silhouette > 0.6
    assert found.status == OK


@settings(max_examples=12)
@given(scores(), st.data())
def test_kmeans_is_the_best_of_all_groupings(table, data):
    k = data.draw(st.integers(1, len(np.unique(table, axis=0))))
    found = cluster_annotators(table, k, seed=data.draw(st.integers(0, 99)))
    groupings = (np.array(labels) for labels in product(range(k), repeat=len(table)))
    best = min(inertia(table, labels) for labels in groupings if len(set(labels.tolist())) == k)
    assert found.inertia == pytest.approx(best, abs=1e-9)
    assert len(set(found.labels.tolist())) == k
    assert found.merges is None


@methods
@given(table=scores(), data=st.data())
def test_labels_inertia_and_silhouette(method, table, data):
    k = data.draw(st.integers(1, len(np.unique(table, axis=0))))
    found = cluster_annotators(table, k, method)
    first = [found.labels.tolist().index(label) for label in range(k)]
    assert first == sorted(first)
    assert found.labels.max() == k - 1
    assert found.inertia == pytest.approx(inertia(table, found.labels), abs=1e-9)
    if 1 < k < len(table):
        assert found.silhouette == pytest.approx(silhouette(table, found.labels))
        assert -1 <= found.silhouette <= 1
    else:
        assert np.isnan(found.silhouette)
        assert NO_CONTRAST in found.status


@methods
@given(seed=st.integers(0, 2**32), k=st.integers(1, 6))
def test_order_of_annotators_and_scale_change_nothing(method, seed, k):
    rng = np.random.default_rng(seed)
    table, order = rng.normal(size=(6, 2)), rng.permutation(6)
    found = cluster_annotators(table, k, method)
    other = cluster_annotators(table[order] * 3.0 + 7, k, method)
    together = found.labels[order][:, None] == found.labels[order]
    assert np.array_equal(other.labels[:, None] == other.labels, together)


@given(st.integers(1, 8))
def test_the_tree_is_cut_as_scipy_does(k):
    from scipy.cluster.hierarchy import fcluster

    table = np.random.default_rng(2).normal(size=(8, 3))
    found = cluster_annotators(table, k, "hierarchical")
    assert found.merges.shape == (7, 4)
    expected = fcluster(found.merges, k, "maxclust")
    together = found.labels[:, None] == found.labels
    assert np.array_equal(together, expected[:, None] == expected)


@pytest.mark.parametrize(
    ("scores", "k", "method", "message"),
    [
        (TWO_GROUPS, 0, "hierarchical", "k is 0; expected 1 or more, and no more than"),
        (TWO_GROUPS, 8, "hierarchical", "k is 8; expected 1 or more, and no more than"),
        (TWO_GROUPS, 2, "dbscan", "method is 'dbscan'; expected one of kmeans, hierarchical"),
        (np.zeros((2, 0)), 1, "kmeans", "scores have the shape (2, 0); expected one row per"),
        (np.array([[1, np.nan]]), 1, "kmeans", "row 0, column 1: score is nan; expected a finite"),
    ],
)
def test_what_cannot_be_grouped(scores, k, method, message):
    with pytest.raises((ConfigError, DatasetError), match=re.escape(message)):
        cluster_annotators(scores, k, method)


SIGNED = np.array([-2.0, 0.0, 0.1, 7.0])


@st.composite
def ratings(draw, repeated=False):
    """Draw ratings of 4 annotators and 6 units, some missing; once per unit, or more often."""
    cells = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-1, 3)),
                          unique_by=None if repeated else lambda cell: cell[:2]))  # fmt: skip
    cells = np.array(sorted(cells), np.int64).reshape(-1, 3)
    return ReliabilityData(
        unit=cells[:, 0],
        annotator=cells[:, 1].astype(np.int32),
        value=np.maximum(cells[:, 2], 0).astype(np.int32),
        state=np.where(cells[:, 2] < 0, Cell.MISSING, Cell.CATEGORY).astype(np.uint8),
        group=np.arange(6, dtype=np.int32),
        n_values=4,
        n_groups=6,
    )


def shared(data, a, b):
    """Return the values of both for each pair of ratings of one unit."""
    cells = [
        (u, n, v)
        for u, n, v, s in zip(data.unit, data.annotator, data.value, data.state, strict=True)
        if s == Cell.CATEGORY
    ]
    times = np.ones(6, int) if data.weight is None else data.weight
    pairs = [
        (v, w)
        for u, n, v in cells
        for x, m, w in cells
        if (n, m) == (a, b) and u == x
        for _ in range(times[u])
    ]
    return np.array(pairs, int).reshape(-1, 2).T


def by_walk(data, measure, a, b):
    first, second = shared(data, a, b)
    if not len(first):
        return np.nan
    if measure == "agreement":
        return np.mean(first == second)
    x, y = SIGNED[first], SIGNED[second]
    if measure == "correlation":
        x, y = x - x.mean(), y - y.mean()
    lengths = np.sqrt((x @ x) * (y @ y))
    return x @ y / lengths if lengths > 1e-9 else np.nan


@pytest.mark.parametrize("measure", ["agreement", "cosine", "correlation"])
@given(st.one_of(ratings(), ratings(repeated=True)), st.booleans())
def test_by_a_walk_over_shared_units(measure, data, weighted):
    if weighted:
        data = replace(data, weight=np.array([1, 2, 3, 1, 5, 2]))
    found = annotator_similarity(data, 4, SIGNED, measure)
    assert found.shape == (4, 4)
    assert np.array_equal(np.isnan(found), np.isnan(found.T))
    for a in range(4):
        for b in range(4):
            expected = by_walk(data, measure, a, b)
            if a == b and not np.isnan(found[a, a]):
                expected = 1
            if a == b:
                continue
            assert found[a, b] == pytest.approx(expected, nan_ok=True, abs=1e-9)
            assert found[a, b] == pytest.approx(found[b, a], nan_ok=True, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("jaccard", "measure is 'jaccard'; expected one of agreement, cosine, correlation"),
        ("cosine", "cosine of annotators: values are not numbers; expected numbers"),
    ],
)
def test_measures_that_are_refused(measure, message):
    data = from_table(np.array([[0], [0]]), np.ones((2, 1), bool), 1)
    with pytest.raises((ConfigError, DatasetError), match=message):
        annotator_similarity(data, 2, None, measure)
