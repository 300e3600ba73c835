"""Categories that are confused, against counting again."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from msgspec.structs import replace
from support.datasets import dataset
from support.matched import drawn_again, matched, objects_of, random_data
from support.resampled import expanded

from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import (
    confusion_matrix,
    confusions,
)
from bboxqa.model.diagnosis import NO_BOX


def alpha_with(units, groups, cells=None):
    """Return alpha with one name for the categories of each group."""
    cells = units.reliability if cells is None else cells
    name = np.arange(cells.n_values, dtype=np.int32)
    for group in groups:
        name[[*group]] = min(group)
    data = replace(cells, value=name[cells.value])
    return pooled_alpha(coincidences(data, units.missing), one_group=False).value


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_merged_alpha_is_that_of_one_category(seed, missing):
    units = matched(random_data(seed, n_images=30, n_categories=4), missing=missing)
    names, alpha = units.data.category_names, alpha_with(units, [])
    table = confusions(units)
    assert len(table) > 2
    for row in table.records():
        expected = alpha_with(units, [(names.index(row["first"]), names.index(row["second"]))])
        assert row["alpha_merged"] == pytest.approx(expected)
        assert row["gain"] == pytest.approx(expected - alpha)
    assert (np.diff(table["gain"]) <= 0).all()


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_intervals_are_those_of_drawn_images_measured_alone(missing):
    units = matched(random_data(4, n_images=14, n_categories=3), missing=missing, bootstrap=40)
    names, drawn = units.data.category_names, [*drawn_again(units, 40)]
    table = confusions(units).records()
    assert len(table) == 3
    for row in table:
        pair = names.index(row["first"]), names.index(row["second"])
        gains = [alpha_with(units, [pair], each) - alpha_with(units, [], each) for each in drawn]
        category = units.data.annotations.category
        images = units.data.annotations.image[np.isin(category, pair)]
        low, high = expanded(gains, len(np.unique(images)))
        assert np.isnan(gains).mean() <= 0.05
        assert low <= row["gain"] <= high
        assert (row["gain_low"], row["gain_high"]) == pytest.approx((low, high))


def _most(said):
    """Return what more than half said, or nothing."""
    return next((each for each, n in Counter(said).items() if 2 * n > len(said)), "")


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_confusion_matrix_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    names, categories = units.data.annotator_names, units.data.category_names
    of = units.data.annotations.category
    expected, by_most = Counter(), Counter()
    for _, asked, drawn in objects_of(units):
        said = {a: categories[of[drawn[a]]] if a in drawn else "(no box)" for a in asked.tolist()}
        expected.update(
            (names[a], said[a], said[b])
            for a in said
            for b in said
            if a != b and {said[a], said[b]} != {"(no box)"}
        )
        by_most.update(
            (names[a], said[a], most)
            for a in said
            if (most := _most([said[b] for b in said if b != a])) and {said[a], most} != {NO_BOX}
        )
    table = confusion_matrix(units)
    assert {(a, c, d): n for a, c, d, n, *_ in table.rows()} == expected
    assert {(a, c, d): n for a, c, d, _, _, n in table.rows() if n} == by_most
    of_row = defaultdict(int)
    for (annotator, category, _), n in expected.items():
        of_row[annotator, category] += n
    for annotator, category, _, n, share, _ in table.rows():
        assert share == pytest.approx(n / of_row[annotator, category])


def test_alone_with_everything():
    # Nobody shares an object.
    units = matched(dataset([(0, 0, 0, (1, 1, 4, 4)), (0, 1, 0, (20, 20, 4, 4))]), bootstrap=50)
    assert {row[1:4] for row in confusion_matrix(units).rows()} == {
        ("category 0000", "(no box)", 1),
        ("(no box)", "category 0000", 1),
    }


_BOX = (40.0, 40.0)


def drawn(skip=None, rename=None):
    """Return 10 images with 3 objects of each of 3 categories, as three annotators draw them."""
    return dataset(
        [
            (image, who, 0 if (who, y) == rename else y, (60.0 * x, 60.0 * y, *_BOX))
            for image in range(10)
            for who in range(3)
            for y in range(3)
            for x in range(3)
            if (who, y) != skip
        ]
    )
