"""Agreement of each two annotators, and groups of those who agree."""

from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster
from support.datasets import dataset
from support.matched import matched, random_data

from bboxqa.diagnostics.agreement_groups import (
    _agreement,
    _best_groups,
    _tree,
    agreement_groups,
    agreement_matrix,
    agreement_of_groups,
)


def by_pair(table):
    """Return the agreement of each two annotators of a matrix."""
    rows = table.records()
    return {
        frozenset((row["annotator"], name.removeprefix("with "))): agreement
        for row in rows
        for name, agreement in row.items()
        if name != "annotator" and name != f"with {row['annotator']}"
    }


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 6)])
def test_agreement_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    of, names = units.data.annotations, units.data.annotator_names
    table = agreement_matrix(units)
    found = by_pair(table)
    for one, other in combinations(range(n_annotators), 2):
        both = units.data.assigned[:, [one, other]].all(1)[of.image]
        drawn = {
            who: {
                (unit, category)
                for unit, category in zip(
                    units.units.unit[own], of.category[own].tolist(), strict=True
                )
            }
            for who in (one, other)
            for own in [both & (of.annotator == who)]
        }
        n = len(drawn[one]) + len(drawn[other])
        agreement = 2 * len(drawn[one] & drawn[other]) / n
        assert found[frozenset((names[one], names[other]))] == pytest.approx(agreement)
    assert [f"with {name}" for name in table["annotator"]] == list(table.columns)[1:]


def schools(seed, n_images=60, strength=0.5, order=(0, 1, 0, 1, 0)):
    """Return annotators of two schools, who name some objects differently."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(n_images):
        for x in (10, 60, 110):
            by_school = [0, int(rng.random() < strength)]
            for annotator, school in enumerate(order):
                category = by_school[school] if rng.random() < 0.9 else 2
                rows.append((image, annotator, category, (x, 10, 20, 20)))
    return dataset(rows)


def test_groups_that_agree_among_themselves_are_found():
    units = matched(schools(1))
    table = agreement_groups(units)
    assert table["group"].tolist() == [1, 2, 1, 2, 1]
    assert (table["within"] > table["between"]).all()
    # Who agree stand side by side.
    order = [int(name[-1]) % 2 for name in agreement_matrix(units)["annotator"]]
    assert order in ([0, 0, 0, 1, 1], [1, 1, 0, 0, 0])


def test_chance_makes_no_groups():
    found = [agreement_groups(matched(schools(seed, strength=0.0))) for seed in range(30)]
    assert sum(table["group"].max() > 1 for table in found) <= 1
    assert found[0]["group"].tolist() == [1] * 5
    assert np.isnan(found[0]["between"]).all()


def test_agreement_of_groups_by_hand():
    # As above: 6 pairs, of which 2 agree in all 100 images, and 4 in every second one.
    rows = [
        (image, annotator, int(image % 4 < 2 and annotator > 1), (10, 10, 20, 20))
        for image in range(100)
        for annotator in range(4)
    ]
    (within, low, _), (between, *ends) = agreement_of_groups(matched(dataset(rows), bootstrap=100))
    assert (within, low, between) == (1, 1, 0.5)
    assert 0.35 < ends[0] < 0.5 < ends[1] < 0.65


def gap_of(sums, group):
    """The agreement in the least agreeing group minus that between groups, pair by pair."""
    n = len(group)
    pairs = [(one, other) for one in range(n) for other in range(n) if one != other]

    def agreement(chosen):
        possible = sum(sums[1][pair] for pair in chosen)
        return sum(sums[0][pair] for pair in chosen) / possible if possible else np.nan

    within = [
        agreement([pair for pair in pairs if group[pair[0]] == group[pair[1]] == each])
        for each in set(group.tolist())
    ]
    return min(within) - agreement([pair for pair in pairs if group[pair[0]] != group[pair[1]]])


def test_the_best_cut_is_that_of_all_cuts():
    random = np.random.default_rng(0)
    n_found = 0
    for _ in range(200):
        n = int(random.integers(4, 12))
        true = random.integers(0, 3, n)
        possible = np.triu(random.integers(0, 40, (n, n)) * (random.random((n, n)) < 0.9), 1)
        possible = (possible + possible.T) / 2
        share = np.where(true[:, None] == true, 0.8, random.uniform(0.2, 0.8))
        same = np.floor(possible * share)
        sums = np.stack([same, possible])
        merges = _tree(_agreement(sums))
        best, best_gap = np.zeros(n, int), 0.0
        for n_groups in range(2, n):
            group = fcluster(merges, n_groups, "maxclust")
            own = (group[:, None] == group) & ~np.eye(n, dtype=bool)
            if not (sums[1] * own).any(1).all():
                continue
            gap = gap_of(sums, group)
            if gap > best_gap + 1e-12:
                best, best_gap = group, gap
        found = _best_groups(sums)
        assert ((found[:, None] == found) == (best[:, None] == best)).all()
        n_found += found.any()
    assert n_found > 100
