"""Every figure of a small example, worked out by hand.

Three annotators, two categories, and boxes of 10 × 10, far from each other. Cid ends the first
object two pixels higher than the others do, which leaves an overlap of 0.8:

| object | image | ann | bob | cid |
| --- | --- | --- | --- | --- |
| 1 | 0 | a | a | a |
| 2 | 0 | b | b | a |
| 3 | 1 | b | b | – |
| 4 | 1 | – | – | a |

There are 12 values, 5 a, 4 b and 3 missing. The sum of pairs that differ, each unit's divided by
the others, is 0 + 2 + 2 + 2 = 6, the one expected (144 - 25 - 16 - 9) / 11 = 94 / 11.
"""

import pytest
from support.datasets import dataset
from support.matched import matched

import bboxqa
from bboxqa.diagnostics.categories import difficulty
from bboxqa.diagnostics.decomposition import decomposition
from bboxqa.diagnostics.object_cells import pair_similarity
from bboxqa.diagnostics.rates import boxes_per_object, category_vitality
from bboxqa.diagnostics.strata import agreement_by_crowding, agreement_by_size
from bboxqa.pipelines.diagnosis.review import review_of

A, B = 0, 1
ANN, BOB, CID = (f"annotator {number:04}" for number in range(3))
ALPHA = 1 - 6 * 11 / 94


def box(left, height=10.0):
    return (left, 0.0, 10.0, height)


ROWS = [
    (0, 0, A, box(0)), (0, 1, A, box(0)), (0, 2, A, box(0, 8.0)),
    (0, 0, B, box(100)), (0, 1, B, box(100)), (0, 2, A, box(100)),
    (1, 0, B, box(0)), (1, 1, B, box(0)), (1, 2, A, box(100)),
]  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return matched(dataset(ROWS))


def by(table, *names):
    """Return the records of a table by the values of some columns."""
    return {tuple(row[name] for name in names): row for row in table.records()}


def test_agreement():
    result = bboxqa.agree(dataset(ROWS), bootstrap=0)
    (part,) = result.thresholds
    assert part.alpha == pytest.approx(ALPHA)
    # Of the two others of each of nine annotations: 6 + 6 + 2 of 18.
    assert part.existence.f1 == pytest.approx(14 / 18)
    # Units of two or more: 4 a and 4 b, 2 expected from 32 / 7; equal pairs are 3 + 1 + 1 of 7.
    assert part.class_agreement.alpha == pytest.approx(1 - 2 * 7 / 32)
    assert part.class_agreement.share == pytest.approx(5 / 7)
    assert part.place.mean_iou == pytest.approx((1 + 0.8 + 0.8 + 4) / 7)
    assert part.place.median_iou == 1
    # Without image 0: 2 b, 3 missing, 1 a; without image 1: 4 a, 2 b.
    costs = by(part.images, "image")
    first = 1 - 4 * 5 / (36 - 4 - 9 - 1)
    second = 1 - 2 * 5 / (36 - 16 - 4)
    assert costs["image 0000",]["cost"] == pytest.approx(first - ALPHA)
    assert costs["image 0001",]["cost"] == pytest.approx(second - ALPHA)


def test_pair_similarity(found):
    table = by(pair_similarity(found), "annotator_1", "annotator_2")
    assert {pair: row["n_pairs"] for pair, row in table.items()} == {
        (ANN, BOB): 3, (ANN, CID): 2, (BOB, CID): 2,
    }  # fmt: skip
    assert table[ANN, BOB]["mean_similarity"] == 1
    assert table[ANN, CID]["mean_similarity"] == pytest.approx(0.9)
    assert table[ANN, CID]["min_similarity"] == pytest.approx(0.8)


