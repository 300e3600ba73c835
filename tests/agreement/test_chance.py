"""Agreement corrected for chance, against the definitions unit by unit."""

import json
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import brute_statistics as brute
from support.ratings import AGREEMENTS, at_total, matrix, reliability, tables, units_of

from bboxqa.agreement.chance import (
    Expectation,
    agreement_weights,
    chance_corrected,
    conger_kappa,
    fleiss_per_value,
)
from bboxqa.agreement.resampling import jackknife
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError

K = 4
EXPECTATIONS = get_args(Expectation)
kinds = st.sampled_from(EXPECTATIONS)
weightings = st.sampled_from(list(AGREEMENTS))


def estimated(kind, values, weights=None, **more):
    data = reliability(values, **more)
    if kind == "conger":
        return conger_kappa(data, weights)
    return chance_corrected(unit_counts(data), kind, weights)


def check(estimator, observed, expected):
    if observed is None:
        assert estimator.status == "undefined: no unit has two values to compare"
        assert np.isnan([estimator.value, estimator.observed, estimator.expected]).all()
        return
    assert estimator.observed == pytest.approx(float(observed))
    assert estimator.expected == pytest.approx(float(expected))
    value = brute.corrected(observed, expected)
    if value is None:
        assert np.isnan(estimator.value)
        assert estimator.status == (
            "undefined: only one value occurs, so no disagreement is possible"
        )
        return
    assert estimator.value == pytest.approx(float(value))
    assert at_total(estimator) == pytest.approx(estimator.value)
    assert estimator.status == "ok"


@given(tables(), kinds, weightings)
def test_by_definition(values, kind, name):
    units, weights = units_of(values), AGREEMENTS[name]
    observed = brute.unit_agreement(units, weights)
    expected = None if observed is None else brute.expected_agreement(kind, units, weights)
    check(estimated(kind, values, matrix(name)), observed, expected)


@given(tables())
def test_fleiss_of_each_value_by_definition(values):
    expected = [brute.fleiss_of_value(units_of(values), value) for value in range(K)]
    expected = [np.nan if kappa is None else float(kappa) for kappa in expected]
    found = fleiss_per_value(unit_counts(reliability(values)))
    assert found.kappa == pytest.approx(expected, nan_ok=True)


@given(tables(annotators=(2, 4), units=(3, 9)), st.integers(0, 2**32), st.booleans())
def test_error_of_each_value_is_that_of_the_value_against_the_rest(values, seed, weighted):
    """With two values there is one kappa, of which the overall formula holds."""
    rng = np.random.default_rng(seed)
    n_units = values.shape[1]
    group = rng.integers(0, 3, n_units)
    weight = rng.integers(1, 4, n_units) if weighted else None
    found = fleiss_per_value(unit_counts(reliability(values, group=group, weight=weight)))
    for value in range(K):
        against = np.where(values < 0, -1, values == value)
        data = reliability(against, 2, group=group, weight=weight)
        expected = chance_corrected(unit_counts(data), "fleiss")
        assert found.kappa[value] == pytest.approx(expected.value, nan_ok=True)
        if expected.standard_error < 1e-7 and expected.value < 1 - 1e-9:
            # Nothing varies, but for rounding: there is no error, or next to none.
            assert not found.standard_error[value] > 1e-7
        elif expected.value < 1 - 1e-9:
            error = pytest.approx(expected.standard_error, abs=1e-7, nan_ok=True)
            assert found.standard_error[value] == error
        else:
            assert np.isnan([found.standard_error[value], *found.interval[value]]).all()


def test_fleiss_of_each_diagnosis():
    """Depression, personality disorder, schizophrenia, neurosis, other (Fleiss 1971)."""
    path = Path(__file__).parents[1] / "data" / "coefficients.json"
    table = json.loads(path.read_text("utf-8"))["tables"]["psychiatric_by_annotator"]
    codes = np.array(table["rows"]).T - 1
    found = fleiss_per_value(unit_counts(reliability(codes, 5)))
    # As the R package irr prints them, which has the paper's example.
    assert found.kappa.round(3).tolist() == [0.245, 0.245, 0.52, 0.471, 0.566]


