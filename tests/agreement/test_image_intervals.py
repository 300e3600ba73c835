"""Intervals by resampling images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brute

from bboxqa.agreement.alpha.image_intervals import bootstrap
from bboxqa.agreement.alpha.nominal import alpha_per_category, alpha_per_group, pooled_alpha
from bboxqa.agreement.counts.coincidences import coincidences
from bboxqa.agreement.counts.reliability_rows import from_table
from bboxqa.agreement.uncertainty import resampling
from bboxqa.agreement.uncertainty.resampling import percentile_interval

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


def run(*tables, replicates=200, seed=0, clusters=None):
    data = [counted(values) for values in tables]
    clusters = np.ones(N_IMAGES, bool) if clusters is None else clusters
    return bootstrap(data, [alpha_per_group(d) for d in data], clusters, replicates, seed)


def equal(a, b, tolerance=0.0):
    for name in ("pooled", "mean", "categories"):
        expected = pytest.approx(getattr(b, name), abs=tolerance, rel=0, nan_ok=True)
        assert getattr(a, name) == expected


@settings(max_examples=60)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_percentiles_are_those_of_numpy(values, level):
    expected = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    assert percentile_interval(np.array([values]), level)[0] == pytest.approx(expected, abs=1e-12)


def test_undefined_replicates():
    values = np.arange(100.0)
    few, many = values.copy(), values.copy()
    few[:5], many[:6] = np.nan, np.nan
    found = percentile_interval(np.array([values, few, many, np.full(100, np.nan)]))
    assert found[1] == pytest.approx(np.quantile(few[5:], [0.025, 0.975]))
    assert not np.isnan(found[0]).any()
    assert np.isnan(found[2:]).all()


def test_no_coefficients():
    assert percentile_interval(np.zeros((0, 10))).shape == (0, 2)


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
    assert found.categories[:K] == pytest.approx(np.quantile(categories, limits, axis=0).T)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_the_estimate(seed):
    values = table(seed, 0.75)
    data = counted(values)
    (found,) = run(values, replicates=500, seed=seed)
    assert found.pooled[0] < pooled_alpha(data).value < found.pooled[1]
    assert found.mean[0] < alpha_per_group(data).mean() < found.mean[1]
    for (low, high), alpha in zip(found.categories[:K], alpha_per_category(data)[0], strict=False):
        assert low < alpha < high


def test_more_images_give_narrower_intervals():
    values = table(1)
    many = np.tile(values, (1, 9))
    data = counted(many)
    wide = run(values, replicates=500)[0].pooled
    narrow = bootstrap([data], [alpha_per_group(data)], np.ones(9 * N_IMAGES, bool), 500, 0)
    ratio = np.diff(wide) / np.diff(narrow[0].pooled)
    assert 2 < ratio.item() < 4.5


def test_only_the_given_images_are_drawn():
    values = table(1)
    clusters = np.arange(N_IMAGES) < 20
    data = counted(values[:, clusters])
    expected = bootstrap([data], [alpha_per_group(data)], np.ones(20, bool), 100, 0)
    empty = values.copy()
    data = coincidences(from_table(empty, np.tile(clusters, (3, 1)), K), "category")
    found = bootstrap([data], [alpha_per_group(data)], clusters, 100, 0)
    equal(found[0], expected[0], tolerance=1e-12)


def test_perfect_agreement_has_no_width():
    values = np.tile(np.arange(N_IMAGES) % K, (3, 1))
    (found,) = run(values)
    assert found.pooled.tolist() == [1, 1]
    assert found.mean.tolist() == [1, 1]


def test_one_value_has_no_interval_but_a_mean():
    (found,) = run(np.zeros((2, N_IMAGES), int))
    assert np.isnan(found.pooled).all()
    assert np.isnan(found.categories).all()
    assert found.mean.tolist() == [1, 1]


def test_a_category_in_one_image_only_has_no_interval():
    values = np.tile(np.arange(N_IMAGES) % 2, (2, 1))
    values[:, 0] = 2
    (found,) = run(values)
    assert np.isnan(found.categories[2]).all()
    assert not np.isnan(found.categories[:2]).any()


def test_progress_ends_with_everything():
    told = []
    data = counted(table(1))
    bootstrap(
        [data], [alpha_per_group(data)], np.ones(N_IMAGES, bool), 250, 0,
        lambda *step: told.append(step),
    )  # fmt: skip
    assert told[-1] == (250, 250)
