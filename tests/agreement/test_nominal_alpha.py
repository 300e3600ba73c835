"""Nominal alpha, its parts, errors and intervals, against the definition by pairs of values."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support import brute
from support.ratings import reliability
from support.reference import WORKED

from bboxqa.agreement import nominal as module
from bboxqa.agreement import resampling
from bboxqa.agreement.estimators import NO_PAIR, OK, ONE_IMAGE
from bboxqa.agreement.nominal import (
    alpha_per_category,
    alpha_per_group,
    alpha_per_pair,
    image_estimators,
    nominal_estimator,
    pooled_alpha,
)
from bboxqa.agreement.object_counts import count_pairs
from bboxqa.agreement.resampling import quantiles, replicates_of_all
from bboxqa.agreement.unit_counts import (
    coincidence_matrix,
    coincidences,
    coincidences_of,
    from_table,
    unit_counts,
)

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
    found, marginal, _ = alpha_per_category(coincidences(from_table(*table, K), missing))
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


N_VALUES = 3
N_IMAGES = 30


def table(seed, agreement=0.8):
    """Return the answers of 3 annotators about one unit in each image."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_VALUES, N_IMAGES)
    noise = rng.integers(-1, N_VALUES, (3, N_IMAGES))
    return np.where(rng.random((3, N_IMAGES)) < agreement, truth, noise)


def counted(values):
    return coincidences(from_table(values, np.ones(values.shape, bool), N_VALUES), "category")


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
    weights = np.concatenate(list(resampling.drawn_counts(N_IMAGES, replicates, seed=0)), axis=1)
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
            [float(brute.alpha([[v == c for v in u] for u in units])) for c in range(N_VALUES)]
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
        rng.random((3, 12)) < 0.5, rng.integers(0, N_VALUES, 12), rng.integers(0, N_VALUES, (3, 12))
    )
    image = rng.integers(0, n_images, 12)
    data = reliability(values, N_VALUES, group=image)
    found = nominal_estimator(coincidences_of(unit_counts(data)))
    if np.isnan(found.value):
        return
    share = np.bincount(values.ravel(), minlength=N_VALUES) / values.size
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