def test_decomposition_and_review(found):
    table = by(decomposition(found), "kind")
    assert [row["n_objects"] for row in table.values()] == [1, 2, 1, 0, 0, 0]
    # Everybody draws object 3, nobody object 4: 4 a and 5 b, 2 expected from 5.
    assert table["missed by some",]["alpha_gain"] == pytest.approx(1 - 2 / 5 - ALPHA)
    assert table["missed by some",]["f1_gain"] == pytest.approx(1 - 14 / 18)
    # Object 2 is b for all: 4 a, 5 b and 3 missing.
    named = 1 - 4 * 11 / (144 - 16 - 25 - 9)
    assert table["class conflict",]["alpha_gain"] == pytest.approx(named - ALPHA)
    assert table["class conflict",]["f1_gain"] == 0
    gains = {row["reason"]: row["alpha_gain"] for row in review_of(found).objects.records()}
    assert gains == {
        f"category 0001 by {ANN} and {BOB}, category 0000 by {CID}": pytest.approx(named - ALPHA),
        # 5 a, 5 b and 2 missing; 4 a, 4 b and 1 missing.
        f"not drawn by {CID}": pytest.approx(1 - 4 * 11 / (144 - 25 - 25 - 4) - ALPHA),
        f"drawn by {CID} only": pytest.approx(1 - 4 * 8 / (81 - 16 - 16 - 1) - ALPHA),
    }


def test_categories(found):
    of_a, of_b = (by(difficulty(found), "category")[f"category 000{n}",] for n in (A, B))
    # Of 12 values 5 are a: 4 differ, 70 / 11 expected; 4 are b: 4 differ, 64 / 11 expected.
    alpha_a, alpha_b = 1 - 4 * 11 / 70, 1 - 4 * 11 / 64
    assert (of_a["alpha"], of_b["alpha"]) == (pytest.approx(alpha_a), pytest.approx(alpha_b))
    assert (of_a["n"], of_a["n_units"], of_b["n"], of_b["n_units"]) == (5, 3, 4, 2)
    # In objects 1, 2 and 4, 4 of 9 differ; in all, 94 / 132 are expected.
    assert of_a["alpha_units"] == pytest.approx(1 - 4 / 9 * 132 / 94)
    assert (of_a["found_share"], of_b["found_share"]) == (8 / 10, 6 / 8)
    assert (of_a["class_share"], of_b["class_share"]) == (6 / 8, pytest.approx(4 / 6))
    # Two others match each annotation of object 1, and that of cid in object 2.
    assert of_a["mean_similarity"] == pytest.approx((1.8 + 1.8 + 1.6 + 2) / 8)
    vital = by(category_vitality(found), "category", "annotator")
    # Without ann, a is 11, 01, 00, 01.
    assert vital["category 0000", ANN]["alpha_without"] == pytest.approx(1 - 4 * 7 / 32)
    assert vital["category 0000", ANN]["vitality"] == pytest.approx(alpha_a - 1 / 8)
    assert vital["category 0000", CID]["alpha_without"] == 1


def test_strata(found):
    for table in (agreement_by_size(found), agreement_by_crowding(found)):
        (row,) = table.records()
        assert row["n_objects"] == 4
        assert row["alpha"] == pytest.approx(ALPHA)
        assert row["f1"] == pytest.approx(14 / 18)
        assert row["class_share"] == pytest.approx(5 / 7)
        assert row["mean_similarity"] == pytest.approx(6.6 / 7)
        assert (row["missed_share"], row["badly_placed_share"]) == (2 / 4, 0)


def test_boxes_per_object():
    # Cid draws the first of four objects twice, and the second in two parts; ann draws one box
    # around the other two, which bob and cid draw apart.
    whole, parts = (100, 0, 20, 10), [(100, 0, 9, 10), (111, 0, 9, 10)]
    apart, around = [(200, 0, 10, 10), (212, 0, 10, 10)], (200, 0, 22, 10)
    drawn = (
        [box(0), whole, around],
        [box(0), whole, *apart],
        [box(0), (1, 0, 10, 10), *parts, *apart],
    )
    rows = [(0, who, A, each) for who, boxes in enumerate(drawn) for each in boxes]
    ann, bob, cid = boxes_per_object(matched(dataset(rows))).records()
    assert (cid["n"], cid["n_twice"], cid["n_split"], cid["n_merged"]) == (4, 1, 1, 0)
    assert (cid["twice_rate"], cid["split_rate"], cid["merge_rate"]) == (1 / 4, 1 / 4, 0)
    assert (ann["n_expected"], ann["n_merged"], ann["merge_rate"]) == (4, 2, 2 / 4)
    assert (bob["twice_rate"], bob["split_rate"], bob["merge_rate"]) == (0, 0, 0)
