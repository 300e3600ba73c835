"""Nominal alpha and what it is made of, against the definition by pairs of values."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import brute
from support.reference import WORKED

from bboxqa.agreement.alpha.nominal import (
    alpha_per_category,
    alpha_per_group,
    alpha_per_pair,
    nominal_alpha,
    pooled_alpha,
)
from bboxqa.agreement.counts.object_counts import count_pairs
from bboxqa.agreement.counts.unit_counts import (
    coincidence_matrix,
    coincidences,
    from_table,
    from_units,
)
from bboxqa.agreement.uncertainty.estimator import NO_PAIR, NO_VARIATION, OK, ONE_IMAGE
from bboxqa.model.units import Cell, Coincidences, UnitTable

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


def counted(values, asked=None, missing="category", n_values=K):
    values = np.array(values)
    asked = everyone(values) if asked is None else asked
    return coincidences(from_table(values, asked, n_values), missing)


def same(found, expected):
    assert np.isnan(found) if expected is None else found == pytest.approx(float(expected))


@pytest.mark.parametrize("example", WORKED["tables"], ids=lambda example: example["name"])
def test_worked_examples(example):
    values = np.array([[-1 if v is None else v for v in row] for row in example["rows"]])
    data = one_image(from_table(values, everyone(values), 9))
    alpha = pooled_alpha(coincidences(data, "category"))
    assert alpha.value == pytest.approx(example["alpha"], abs=5e-5)
    assert alpha_per_group(coincidences(data, "category")) == pytest.approx([alpha.value])


@pytest.mark.parametrize("name", [n for n, i in WORKED["images"].items() if i["matrix"]])
def test_matrices_of_the_images(name):
    image = WORKED["images"][name]
    annotators = ["Ann1", "Ann2", "Ann3"]
    values = np.full((3, len(image["recursive"])), -1)
    for unit, members in enumerate(image["recursive"]):
        for member in members:
            annotator, category, _ = image["annotations"][str(member)]
            values[annotators.index(annotator), unit] = category - 1
    n_values = len(image["categories"])
    found, matrix = coincidence_matrix(from_table(values, everyone(values), n_values), "category")
    names = ["missing" if v == n_values else str(v + 1) for v in found.tolist()]
    assert sorted(names) == sorted(image["matrix"]["values"])
    order = [names.index(value) for value in image["matrix"]["values"]]
    assert matrix[np.ix_(order, order)] == pytest.approx(np.array(image["matrix"]["matrix"]))
    alpha = pooled_alpha(coincidences(from_table(values, everyone(values), n_values), "category"))
    assert alpha.value == pytest.approx(image["alpha"], abs=5e-5)


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
    found, marginal = alpha_per_category(coincidences(from_table(*table, K), missing))
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


def test_many_cells_in_several_chunks(monkeypatch):
    from bboxqa.agreement.counts import object_counts

    rng = np.random.default_rng(1)
    data = from_table(rng.integers(-1, K, (5, 60)), rng.random((5, 60)) < 0.8, K)
    expected = alpha_per_pair(count_pairs(data, 5, "category"))
    monkeypatch.setattr(object_counts, "_PAIR_CHUNK", 7)
    for found, whole in zip(
        alpha_per_pair(count_pairs(data, 5, "category")), expected, strict=True
    ):
        assert np.array_equal(found, whole)


@given(tables(), modes, st.integers(0, 8))
def test_coincidences_of_shards_add_to_the_whole(table, missing, cut):
    whole = coincidences(from_table(*table, K), missing)
    parts = [
        coincidences(from_table(*(side[:, part] for side in table), K), missing)
        for part in (slice(0, cut), slice(cut, None))
    ]
    shift = min(cut, table[0].shape[1])
    joined = Coincidences(
        group=np.concatenate([parts[0].group, parts[1].group + shift]).astype(np.int32),
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("value", "marginal", "diagonal")
        },
        n_groups=whole.n_groups,
        n_values=whole.n_values,
    )
    for name in ("group", "value", "marginal", "diagonal"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
    same(pooled_alpha(joined).value, None if np.isnan(pooled_alpha(whole).value)
         else pooled_alpha(whole).value)  # fmt: skip


@given(tables(), modes, st.permutations(range(K)))
def test_relabelling_and_reordering_change_nothing(table, missing, names):
    values, asked = table
    renamed = np.array([*names, -1])[values]
    expected = pooled_alpha(coincidences(one_image(from_table(values, asked, K)), missing))
    for other in (
        from_table(renamed, asked, K),
        from_table(values[::-1], asked[::-1], K),
        from_table(values[:, ::-1], asked[:, ::-1], K),
        from_table(values, asked, K + 50),
    ):
        found = pooled_alpha(coincidences(one_image(other), missing))
        assert found.value == pytest.approx(expected.value, nan_ok=True)
        assert found.status == expected.status


def test_category_0_is_not_missing():
    with_zero = counted([[0, 1, 0], [0, 1, 1]])
    without = counted([[2, 1, 2], [2, 1, 1]])
    assert pooled_alpha(with_zero).value == pooled_alpha(without).value
    missed = counted([[0, 1, -1], [0, 1, 1]])
    assert pooled_alpha(missed).value != pooled_alpha(with_zero).value
    assert missed.value.tolist() == [0, 1, 1, 4]


def test_what_was_not_asked_adds_nothing():
    values, asked = np.array([[0, 1, 2], [0, 1, 1], [3, 3, 3]]), np.ones((3, 3), bool)
    asked[2] = False
    for missing in ("category", "ignore"):
        alone = counted(values[:2], missing=missing)
        found = counted(values, asked, missing)
        assert pooled_alpha(found) == pooled_alpha(alone)


def test_a_miss_counts_as_a_category_or_not_at_all():
    values = [[0, 1, 2, 3], [0, 1, 2, -1]]
    assert pooled_alpha(counted(values)).value < 1
    assert pooled_alpha(counted(values, missing="ignore")).value == 1


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_no_unit_can_be_compared(missing):
    values, asked = np.array([[0, -1], [-1, 1]]), np.array([[True, False], [False, True]])
    alpha = pooled_alpha(counted(values, asked, missing))
    assert np.isnan([alpha.value, alpha.observed, alpha.expected]).all()
    assert alpha.status == NO_PAIR == "undefined: no unit has two values to compare"
    assert np.isnan(alpha_per_group(counted(values, asked, missing))).all()
    assert np.isnan(alpha_per_category(counted(values, asked, missing))[0]).all()
    assert len(alpha_per_pair(count_pairs(from_table(values, asked, K), 2, missing))[0]) == 0


def test_no_units_at_all():
    alpha = pooled_alpha(counted(np.zeros((2, 0), int)))
    assert alpha.status == NO_PAIR


def test_one_value_in_several_images_says_nothing():
    alpha = pooled_alpha(counted([[1, 1, 1], [1, 1, 1]]))
    assert np.isnan(alpha.value)
    assert (alpha.observed, alpha.expected) == (0, 0)
    assert alpha.status == NO_VARIATION
    assert "undefined" in alpha.status
    assert alpha_per_group(counted([[1, 1, 1], [1, 1, 1]])).tolist() == [1, 1, 1]


def test_one_image_that_agrees_on_everything():
    data = one_image(from_table(np.array([[1, 1], [1, 1]]), np.ones((2, 2), bool), K))
    alpha = pooled_alpha(coincidences(data, "category"))
    assert (alpha.value, alpha.status) == (1, ONE_IMAGE)


def test_perfect_agreement_with_variation_is_one():
    alpha = pooled_alpha(counted([[0, 1], [0, 1]]))
    assert (alpha.value, alpha.observed, alpha.status) == (1, 0, OK)


def test_disagreement_as_bad_as_can_be():
    """Two values, two annotators who always differ: D_o is 1, D_e is n / 2 / (n − 1)."""
    values = [[0, 1] * 10, [1, 0] * 10]
    alpha = pooled_alpha(counted(values))
    assert alpha.observed == 1
    assert alpha.expected == pytest.approx(20 / 39)
    assert alpha.value == pytest.approx(1 - 39 / 20)


def test_no_coefficients():
    none = np.zeros(0)
    assert [part.shape for part in nominal_alpha(none, none, none)] == [(0,)] * 3


def test_units_and_assignments_become_cells():
    from support.datasets import annotations

    box = (0.0, 0.0, 1.0, 1.0)
    columns = annotations([(0, 0, 2, box), (0, 2, 1, box), (1, 1, 0, box)])
    units = UnitTable(unit=np.array([0, 0, 1]), image=np.array([0, 1], np.int32))
    assigned = np.array([[True, True, True], [False, True, True], [True, False, True]])
    data = from_units(columns, units, assigned, 3, np.array([2], np.int32))
    assert data.unit.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert data.annotator.tolist() == [0, 1, 2, 1, 2, 0, 2]
    drawn = data.state == Cell.CATEGORY
    assert drawn.tolist() == [True, False, True, True, False, False, False]
    assert data.value[drawn].tolist() == [2, 1, 0]
    assert data.group.tolist() == [0, 1, 2]
    assert (data.n_values, data.n_groups) == (3, 3)


def test_work_does_not_grow_with_categories():
    """Units × categories would be 2 · 10⁹ cells here."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 100_000, (2, 20_000))
    values[1, ::2] = values[0, ::2]
    sums = counted(values, n_values=100_000)
    assert len(sums.value) <= values.size
    assert pooled_alpha(sums).value == pytest.approx(0.5, abs=0.01)
