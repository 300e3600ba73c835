"""Cronbach's alpha and intraclass correlations, against definitions and published values."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bboxqa.agreement.consistency import (
    CONTRADICTION,
    FORMS,
    NO_SPREAD,
    TOO_FEW,
    cronbach_alpha,
    cronbach_of_sums,
    cronbach_sums,
    intraclass_correlations,
)
from bboxqa.agreement.estimators import OK
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


VALUES = {
    "ICC1": 0.1657417684054755, "ICC2": 0.28976377952755916, "ICC3": 0.7148407148407154,
    "ICC1k": 0.44279713367926876, "ICC2k": 0.6200505475989893, "ICC3k": 0.9093155423770697,
}  # fmt: skip
# As the documentation of R's psych prints them for these judges.
BOUNDS = {
    "ICC1": (-0.133, 0.72), "ICC2": (0.019, 0.76), "ICC3": (0.342, 0.95),
    "ICC1k": (-0.884, 0.91), "ICC2k": (0.071, 0.93), "ICC3k": (0.676, 0.99),
}  # fmt: skip


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


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda: cronbach_alpha(JUDGES, "drop"), "missing is 'drop'; expected 'listwise' or"),
        (lambda: cronbach_alpha(np.zeros(3)), "scores have shape .* expected one row per unit"),
        (
            lambda: intraclass_correlations(np.array([[-np.inf, 1], [2, 3]])),
            "row 0, column 0: score is -inf; expected a finite",
        ),
    ],
)
def test_scores_that_are_refused(measure, said):
    with pytest.raises((ConfigError, DatasetError), match=said):
        measure()


# Intraclass correlations.


def by_hand(table):
    """Return the six correlations from sums over cells."""
    n, k = table.shape
    grand = table.mean()
    between = sum(k * (row.mean() - grand) ** 2 for row in table) / (n - 1)
    within = sum((x - row.mean()) ** 2 for row in table for x in row) / (n * (k - 1))
    annotators = sum(n * (column.mean() - grand) ** 2 for column in table.T) / (k - 1)
    error = sum(
        (table[i, j] - table[i].mean() - table[:, j].mean() + grand) ** 2
        for i in range(n)
        for j in range(k)
    ) / ((n - 1) * (k - 1))
    parts = {
        "ICC1": (between - within, between + (k - 1) * within),
        "ICC2": (between - error, between + (k - 1) * error + k * (annotators - error) / n),
        "ICC3": (between - error, between + (k - 1) * error),
        "ICC1k": (between - within, between),
        "ICC2k": (between - error, between + (annotators - error) / n),
        "ICC3k": (between - error, between),
    }
    return {name: above / below if below > 1e-9 else nan for name, (above, below) in parts.items()}


def test_published_intraclass_correlations():
    found = intraclass_correlations(JUDGES)
    assert list(found) == list(FORMS) == list(VALUES)
    for name, estimate in found.items():
        assert estimate.value == pytest.approx(VALUES[name], abs=1e-9)
        assert estimate.interval[0] == pytest.approx(BOUNDS[name][0], abs=5e-4)
        assert estimate.interval[1] == pytest.approx(BOUNDS[name][1], abs=5e-3)
        assert estimate.status == OK


@given(scores())
def test_values_by_hand(table):
    found = intraclass_correlations(table)
    for name, expected in by_hand(table).items():
        assert found[name].value == pytest.approx(expected, nan_ok=True, abs=1e-9)
        assert found[name].status == (NO_SPREAD if isnan(expected) else OK)
        low, high = found[name].interval
        assert isnan(low) or isnan(high) or low <= found[name].value + 1e-9
        assert isnan(high) or found[name].value <= high + 1e-9
        assert isnan(expected) or expected <= 1 + 1e-12


@given(scores(), st.lists(st.integers(-50, 50), min_size=4))
def test_shifted_annotators_change_only_what_counts_their_differences(table, shifts):
    assume(np.ptp(table.sum(1)) > 0)
    found = intraclass_correlations(table)
    other = intraclass_correlations(table + shifts[: table.shape[1]])
    for name in ("ICC3", "ICC3k"):
        assert other[name].value == pytest.approx(found[name].value)
        assert other[name].interval == pytest.approx(found[name].interval)


@given(scores())
def test_bounds_of_a_mean_follow_from_those_of_one_rating(table):
    """The Spearman-Brown formula, wherever both are defined."""
    k = table.shape[1]
    found = intraclass_correlations(table)
    for name in ("ICC1", "ICC2", "ICC3"):
        one, mean = found[name], found[name + "k"]
        pairs = zip((one.value, *one.interval), (mean.value, *mean.interval), strict=True)
        for single, average in pairs:
            # At -1 / (k - 1) the mean has no finite value, and near it none that rounding leaves.
            if not isnan(single + average) and abs(1 + (k - 1) * single) > 1e-9:
                assert average * (1 + (k - 1) * single) == pytest.approx(k * single, abs=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 0), (3, 1)])
def test_too_few(shape):
    found = intraclass_correlations(np.ones(shape))
    assert list(found) == list(FORMS)
    assert all(isnan(one.value) and one.status == TOO_FEW for one in found.values())
