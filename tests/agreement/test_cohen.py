"""Cohen's kappa of pairs of annotators and its means, against cross tables."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import fields, replace
from support import brute_statistics as brute
from support.ratings import (
    AGREEMENTS,
    at_total,
    jackknife_of,
    matrix,
    only_units,
    reliability,
    tables,
    without_clusters,
)

from bboxqa.agreement.pair_kappas import (
    BY_CONVENTION,
    answer_chunks,
    cohen_pairs,
    kappa_of,
    mean_of_pairs,
)
from bboxqa.formats.ratings import from_columns
from bboxqa.model.units import Cell, ReliabilityData

K = 4
weightings = st.sampled_from(list(AGREEMENTS))
# Unit, annotator, value: an annotator may come several times in a unit.
answers_given = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, K - 1)), min_size=1, max_size=20
)


def data_of(rows):
    """Return reliability data of rows, whose codes stay as they are."""
    everything = [(unit, 9, value) for unit in range(5) for value in range(K)]
    table = [*rows, *everything]
    ratings = from_columns(*zip(*table, strict=True))
    data = ratings.data
    kept = np.array(ratings.annotator_names)[data.annotator] != "9"
    names = np.array([int(name) for name in ratings.annotator_names], np.int32)
    return replace(
        data,
        unit=data.unit[kept],
        annotator=names[data.annotator[kept]],
        value=data.value[kept],
        state=data.state[kept],
    )


def pairs_of(rows):
    """Return the answers that each two annotators compare, by pair."""
    found = {}
    for a, b in combinations(range(3), 2):
        shared = [
            (v, w) for u, i, v in rows if i == a for other, j, w in rows if j == b and u == other
        ]
        if shared:
            found[a, b] = shared
    return found


@given(answers_given, weightings)
def test_every_pair_by_its_cross_table(rows, name):
    table = cohen_pairs(data_of(rows), 3, matrix(name)).table
    expected = pairs_of(rows)
    assert list(zip(table.first.tolist(), table.second.tolist(), strict=True)) == list(expected)
    for place, shared in enumerate(expected.values()):
        observed, chance, kappa = brute.kappa(shared, AGREEMENTS[name])
        assert table.n_shared[place] == len(shared)
        assert table.observed[place] == pytest.approx(float(observed))
        assert table.expected[place] == pytest.approx(float(chance))
        assert table.kappa[place] == pytest.approx(float(kappa))


@given(answers_given, weightings, st.booleans())
def test_means_over_pairs(rows, name, by_shared):
    found = mean_of(data_of(rows), 3, matrix(name), by_shared)
    pairs = list(pairs_of(rows).values())
    if not pairs:
        assert np.isnan(found.value)
        assert found.status == "undefined: no unit has two values to compare"
        return
    part = np.array([len(shared) if by_shared else 1 for shared in pairs], float)
    parts = np.array([[float(x) for x in brute.kappa(s, AGREEMENTS[name])] for s in pairs])
    observed, expected, kappa = part @ parts / part.sum()
    assert found.value == pytest.approx(kappa)
    assert (found.observed, found.expected) == pytest.approx((observed, expected))
    assert found.n_shared == sum(map(len, pairs))
    certain = all(float(x) == 1 for x in parts[:, 1])
    assert found.status == (BY_CONVENTION if certain else "ok")
    if len(pairs) > 1:
        assert found.without.shape == found.clusters.shape
    else:
        assert found.without is None
    if found.without is None or not np.isnan(found.without).any():
        assert at_total(found) == pytest.approx(kappa)


def test_agreement_on_everything_is_1_also_with_one_value():
    found = cohen_pairs(reliability([[1, 1, 1], [1, 1, 1]]), 2).table
    assert (found.observed[0], found.expected[0], found.kappa[0]) == (1, 1, 1)
    assert kappa_of(np.array([0.5]), np.array([1.0])) == pytest.approx([np.nan], nan_ok=True)
    assert kappa_of(np.array([np.nan]), np.array([0.5])) == pytest.approx([np.nan], nan_ok=True)


@given(tables(), weightings, st.booleans(), st.integers(0, 2**32))
@example(np.full((2, 3), -1), "identity", False, 0)
def test_weights_of_units_repeat_them(values, name, by_shared, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    group = np.arange(values.shape[1]) // 2
    both = [
        mean_of(data, len(values), matrix(name), by_shared)
        for data in (
            reliability(values, weight=weight, group=group),
            reliability(np.repeat(values, weight, axis=1), group=np.repeat(group, weight)),
        )
    ]
    assert both[0].value == pytest.approx(both[1].value, nan_ok=True)
    assert both[0].n_shared == both[1].n_shared
    without = [without_clusters(found) for found in both]
    assert without[0] == pytest.approx(without[1], abs=1e-9, nan_ok=True)
    # Of one pair, some cluster is of several units in both tables, or the formula differs.
    counted = (values >= 0).sum(0) >= 2
    if both[0].without is not None or len(np.unique(group[counted])) < counted.sum():
        expected = pytest.approx(both[1].standard_error, abs=1e-9, nan_ok=True)
        assert both[0].standard_error == expected


def mean_of(data, n_annotators, weights, by_shared):
    return mean_of_pairs(cohen_pairs(data, n_annotators, weights), by_shared=by_shared)


def recomputed(data, n_annotators, found, weights, by_shared):
    """Return the mean of what is left without each cluster."""
    return [
        mean_of(only_units(data, data.group != cluster), n_annotators, weights, by_shared).value
        for cluster in found.clusters
    ]


clustered = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, K - 1)),
    min_size=4, max_size=60,
)  # fmt: skip


def answers_in_clusters(rows, seed, *, weighted):
    """Return ten units in three clusters; annotators may repeat their answers."""
    rng = np.random.default_rng(seed)
    unit, annotator, value = np.array(sorted(rows)).T
    return ReliabilityData(
        unit=unit.astype(np.int64),
        annotator=annotator.astype(np.int32),
        value=value.astype(np.int32),
        state=np.full(len(rows), Cell.CATEGORY, np.uint8),
        group=rng.integers(0, 3, 10).astype(np.int32),
        n_values=K,
        n_groups=3,
        weight=rng.integers(1, 9, 10) if weighted else None,
    )


@given(clustered, st.integers(0, 2**32), weightings, st.booleans(), st.booleans())
def test_without_clusters_of_many_answers(rows, seed, name, by_shared, weighted):
    data, weights = answers_in_clusters(rows, seed, weighted=weighted), matrix(name)
    found = mean_of(data, 4, weights, by_shared)
    assume(not np.isnan(found.value))
    units = np.concatenate([answers.unit for answers in answer_chunks(data, 4)])
    assert found.clusters.tolist() == sorted(set(data.group[units].tolist()))
    expected = recomputed(data, 4, found, weights, by_shared)
    assert without_clusters(found) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)
    if found.without is not None:
        error = pytest.approx(jackknife_of(expected), rel=1e-9, abs=1e-9, nan_ok=True)
        assert found.standard_error == error


@given(tables(annotators=(2, 2), units=(4, 8)), weightings, st.booleans())
def test_error_is_that_of_small_changes(values, name, by_shared):
    pairs = cohen_pairs(reliability(values), len(values), matrix(name))
    table, found = pairs.table, mean_of_pairs(pairs, by_shared=by_shared)
    assume(len(table) and (table.observed < 1 - 1e-9).all())
    assume((table.expected < 1 - 1e-9).all())
    sums, step = found.table.drawn(found.clusters), 1e-5
    n = sums.shape[1]
    moved = np.ones((n, 2 * n))
    moved[:, :n] += step * np.eye(n)
    moved[:, n:] -= step * np.eye(n)
    value = found.evaluate(sums @ moved)
    slope = (value[:n] - value[n:]) / (2 * step)
    if n == 1:
        assert np.isnan(found.standard_error)
    else:
        expected = np.sqrt((slope**2).sum())
        if found.standard_error != found.standard_error:
            # Nothing varies: there is no slope.
            assert expected < 1e-9
            return
        assert found.standard_error == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_agreement_on_everything_has_no_linearised_error():
    found = cohen_pairs(reliability([[0, 1, 2], [0, 1, 2]]), 2)
    assert np.isnan(mean_of_pairs(found).standard_error)
    assert np.isnan([*found.table.standard_error, *found.table.interval[0]]).all()


def same_pairs(found, expected):
    for field in fields(found.table):
        pair = getattr(found.table, field.name), getattr(expected.table, field.name)
        assert pair[0] == pytest.approx(pair[1], rel=1e-9, abs=1e-9, nan_ok=True)
    assert found.clusters.tolist() == expected.clusters.tolist()
    assert found.without == pytest.approx(expected.without, rel=1e-9, abs=1e-9, nan_ok=True)


@given(tables(annotators=(2, 5), units=(2, 9)), weightings, st.permutations(range(9)))
def test_equal_answers_are_the_same_as_each(values, name, order):
    group = [place for place in order if place < values.shape[1]]
    repeated = np.tile(values, 20)
    data = reliability(repeated, group=[*group, *range(len(group), repeated.shape[1])])
    found = cohen_pairs(data, len(values), matrix(name))
    # With many values, no two answers are counted together.
    many = None if name == "identity" else np.pad(matrix(name), (0, 96))
    same_pairs(cohen_pairs(replace(data, n_values=K + 96), len(values), many), found)


def test_groups_without_units_change_nothing():
    values = np.random.default_rng(0).integers(0, K, (3, 6))
    data = reliability(values, group=[0, 0, 1, 1, 2, 2])
    same_pairs(cohen_pairs(replace(data, n_groups=6), 3), cohen_pairs(data, 3))


@given(tables(annotators=(3, 4), units=(3, 8)), weightings, st.booleans())
def test_error_of_each_pair_is_that_of_the_two_alone(values, name, clustered):
    data = reliability(values, group=np.arange(values.shape[1]) // (2 if clustered else 1))
    table = cohen_pairs(data, len(values), matrix(name)).table
    for place, (first, second) in enumerate(zip(table.first, table.second, strict=True)):
        kept = np.isin(data.annotator, [first, second])
        alone = replace(data, **{field: getattr(data, field)[kept] for field in
                                 ("unit", "annotator", "value", "state")})  # fmt: skip
        expected = mean_of(alone, len(values), matrix(name), True)
        error = pytest.approx(expected.standard_error, rel=1e-9, abs=1e-12, nan_ok=True)
        assert table.standard_error[place] == error


def test_statsmodels_agrees():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(4)
    for _ in range(10):
        values = rng.integers(0, K, (2, 40))
        table = np.zeros((K, K), int)
        np.add.at(table, tuple(values), 1)
        for name, wt in (("identity", None), ("linear", "linear"), ("quadratic", "quadratic")):
            expected = inter_rater.cohens_kappa(table, wt=wt)
            found = mean_of_pairs(cohen_pairs(reliability(values), 2, matrix(name)))
            assert found.value == pytest.approx(expected.kappa)
            assert found.standard_error == pytest.approx(expected.std_kappa)


def test_scikit_learn_agrees():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(6)
    for _ in range(10):
        values = rng.integers(0, K, (2, 30))
        for name, weights in (("identity", None), ("linear", "linear"), ("quadratic", "quadratic")):
            expected = metrics.cohen_kappa_score(*values, weights=weights, labels=range(K))
            found = cohen_pairs(reliability(values), 2, matrix(name)).table
            assert found.kappa[0] == pytest.approx(expected)
