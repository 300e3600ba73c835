"""Figures and tables of a result, and what values look like in a Python session."""

import numpy as np
import pytest
from msgspec.structs import replace

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
    some = Table({"id": np.array([1, None], object)})
    assert stacked_tables([(1.0, some)])["id"].tolist() == [1, None]


def test_a_dataset_says_its_counts():
    data = bboxqa.read_coco(example_file("fruits"))
    assert repr(data) == "<Dataset: 1 image, 3 annotators, 9 annotations, categories: 2>"
    assert repr(data.annotations) == "<Annotations: 9>"


def test_a_table_says_its_size_and_its_columns():
    names = tuple(str(number) for number in range(5000))
    column = Categorical(np.arange(5000, dtype=np.int32), names)
    table = Table({"image": column, "alpha": np.zeros(5000)})
    assert repr(column) == "<Categorical: 5,000 rows, 5,000 names>"
    assert repr(table) == "<Table: 5,000 rows of image, alpha>"


def test_ratings_say_their_counts(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("unit,annotator,value\n1,ann,yes\n1,bob,no\n2,ann,NA\n")
    (ratings,) = bboxqa.stats.read_ratings(path).values()
    assert repr(ratings) == "<Ratings: 2 units, 2 annotators, 2 ratings, values: 2>"


def test_other_holders_of_arrays_say_their_shapes():
    data = bboxqa.read_coco(example_file("fruits"))
    outlines = repr(data.annotations.segmentation)
    assert outlines.startswith("<Segmentations: ")
    assert len(outlines) < 300


def test_a_notebook_shows_the_counts_of_a_data_set():
    data = bboxqa.read_coco(example_file("fruits"))
    hostile = replace(data, annotator_names=("<script>", "b", "c"), notes=("<b>",))
    html = hostile._repr_html_()
    assert html.startswith("<p>1 image, 3 annotators, 9 annotations, categories: 2</p>")
    assert "<tr><td>&lt;script&gt;</td><td>1</td><td>3</td></tr>" in html
    assert "<tr><td>Apple</td><td>6</td></tr><tr><td>Banana</td><td>3</td></tr>" in html
    assert "<li>&lt;b&gt;</li>" in html
