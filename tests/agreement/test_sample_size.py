"""Planning: how many more clusters for an interval as narrow as wanted."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ratings import replicates_of

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.reliability_rows import from_table
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.uncertainty.estimator import undefined
from bboxqa.agreement.uncertainty.resampling import percentile_interval
from bboxqa.agreement.uncertainty.sample_size import plan_clusters
from bboxqa.core.errors import ConfigError


def estimator(n_units, seed=0, wrong=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_units)
    noise = rng.integers(0, 3, (2, n_units))
    said = np.where(rng.random((2, n_units)) < wrong, noise, truth)
    return alpha(unit_counts(from_table(said, np.ones(said.shape, bool), 3)))


@given(st.floats(0.01, 0.5))
def test_the_number_grows_with_the_square_of_the_width(target):
    found = estimator(60)
    plan = plan_clusters(found, target, replicates=200)
    low, high = percentile_interval(replicates_of(found, 200, 0)[None])[0]
    assert plan.width == pytest.approx(high - low)
    assert plan.n_needed == max(2, ceil(60 * (plan.width / target) ** 2 * (1 - 1e-12)))
    assert plan.n_more == max(0, plan.n_needed - 60)
    assert plan.status == "ok"


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
