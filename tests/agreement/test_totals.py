"""Means over tasks, against data sets that were made of tasks."""

from math import nan

import numpy as np
from msgspec.structs import replace

from bboxqa import stats
from bboxqa.model.ratings import Estimate, TaskEstimates


def task(name, value, error, n_shared, n_units=50):
    found = Estimate(value, standard_error=error, observed=0.75, expected=0.5, n_shared=n_shared,
                     n_clusters=n_units)  # fmt: skip
    return TaskEstimates(name, n_units, 2, 2 * n_units, {"cohen_kappa": found})


def test_what_is_undefined_is_left_out_and_what_is_not_sure_says_so():
    known = task("in", 0.5, 0.1, 10)
    (rest,) = stats.totals([known, task("on", nan, nan, 30)]).values()
    assert rest.status == "of 1 of 2 tasks: it is undefined in the others"
    assert replace(rest, status="ok") == stats.totals([known])["cohen_kappa"]
    unsure = stats.totals([known, task("on", 1.0, nan, 10)])["cohen_kappa"]
    assert unsure.value == 0.75
    assert np.isnan([unsure.standard_error, *unsure.interval]).all()
    assert stats.totals([task("on", nan, nan, 0)]) == {}
    assert stats.totals([TaskEstimates(None, 1, 1, 1, {"krippendorff_alpha": Estimate(0.5)})]) == {}


def test_intervals_of_totals_cover():
    rng = np.random.default_rng(1)
    # Annotators who know the answer three times of four, and else guess; p_e is 1/2.
    truth, covered = 0.75**2, 0
    for _ in range(200):
        tasks = []
        for name, n_units in (("in", 40), ("on", 80)):
            right = rng.integers(0, 2, n_units)
            guess = rng.integers(0, 2, (2, n_units))
            said = np.where(rng.random((2, n_units)) < 0.75, right, guess)
            ratings = stats.ratings_from_table(said)
            tasks.append(stats.measure(ratings, "cohen_kappa", bootstrap=0, task=name))
        low, high = stats.totals(tasks)["cohen_kappa"].interval
        covered += low <= truth <= high
    assert 183 <= covered <= 199
