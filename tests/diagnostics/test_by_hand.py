"""Similarity of pairs in a small example, worked out by hand.

Three annotators, two categories, and boxes of 10 × 10, far from each other. Cid ends the first
object two pixels higher than the others do, which leaves an overlap of 0.8:

| object | image | ann | bob | cid |
| --- | --- | --- | --- | --- |
| 1 | 0 | a | a | a |
| 2 | 0 | b | b | a |
| 3 | 1 | b | b | – |
| 4 | 1 | – | – | a |
"""

import pytest
from support.datasets import dataset
from support.matched import matched

from bboxqa.diagnostics.object_cells import pair_similarity

A, B = 0, 1
ANN, BOB, CID = (f"annotator {number:04}" for number in range(3))


def box(left, height=10.0):
    return (left, 0.0, 10.0, height)


ROWS = [
    (0, 0, A, box(0)), (0, 1, A, box(0)), (0, 2, A, box(0, 8.0)),
    (0, 0, B, box(100)), (0, 1, B, box(100)), (0, 2, A, box(100)),
    (1, 0, B, box(0)), (1, 1, B, box(0)), (1, 2, A, box(100)),
]  # fmt: skip


def test_pair_similarity():
    rows = pair_similarity(matched(dataset(ROWS))).records()
    table = {(row["annotator_1"], row["annotator_2"]): row for row in rows}
    assert {pair: row["n_pairs"] for pair, row in table.items()} == {
        (ANN, BOB): 3, (ANN, CID): 2, (BOB, CID): 2,
    }  # fmt: skip
    assert table[ANN, BOB]["mean_similarity"] == 1
    assert table[ANN, CID]["mean_similarity"] == pytest.approx(0.9)
    assert table[ANN, CID]["min_similarity"] == pytest.approx(0.8)
