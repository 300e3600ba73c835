"""Nominal alpha as an estimator, and intervals by resampling images."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import brute
from support.ratings import reliability

from bboxqa.agreement.alpha import nominal as module
from bboxqa.agreement.alpha.nominal import (
    alpha_per_category,
    alpha_per_group,
    image_estimators,
    nominal_estimator,
    pooled_alpha,
)
from bboxqa.agreement.counts.unit_counts import (
    coincidences,
    coincidences_of,
    from_table,
    unit_counts,
)
from bboxqa.agreement.uncertainty import resampling
from bboxqa.agreement.uncertainty.estimator import SumTable
from bboxqa.agreement.uncertainty.resampling import quantiles, replicates_of_all

K = 3
N_IMAGES = 30


def table(seed, agreement=0.8):
    """Return the answers of 3 annotators about one unit in each image."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, N_IMAGES)
    noise = rng.integers(-1, K, (3, N_IMAGES))
    return np.where(rng.random((3, N_IMAGES)) < agreement, truth, noise)


def counted(values):
    return coincidences(from_table(values, np.ones(values.shape, bool), K), "category")


def intervals(data, images, replicates=200, seed=0):
    """Return the intervals at each threshold, by kind."""
    values = np.unique(np.concatenate([found.value for found in data]))
    estimators = image_estimators(data, [alpha_per_group(d) for d in data], images, values)
    found = replicates_of_all(estimators, replicates, seed)
    bounds = {key: quantiles(np.atleast_2d(drawn), 0.025, 0.975) for key, drawn in found.items()}
    return [
        SimpleNamespace(
            pooled=bounds[index, "pooled"][0],
            mean=bounds[index, "mean"][0],
            categories=dict(
                zip(values.tolist(), bounds[index, "categories"].tolist(), strict=True)
            ),
        )
        for index in range(len(data))
    ]


def run(*tables, replicates=200, seed=0):
    return intervals([counted(values) for values in tables], np.arange(N_IMAGES), replicates, seed)


def equal(a, b, tolerance=0.0):
    for name in ("pooled", "mean"):
        expected = pytest.approx(getattr(b, name), abs=tolerance, rel=0, nan_ok=True)
        assert getattr(a, name) == expected
    for value, interval in b.categories.items():
        assert a.categories[value] == pytest.approx(interval, abs=tolerance, rel=0, nan_ok=True)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_percentiles_are_those_of_numpy(values, level):
    shares = (1 - level) / 2, (1 + level) / 2
    expected = np.quantile(values, shares)
    assert quantiles(np.array([values]), *shares)[0] == pytest.approx(expected, abs=1e-12)


def test_undefined_replicates():
    values = np.arange(100.0)
    few, many = values.copy(), values.copy()
    few[:5], many[:6] = np.nan, np.nan
    found = quantiles(np.array([values, few, many, np.full(100, np.nan)]), 0.025, 0.975)
    assert found[1] == pytest.approx(np.quantile(few[5:], [0.025, 0.975]))
    assert not np.isnan(found[0]).any()
    assert np.isnan(found[2:]).all()


def test_no_coefficients():
    assert quantiles(np.zeros((0, 10)), 0.025, 0.975).shape == (0, 2)


def test_same_seed_same_intervals():
    equal(run(table(1))[0], run(table(1))[0])
    assert not np.array_equal(run(table(1), seed=1)[0].pooled, run(table(1), seed=2)[0].pooled)


def test_several_thresholds_are_as_each_alone():
    values = [table(1, 0.9), table(2, 0.7), table(3, 0.4)]
    together = run(*values)
    for part, alone in zip(together, values, strict=True):
        equal(part, run(alone)[0], tolerance=1e-12)


@pytest.mark.parametrize("chunk", [1, 64, 1000])
def test_any_size_of_chunk(chunk, monkeypatch):
    monkeypatch.setattr(resampling, "_CHUNK", chunk)
    low, high = run(table(1), replicates=400)[0].pooled
    assert low < pooled_alpha(counted(table(1))).value < high


