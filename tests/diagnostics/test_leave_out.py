"""Alpha without a unit, an annotator or a value, against counting the rest again."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import brute
from support import brute_statistics as definition
from support.ratings import LEVELS, NUMBERS, reliability, tables, units_of

from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics import answers
from bboxqa.diagnostics.answers import (
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
)

K = 4
levels = st.sampled_from(list(LEVELS))


def same(found, expected):
    expected = [np.nan if value is None else float(value) for value in expected]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def counted_again(units, level, numbers=NUMBERS):
    """Return alpha by its definition, None where it is undefined."""
    found = definition.alpha(units, level, numbers)
    return found and found[0]


@given(tables(units=(1, 8)), levels)
def test_without_a_unit(values, level):
    units = units_of(values)
    rest = [units[:place] + units[place + 1 :] for place in range(len(units))]
    expected = [counted_again(units, level) for units in rest]
    same(alpha_without_units(unit_counts(reliability(values)), LEVELS[level], NUMBERS), expected)


@given(tables(annotators=(2, 5), units=(1, 8)), levels)
def test_without_an_annotator(values, level):
    rest = [units_of(np.delete(values, row, axis=0)) for row in range(len(values))]
    expected = [counted_again(units, level) for units in rest]
    data = reliability(values)
    same(alpha_without_annotators(data, len(values), LEVELS[level], NUMBERS), expected)


def distance(level, c, k, marginal, numbers):
    """Return the distance of two values that occur as often as `marginal` says."""
    if level == "ordinal":
        low, high = min(c, k), max(c, k)
        return (sum(marginal[low : high + 1]) - (marginal[low] + marginal[high]) / 2) ** 2
    return definition.DISTANCES[level](c, k, None, numbers)


def without_value(units, value, level, numbers=NUMBERS):
    """Return alpha of the coincidence matrix without the row and column of a value."""
    matrix = brute.matrix(units)
    rest = {pair: amount for pair, amount in matrix.items() if value not in pair}
    n, codes = sum(rest.values()), range(len(numbers))
    marginal = [sum(x for (a, _), x in rest.items() if a == code) for code in codes]
    apart = {
        (c, k): distance(level, c, k, marginal, numbers) if c != k else 0
        for c in codes
        for k in codes
    }
    chance = sum(marginal[c] * marginal[k] * far for (c, k), far in apart.items())
    unlike = sum(amount * apart[pair] for pair, amount in rest.items())
    # Of one value or less, nothing is expected: D_e would be divided by n − 1.
    return 1 - (n - 1) * unlike / chance if chance and n > 1 else None


@given(tables(annotators=(2, 5), units=(1, 8)), levels)
@example(np.array([[0], [1], [2]]), "nominal")
def test_without_a_value(values, level):
    units = units_of(values)
    expected = [without_value(units, value, level) for value in range(K)]
    same(alpha_without_values(unit_counts(reliability(values)), LEVELS[level], NUMBERS), expected)


@pytest.mark.parametrize("n_annotators", [2, 3, 4])
def test_without_a_value_of_many(n_annotators):
    random = np.random.default_rng(n_annotators)
    # One value is nearly all; some occur once.
    values = np.minimum(random.geometric(0.3, (n_annotators, 300)) - 1, 9)
    values[:, 100:] = 0
    units = units_of(values)
    expected = [without_value(units, value, "nominal", range(10)) for value in range(10)]
    same(alpha_without_values(unit_counts(reliability(values, n_values=10))), expected)


@pytest.mark.parametrize("level", list(LEVELS))
def test_chunks_change_nothing(level, monkeypatch):
    counts = unit_counts(reliability(np.random.default_rng(1).integers(-1, K, (5, 40))))
    whole = alpha_without_units(counts, LEVELS[level], NUMBERS)
    monkeypatch.setattr(answers, "_CHUNK", 1)
    assert alpha_without_units(counts, LEVELS[level], NUMBERS) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_texts_have_no_distance(level):
    counts = unit_counts(reliability([[0, 1], [0, 2]]))
    for found in (alpha_without_units, alpha_without_values):
        with pytest.raises(ConfigError) as error:
            found(counts, level)
        assert str(error.value) == (
            f"level {level}: some values are not numbers; expected numbers only"
        )


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
