"""Tables in memory: lists of dicts, and frames of libraries that need not be installed."""

import numpy as np
import pytest
from support.tool_files import asked, drawn

import bboxqa
from bboxqa import read_coco
from bboxqa.core.errors import DatasetError

ROWS = [
    {"file": "a.jpg", "who": "ann", "label": "cat", "x": 1, "y": 2, "width": 3, "height": 4},
    {"file": "a.jpg", "who": "bob", "label": "cat", "x": 1.5, "y": 2, "width": 3, "height": 4},
    {"file": "b.jpg", "who": "bob"},
]
COLUMNS = {"annotator": "who"}
DRAWN = [("a.jpg", "ann", "cat", 1, 2, 3, 4), ("a.jpg", "bob", "cat", 1.5, 2, 3, 4)]


def check(table):
    """Check that a table is that of `ROWS`."""
    with bboxqa.reading(columns=COLUMNS):
        data = read_coco(table)
    assert drawn(data) == DRAWN
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["bob"]}
    assert [source.name for source in data.sources] == ["table"]


def test_a_list_of_dicts_is_a_table():
    check(ROWS)
    check(tuple(ROWS))
    check([{key: np.float32(v) if key == "x" else v for key, v in row.items()} for row in ROWS])


@pytest.mark.parametrize(
    ("library", "made"),
    [
        ("pandas", lambda pandas: pandas.DataFrame(ROWS)),
        ("polars", lambda polars: polars.DataFrame(ROWS)),
        ("pyarrow", lambda pyarrow: pyarrow.Table.from_pylist(ROWS)),
    ],
)
def test_a_frame_of_a_library_is_a_table(library, made):
    check(made(pytest.importorskip(library)))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"image": "a.jpg", "x": 1}], "the table has no columns of boxes"),
        ([{"image": "\udc00", "bbox": [1, 2, 3, 4]}], "the table holds a value that JSON cannot"),
        ([{"image": "a.jpg", "bbox": [1, 2, 3]}], "line 1: bbox is [1, 2, 3]; expected four"),
    ],
)
def test_problems_name_the_table(rows, words):
    with pytest.raises(DatasetError) as caught:
        read_coco(rows, min_annotators=1)
    (problem,) = caught.value.problems
    assert problem.removeprefix("table:1:1: T001 error ").startswith(words)


def test_other_values_are_no_table():
    with pytest.raises(TypeError, match="source is of type int; expected one or several paths"):
        read_coco([1])
