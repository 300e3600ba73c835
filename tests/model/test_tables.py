"""Figures and tables of a result, as views and Python see them."""

import numpy as np
import pytest

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.examples import example_file
from bboxqa.model.table import Categorical, Table, stacked_tables


@pytest.fixture(scope="module")
def result():
    return bboxqa.agree(bboxqa.read_coco(example_file("fruits")), iou_threshold=[0.5, 0.75])


def test_table_has_the_rows_of_all_thresholds(result):
    table = result.table("pairs")
    assert table["iou_threshold"].tolist() == [0.5] * 3 + [0.75] * 3
    assert table["f1"].tolist() == [x for part in result.thresholds for x in part.pairs["f1"]]
    assert result.table("review")["reason"].tolist() == result.diagnose().review["reason"].tolist()
    with pytest.raises(ConfigError, match=r"table is 'pair'; expected .*did you mean 'pairs'"):
        result.table("pair")


def test_tables_are_stacked_whatever_their_columns_hold():
    first = Table({"name": Categorical(np.array([0], np.int32), ("a",))})
    other = Table({"name": Categorical(np.array([0, -1], np.int32), ("b",))})
    found = stacked_tables([(1.0, first), (2.0, other)])
    assert found["name"].tolist() == ["a", "b", ""]
    masked = Table({"id": np.ma.MaskedArray([1, 2], [False, True])})
    assert stacked_tables([(1.0, masked)])["id"].tolist() == [1, None]
