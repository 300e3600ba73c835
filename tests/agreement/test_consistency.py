"""Cronbach's alpha against its definition, published values and intraclass correlations."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bboxqa.agreement.consistency import (
    CONTRADICTION,
    NO_SPREAD,
    TOO_FEW,
    cronbach_alpha,
    cronbach_of_sums,
    cronbach_sums,
    intraclass_correlations,
)
from bboxqa.core.errors import ConfigError, DatasetError

BINARY = np.array(
    [[1, 0, 1], [1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 1, 0],
     [0, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 0, 0], [0, 0, 0]]
)  # fmt: skip
# Shrout and Fleiss (1979), table 2.
JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)
# The table in pingouin's documentation, "." where it lacks an answer.
QUESTIONS = np.array(
    [[nan if answer == "." else int(answer) for answer in row] for row in (
        "11111111111", "11111111010", ".011.111100", "11101101100", "11111000100", "01.01111000",
        "11110010000", "11111000000", "01011000010", "10010100.00", "11100000000", "10010000000",
    )]
)  # fmt: skip


@st.composite
def scores(draw, holes=False):
    shape = draw(st.integers(3, 7)), draw(st.integers(2, 4))
    cell = st.integers(-5, 9)
    cell = st.one_of(cell, cell, cell, st.just(nan)) if holes else cell
    cells = draw(st.lists(cell, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return np.reshape(np.array(cells, float), shape)


def by_definition(table):
    n_items = table.shape[1]
    of_items = sum(np.var(table[:, j], ddof=1) for j in range(n_items))
    return n_items / (n_items - 1) * (1 - of_items / np.var(table.sum(1), ddof=1))


def varied(table):
    return np.ptp(table.sum(1)) > 0


@pytest.mark.parametrize(
    ("table", "missing", "value", "interval"),
    [
        (BINARY, "listwise", 0.735, (0.299, 0.917)),
        (JUDGES, "listwise", 0.9093155423770694, (0.676, 0.986)),
        (QUESTIONS, "pairwise", 0.732660835214447, (0.435, 0.909)),
        (QUESTIONS, "listwise", 0.8016949152542373, (0.533, 0.947)),
    ],
)
def test_published_values(table, missing, value, interval):
    found = cronbach_alpha(table, missing)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.interval == pytest.approx(interval, abs=5e-4)


@given(scores())
def test_value_by_definition(table):
    found = cronbach_alpha(table)
    if varied(table):
        assert found.value == pytest.approx(by_definition(table))
        assert found.interval[0] <= found.value <= found.interval[1] <= 1 + 1e-12
    else:
        assert isnan(found.value)
        assert found.status == NO_SPREAD


@given(scores(holes=True))
def test_pairwise_by_definition(table):
    n_items = table.shape[1]
    covariance = np.full((n_items, n_items), nan)
    for a in range(n_items):
        for b in range(n_items):
            both = ~np.isnan(table[:, a]) & ~np.isnan(table[:, b])
            if both.sum() > 1:
                covariance[a, b] = np.cov(table[both, a], table[both, b])[0, 1]
    found = cronbach_alpha(table, "pairwise")
    if np.isnan(covariance).any():
        assert found.status == TOO_FEW
    elif abs(covariance.sum()) < 1e-9:
        assert found.status in (NO_SPREAD, CONTRADICTION)
    else:
        value = n_items / (n_items - 1) * (1 - np.trace(covariance) / covariance.sum())
        if covariance.sum() < 0 or value > 1 + 1e-9:
            assert found.status == CONTRADICTION
        else:
            assert found.value == pytest.approx(value)


@given(scores(holes=True))
def test_listwise_is_that_of_the_complete_units(table):
    whole = table[~np.isnan(table).any(1)]
    found, expected = cronbach_alpha(table), cronbach_alpha(whole)
    assert found.value == pytest.approx(expected.value, nan_ok=True)
    assert found.interval == pytest.approx(expected.interval, nan_ok=True)


@given(scores(), st.sampled_from([-3, 0.01, 100]), st.lists(st.integers(-50, 50), min_size=4))
def test_shifted_annotators_and_another_unit_of_measure_change_nothing(table, factor, shifts):
    assume(varied(table))
    other = cronbach_alpha(table * factor + shifts[: table.shape[1]])
    found = cronbach_alpha(table)
    assert other.value == pytest.approx(found.value)
    assert other.interval == pytest.approx(found.interval)


@given(scores())
def test_cronbach_is_the_correlation_of_the_mean_of_these_annotators(table):
    found, other = cronbach_alpha(table), intraclass_correlations(table)["ICC3k"]
    assert found.value == pytest.approx(other.value, nan_ok=True)
    assert found.interval == pytest.approx(other.interval, nan_ok=True)


@given(scores(), st.integers(0, 2**32))
def test_samples_of_sums_are_alphas_of_samples(table, seed):
    drawn = np.random.default_rng(seed).integers(0, len(table), (5, len(table)))
    sums = cronbach_sums(table)
    assert sums.shape == (table.shape[1] + 3, len(table))
    found = cronbach_of_sums(np.stack([sums[:, d].sum(1) for d in drawn], 1), table.shape[1])
    for value, sample in zip(found, drawn, strict=True):
        if varied(table[sample]):
            assert value == pytest.approx(by_definition(table[sample]))
        else:
            assert isnan(value)


def test_sums_of_nothing():
    assert cronbach_sums(np.zeros((0, 4))).shape == (7, 0)
    assert isnan(cronbach_of_sums(np.zeros((7, 1)), 4)[0])
    assert isnan(cronbach_of_sums(cronbach_sums(JUDGES[:, :1]).sum(1, keepdims=True), 1)[0])


def test_pairs_of_equal_scores_are_undefined():
    assert cronbach_alpha(np.array([[1, 2], [1, nan], [1, 2]]), "pairwise").status == NO_SPREAD


def test_pairs_that_contradict_each_other():
    """Each pair is opposite, which three annotators can only be on different units."""
    table = np.full((6, 3), nan)
    for row, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        table[2 * row, pair], table[2 * row + 1, pair] = (0, 9), (9, 0)
    found = cronbach_alpha(table, "pairwise")
    assert isnan(found.value)
    assert found.status == CONTRADICTION


def test_unknown_way_with_missing():
    with pytest.raises(ConfigError) as error:
        cronbach_alpha(JUDGES, "drop")
    assert str(error.value) == "missing is 'drop'; expected 'listwise' or 'pairwise'"


def test_scores_that_are_no_table():
    with pytest.raises(DatasetError) as error:
        cronbach_alpha(np.zeros(3))
    expected = "scores have 1 dimension; expected one row per unit and one column per annotator"
    assert str(error.value) == expected


def test_sums_need_complete_units():
    with pytest.raises(DatasetError) as error:
        cronbach_sums(np.array([[1, 2], [nan, 3]]))
    assert str(error.value) == (
        "scores: row 1, column 0: score is missing; expected a number\n"
        "Leave out units that not everybody rated."
    )
