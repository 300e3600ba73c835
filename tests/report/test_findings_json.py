"""Findings as JSON, against the schema that comes with the package."""

import json

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.reports import HOSTILE, finding, report

from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.findings import findings_schema

SCHEMA = Draft202012Validator(findings_schema())
ANY = st.recursive(
    st.none() | st.floats() | st.text(st.characters()) | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=5,
)


def strict(text):
    def refuse(name):
        raise AssertionError(name)

    return json.loads(text.encode(), parse_constant=refuse)


def document_of(found):
    document = strict("\n".join(view(FINDING_VIEWS, "json")(found)))
    SCHEMA.validate(document)
    return document


def test_the_schema_is_one():
    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert [error.message for error in meta.iter_errors(findings_schema())] == []


def test_a_finding_has_all_its_keys():
    found = finding(fix="unsafe", count=3, examples=("/annotations/0", "/annotations/4"))
    (shown,) = document_of(report(found))["findings"]
    assert shown == {
        "code": "B001", "severity": "error", "message": "bbox width is 0; expected more than 0",
        "file": "export.json", "pointer": "/annotations/0/bbox", "line": 1, "column": 7,
        "ids": {"annotation": 1, "image": 5, "category": 1}, "found": [10, 10, 0, 20],
        "expected": "a width and a height above 0 px", "fixable": "unsafe", "count": 3,
        "examples": ["/annotations/0", "/annotations/4"],
    }  # fmt: skip


def test_the_rest_of_the_object():
    document = document_of(report(finding(), unlisted={"B004": 7}))
    assert document["counts"] == {"B004": 7, "B001": 1}
    assert document["severities"] == {"error": 1, "warning": 0, "info": 7}
    assert document["version"] == "1.2.3"
    assert document["files"] == [
        {"name": "export.json", "exporter": "CVAT", "n_images": 1500, "n_annotations": 4784,
         "n_categories": 60},
    ]  # fmt: skip


def test_each_finding_is_one_line_of_both_forms():
    found = report(finding(), finding(row=1))
    lines = list(view(FINDING_VIEWS, "jsonl")(found))
    assert [strict(line) for line in lines] == document_of(found)["findings"]
    assert [line.rstrip(",") for line in view(FINDING_VIEWS, "json")(found)][-4:-2] == lines


def test_half_characters_and_numbers_that_are_none_are_strings():
    odd = finding(found=[float("nan"), float("-inf")], message=HOSTILE, file=HOSTILE)
    (shown,) = document_of(report(odd, files=(HOSTILE,)))["findings"]
    assert shown["found"] == ["NaN", "-Infinity"]
    assert "\\ud800" in shown["message"]


@given(ANY)
def test_whatever_is_found_fits_the_schema(value):
    found = report(finding(found=value, ids={"annotation": value}))
    document_of(found)
    (line,) = view(FINDING_VIEWS, "jsonl")(found)
    assert len(line.splitlines()) == 1
    strict(line)
