"""Replicates, percentiles, BCa and the jackknife, by replaying every draw."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from support.ratings import reliability, replicates_of, tables, without_clusters

from bboxqa.agreement.registry import COEFFICIENTS, CoefficientInputs
from bboxqa.agreement.uncertainty import estimator, resampling
from bboxqa.agreement.uncertainty.estimator import (
    Estimator,
    SumTable,
    clustered_error,
    clusters_of,
    table_of,
)
from bboxqa.agreement.uncertainty.resampling import (
    bca_interval,
    covering_intervals,
    drawn_weights,
    jackknife,
    jackknife_error,
    quantiles,
    replicates_of_all,
)
from bboxqa.model.ratings import Ratings
from bboxqa.pipelines.ratings.measure import estimates_of

K = 4
NAMES = [name for name in COEFFICIENTS if name not in ("choice_kappa", "gwet_ac2", "scott_pi")]
OF_PAIRS = ("cohen_kappa", "light_kappa")


def estimated(name, values, **more):
    """Return a coefficient of codes; who has no rating is no annotator."""
    values = values[(values >= 0).any(1)]
    annotators = tuple(map(str, range(len(values))))
    ratings = Ratings(
        reliability(values, **more), (), annotators, tuple("0123"), np.arange(float(K))
    )
    return COEFFICIENTS[name](CoefficientInputs(ratings))


def resampled(name, values, **more):
    """Return a coefficient that has sums, and what it is of: of a mean over pairs, one pair."""
    if name in OF_PAIRS:
        values = values[:2]
    return estimated(name, values, **more), values


def mean_of(values):
    """Return the mean of numbers as a coefficient, each number being a cluster."""
    sums = np.stack([np.ones(len(values)), values])
    return Estimator(
        float(np.mean(values)), np.nan, np.nan, "ok", SumTable(lambda: sums), lambda x: x[1] / x[0],
        np.arange(len(values)),
    )  # fmt: skip


@given(tables(annotators=(3, 3), units=(4, 8), missing=False), st.sampled_from(NAMES))
def test_replicates_are_coefficients_of_what_was_drawn(values, name):
    found, values = resampled(name, values)
    if np.isnan(found.value):
        return
    replicates = replicates_of(found, 6, seed=5)
    (weights,) = drawn_weights(len(found.clusters), 6, seed=5)
    for replicate, drawn in zip(replicates, weights.T, strict=True):
        units = np.repeat(found.clusters, drawn.astype(int))
        again = estimated(name, values[:, units]).value
        assert replicate == pytest.approx(again, rel=1e-9, abs=1e-9, nan_ok=True)


@given(
    tables(annotators=(2, 3), units=(4, 8), missing=False),
    st.sampled_from(NAMES),
    st.integers(0, 2**32),
)
def test_clusters_are_drawn_whole(values, name, seed):
    group = np.random.default_rng(seed).integers(0, 4, values.shape[1])
    found, values = resampled(name, values, group=group)
    if np.isnan(found.value):
        return
    assert found.clusters.tolist() == sorted(set(group.tolist()))
    (weights,) = drawn_weights(len(found.clusters), 4, seed=1)
    for replicate, drawn in zip(replicates_of(found, 4, seed=1), weights.T, strict=True):
        units = [
            unit
            for cluster, times in zip(found.clusters, drawn.astype(int), strict=True)
            for _ in range(times)
            for unit in np.flatnonzero(group == cluster)
        ]
        again = estimated(name, values[:, units]).value
        assert replicate == pytest.approx(again, rel=1e-9, abs=1e-9, nan_ok=True)


@given(tables(annotators=(2, 3), units=(2, 6)), st.integers(0, 2**32))
def test_weights_of_units_repeat_them_for_cronbach(values, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    group = np.repeat(np.arange(values.shape[1]), weight)
    weighted = estimated("cronbach_alpha", values, weight=weight)
    repeated = estimated("cronbach_alpha", np.repeat(values, weight, axis=1), group=group)
    if len(weighted.clusters) > 1:
        assert weighted.value == pytest.approx(repeated.value, nan_ok=True)
        assert jackknife(weighted) == pytest.approx(jackknife(repeated), nan_ok=True)


@pytest.mark.parametrize(("few", "most"), [(0, 0), (0, 10_000), (10_000, 10_000)])
def test_draws_that_are_kept_are_the_same(few, most, monkeypatch):
    monkeypatch.setattr(resampling, "_KEPT", few)
    monkeypatch.setattr(resampling, "_KEPT_LAST", most)
    expected = np.concatenate([*drawn_weights(7, 230, 3)], axis=1)
    for _ in range(2):
        found = [*resampling.repeated_counts(7, 230, 3)]
        assert [part.shape for part in found] == [(7, 100), (7, 100), (7, 30)]
        assert np.array_equal(np.concatenate(found, axis=1), expected)
    # Nobody changes what is kept.
    assert all(part.flags.writeable == (most == 0) for part in found)


def test_weights_count_draws():
    weights = np.concatenate(list(drawn_weights(5, 230, seed=3)), axis=1)
    assert weights.shape == (5, 230)
    assert (weights.sum(0) == 5).all()
    assert (weights >= 0).all()
    assert weights.mean() == 1
    again = np.concatenate(list(drawn_weights(5, 120, seed=3)), axis=1)
    assert np.array_equal(again, weights[:, :120])


@pytest.mark.parametrize(("chunk", "cells"), [(1, 1 << 23), (7, 1 << 23), (100, 40), (100, 1)])
def test_any_size_of_chunk(monkeypatch, chunk, cells):
    values = np.random.default_rng(1).integers(-1, K, (3, 30))
    found = estimated("krippendorff_alpha", values)
    replicates, without = replicates_of(found, 50, 2), jackknife(found)
    monkeypatch.setattr(resampling, "_CHUNK", chunk)
    monkeypatch.setattr(resampling, "_WEIGHTS", cells)
    assert replicates_of(found, 50, 2) == pytest.approx(replicates, abs=1e-12)
    assert jackknife(found) == pytest.approx(without, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cronbach_alpha"])
def test_a_sparse_table_of_sums_gives_the_same(monkeypatch, name):
    values = np.random.default_rng(1).integers(-1, K, (3, 30))
    dense, _ = resampled(name, values)
    before = dense.drawn_sums()
    monkeypatch.setattr(estimator, "_DENSE", 0)
    sparse, _ = resampled(name, values)
    assert not isinstance(sparse.sums, np.ndarray)
    assert sparse.drawn_sums().toarray() == pytest.approx(before)
    assert isinstance(dense.sums, np.ndarray)
    assert replicates_of(sparse, 20, 0) == pytest.approx(replicates_of(dense, 20, 0))
    assert jackknife(sparse) == pytest.approx(jackknife(dense))


def test_same_seed_same_numbers():
    found = estimated("fleiss_kappa", np.random.default_rng(1).integers(0, K, (3, 30)))
    first = replicates_of(found, 120, 9)
    assert np.array_equal(first, replicates_of(found, 120, 9))
    assert not np.array_equal(first, replicates_of(found, 120, 10))
    # More replicates begin with the same ones.
    assert replicates_of(found, 250, 9)[:120] == pytest.approx(first, abs=1e-12)


def test_progress_ends_with_everything():
    found = mean_of(np.arange(6.0))
    said = []
    replicates_of(found, 230, 0, lambda done, total: said.append((done, total)))
    assert said == [(100, 230), (200, 230), (230, 230)]


def test_fewer_clusters_spread_wider():
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(10.0), 4))
    few, many = (replicates_of(mean_of(part), 2000, 0).std() for part in (np.arange(10.0), values))
    assert few / many == pytest.approx(2, rel=0.1)


@given(
    tables(annotators=(2, 3), units=(4, 8)),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
)
def test_all_together_are_each_alone(values, names):
    found = {name: resampled(name, values)[0] for name in names}
    found = {name: one for name, one in found.items() if not np.isnan(one.value)}
    together = replicates_of_all(found, 120, seed=7)
    assert list(together) == list(found)
    for name, one in found.items():
        assert np.array_equal(together[name], replicates_of(one, 120, seed=7), equal_nan=True)


def test_what_has_the_same_clusters_is_drawn_once(monkeypatch):
    drawn = []

    def counted(n_clusters, replicates, seed):
        drawn.append(n_clusters)
        return drawn_weights(n_clusters, replicates, seed)

    monkeypatch.setattr(resampling, "drawn_weights", counted)
    values = np.array([[0, 1, 2, -1, 3], [0, 1, 1, 2, -1]])
    names = ["krippendorff_alpha", "cohen_kappa", "fleiss_kappa", "gwet_ac1"]
    said = []
    replicates_of_all(
        {name: estimated(name, values) for name in names}, 150, 0,
        lambda done, total: said.append((done, total)),
    )  # fmt: skip
    # Fleiss and Gwet count the units with one rating, too.
    assert drawn == [3, 5]
    assert said == [(100, 300), (150, 300), (250, 300), (300, 300)]


def test_nothing_to_resample():
    assert replicates_of_all({}, 50, 0) == {}


@pytest.mark.parametrize("name", OF_PAIRS)
def test_replicates_of_means_over_several_pairs_are_means_of_pseudo_values(name):
    values = np.random.default_rng(1).integers(-1, K, (3, 30))
    found = estimated(name, values)
    n = len(found.clusters)
    assert 1 < n < 30
    pseudo = n * found.value - (n - 1) * found.without
    pseudo += found.value - pseudo.mean()
    (weights,) = drawn_weights(n, 50, 3)
    assert replicates_of(found, 50, 3) == pytest.approx(pseudo @ weights / n)
    assert replicates_of(found, 4000, 0).std() == pytest.approx(
        found.standard_error * np.sqrt((n - 1) / n), rel=0.05
    )
    assert found.standard_error == pytest.approx(jackknife_error(without_clusters(found)))
    pair = estimated(name, values[:2])
    assert pair.without is None
    assert pair.sums.shape == (1 + 2 * K, 30)


def test_no_replicates():
    found = mean_of(np.arange(3.0))
    assert replicates_of(found, 0, 0).shape == (0,)
    assert np.isnan(quantiles(np.zeros((2, 0)), 0.025, 0.975)).all()


@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_percentiles_are_those_of_numpy(values, level):
    shares = [(1 - level) / 2, (1 + level) / 2]
    expected = np.quantile(values, shares)
    assert quantiles(np.array([values]), *shares)[0] == pytest.approx(expected)


def test_undefined_replicates_are_left_out_if_few():
    replicates = np.arange(100.0)
    few, many = replicates.copy(), replicates.copy()
    few[:5] = np.nan
    many[:6] = np.nan
    found = quantiles(np.stack([replicates, few, many]), 0.025, 0.975)
    assert found[1] == pytest.approx(np.quantile(replicates[5:], [0.025, 0.975]))
    assert np.isnan(found[2]).all()
    assert np.isnan(bca_interval(50, many, np.arange(3.0))).all()


@given(st.integers(0, 2**32), st.integers(5, 12))
def test_bca_by_its_formula(seed, n):
    values = np.random.default_rng(seed).exponential(size=n)
    found = mean_of(values)
    replicates, without = replicates_of(found, 500, seed), jackknife(found)
    tied = np.isclose(replicates, found.value, rtol=0, atol=1e-12)
    bias = ndtri(((replicates < found.value) & ~tied).mean() + tied.mean() / 2)
    away = without.mean() - without
    speed = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    z = bias + ndtri([0.025, 0.975])
    expected = np.quantile(replicates, ndtr(bias + z / (1 - speed * z)))
    assert bca_interval(found.value, replicates, without) == pytest.approx(expected)


def test_intervals_are_near_those_of_scipy():
    # Here, since each process that collects tests would import it.
    from scipy.stats import bootstrap

    values = np.random.default_rng(8).exponential(size=30)
    found = mean_of(values)
    replicates = replicates_of(found, 20_000, 0)
    generator = np.random.default_rng(1)
    for method, bounds in (
        ("percentile", quantiles(replicates[None], 0.025, 0.975)[0]),
        ("BCa", bca_interval(found.value, replicates, jackknife(found))),
    ):
        expected = bootstrap(
            (values,), np.mean, n_resamples=20_000, method=method, rng=generator
        ).confidence_interval
        assert bounds == pytest.approx(tuple(expected), abs=0.01)


def test_bca_without_bias_and_speed_is_the_percentile_interval():
    replicates = np.arange(1001.0)
    expected = quantiles(replicates[None], 0.025, 0.975)[0]
    assert bca_interval(500.0, replicates, np.ones(4)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "without"),
    [
        (np.nan, [1.0, 2.0, 3.0]),
        (500.0, [1.0, np.nan, 3.0]),
        (-1.0, [1.0, 2.0, 3.0]),
        (2000.0, [1.0, 2.0, 3.0]),
    ],
)
def test_bca_is_undefined(value, without):
    assert np.isnan(bca_interval(value, np.arange(1001.0), np.array(without))).all()


def test_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=12)
    found = mean_of(values)
    assert jackknife(found) == pytest.approx([np.delete(values, i).mean() for i in range(12)])
    expected = values.std(ddof=1) / np.sqrt(12)
    assert jackknife_error(jackknife(found)) == pytest.approx(expected)


def test_jackknife_error_is_undefined():
    assert np.isnan(jackknife_error(np.array([1.0])))
    assert np.isnan(jackknife_error(np.array([1.0, np.nan, 2.0])))
    assert jackknife_error(np.ones(3)) == 0


def test_units_that_nothing_is_compared_in_are_not_drawn():
    values = np.array([[0, 1, 2, -1, 3], [0, 1, 1, 2, -1]])
    assert estimated("krippendorff_alpha", values).clusters.tolist() == [0, 1, 2]
    assert estimated("cohen_kappa", values).clusters.tolist() == [0, 1, 2]
    # The distribution of values is that of all rated units there.
    assert estimated("fleiss_kappa", values).clusters.tolist() == [0, 1, 2, 3, 4]


def test_estimators_are_read_only():
    values = np.random.default_rng(1).integers(0, K, (3, 5))
    found = estimated("cohen_kappa", values)
    for array in (found.clusters, found.without, mean_of(np.arange(3.0)).clusters):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


@pytest.mark.parametrize("name", NAMES)
def test_sums_are_made_once_and_when_asked_for(monkeypatch, name):
    made = []
    for module in ("alpha.nominal", "alpha.levels", "kappa.chance", "kappa.cohen"):
        of = import_module(f"bboxqa.agreement.{module}")
        if hasattr(of, "table_of"):
            monkeypatch.setattr(of, "table_of", lambda *x: made.append(x) or table_of(*x))
    values = np.random.default_rng(1).integers(0, K, (2, 5))
    found = estimated(name, values)
    assert made == []
    assert found.sums is found.sums
    assert len(made) == (name != "cronbach_alpha")


def test_sums_of_a_table():
    row, column = np.array([0, 1, 0]), np.array([1, 0, 1])
    table = table_of(row, column, np.array([1.0, 2.0, 4.0]), (2, 2))
    assert table.tolist() == [[0, 5], [2, 0]]
    assert clusters_of(np.array([3, 1, 3]), np.array([True, False, True])).tolist() == [3]


def test_error_of_clusters_adds_before_it_squares():
    influence, group = np.array([0.1, 0.2, -0.3]), np.array([0, 0, 1], np.int32)
    everything = np.ones(3, bool)
    assert clustered_error(influence, group, everything, 2) == pytest.approx(np.sqrt(0.18 * 2))
    assert np.isnan(clustered_error(influence, group * 0, everything, 1))
    counted = np.array([True, True, False])
    assert np.isnan(clustered_error(influence, group, counted, 2))


def one_sided(values):
    """Return a coefficient whose replicates all lie below it: how many clusters occur in a draw."""
    n = len(values)
    table = np.eye(n)
    return Estimator(
        1.0, np.nan, np.nan, "ok", SumTable(lambda: table), lambda x: (x > 0).sum(0) / n,
        np.arange(n),
    )  # fmt: skip


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_an_interval_contains_its_value_even_if_no_replicate_reaches_it(interval):
    found = estimates_of({"": one_sided(range(30))}, bootstrap=200, seed=0, interval=interval)[""]
    low, high = found.interval
    if interval == "percentile":
        assert low < 1 <= high
        replicates = replicates_of(one_sided(range(30)), 200, 0)
        assert found.interval_shift == pytest.approx(1 - replicates.mean())
    else:
        # Without replicates on both sides there is no BCa interval.
        assert np.isnan([low, high]).all()


def test_intervals_that_contain_their_value_stay():
    replicates = np.sort(np.random.default_rng(0).normal(size=(3, 100)), axis=1)
    before = quantiles(replicates, 0.025, 0.975)
    after, moved = covering_intervals(replicates[:, 50], replicates, before, np.inf)
    assert np.array_equal(before, after)
    assert not moved.any()


@given(st.integers(0, 2**32))
def test_moved_intervals_contain_their_values_and_stay_below_the_highest(seed):
    rng = np.random.default_rng(seed)
    # Skewed, so that the mean may lie outside of the interval.
    replicates = 1 - rng.pareto(0.7, (4, 50)).clip(0, 1e6)
    values = rng.choice([0.99, 1.0, replicates.min() - 1, np.nan], 4)
    found, moved = covering_intervals(values, replicates, quantiles(replicates, 0.025, 0.975))
    known = ~np.isnan(values)
    assert (found[known, 0] <= values[known]).all()
    assert (found[known, 1] >= values[known]).all()
    assert (found <= 1).all()
    assert not moved[~known].any()


@pytest.mark.parametrize(("n_entries", "is_dense"), [(8207, False), (8208, True)])
def test_a_large_table_is_dense_if_one_in_32_cells_is_filled(n_entries, is_dense):
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, 512, n_entries), rng.integers(0, 513, n_entries)
    amount = rng.random(n_entries)
    table = table_of(row, column, amount, (512, 513))
    dense = np.zeros((512, 513))
    np.add.at(dense, (row, column), amount)
    assert isinstance(table, np.ndarray) == is_dense
    assert table @ np.ones(513) == pytest.approx(dense.sum(1))
