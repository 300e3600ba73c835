"""The order of annotations that decides between equal weights."""

from dataclasses import replace

import numpy as np
from support.datasets import dataset

from bboxqa.matching.ties import drawn_ranks

BOX = (0.0, 0.0, 10.0, 10.0)
HALF, OTHER_HALF = [[0, 0, 10, 0, 0, 10]], [[10, 10, 0, 10, 10, 0]]


def ranks_of(rows, outlines=None):
    """Return the rank of each row, counted from 0 without gaps."""
    columns = dataset(rows, outlines).annotations
    ranks = drawn_ranks(columns, np.arange(len(columns)))
    _, dense = np.unique(ranks, return_inverse=True)
    return [int(dense[columns.id.tolist().index(row)]) for row in range(len(rows))]


def test_no_annotations():
    assert drawn_ranks(dataset([]).annotations, np.zeros(0, np.int64)).tolist() == []


def test_the_box_decides_before_the_category():
    rows = [(0, 1, 0, (5.0, 0.0, 1.0, 1.0)), (0, 0, 1, (4.0, 9.0, 1.0, 1.0)), (0, 2, 0, BOX)]
    assert ranks_of(rows) == [2, 1, 0]
    assert ranks_of([(0, 0, 1, BOX), (0, 1, 0, BOX)]) == [1, 0]


def test_equal_annotations_of_several_annotators_have_one_rank():
    assert ranks_of([(0, 0, 1, BOX), (0, 1, 1, BOX), (0, 2, 1, BOX)]) == [0, 0, 0]


def test_copies_by_one_annotator_differ():
    assert ranks_of([(0, 0, 1, BOX), (0, 0, 1, BOX), (0, 1, 1, BOX)]) in ([0, 1, 0], [1, 0, 0])


def test_outlines_decide_between_equal_boxes_and_before_the_category():
    rows = [(0, 0, 0, BOX), (0, 1, 1, BOX), (0, 2, 1, BOX)]
    assert ranks_of(rows, [OTHER_HALF, HALF, OTHER_HALF]) == [1, 0, 2]
    mask = {"size": (10, 10), "counts": b"04"}
    assert ranks_of(rows, [None, mask, mask]) == [0, 1, 1]


def test_rotations_decide_between_equal_boxes():
    columns = dataset([(0, 0, 0, BOX), (0, 1, 0, BOX), (0, 2, 0, BOX)]).annotations
    turned = columns.rotated_box.copy()
    turned[0, 4] = 30.0
    ranks = drawn_ranks(replace(columns, rotated_box=turned), np.arange(3))
    assert ranks.tolist() == [2, 0, 0]
