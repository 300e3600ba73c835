"""Coefficients of tables of codes, and of cross tables, against definitions and ratings."""

import tracemalloc
from math import isnan

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.ratings import reliability, tables

from bboxqa.agreement.code_tables import (
    NO_INTERVAL,
    alpha_of_codes,
    independence,
    kappa_of_codes,
)
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.pair_kappas import cohen_pairs
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError, DatasetError

K = 4
DTYPES = [np.int8, np.int16, np.int32, np.int64]


def check(codes, n_values=K):
    data = reliability(codes, n_values)
    expected, found = alpha(unit_counts(data)), alpha_of_codes(codes, n_values)
    for name in ("value", "observed", "expected"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True)
    assert found.status == expected.status
    pairs = cohen_pairs(data, len(codes)).table
    table = kappa_of_codes(codes, n_values)
    for name in ("first", "second", "n_shared"):
        assert getattr(table, name).tolist() == getattr(pairs, name).tolist()
        assert getattr(table, name).dtype == getattr(pairs, name).dtype
    for name in ("observed", "expected", "kappa"):
        assert getattr(table, name) == pytest.approx(getattr(pairs, name))


@given(tables(annotators=(2, 5), units=(1, 12)), st.sampled_from(DTYPES))
def test_any_table(values, dtype):
    check(values.astype(dtype))


@given(
    tables(units=(1, 12), missing=False),
    st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64]),
)
def test_codes_without_a_sign(values, dtype):
    check(values.astype(dtype))


def test_memory_is_that_of_the_table_however_many_annotators():
    codes = np.random.default_rng(0).integers(-1, 2, (400, 12)).astype(np.int32)
    alpha_of_codes(codes[:2], 2)
    tracemalloc.start()
    found = alpha_of_codes(codes, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert found.value == pytest.approx(alpha(unit_counts(reliability(codes, 2))).value)


@pytest.mark.parametrize("measure", [alpha_of_codes, kappa_of_codes])
@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (np.zeros(3, int), r"codes has shape \(3,\) of int64; expected annotators x units"),
        (np.zeros((2, 2)), r"codes has shape \(2, 2\) of float64; expected annotators x units"),
        (np.array([[0, 4], [0, 1]]), r"a code is 4; expected -1 \(missing\) to 3"),
    ],
)
def test_wrong_codes(measure, codes, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        measure(codes, K)


QUESTION = np.array([[5000, 2500], [3000, 1580]])
OPPOSITE = np.array([[0, 50], [50, 0]])


@st.composite
def cross_tables(draw):
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    cells = draw(st.lists(st.integers(0, 30), min_size=rows * columns, max_size=rows * columns))
    table = np.reshape(cells, (rows, columns))
    assume((table.sum(0) > 0).all() and (table.sum(1) > 0).all())
    return table


@given(cross_tables(), st.booleans())
def test_by_definition(table, correction):
    test = independence(table, correction=correction)
    n, (rows, columns) = table.sum(), table.shape
    plain = corrected = 0
    for r in range(rows):
        for c in range(columns):
            expected = table[r].sum() * table[:, c].sum() / n
            assert test.expected[r, c] == pytest.approx(expected)
            away = abs(table[r, c] - expected)
            plain += away**2 / expected
            corrected += (away - min(0.5, away)) ** 2 / expected
    two_by_two = (rows, columns) == (2, 2)
    statistic = corrected if correction and two_by_two else plain
    assert test.statistic == pytest.approx(statistic, abs=1e-9)
    assert test.cramers_v == pytest.approx((plain / n / (min(rows, columns) - 1)) ** 0.5, abs=1e-9)
    assert test.degrees_of_freedom == (rows - 1) * (columns - 1)
    assert 0 <= test.p_value <= 1
    assert 0 <= test.cramers_v <= 1


@example(np.array([[1, 1], [1, 1000]]), 0)
@example(np.array([[1, 1, 0], [0, 28, 0]]), 0)
@example(np.array([[3, 191], [2, 4]]), 0)
@example(np.array([[0, 2, 4], [9, 0, 0], [0, 0, 6], [0, 1, 2]]), 0)
@given(cross_tables(), st.integers(0, 2**32))
def test_interval_lies_on_the_scale_whatever_the_order(table, seed):
    rng = np.random.default_rng(seed)
    test = independence(table)
    low, high = test.interval
    shuffled = table[rng.permutation(len(table))][:, rng.permutation(table.shape[1])]
    for other in (independence(shuffled), independence(table.T)):
        assert other.interval == pytest.approx(test.interval, abs=1e-6, nan_ok=True)
    if isnan(low):
        assert test.cramers_v == pytest.approx(1) or NO_INTERVAL in test.notes
    else:
        assert 0 <= low <= high <= 1
        # The mean of chi-square under independence is not taken for an association.
        smaller = min(table.shape) - 1
        below = smaller * test.cramers_v**2 - test.degrees_of_freedom / table.sum()
        assert smaller * low**2 <= max(0, below) + 1e-6


def test_interval_of_weak_association_is_that_of_the_noncentral_distribution():
    stats = pytest.importorskip("scipy.stats")
    test = independence(np.array([[31, 19], [19, 31]]), correction=False)
    n, statistic = 100, test.statistic
    low, high = (n * bound**2 for bound in test.interval)
    assert stats.ncx2.cdf(statistic, 1, high) == pytest.approx(0.025, abs=1e-6)
    assert stats.ncx2.cdf(statistic, 1, low) == pytest.approx(0.975, abs=1e-6)


def test_perfect_association_has_no_interval():
    test = independence(OPPOSITE)
    assert np.isnan(test.interval).all()
    assert NO_INTERVAL in test.notes


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: independence(np.array([[1, 2], [3, -1]])), "row 1, column 1: count is -1;"),
        (lambda: independence(np.array([[1, 2], [3, 0.5]])), "row 1, column 1: count is 0.5;"),
        (lambda: independence(np.array([1, 2])), "cross table has 1 dimension; expected rows"),
    ],
)
def test_tables_that_are_refused(refused, message):
    with pytest.raises(DatasetError, match=message):
        refused()
