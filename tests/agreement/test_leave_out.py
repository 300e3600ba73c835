"""Alpha without a unit, an annotator or a value, against counting the rest again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brute
from support.ratings import reliability, tables, units_of

from bboxqa.agreement.counts import unit_counts
from bboxqa.agreement.leave_out import (
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
)

K = 4


def same(found, expected):
    expected = [np.nan if value is None else float(value) for value in expected]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@settings(max_examples=150)
@given(tables(units=(1, 8)))
def test_without_a_unit(values):
    units = units_of(values)
    expected = [brute.alpha(units[:place] + units[place + 1 :]) for place in range(len(units))]
    same(alpha_without_units(unit_counts(reliability(values))), expected)


@settings(max_examples=150)
@given(tables(annotators=(2, 5), units=(1, 8)))
def test_without_an_annotator(values):
    expected = [brute.alpha(units_of(np.delete(values, row, axis=0))) for row in range(len(values))]
    same(alpha_without_annotators(reliability(values), len(values)), expected)


@settings(max_examples=150)
@given(tables(annotators=(2, 5), units=(1, 8)))
def test_without_a_value_is_that_of_the_matrix_without_its_row_and_column(values):
    matrix = brute.matrix(units_of(values))
    expected = []
    for value in range(K):
        rest = {pair: amount for pair, amount in matrix.items() if value not in pair}
        n = sum(rest.values())
        marginal = [sum(x for (a, _), x in rest.items() if a == code) for code in range(K)]
        chance = n * n - sum(x * x for x in marginal)
        unlike = sum(x for (a, b), x in rest.items() if a != b)
        # Of one value or less, nothing is expected: D_e would be divided by n − 1.
        expected.append(1 - (n - 1) * unlike / chance if chance and n > 1 else None)
    same(alpha_without_values(unit_counts(reliability(values))), expected)


@settings(max_examples=80)
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


def test_who_disagrees_lowers_alpha():
    values = np.array([[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 0, 1], [0, 1, 2, 0, 1, 1]])
    assert alpha_without_annotators(reliability(values), 3).argmax() == 2
    assert alpha_without_annotators(reliability(values), 3)[2] == 1
    units = alpha_without_units(unit_counts(reliability(values)))
    assert set(np.argsort(units)[-2:].tolist()) == {3, 4}


def test_an_annotator_who_rated_nothing_changes_nothing():
    values = np.array([[0, 1, 2], [0, 1, 1], [-1, -1, -1]])
    found = alpha_without_annotators(reliability(values), 3)
    assert found[2] == pytest.approx(float(brute.alpha(units_of(values))))
    assert np.isnan(found[:2]).all()


def test_no_units():
    none = reliability(np.zeros((2, 0), int))
    assert alpha_without_units(unit_counts(none)).shape == (0,)
    assert np.isnan(alpha_without_annotators(none, 2)).all()
    assert np.isnan(alpha_without_values(unit_counts(none))).all()
