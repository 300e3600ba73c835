"""The chi-square test and Cramér's V, against their definitions and published tables."""

from math import isnan

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bboxqa.agreement.code_tables import NO_INTERVAL, cross_table, independence
from bboxqa.core.errors import DatasetError

QUESTION = np.array([[5000, 2500], [3000, 1580]])
OPPOSITE = np.array([[0, 50], [50, 0]])


@st.composite
def tables(draw):
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    cells = draw(st.lists(st.integers(0, 30), min_size=rows * columns, max_size=rows * columns))
    table = np.reshape(cells, (rows, columns))
    assume((table.sum(0) > 0).all() and (table.sum(1) > 0).all())
    return table


def test_sentence_says_the_risk():
    sentence = independence(QUESTION).sentence
    assert "would come about in 19.6 % of samples" in sentence
    assert "the risk of being wrong" in sentence
    assert "(p = 0.196)" in sentence
    assert (
        "0.012 strong on a scale from 0 to 1 (Cramér's V; 95 % interval 0.000 to 0.030)" in sentence
    )
    assert "in less than 0.01 % of samples" in independence(OPPOSITE).sentence
    undefined = "The test of independence is undefined: "
    assert independence(np.zeros((2, 2))).sentence.startswith(undefined)


@given(tables(), st.booleans())
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
@given(tables(), st.integers(0, 2**32))
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
    assert "Cramér's V)" in test.sentence


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=20))
def test_cross_table_counts(pairs):
    codes = np.array(pairs, np.int32).reshape(-1, 2)
    table = cross_table(codes[:, 0], codes[:, 1], (3, 4))
    assert table.shape == (3, 4)
    assert table.dtype == np.int64
    for r in range(3):
        for c in range(4):
            assert table[r, c] == pairs.count((r, c))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: independence(np.array([[1, 2], [3, -1]])), "row 1, column 1: count is -1;"),
        (lambda: independence(np.array([[1, 2], [3, 0.5]])), "row 1, column 1: count is 0.5;"),
        (lambda: independence(np.array([1, 2])), "cross table has 1 dimension; expected rows"),
        (lambda: cross_table(np.array([3]), np.array([0]), (2, 2)), "record 0: first code is 3;"),
        (lambda: cross_table(np.zeros(2), np.zeros(1), (2, 2)), "lengths of the features"),
    ],
)
def test_tables_that_are_refused(refused, message):
    with pytest.raises(DatasetError, match=message):
        refused()
