"""Merges of categories, against trying each and counting again."""

from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from support.datasets import dataset, object_rows
from support.matched import matched

from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import category_merges


def alpha_with(units, groups):
    """Return alpha with one name for the categories of each group."""
    name = {category: min(group) for group in groups for category in group}
    value = np.array([name[int(each)] for each in units.reliability.value], np.int32)
    data = replace(units.reliability, value=value)
    return pooled_alpha(coincidences(data, units.missing)).value


def tried(units):
    """Return the members and alpha of each best merge."""
    groups = [(category,) for category in range(len(units.data.category_names))]
    alpha, steps = alpha_with(units, groups), []
    while True:
        options = []
        for one, other in combinations(groups, 2):
            rest = [group for group in groups if group not in (one, other)]
            options.append(
                (alpha_with(units, [*rest, one + other]), tuple(sorted(one + other)), rest)
            )
        best = max((option for option in options if not np.isnan(option[0])), default=None)
        if best is None or best[0] <= alpha + 1e-9:
            return steps
        steps.append((best[1], best[0], best[0] - alpha))
        alpha, groups = best[0], [*best[2], best[1]]


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_merge_is_the_best(seed, missing):
    rng = np.random.default_rng(seed)
    # Categories 0 and 1 are confused, and 2 and 3.
    rows = [
        (image, who, category ^ int(category < 4 and rng.random() < 0.4), box)
        for image, who, category, box in object_rows(rng, n_images=30, n_categories=5)
    ]
    units = matched(dataset(rows), missing=missing)
    table, expected = category_merges(units), tried(units)
    assert len(table) == len(expected) > 1
    names = units.data.category_names
    for (step, categories, alpha, gain), (members, *numbers) in zip(
        table.rows(), expected, strict=True
    ):
        assert categories == ", ".join(names[member] for member in members), step
        assert (alpha, gain) == pytest.approx(tuple(numbers))
