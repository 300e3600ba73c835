"""Agreement of each two annotators, and annotators who copy."""

from itertools import combinations

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data

from bboxqa.diagnostics.annotator_pairs import (
    agreement_matrix,
    copies,
    independent,
)
from bboxqa.diagnostics.rates import annotators


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


def test_annotators_who_agree_stand_side_by_side():
    units = matched(schools(1))
    order = [int(name[-1]) % 2 for name in agreement_matrix(units)["annotator"]]
    assert order in ([0, 0, 0, 1, 1], [1, 1, 0, 0, 0])


def test_shares_one_by_one():
    units = matched(random_data(2, n_annotators=4))
    of, boxes = units.data.annotations, units.data.annotations.bbox
    pairs, names = {}, units.data.annotator_names
    near = units.near
    for left, right, similarity in zip(near.left, near.right, near.similarity, strict=True):
        if units.units.unit[left] == units.units.unit[right]:
            key = names[of.annotator[left]], names[of.annotator[right]]
            pairs.setdefault(key, []).append(((boxes[left] == boxes[right]).all(), similarity))
    table = copies(units)
    assert len(table) == 6
    for row in table.records():
        key = row["annotator_1"], row["annotator_2"]
        n_identical = sum(same for same, _ in pairs[key])
        assert (row["n"], row["n_identical"]) == (len(pairs[key]), n_identical)
        others = [
            same for other, found in pairs.items() if len({*other, *key}) == 3 for same in found
        ]
        assert row["others_share"] == pytest.approx(np.mean(others, axis=0)[0])
        assert row["others_similarity"] == pytest.approx(np.mean(others, axis=0)[1])
        assert row["mean_similarity"] == pytest.approx(np.mean(pairs[key], axis=0)[1])


def test_expected_share_is_that_of_independent_edges():
    # Of errors of 0.3 px, 90.4 % round to 0 and 4.8 % to each side: two edges are equal in 82 %,
    # four in 0.8220⁴ = 0.457.
    rng = np.random.default_rng(5)
    rows = []
    for image in range(400):
        for x in (20, 120, 220):
            for who in (0, 1):
                edges = np.array([x, 20, x + 50, 70]) + np.round(rng.normal(0, 0.3, 4))
                left, top, right, bottom = edges
                rows.append((image, who, 0, (left, top, right - left, bottom - top)))
    (found,) = copies(matched(dataset(rows), bootstrap=200)).records()
    assert found["expected_share"] == pytest.approx(0.457, abs=0.06)
    assert found["identical_share"] == pytest.approx(0.457, abs=0.06)
    assert not found["copied"]


@pytest.mark.parametrize("is_same", [True, False])
def test_boxes_with_other_outlines_are_no_copies(is_same):
    upper, lower = (
        [np.array(ring, float)]
        for ring in ([[0, 0], [30, 0], [0, 40]], [[0, 0], [30, 0], [30, 40]])
    )
    rows = [(image, person, 0, (0, 0, 30, 40)) for image in range(9) for person in range(2)]
    data = dataset(rows, outlines=[upper if is_same or row[1] else lower for row in rows])
    (found,) = copies(matched(data, similarity="polygon", threshold=0.1, bootstrap=200)).records()
    assert found["n_identical"] == 9 * is_same
    assert found["copied"] == is_same


def copying(n_annotators, n_images=20):
    """Return annotators of whom the second copies the first one in every second image."""
    rng = np.random.default_rng(0)
    rows = []
    for image in range(n_images):
        for x in (0, 100, 200):
            boxes = [(x + rng.normal(), rng.normal(), 50, 50) for _ in range(n_annotators)]
            if image % 2:
                boxes[1] = boxes[0]
            # Only the pair draws the last one.
            drawing = range(2 if x == 200 and image % 2 else n_annotators)
            rows += [(image, who, 0, tuple(map(float, boxes[who]))) for who in drawing]
    return matched(dataset(rows), bootstrap=200)


def test_the_images_that_are_left_out_are_counted():
    table = annotators(copying(4))
    assert table["n_images"].tolist() == [20, 10, 20, 20]
    assert table["n_images_asked"].tolist() == [20] * 4


def test_of_three_who_copied_everywhere_two_are_left():
    # Of ten objects in 20 images the last one misses one, and draws all 3 px further left.
    boxes = [(x + image / 7, 0.0, 50.0, 50.0) for image in range(20) for x in range(0, 1000, 100)]
    rows = [
        (place // 10, who, 0, (x - 3 * (who == 2), *sides))
        for place, (x, *sides) in enumerate(boxes)
        for who in range(3)
        if not (who == 2 and place % 10 == place // 20)
    ]
    units = matched(dataset(rows), bootstrap=200)
    assert independent(units).data.assigned.tolist() == [[True, False, True]] * 20
    rate = annotators(units)["miss_rate"]
    assert rate[[0, 2]].tolist() == [0, 0.1]
    assert np.isnan(rate[1])
