"""Choices among objects, by hand and as in the published study."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.ratings import at_total, only_units, reliability, tables, without_clusters
from support.study import AGREEMENT, TOTAL, write_comparison, write_selection

from bboxqa import stats
from bboxqa.agreement.pair_kappas import NO_CHANCE, choice_pairs, mean_of_pairs

K = 4
# Value 0 is to pick nothing.
NONE = np.arange(K) == 0


def options_of(values, seed):
    """Return at least as many options as there are objects, so that chance is below 1."""
    return np.random.default_rng(seed).integers(K, 9, values.shape[1])


def by_hand(first, second, n_options):
    """Return observed and expected agreement and kappa, from the definition."""
    shared = [(a, b, n) for a, b, n in zip(first, second, n_options, strict=True) if min(a, b) >= 0]
    n = len(shared)
    if not n:
        return None
    observed = Fraction(sum(a == b for a, b, _ in shared), n)
    none = [Fraction(sum(row[side] == 0 for row in shared), n) for side in (0, 1)]
    options = sum(int(row[2]) for row in shared)
    expected = none[0] * none[1] + n * (1 - none[0]) * (1 - none[1]) / Fraction(options)
    kappa = Fraction(1) if observed == 1 else (observed - expected) / (1 - expected)
    return n, observed, expected, kappa


def measured(values, n_options, **more):
    pairs = choice_pairs(reliability(values, **more), len(values), NONE, n_options)
    return pairs.table, mean_of_pairs(pairs, nothing=NO_CHANCE)


@given(tables(), st.integers(0, 2**32))
def test_by_hand(values, seed):
    n_options = options_of(values, seed)
    table, mean = measured(values, n_options)
    pairs = [
        (a, b, found)
        for a in range(len(values))
        for b in range(a + 1, len(values))
        if (found := by_hand(values[a], values[b], n_options)) is not None
    ]
    assert table.first.tolist() == [a for a, _, _ in pairs]
    assert table.second.tolist() == [b for _, b, _ in pairs]
    if not pairs:
        assert mean.status == "undefined: no unit has two values to compare"
        return
    parts = np.array([[float(x) for x in found] for _, _, found in pairs])
    assert table.n_shared.tolist() == parts[:, 0].tolist()
    assert table.observed == pytest.approx(parts[:, 1])
    assert table.expected == pytest.approx(parts[:, 2])
    assert table.kappa == pytest.approx(parts[:, 3])
    means = parts[:, 0] @ parts[:, 1:] / parts[:, 0].sum()
    assert (mean.observed, mean.expected, mean.value) == pytest.approx(tuple(means))
    assert mean.n_shared == parts[:, 0].sum()
    if len(pairs) > 1:
        assert mean.without.shape == mean.clusters.shape
    else:
        assert mean.without is None
    if mean.without is None or not np.isnan(mean.without).any():
        assert at_total(mean) == pytest.approx(mean.value)


@given(tables(), st.integers(0, 2**32))
def test_weights_of_units_repeat_them(values, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    n_options = options_of(values, seed)
    weighted = measured(values, n_options, weight=weight)
    group = np.repeat(np.arange(values.shape[1]), weight)
    repeated = measured(
        np.repeat(values, weight, axis=1), np.repeat(n_options, weight), group=group
    )
    assert weighted[0].n_shared.tolist() == repeated[0].n_shared.tolist()
    assert weighted[0].kappa == pytest.approx(repeated[0].kappa)
    assert weighted[1].value == pytest.approx(repeated[1].value, nan_ok=True)
    expected = pytest.approx(without_clusters(repeated[1]), abs=1e-9, nan_ok=True)
    assert without_clusters(weighted[1]) == expected


@given(tables(annotators=(2, 4), units=(6, 9)), st.integers(0, 2**32))
def test_without_clusters_of_several_units(values, seed):
    rng = np.random.default_rng(seed)
    n_units = values.shape[1]
    group, weight = rng.integers(0, 3, n_units), rng.integers(1, 9, n_units)
    data, n_options = reliability(values, group=group, weight=weight), options_of(values, seed)

    def mean_of(data):
        return mean_of_pairs(choice_pairs(data, len(values), NONE, n_options))

    found = mean_of(data)
    assume(not np.isnan(found.value))
    expected = [
        mean_of(only_units(data, data.group != cluster)).value for cluster in found.clusters
    ]
    assert without_clusters(found) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_one_object_that_cannot_be_picked_differently():
    table, mean = measured(np.array([[1, 1], [1, 2]]), np.array([1, 1]))
    assert table.expected[0] == 1
    assert np.isnan(mean.value)
    assert mean.status.startswith("undefined")


def check(found, expected):
    assert found.n_shared == expected["n_shared"]
    for name in ("expected", "observed", "value"):
        assert getattr(found, name) == pytest.approx(expected[name], abs=1e-9)


def test_selection_of_the_published_study(tmp_path):
    tasks = stats.read_ratings(write_selection(tmp_path), by="task")
    assert set(tasks) == set(AGREEMENT["selection"])
    estimates = []
    for task, ratings in tasks.items():
        measured = stats.measure(ratings, bootstrap=0, task=task)
        # Answers are repeated, so that only the mean over pairs is measured by default.
        assert list(measured.coefficients) == ["cohen_kappa"]
        found = measured.coefficients["cohen_kappa"]
        check(found, AGREEMENT["selection"][task])
        assert found.status == "ok"
        assert measured.pairs.n_shared.sum() == found.n_shared
        estimates.append(measured)
    found = stats.totals(estimates)["cohen_kappa"]
    check(found, TOTAL)
    assert found.n_shared == 11_880
    assert found.value == pytest.approx(0.71795, abs=5e-6)
    low, high = found.interval
    assert low < found.value < high


def test_comparison_of_the_published_study(tmp_path):
    tasks = stats.read_ratings(write_comparison(tmp_path), by="task", n_options="n_options")
    assert set(tasks) == set(AGREEMENT["comparison"])
    for task, ratings in tasks.items():
        found = stats.measure(ratings, bootstrap=0, task=task)
        assert list(found.coefficients) == ["choice_kappa"]
        check(found.coefficients["choice_kappa"], AGREEMENT["comparison"][task])
        assert found.coefficients["choice_kappa"].status == "ok"
