"""Krippendorff's alpha at every level of measurement, against the definition by pairs."""

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import brute_statistics as brute
from support.ratings import LEVELS, NUMBERS, at_total, reliability, replicates_of, tables, units_of

from bboxqa.agreement.levels import alpha
from bboxqa.agreement.resampling import jackknife, quantiles
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError

K = 4
levels = st.sampled_from(list(LEVELS))


def found(values, level, numbers=NUMBERS, **more):
    counts = unit_counts(reliability(values, len(numbers), **more))
    return alpha(counts, LEVELS[level], numbers)


def equal(left, right):
    """Whether two estimates say the same, the error and what is resampled included."""
    for name in ("value", "observed", "expected", "standard_error"):
        expected = getattr(right, name)
        assert getattr(left, name) == pytest.approx(expected, rel=1e-9, abs=1e-11, nan_ok=True)
    assert left.status == right.status


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-9, 1e9, 1e150, 1e307])
@settings(max_examples=20)
@given(values=tables(units=(4, 8)))
def test_big_and_tiny_values_have_the_interval_alpha_of_others(scale, values):
    plain, scaled = (found(values, "interval", numbers) for numbers in (NUMBERS, NUMBERS * scale))
    for name in ("value", "standard_error"):
        expected = pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-12, nan_ok=True)
        assert getattr(scaled, name) == expected
    assert scaled.status == plain.status
    assert at_total(scaled) == pytest.approx(plain.value, nan_ok=True) if plain.clusters.size else 1
    if 1e-100 < scale < 1e100:
        for name in ("observed", "expected"):
            expected = pytest.approx(getattr(plain, name) * scale**2, nan_ok=True)
            assert getattr(scaled, name) == expected


@pytest.mark.parametrize(
    ("level", "asked"), [("ratio", "level ratio"), (LEVELS["absolute"], "distance function")]
)
def test_too_many_different_values(level, asked):
    values = np.tile(np.arange(5001), (2, 1))
    numbers = np.arange(5001.0)
    counts = unit_counts(reliability(values, 5001))
    with pytest.raises(ConfigError, match=f"^{asked}: 5,001 different values are too many, since"):
        alpha(counts, level, numbers)
    for fine in ("ordinal", "interval", "nominal"):
        assert alpha(counts, fine, numbers).value == 1
    fewer = unit_counts(reliability(values[:, 1:] - 1, 5000))
    assert alpha(fewer, level, numbers[1:]).value == 1


@given(tables(), levels)
def test_by_definition(values, level):
    estimator = found(values, level)
    expected = brute.alpha(units_of(values), level, NUMBERS.tolist())
    if expected is None:
        assert estimator.status == "undefined: no unit has two values to compare"
        assert np.isnan([estimator.value, estimator.observed, estimator.expected]).all()
    elif expected[0] is None:
        assert np.isnan(estimator.value)
        assert estimator.status == (
            "undefined: only one value occurs, so no disagreement is possible"
        )
        assert (estimator.observed, estimator.expected) == (0, 0)
    else:
        parts = [estimator.value, estimator.observed, estimator.expected]
        assert parts == pytest.approx([float(part) for part in expected])
        assert estimator.status == "ok"
        assert at_total(estimator) == pytest.approx(estimator.value)
        assert estimator.value <= 1


@given(tables(), levels, st.integers(0, 2**32))
def test_weights_of_units_repeat_them(values, level, seed):
    weight = np.random.default_rng(seed).integers(1, 4, values.shape[1])
    groups = np.arange(values.shape[1])
    weighted = found(values, level, weight=weight)
    repeated = found(np.repeat(values, weight, axis=1), level, group=np.repeat(groups, weight))
    equal(weighted, repeated)
    assert jackknife(weighted) == pytest.approx(jackknife(repeated), nan_ok=True)


