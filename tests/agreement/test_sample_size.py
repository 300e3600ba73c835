"""Planning: how many more clusters for an interval as narrow as wanted."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ratings import replicates_of
from support.resampled import expanded

from bboxqa.agreement.estimators import undefined
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.resampling import plan_clusters
from bboxqa.agreement.unit_counts import from_table, unit_counts
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
