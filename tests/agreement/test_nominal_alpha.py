"""Nominal alpha and what it is made of, against the definition by pairs of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support import brute
from support.reference import WORKED

from bboxqa.agreement.estimators import NO_PAIR, OK, ONE_IMAGE
from bboxqa.agreement.nominal import (
    alpha_per_category,
    alpha_per_group,
    alpha_per_pair,
    pooled_alpha,
)
from bboxqa.agreement.object_counts import count_pairs
from bboxqa.agreement.unit_counts import coincidence_matrix, coincidences, from_table

K = 4
modes = st.sampled_from(["category", "ignore"])


@st.composite
def tables(draw):
    """Draw (A, U) values, -1 where missing, and who was asked."""
    shape = draw(st.integers(2, 4)), draw(st.integers(1, 8))
    cells = shape[0] * shape[1]
    values = draw(st.lists(st.integers(-1, K - 1), min_size=cells, max_size=cells))
    asked = draw(st.lists(st.sampled_from([True] * 4 + [False]), min_size=cells, max_size=cells))
    return np.reshape(values, shape), np.reshape(asked, shape)


def everyone(values):
    return np.ones(np.shape(values), np.bool_)


def one_image(data):
    return replace(data, group=np.zeros(len(data.group), np.int32), n_groups=1)


def same(found, expected):
    assert np.isnan(found) if expected is None else found == pytest.approx(float(expected))


@pytest.mark.parametrize("example", WORKED["tables"], ids=lambda example: example["name"])
def test_worked_examples(example):
    values = np.array([[-1 if v is None else v for v in row] for row in example["rows"]])
    data = one_image(from_table(values, everyone(values), 9))
    alpha = pooled_alpha(coincidences(data, "category"))
    assert alpha.value == pytest.approx(example["alpha"], abs=5e-5)
    assert alpha_per_group(coincidences(data, "category")) == pytest.approx([alpha.value])


@given(tables(), modes)
def test_pooled_alpha_by_definition(table, missing):
    alpha = pooled_alpha(coincidences(one_image(from_table(*table, K)), missing))
    units = [unit for unit in brute.unit_values(*table, missing) if len(unit) > 1]
    expected = brute.alpha(units)
    if expected is None and units:
        assert (alpha.value, alpha.status) == (1, ONE_IMAGE)
    elif expected is None:
        assert np.isnan(alpha.value)
        assert alpha.status == NO_PAIR
    else:
        same(alpha.value, expected)
        assert alpha.value == pytest.approx(1 - alpha.observed / alpha.expected)
        assert alpha.status == OK


@given(tables(), modes)
def test_matrix_and_marginals_by_definition(table, missing):
    data = from_table(*table, K)
    units = brute.unit_values(*table, missing)
    values, matrix = coincidence_matrix(data, missing)
    names = [brute.MISSING if value == K else value for value in values.tolist()]
    expected = brute.matrix(units)
    assert {value for pair in expected for value in pair} == set(names)
    for row, a in enumerate(names):
        for column, b in enumerate(names):
            assert matrix[row, column] == pytest.approx(float(expected.get((a, b), 0)))
    sums = coincidences(data, missing)
    marginal = np.bincount(sums.value, sums.marginal, K + 1)
    diagonal = np.bincount(sums.value, sums.diagonal, K + 1)
    assert marginal[values] == pytest.approx(matrix.sum(0))
    assert diagonal[values] == pytest.approx(np.diag(matrix))


@given(tables(), modes, st.integers(0, 2**32))
def test_alpha_of_each_group_is_that_of_the_group_alone(table, missing, seed):
    values, asked = table
    group = np.sort(np.random.default_rng(seed).integers(0, 4, values.shape[1])).astype(np.int32)
    data = replace(from_table(values, asked, K), group=group, n_groups=5)
    found = alpha_per_group(coincidences(data, missing))
    for number in range(5):
        own = group == number
        units = [u for u in brute.unit_values(values[:, own], asked[:, own], missing) if len(u) > 1]
        expected = brute.alpha(units)
        same(found[number], 1 if expected is None and units else expected)


@given(tables(), modes)
def test_alpha_of_a_category_is_that_of_the_table_of_yes_and_no(table, missing):
    found, marginal = alpha_per_category(coincidences(from_table(*table, K), missing))
    units = [unit for unit in brute.unit_values(*table, missing) if len(unit) > 1]
    for place, value in enumerate([*range(K), brute.MISSING]):
        same(found[place], brute.alpha([[said == value for said in unit] for unit in units]))
        assert marginal[place] == sum(unit.count(value) for unit in units)


@given(tables(), modes)
def test_alpha_of_a_pair_is_that_of_the_two_alone(table, missing):
    values, asked = table
    first, second, alpha, n_units = alpha_per_pair(
        count_pairs(from_table(*table, K), len(values), missing)
    )
    found = dict(zip(zip(first.tolist(), second.tolist(), strict=True),
                     zip(alpha, n_units.tolist(), strict=True), strict=True))  # fmt: skip
    for a in range(len(values)):
        for b in range(a + 1, len(values)):
            two = [a, b]
            units = [
                unit
                for unit in brute.unit_values(values[two], asked[two], missing)
                if len(unit) > 1 and unit != [brute.MISSING] * 2
            ]
            if units:
                same(found[a, b][0], brute.alpha(units))
                assert found[a, b][1] == len(units)
            else:
                assert (a, b) not in found
