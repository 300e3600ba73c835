"""A result as lines of text."""

from dataclasses import replace

import numpy as np
import pytest
from support.wrong_shapes import people

import bboxqa
from bboxqa.examples import example_file
from bboxqa.model.table import Table, text_column
from bboxqa.report.agreement_text import story_lines, text_lines
from bboxqa.report.tables import Excerpt, table_excerpt


@pytest.fixture(scope="module")
def data():
    return bboxqa.read_coco(example_file("fruits"))


def result_of(data, **settings):
    return bboxqa.agree(data, bootstrap=0, **settings)


@pytest.mark.parametrize(
    ("similarity", "threshold", "measure", "title"),
    [
        ("bbox", 0.5, "@[ IoU=0.50 | bbox ]", "at IoU 0.5"),
        ("bbox", 0.625, "@[ IoU=0.625 | bbox ]", "at IoU 0.625"),
        ("centroid", 0.7, "@[ centroid=0.70 ]", "at centroid 0.7"),
        ("giou", 0.25, "@[ giou=0.25 ]", "at giou 0.25"),
    ],
)
def test_a_threshold_is_that_of_its_similarity(data, similarity, threshold, measure, title):
    result = result_of(data, similarity=similarity, iou_threshold=threshold, matcher="recursive")
    text = "\n".join(text_lines(result))
    assert text.count(measure) == 5
    assert title in text
    shown = (text, repr(result.thresholds[0]), result._repr_html_())
    assert {"IoU" in each for each in shown} == {similarity == "bbox"}


@pytest.mark.parametrize("width", [40, 80, 100])
def test_tables_fit_a_narrow_terminal(data, width):
    names = tuple(name * 30 for name in data.annotator_names)
    result = result_of(replace(data, annotator_names=names))
    lines = [*text_lines(result, story=result.diagnose(), diagnose=True, width=width)]
    start = next(number for number, line in enumerate(lines) if line.startswith("Pairs"))
    tables = lines[start + 1 : lines.index("What lowers agreement at IoU 0.5")]
    titles = ("Images, by", "Decomposition by", "Agreement by", " … and", "More tables")
    assert max(len(line) for line in tables if not line.startswith(titles)) <= width
    assert any("Ann1A…" in line for line in tables)


def test_a_figure_and_its_interval_are_one_cell():
    table = Table(
        {
            "name": text_column(["one", "other", "third"]),
            "f1": np.array([0.256, 0.5, np.nan]),
            "f1_low": np.array([0.1, np.nan, np.nan]),
            "f1_high": np.array([0.3, np.nan, np.nan]),
            "unknown": np.full(3, np.nan),
            "n": np.arange(3),
        }
    )
    columns, every = ("name", "f1"), np.arange(3)
    lines = table_excerpt(table, every, 80, Excerpt("Title", "rates", columns=columns))
    assert [*lines] == [
        "",
        "Title",
        " name                  f1",
        " one    0.26 [0.10, 0.30]",
        " other  0.50",
        " third                  –",
        " –: undefined or without meaning",
        " … and 1 more column (in rates.csv of --out DIR)",
    ]
    (*_, last) = table_excerpt(table, every, 80, Excerpt("Title", "rates", n_rows=1))
    assert last == " … and 2 more rows (in rates.csv of --out DIR)"


def test_below_a_table_stands_what_columns_are_and_why_alpha_is_undefined():
    table = Table(
        {
            "cost": np.array([0.25, 0.125, 0.5]),
            "alpha": np.array([0.5, np.nan, np.nan]),
            "f1": np.array([0.5, 0.5, np.nan]),
            "status": text_column(["ok", "undefined: no pair", "no meaning: one category"]),
        }
    )
    legend = {"cost": "alpha without the image, minus alpha", "gain": "not shown"}
    found = [*table_excerpt(table, np.arange(3), 30, Excerpt("Title", "images", legend=legend))]
    assert [line.strip() for line in found[6:]] == [
        "cost: alpha without the",
        "image, minus alpha",
        "alpha –: undefined: no pair;",
        "no meaning: one category",
        "–: undefined or without",
        "meaning",
    ]
    assert found[6] == " cost: alpha without the"
    first = [*table_excerpt(table, np.arange(1), 80, Excerpt("Title", "images"))]
    assert not any("–" in line for line in first)


def test_joints_are_named_with_their_category_where_there_are_several():
    made = bboxqa.simulate(images=3, annotators=2, categories="cow,sheep")
    data = bboxqa.read_coco(people(made.document(), scatter=1), keypoints=True)
    found = bboxqa.agree(data, similarity="keypoints", bootstrap=0).diagnose()
    lines = [*story_lines(found, 100, diagnose=True)]
    heads = [lines[lines.index(title) + 1].split() for title in lines if title.startswith("Joint")]
    assert [head[: head.index("joint")] for head in heads] == [
        ["category"],
        ["annotator", "category"],
    ]


def test_every_threshold_has_its_verdict(data):
    lines = list(text_lines(result_of(data, iou_threshold=(0.25, 0.5), min_alpha=0.2)))
    assert lines[-3].startswith("IoU 0.25: alpha ")
    assert lines[-1] == "IoU 0.5: alpha 0.0222 below threshold: 0.2"
