"""Difficulty of categories, against counting object by object."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from support.matched import matched, objects_of, random_data

from bboxqa.agreement.nominal import alpha_per_category, pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import difficulty


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_shares_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    of = units.data.annotations.category
    drew, asked_others, same = Counter(), Counter(), Counter()
    for _, asked, drawn in objects_of(units):
        for who, row in drawn.items():
            category = int(of[row])
            asked_others[category] += len(asked) - 1
            drew[category] += len(drawn) - 1
            same[category] += sum(of[other] == category for a, other in drawn.items() if a != who)
    similar = defaultdict(list)
    for left, right, s in zip(
        units.near.left, units.near.right, units.near.similarity, strict=True
    ):
        if units.units.unit[left] == units.units.unit[right]:
            similar[int(of[left])].append(s)
            similar[int(of[right])].append(s)
    table = difficulty(units)
    assert len(table) == 3
    for row in table.records():
        category = units.data.category_names.index(row["category"])
        assert row["found_share"] == pytest.approx(drew[category] / asked_others[category])
        assert row["class_share"] == pytest.approx(same[category] / drew[category])
        assert row["mean_similarity"] == pytest.approx(np.mean(similar[category]))


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_alphas_by_their_definition(missing):
    units = matched(random_data(4, n_annotators=4), missing=missing)
    counted = coincidences(units.reliability, missing)
    expected, (per_category, _) = pooled_alpha(counted).expected, alpha_per_category(counted)
    values = defaultdict(list)
    data = units.reliability
    for unit, value, state in zip(data.unit, data.value, data.state, strict=True):
        if state == 0 or missing == "category":
            values[int(unit)].append(int(value) if state == 0 else -1)
    table = difficulty(units)
    for row in table.records():
        category = units.data.category_names.index(row["category"])
        there = [unit for unit in values.values() if category in unit and len(unit) > 1]
        apart = sum(
            sum(one != other for one in unit for other in unit) / (len(unit) - 1) for unit in there
        )
        n = sum(map(len, there))
        assert row["alpha_units"] == pytest.approx(1 - apart / n / expected)
        assert row["alpha"] == pytest.approx(per_category[category])
        assert row["n_units"] == sum(category in unit for unit in values.values())
    assert (np.diff(table["alpha"]) >= 0).all()
