"""Categories that are confused, difficult, merged or never used, against counting again."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from support.datasets import dataset, object_rows
from support.matched import drawn_again, matched, objects_of, random_data
from support.resampled import expanded

from bboxqa.agreement.nominal import alpha_per_category, pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.categories import (
    category_merges,
    category_use,
    confusion_matrix,
    confusions,
    difficulty,
    supercategories,
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


ABOVE = ("animal", "", "thing", "animal", "thing", "", "animal")


def members(*above):
    """Return the categories of each supercategory."""
    return [[place for place, other in enumerate(ABOVE) if other == name] for name in above]


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_alpha_of_supercategories_is_that_of_one_category(missing):
    data = random_data(3, n_images=40, n_categories=7)
    units = matched(replace(data, supercategories=ABOVE), missing=missing)
    alpha = alpha_with(units, [])
    rows = {row["supercategory"]: row for row in supercategories(units).records()}
    expected = {"animal": ["animal"], "thing": ["thing"], "(all)": ["animal", "thing"]}
    assert rows.keys() == expected.keys()
    drawn = np.bincount(units.data.annotations.category)
    for name, above in expected.items():
        merged, every = alpha_with(units, members(*above)), np.concatenate(members(*above))
        assert rows[name]["alpha_merged"] == pytest.approx(merged)
        assert rows[name]["gain"] == pytest.approx(merged - alpha)
        assert (rows[name]["n_categories"], rows[name]["n"]) == (len(every), drawn[every].sum())


def test_intervals_of_supercategories_are_those_of_drawn_images():
    data = random_data(3, n_images=15, n_categories=7, everyone=True)
    units = matched(replace(data, supercategories=ABOVE), bootstrap=40)
    above = members("animal"), members("thing"), members("animal", "thing")
    gains = [
        [alpha_with(units, each, drawn) - alpha_with(units, [], drawn) for each in above]
        for drawn in drawn_again(units, 40)
    ]
    n_images = len(np.unique(units.reliability.group[units.reliability.unit]))
    rows = {row["supercategory"]: row for row in supercategories(units).records()}
    expected = expanded(gains, n_images).T
    for name, bounds in zip(("animal", "thing", "(all)"), expected, strict=True):
        assert bounds[0] <= rows[name]["gain"] <= bounds[1]
        assert (rows[name]["gain_low"], rows[name]["gain_high"]) == pytest.approx(tuple(bounds))


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
    expected, per_category = pooled_alpha(counted).expected, alpha_per_category(counted)[0]
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


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_category_use_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    names, categories = units.data.annotator_names, units.data.category_names
    of = units.data.annotations.category
    used, by_others = Counter(), Counter()
    for _, _, drawn in objects_of(units):
        for who, row in drawn.items():
            most = _most([categories[of[other]] for name, other in drawn.items() if name != who])
            if most:
                by_others[names[who], most] += 1
                used[names[who], categories[of[row]]] += 1
    table = category_use(units)
    for annotator, category, n_used, n_expected, use, *_ in table.rows():
        key = annotator, category
        assert n_used == used.pop(key, 0)
        assert n_expected == pytest.approx(by_others.pop(key, 0))
        assert use == (pytest.approx(n_used / n_expected) if n_expected else None)
    assert not used
    assert not by_others


def test_alone_with_everything():
    # Nobody shares an object: no category is used in the place of another one.
    units = matched(dataset([(0, 0, 0, (1, 1, 4, 4)), (0, 1, 0, (20, 20, 4, 4))]), bootstrap=50)
    assert len(category_use(units)) == 0
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