@given(tables(), levels, st.integers(0, K - 1), st.integers(0, 7))
def test_one_more_unit_with_one_rating_changes_nothing(values, level, value, place):
    single = np.full((len(values), 1), -1)
    single[-1] = value
    place = min(place, values.shape[1])
    more = np.hstack([values[:, :place], single, values[:, place:]])
    before, after = found(values, level), found(more, level)
    equal(after, before)
    assert len(before.clusters) == len(after.clusters)
    if not np.isnan(before.value):
        drawn = [quantiles(replicates_of(e, 50, 3)[None], 0.025, 0.975)[0] for e in (before, after)]
        assert drawn[1] == pytest.approx(drawn[0], nan_ok=True)


@given(tables(), st.sampled_from([np.exp, np.cbrt, lambda x: x**3 - 50]))
def test_monotone_maps_change_no_ordinal_alpha(values, change):
    equal(found(values, "ordinal", change(NUMBERS)), found(values, "ordinal"))
    counts = unit_counts(reliability(values))
    equal(alpha(counts, "ordinal"), found(values, "ordinal"))


@given(tables(units=(2, 7)), levels, st.integers(1, 6))
def test_shards_side_by_side_evaluate_to_the_whole(values, level, cut):
    """Ordinal ranks among them: they are taken after merging."""
    shards = [values[:, :cut], values[:, cut:]]
    whole = found(values, level)
    assume(not np.isnan(whole.value))
    sums = np.asarray(whole.sums)
    halves = [part.sum(1, keepdims=True) for part in (sums[:, :cut], sums[:, cut:])]
    assert whole.evaluate(halves[0] + halves[1])[0] == pytest.approx(whole.value)
    for half, shard in zip(halves, shards, strict=True):
        alone = found(shard, level).value
        assert whole.evaluate(half)[0] == pytest.approx(alone, rel=1e-9, abs=1e-9, nan_ok=True)


@given(tables(units=(2, 7)), levels)
def test_units_of_one_cluster_are_left_out_together(values, level):
    group = np.arange(values.shape[1]) // 2
    estimator = found(values, level, group=group)
    assume(not np.isnan(estimator.value))
    assert estimator.value == pytest.approx(found(values, level).value)
    without = [found(values[:, group != g], level).value for g in estimator.clusters]
    assert jackknife(estimator) == pytest.approx(without, rel=1e-9, abs=1e-9, nan_ok=True)


NO_DISTANCE = "distance function: expected a finite distance of 0 or more for each pair"


@pytest.mark.parametrize(
    ("level", "numbers", "said"),
    [
        ("cardinal", NUMBERS, "level is 'cardinal'; expected one of nominal, ordinal, interval, "),
        ("interval", None, "level interval: some values are not numbers; expected numbers only"),
        ("ratio", NUMBERS - 1, "level ratio: a value is -1; expected 0 or more; for values around"),
        (lambda a, b: (a - b).sum(), NUMBERS, "distance function returned shape (); expected"),
        (lambda a, b: np.where(a == b, 0, -1), NUMBERS, NO_DISTANCE),
        (lambda a, b: np.where(a == b, 0, np.inf), NUMBERS, NO_DISTANCE),
        (lambda a, b: np.ones_like(a - b), NUMBERS, NO_DISTANCE),
        (lambda a, b: np.maximum(a - b, 0), NUMBERS, NO_DISTANCE),
    ],
)
def test_wrong_levels(level, numbers, said):
    counts = unit_counts(reliability([[0, 1], [0, 2]]))
    with pytest.raises(ConfigError, match=f"^{re.escape(said)}"):
        alpha(counts, level, numbers)


def test_krippendorff_agrees():
    """The package of that name, with its level given: by default it takes interval."""
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(5)
    numbers = NUMBERS + 1
    for _ in range(20):
        values = rng.integers(-1, K, (3, 12))
        table = np.where(values < 0, np.nan, numbers[values])
        for level in ("nominal", "ordinal", "interval", "ratio"):
            expected = krippendorff.alpha(table, level_of_measurement=level)
            assert found(values, level, numbers).value == pytest.approx(expected)
