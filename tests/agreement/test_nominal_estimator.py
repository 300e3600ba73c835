"""Nominal alpha as an estimator, and intervals by resampling images."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import brute
from support.ratings import reliability

from bboxqa.agreement import nominal as module
from bboxqa.agreement import resampling
from bboxqa.agreement.nominal import alpha_per_group, image_estimators, nominal_estimator
from bboxqa.agreement.resampling import quantiles, replicates_of_all
from bboxqa.agreement.unit_counts import (
    coincidences,
    coincidences_of,
    from_table,
    unit_counts,
)

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
