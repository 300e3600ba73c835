"""A result as lines of text."""

from dataclasses import replace

import pytest

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.examples import example_file
from bboxqa.report.agreement_text import text_lines
from bboxqa.report.registry import AGREEMENT_VIEWS, view


@pytest.fixture(scope="module")
def data():
    return bboxqa.read_coco(example_file("fruits"))


def result_of(data, **settings):
    return bboxqa.agree(data, bootstrap=0, **settings)


def test_objects_are_counted_in_words(data):
    result = result_of(data)
    (part,) = result.thresholds
    line = " Objects: 4; drawn by everyone: 2 (50.0 %)"
    assert (part.n_units, part.n_complete_units) == (4, 2)
    assert line in text_lines(result)
    none = replace(result, thresholds=(replace(part, n_units=0, n_complete_units=0),))
    assert " Objects: 0; drawn by everyone: 0" in text_lines(none)


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
    assert f"Note: {title}, greedy matching" in text
    shown = (text, repr(result.thresholds[0]), result._repr_html_())
    assert {"IoU" in each for each in shown} == {similarity == "bbox"}


@pytest.mark.parametrize("width", [40, 60])
def test_tables_fit_a_narrow_terminal(data, width):
    names = tuple(name * 30 for name in data.annotator_names)
    result = result_of(replace(data, annotator_names=names))
    wide, narrow = list(text_lines(result)), list(text_lines(result, width=width))
    start = next(number for number, line in enumerate(narrow) if line.startswith("Pairs"))
    end = narrow.index("", start)
    assert max(map(len, wide)) > 200
    assert max(map(len, narrow[start + 1 : end])) <= width


def test_every_threshold_has_its_verdict(data):
    lines = list(text_lines(result_of(data, iou_threshold=(0.25, 0.5), min_alpha=0.2)))
    assert lines[-3].startswith("IoU 0.25: alpha ")
    assert lines[-1] == "IoU 0.5: alpha 0.0222 below threshold: 0.2"


def test_views_by_name(data):
    result = result_of(data)
    assert tuple(AGREEMENT_VIEWS) == ("text", "json")
    assert [*view(AGREEMENT_VIEWS, "text")(result)] == [*text_lines(result)]
    assert next(view(AGREEMENT_VIEWS, "json")(result)) == "{"
    with pytest.raises(ConfigError, match=r"^format is 'jsn'; expected one of text, json; did you"):
        view(AGREEMENT_VIEWS, "jsn")
