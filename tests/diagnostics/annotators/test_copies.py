"""Annotators who copy, and such who are only good."""

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data

from bboxqa.diagnostics.agreement_groups import copies


def test_shares_one_by_one():
    units = matched(random_data(2, n_annotators=4))
    of, boxes = units.data.annotations, units.data.annotations.bbox
    pairs = {}
    near = units.near
    for left, right, similarity in zip(near.left, near.right, near.similarity, strict=True):
        if units.units.unit[left] == units.units.unit[right]:
            key = (
                units.data.annotator_names[of.annotator[left]],
                units.data.annotator_names[of.annotator[right]],
            )
            pairs.setdefault(key, []).append(((boxes[left] == boxes[right]).all(), similarity))
    table = copies(units)
    assert len(table) == 6
    for row in table.records():
        key = row["annotator_1"], row["annotator_2"]
        assert (row["n"], row["n_identical"]) == (
            len(pairs[key]),
            sum(same for same, _ in pairs[key]),
        )
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