def test_as_drawing_images_one_by_one():
    """Replay the draws: build the table that each replicate stands for, and measure it."""
    values, replicates = table(4, 0.7), 60
    (found,) = run(values, replicates=replicates)
    weights = np.concatenate(list(resampling.drawn_weights(N_IMAGES, replicates, seed=0)), axis=1)
    assert weights.shape == (N_IMAGES, replicates)
    assert (weights.sum(0) == N_IMAGES).all()
    pooled, mean, categories = [], [], []
    per_image = alpha_per_group(counted(values))
    for column in weights.T.astype(int):
        images = np.repeat(np.arange(N_IMAGES), column)
        units = brute.unit_values(values[:, images], np.ones((3, len(images)), bool), "category")
        pooled.append(float(brute.alpha(units)))
        mean.append(per_image[images].mean())
        categories.append(
            [float(brute.alpha([[v == c for v in u] for u in units])) for c in range(K)]
        )
    limits = [0.025, 0.975]
    assert found.pooled == pytest.approx(np.quantile(pooled, limits))
    assert found.mean == pytest.approx(np.quantile(mean, limits))
    for value, expected in enumerate(np.quantile(categories, limits, axis=0).T):
        assert found.categories[value] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_the_estimate(seed):
    values = table(seed, 0.75)
    data = counted(values)
    (found,) = run(values, replicates=500, seed=seed)
    assert found.pooled[0] < pooled_alpha(data).value < found.pooled[1]
    assert found.mean[0] < alpha_per_group(data).mean() < found.mean[1]
    for value, alpha in enumerate(alpha_per_category(data)[0][:K]):
        assert found.categories[value][0] < alpha < found.categories[value][1]


def test_more_images_give_narrower_intervals():
    values = table(1)
    many = np.tile(values, (1, 9))
    data = counted(many)
    wide = run(values, replicates=500)[0].pooled
    narrow = intervals([data], np.arange(9 * N_IMAGES), 500)
    ratio = np.diff(wide) / np.diff(narrow[0].pooled)
    assert 2 < ratio.item() < 4.5


def test_only_the_given_images_are_drawn():
    values = table(1)
    clusters = np.arange(N_IMAGES) < 20
    data = counted(values[:, clusters])
    expected = intervals([data], np.arange(20))
    empty = values.copy()
    data = coincidences(from_table(empty, np.tile(clusters, (3, 1)), K), "category")
    found = intervals([data], np.flatnonzero(clusters))
    equal(found[0], expected[0], tolerance=1e-12)


def test_perfect_agreement_has_no_width():
    values = np.tile(np.arange(N_IMAGES) % K, (3, 1))
    (found,) = run(values)
    assert found.pooled.tolist() == [1, 1]
    assert found.mean.tolist() == [1, 1]


def test_one_value_has_no_interval_but_a_mean():
    (found,) = run(np.zeros((2, N_IMAGES), int))
    assert np.isnan(found.pooled).all()
    assert np.isnan(found.categories[0]).all()
    assert found.mean.tolist() == [1, 1]


def test_a_category_in_one_image_only_has_no_interval():
    values = np.tile(np.arange(N_IMAGES) % 2, (2, 1))
    values[:, 0] = 2
    (found,) = run(values)
    assert np.isnan(found.categories[2]).all()
    assert not np.isnan([found.categories[0], found.categories[1]]).any()


def test_each_distinct_table_is_multiplied_once_per_chunk(monkeypatch):
    multiplied = []
    product = SumTable.product
    monkeypatch.setattr(
        SumTable, "product", lambda *args: multiplied.append(args[0]) or product(*args)
    )
    run(table(1), table(2), replicates=100)
    # Of each threshold the table of alpha and categories, and that of the mean.
    assert len(multiplied) == len(set(multiplied)) == 4


def test_sparse_tables_give_the_same(monkeypatch):
    tables = table(1, 0.9), table(2, 0.7), table(3, 0.4)
    dense = run(*tables)
    monkeypatch.setattr(module, "_DENSE", 0)
    for sparse, expected in zip(run(*tables), dense, strict=True):
        equal(sparse, expected, tolerance=1e-12)


@given(st.integers(0, 1000), st.integers(1, 8))
def test_standard_error_of_images_is_that_of_their_units(seed, n_images):
    """The influence of units, added up by image as the formula says, one unit at a time."""
    rng = np.random.default_rng(seed)
    values = np.where(
        rng.random((3, 12)) < 0.5, rng.integers(0, K, 12), rng.integers(0, K, (3, 12))
    )
    image = rng.integers(0, n_images, 12)
    data = reliability(values, K, group=image)
    found = nominal_estimator(coincidences_of(unit_counts(data)))
    if np.isnan(found.value):
        return
    share = np.bincount(values.ravel(), minlength=K) / values.size
    chance, total = 1 - share @ share, values.size
    influence = np.zeros(image.max() + 1)
    for place, unit in zip(image, values.T, strict=True):
        unlike = sum(a != b for a in unit for b in unit) / 2
        drift = (1 - share[unit]).sum() - 3 * chance
        influence[place] -= unlike - 3 * found.observed
        influence[place] += 2 * found.observed / chance * drift
    n = len(np.unique(image))
    expected = np.sqrt((influence**2).sum() * n / (n - 1)) / (total * chance) if n > 1 else np.nan
    assert found.standard_error == pytest.approx(expected, abs=1e-12, nan_ok=True)
