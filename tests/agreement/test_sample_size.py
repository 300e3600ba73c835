"""Planning: how many more clusters for an interval as narrow as wanted."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ratings import replicates_of
from support.resampled import expanded

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.unit_counts import from_table, unit_counts
from bboxqa.agreement.uncertainty.estimator import undefined
from bboxqa.agreement.uncertainty.resampling import plan_clusters
from bboxqa.core.errors import ConfigError


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
    assert plan.n_more == max(0, plan.n_needed - 60)
    assert plan.status == "ok"


def test_a_target_below_rounding_takes_many():
    plan = plan_clusters(estimator(60), 1e-9, replicates=200)
    assert plan.n_needed == ceil(60 * (plan.width / 1e-9) ** 2)


def test_few_clusters_are_planned_with_expanded_intervals():
    """Of 12 units: t of 11 degrees of freedom is 2.201, and √(11) is 3.317: 0.6636 of an error."""
    plan = plan_clusters(estimator(12, seed=3), 0.3)
    quarter = plan_clusters(estimator(12, seed=3), plan.width / 4)
    # A quarter of that, 0.1659, takes 143 units (1.9768 / √142 = 0.16589), and not 16 · 12.
    assert quarter.n_needed == 143


def test_a_width_that_is_reached_exactly_takes_no_more():
    width = plan_clusters(estimator(60), 1.0).width
    assert plan_clusters(estimator(60), width).n_more == 0


def test_as_many_as_planned_give_the_width():
    """Draw from the same population as many units as the plan asks for."""
    plan = plan_clusters(estimator(200, seed=1), 0.08)
    assert plan.n_needed > 400
    assert plan_clusters(estimator(plan.n_needed, seed=2), 1.0).width == pytest.approx(
        0.08, rel=0.2
    )


@pytest.mark.parametrize("n_units", [20, 60, 150])
def test_the_range_holds_what_is_needed_in_most_samples(n_units):
    """Compare with what the standard error in large samples of the population asks for."""
    errors = [estimator(4000, seed=1000 + seed).standard_error for seed in range(5)]
    needed = 4000 * (2 * 1.96 * np.mean(errors) / 0.05) ** 2
    ranges = [plan_clusters(estimator(n_units, seed), 0.05, 200).needed_range for seed in range(60)]
    assert np.mean([low <= needed <= high for low, high in ranges]) >= 0.9
    assert np.median([high / low for low, high in ranges]) < 3


def test_half_of_the_samples_of_the_planned_size_miss_the_target():
    errors = [estimator(4000, seed=1000 + seed).standard_error for seed in range(5)]
    needed = round(4000 * (2 * 1.96 * np.mean(errors) / 0.1) ** 2)
    widths = [plan_clusters(estimator(needed, seed), 0.1).width for seed in range(60)]
    assert 0.3 < np.mean([width > 0.1 for width in widths]) < 0.7


def test_nothing_to_plan_by():
    plan = plan_clusters(undefined("undefined: no ratings"), 0.1)
    assert (plan.status, plan.n_needed) == ("undefined: no ratings", 0)
    agreed = plan_clusters(estimator(30, wrong=0), 0.1)
    assert agreed.status == ("all replicates are equal: the data show no spread to plan by")
    assert (agreed.width, agreed.n_more) == (0.0, 0)
    one = from_table(np.array([[0], [1]]), np.ones((2, 1), bool), 2)
    assert plan_clusters(alpha(unit_counts(one)), 0.1).status == (
        "too few clusters for an interval"
    )


@pytest.mark.parametrize("target", [0, -0.1, float("nan")])
def test_a_width_is_above_zero(target):
    with pytest.raises(ConfigError, match=r"target width is .*; expected more than 0"):
        plan_clusters(estimator(10), target)
