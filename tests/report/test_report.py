"""The report that `bboxqa.validate` returns."""

import json
import pickle

import pytest
from msgspec.structs import replace

import bboxqa
from bboxqa.report import FINDING_VIEWS, view

EMPTY_BOX = {
    "images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 100}],
    "categories": [{"id": 1, "name": "<b>"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 0, 20], "area": 0, "iscrowd": 0}
    ],
}


@pytest.fixture(scope="module")
def report():
    return bboxqa.validate(EMPTY_BOX)


@pytest.fixture(scope="module")
def of_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("export") / "export.json"
    file.write_text(json.dumps(EMPTY_BOX))
    return bboxqa.validate(file)


def test_validate_returns_the_public_report(report, of_file):
    assert type(report) is type(of_file) is bboxqa.Report
    assert "B001" in {finding.code for finding in report.findings}
    assert report.counts == of_file.counts


@pytest.mark.parametrize("name", FINDING_VIEWS)
def test_each_format_is_rendered_with_whole_lines(report, name):
    text = report.render(name)
    assert "B001" in text
    assert text == "\n".join([*view(FINDING_VIEWS, name)(report), ""])


def test_to_sarif_is_a_log_of_the_findings(report):
    log = report.to_sarif()
    assert log["version"] == "2.1.0"
    assert "B001" in {result["ruleId"] for result in log["runs"][0]["results"]}


def test_a_notebook_shows_the_text_and_nothing_is_markup(report):
    files = tuple(replace(each, name="<script>.json") for each in report.files)
    html = replace(report, files=files)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;.json: 1 image, " in html
    assert all(code in html for code in report.counts)


def test_a_report_is_a_frozen_value(report):
    assert replace(report) == pickle.loads(pickle.dumps(report)) == report  # noqa: S301
    assert not hasattr(report, "__dict__")
    with pytest.raises(AttributeError):
        report.version = "2"
