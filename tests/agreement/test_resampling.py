"""Replicates, percentiles, BCa, the jackknife and plans, by replaying every draw."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array
from scipy.special import ndtr, ndtri
from support.ratings import reliability, replicates_of, tables
from support.resampled import expanded

from bboxqa.agreement import resampling
from bboxqa.agreement.estimators import Estimator, SumTable, undefined
from bboxqa.agreement.intervals import drawn_intervals, ratio_intervals
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.registry import COEFFICIENTS, CoefficientInputs
from bboxqa.agreement.resampling import (
    bca_interval,
    covering_intervals,
    drawn_counts,
    jackknife,
    plan_clusters,
    quantiles,
    replicates_of_all,
)
from bboxqa.agreement.unit_counts import from_table, unit_counts
from bboxqa.core.errors import ConfigError
from bboxqa.model.ratings import Ratings
from bboxqa.pipelines.ratings import estimates_of

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
    (weights,) = drawn_counts(len(found.clusters), 4, seed=1)
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
    expected = np.concatenate([*drawn_counts(7, 230, 3)], axis=1)
    for _ in range(2):
        found = [*resampling.repeated_counts(7, 230, 3)]
        assert [part.shape for part in found] == [(7, 100), (7, 100), (7, 30)]
        assert np.array_equal(np.concatenate(found, axis=1), expected)
    # Nobody changes what is kept.
    assert all(part.flags.writeable == (most == 0) for part in found)


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


@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_percentiles_are_those_of_numpy(values, level):
    shares = [(1 - level) / 2, (1 + level) / 2]
    expected = np.quantile(values, shares)
    assert quantiles(np.array([values]), *shares)[0] == pytest.approx(expected)


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


def test_bca_of_two_clusters_is_undefined():
    # Their level is expanded to 1, at which the normal distribution has no quantile.
    found = bca_interval(0.5, np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0]), 1.0)
    assert np.isnan(found).all()


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
    else:
        # Without replicates on both sides there is no BCa interval.
        assert np.isnan([low, high]).all()


@given(st.integers(0, 2**32))
def test_moved_intervals_contain_their_values_and_stay_below_the_highest(seed):
    rng = np.random.default_rng(seed)
    # Skewed, so that the mean may lie outside of the interval.
    replicates = 1 - rng.pareto(0.7, (4, 50)).clip(0, 1e6)
    values = rng.choice([0.99, 1.0, replicates.min() - 1, np.nan], 4)
    found = covering_intervals(values, replicates, np.full(4, 50))
    known = ~np.isnan(values)
    assert (found[known, 0] <= values[known]).all()
    assert (found[known, 1] >= values[known]).all()
    assert (found <= 1).all()


RNG = np.random.default_rng(4)
BELOW = RNG.integers(1, 9, (3, 20))
ABOVE = RNG.integers(0, BELOW + 1)


def test_against_draws_one_by_one():
    rng, n_images = np.random.default_rng(7), BELOW.shape[1]
    ratios = []
    for _ in range(200):
        drawn = rng.integers(0, n_images, n_images)
        ratios.append(ABOVE[:, drawn].sum(1) / BELOW[:, drawn].sum(1))
    expected = expanded(ratios, n_images).T
    assert ratio_intervals(ABOVE, BELOW, 200, 7) == pytest.approx(expected)


@pytest.mark.parametrize("largest", [5, 1 << 20])
@pytest.mark.parametrize("make", [np.asarray, csc_array])
def test_sums_of_counts_are_exact(largest, make):
    # A power of two changes no digit, and fractions are added in double precision. Sums over 30
    # images of up to 2 ** 20 exceed what single precision holds.
    counts = np.random.default_rng(0).integers(0, largest, (2, 30)) * 2.0 + 1

    def intervals(table):
        means = np.asarray(table.sum(1)).ravel() / 30
        return drawn_intervals(means, [make(table)], lambda sums: sums / 30, 300, 0)

    assert intervals(counts).tolist() == (1024 * intervals(counts / 1024)).tolist()


def estimator(n_units, seed=0, wrong=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_units)
    noise = rng.integers(0, 3, (2, n_units))
    said = np.where(rng.random((2, n_units)) < wrong, noise, truth)
    return alpha(unit_counts(from_table(said, np.ones(said.shape, bool), 3)))


@given(st.floats(0.01, 0.5))
def test_the_number_is_the_least_whose_interval_is_narrow_enough(target):
    from scipy.stats import t

    found = estimator(60)
    plan = plan_clusters(found, target, replicates=200)
    drawn = replicates_of(found, 200, 0)
    assert plan.width == pytest.approx(np.ptp(expanded(drawn, 60)))
    # The width of n clusters is that of Student's t with n − 1 degrees of freedom, over √(n − 1).
    wide = {n: t.ppf(0.975, n - 1) / (n - 1) ** 0.5 for n in (60, plan.n_needed)}
    before = t.ppf(0.975, plan.n_needed - 2) / (plan.n_needed - 2) ** 0.5
    assert plan.width * wide[plan.n_needed] / wide[60] <= target * (1 + 1e-9)
    assert plan.width * before / wide[60] > target
    assert plan.status == "ok"


def test_a_target_below_rounding_takes_many():
    plan = plan_clusters(estimator(60), 1e-9, replicates=200)
    assert plan.n_needed == ceil(60 * (plan.width / 1e-9) ** 2)


def test_a_width_that_is_reached_exactly_takes_no_more():
    width = plan_clusters(estimator(60), 1.0).width
    assert 0 < plan_clusters(estimator(60), width).n_needed <= 60


def test_nothing_to_plan_by():
    plan = plan_clusters(undefined("undefined: no ratings"), 0.1)
    assert (plan.status, plan.n_needed) == ("undefined: no ratings", 0)
    agreed = plan_clusters(estimator(30, wrong=0), 0.1)
    assert agreed.status == ("all replicates are equal: the data show no spread to plan by")
    assert agreed.width == 0
    one = from_table(np.array([[0], [1]]), np.ones((2, 1), bool), 2)
    assert plan_clusters(alpha(unit_counts(one)), 0.1).status == (
        "too few clusters for an interval"
    )


@pytest.mark.parametrize("target", [0, -0.1, float("nan")])
def test_a_width_is_above_zero(target):
    with pytest.raises(ConfigError, match=r"target width is .*; expected more than 0"):
        plan_clusters(estimator(10), target)