@given(tables(), weightings)
def test_conger_is_the_mean_over_pairs_of_annotators(values, name):
    weights = AGREEMENTS[name]
    observed = brute.unit_agreement(units_of(values), weights)
    given_by = [[int(code) for code in row if code >= 0] for row in values]
    shares = [[Fraction(own.count(code), len(own)) for code in range(K)] for own in given_by if own]
    expected = None
    if observed is not None:
        pairs = list(permutations(shares, 2))
        expected = sum(
            weights[a][b] * p[a] * q[b] for p, q in pairs for a in range(K) for b in range(K)
        ) / Fraction(len(pairs))
    check(estimated("conger", values, matrix(name)), observed, expected)


@given(tables(units=(3, 8), missing=False), st.sampled_from([*EXPECTATIONS, "conger"]), weightings)
def test_error_is_that_of_small_changes(values, kind, name):
    """On complete data the linearised error is the slope along the weight of each unit."""
    found = estimated(kind, values, matrix(name))
    assume(not np.isnan(found.value))
    n, step = values.shape[1], 1e-5
    moved = np.ones((n, 2 * n))
    moved[:, :n] += step * np.eye(n)
    moved[:, n:] -= step * np.eye(n)
    value = found.evaluate(found.sums @ moved)
    slope = (value[:n] - value[n:]) / (2 * step)
    expected = np.sqrt((slope**2).sum() * n / (n - 1))
    assert found.standard_error == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(tables(), st.sampled_from([*EXPECTATIONS, "conger"]), weightings, st.integers(0, 2**32))
def test_weights_of_units_repeat_them(values, kind, name, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    groups = np.repeat(np.arange(values.shape[1]), weight)
    weighted = estimated(kind, values, matrix(name), weight=weight)
    repeated = estimated(kind, np.repeat(values, weight, axis=1), matrix(name), group=groups)
    for part in ("value", "observed", "expected", "standard_error"):
        expected = pytest.approx(getattr(repeated, part), rel=1e-9, abs=1e-11, nan_ok=True)
        assert getattr(weighted, part) == expected
    assert weighted.status == repeated.status


@given(tables(), st.sampled_from([*EXPECTATIONS, "conger"]))
def test_without_a_cluster_is_that_of_the_rest(values, kind):
    group = np.arange(values.shape[1]) // 2
    found = estimated(kind, values, group=group)
    assume(not np.isnan(found.value))
    without = [estimated(kind, values[:, group != g]).value for g in found.clusters]
    if kind == "conger":
        # An annotator who is left with nothing is one less there.
        assume(all((values[:, group != g] >= 0).any(1).all() for g in found.clusters))
    assert jackknife(found) == pytest.approx(without, nan_ok=True)


ONES = "weights: expected agreements from 0 to 1 with 1 on the diagonal, or disagreements with 0"


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("cubic", "weights is 'cubic'; expected one of identity, linear, quadratic"),
        ([[1, 0]], "weights is 1 x 2; expected 4 x 4, one row per value"),
        (-np.eye(4), "weights: expected finite numbers, 0 or more"),
        (np.full((4, 4), np.nan), "weights: expected finite numbers, 0 or more"),
        (np.full((4, 4), 0.5), ONES),
        (np.zeros((4, 4)), ONES),
    ],
)
def test_wrong_weights(weights, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        agreement_weights(weights, 4)


def test_too_many_values_for_weights():
    with pytest.raises(ConfigError, match="6,000 different values are too many for linear weights"):
        agreement_weights("linear", 6000)


def test_own_weights_are_not_changed():
    own = np.array([[0.0, 2], [4, 0]])
    assert agreement_weights(own, 2).tolist() == [[1, 0.5], [0, 1]]
    assert own.tolist() == [[0, 2], [4, 0]]


def test_statsmodels_agrees():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(2)
    for _ in range(10):
        values = rng.integers(0, K, (5, 12))
        counts = np.stack([(values == code).sum(0) for code in range(K)], axis=1)
        for method, kind in (("fleiss", "fleiss"), ("randolph", "uniform")):
            expected = inter_rater.fleiss_kappa(counts, method)
            assert estimated(kind, values).value == pytest.approx(expected)
