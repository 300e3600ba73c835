"""Findings as text, JSON, SARIF, JUnit, workflow commands and pages, and their report."""

import json
import pickle
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from support.datasets import annotation, document, document_of, write
from support.pages import Page
from support.reports import HOSTILE, RULES, finding, report

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.model.findings import FoundBox
from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.findings import findings_schema, statistics_lines, text_lines

VIEWS = {
    **{name: view(FINDING_VIEWS, name) for name in FINDING_VIEWS},
    "statistics": statistics_lines,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def text_of(view, *args):
    return "\n".join(VIEWS[view](*args))


def test_an_unknown_format_is_named_with_those_there_are():
    with pytest.raises(ConfigError, match=r"^format is 'sarfi'; expected one of text, concise"):
        view(FINDING_VIEWS, "sarfi")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("empty", [report(), report(files=())])
def test_an_empty_report_can_be_shown(view, empty):
    text = text_of(view, empty)
    assert finding().message.encode() not in text.encode()


@pytest.mark.parametrize("view", VIEWS)
def test_names_from_the_file_do_no_harm(view):
    hostile = report(
        finding(file=HOSTILE, message=HOSTILE, ids={"annotation": HOSTILE}, excerpt=HOSTILE),
        finding(file=HOSTILE, spot=None, pointer="", ids={}, examples=(f"/{HOSTILE}",), count=2),
        files=(HOSTILE,),
        exporter=HOSTILE,
    )
    text = text_of(view, hostile)
    assert b"B001" in text.encode()
    assert not {"\x1b", "\x00", "\u2028"} & {*text}


@pytest.mark.parametrize("view", VIEWS)
@given(value=VALUES)
def test_any_value_can_be_shown(view, value):
    odd = finding(ids={"annotation": value, "annotator": value}, found=value)
    assert b"B001" in text_of(view, report(odd)).encode()


@pytest.mark.parametrize("view", VIEWS)
def test_numbers_without_end_and_lists_without_bottom_can_be_shown(view):
    deep = []
    for _ in range(5000):
        deep = [deep]
    text = text_of(view, report(finding(found=deep, ids={"image": 10**9999})))
    assert b"B001" in text.encode()


def lines_of(*args, **more):
    return list(text_lines(report(*args, **more), verbose=True))


def test_each_file_has_a_line():
    lines = lines_of(files=("a.json", "b.json"))
    assert lines[0] == "a.json (CVAT): 1,500 images, 4,784 annotations, 60 categories"
    assert lines[1].startswith("b.json (CVAT): ")
    assert lines_of(exporter=None)[0].startswith("export.json: ")


def test_a_group_says_what_breaks_and_where():
    lines = lines_of(finding(row=19), finding(row=20, fix="unsafe"))
    start = lines.index("B001 error: box without area (2)")
    assert lines[start + 1 : start + 5] == [
        "  Losses become NaN.",
        "  export.json:20:7  annotation 20 (image 5): bbox width is 0; expected more than 0",
        '    {"id": 1, "bbox": [10, 10, 0, 20]}',
        "  export.json:21:7  [?] annotation 21 (image 5): bbox width is 0; expected more than 0",
    ]


def test_each_further_rule_names_its_first_place():
    codes = ("B001", "C002", "D001", "D009")
    found = [replace(finding("C002", row=row), code=code) for code in codes for row in (6, 8)]
    rules = {code: replace(RULES["C002"], code=code) for code in (*codes, "D010")}
    of_all = report(*found, unlisted={"C002": 0})
    lines = [*text_lines(replace(of_all, rules=rules, counts={**of_all.counts, "D010": 3}))]
    assert lines[lines.index("Further rules, which --verbose lists:") + 1 :][:2] == [
        "D009 warning: equal names (2)  export.json:7:7",
        "D010 warning: equal names (3)",
    ]


def test_how_to_list_all_is_said():
    found = [finding(row=row) for row in range(5)]
    assert "  … and 2 more; --verbose lists them" in [*text_lines(report(*found))]
    lines = [*text_lines(report(*found, unlisted={"B001": 9}))]
    assert "  … and 11 more; --verbose --max-findings 0 lists them" in lines


def test_what_is_not_listed_is_counted():
    lines = lines_of(finding(fix="unsafe"), unlisted={"B001": 1481, "C002": 2})
    assert "  … and 1,481 more (--max-findings 0 shows all)" in lines
    assert "C002 warning: equal names (2)" in lines
    assert lines[-3] == "1,482 errors, 2 warnings, 0 info"
    assert lines[-2] == "[?] fixable with --fix --unsafe-fixes"


def test_the_end_counts_and_says_how_to_go_on():
    lines = lines_of(
        finding(fix="unsafe"), finding("D001", row=1, fix="safe"), finding("B004", row=2)
    )
    assert lines[-3:] == [
        "1 error, 1 warning, 1 info",
        "[*] 1 fixable with --fix, [?] 1 fixable with --fix --unsafe-fixes",
        "Next: bboxqa validate export.json --unsafe-fixes --diff",
    ]
    many = [finding(file=each, fix="safe") for each in "abc"]
    ends = [[*text_lines(report(*many, files=e), paths="in")][-1][22:] for e in ("abc", "abcd")]
    assert ends == ["in --fix", "a b c --fix"]


@pytest.mark.parametrize("n_rules", [1, 4, 12, 30, 90])
@pytest.mark.parametrize("n_files", [1, 40])
def test_any_report_has_the_lines_of_a_screen(n_rules, n_files):
    codes = [f"X{number:03}" for number in range(n_rules)]
    found = report(
        *(replace(finding(row=row, message="x" * 300), code=code)
          for code in codes for row in range(9)),
        files=[f"{number}.json" for number in range(n_files)],
    )  # fmt: skip
    rules = {code: replace(RULES["B001"], code=code) for code in codes}
    found = replace(found, rules=rules)
    lines = list(text_lines(found))
    assert len(lines) <= 45
    shown = [line[:4] for line in lines if re.match(r"X\d{3} error", line)]
    assert shown == codes[: len(shown)]
    rest = [line for line in lines if "more rule" in line]
    assert len(shown) == n_rules or f"… and {n_rules - len(shown)} more rules: " in rest[0]
    assert "… and 35 more files" in lines or n_files == 1


def test_ids_as_the_file_writes_them():
    ids = {"annotation": "20", "image": None, "annotator": "Ann\x1b"}
    line = next(line for line in lines_of(finding(ids=ids)) if "expected" in line)
    assert 'annotation "20" (image null, annotator Ann\\x1b): ' in line
    line = next(line for line in lines_of(finding(ids={"image": [1, 2]})) if "expected" in line)
    assert "image 1, 2: " in line


def test_concise_is_a_line_for_each_finding():
    found = report(finding(row=19), finding("C002", spot=None, ids={}, message="two\nlines"))
    assert list(view(FINDING_VIEWS, "concise")(found)) == [
        "export.json:20:7: B001 error annotation 20 (image 5): " + finding().message,
        "export.json: C002 warning two\\nlines",
    ]


def test_statistics_are_a_table():
    unlisted = {"B004": 1480, "D001": 3, "C002": 20}
    found = report(finding(count=7), finding("B004"), unlisted=unlisted)
    assert list(statistics_lines(found)) == [
        "code  severity  count  records  fixable  title",
        "B001  error         1        7  unsafe   box without area",
        "C002  warning      20       20  no       equal names",
        "D001  warning       3        3  safe     same twice",
        "B004  info      1,481    1,481  safe     box over the edge",
        "1,505 findings by 4 rules",
    ]


def test_workflow_commands_are_escaped():
    odd = finding(file="a,b:c%.json", message="50 %: a, b", ids={}, spot=None)
    first, second = view(FINDING_VIEWS, "github")(report(finding(row=19), odd))
    assert first == (
        "::error file=export.json,line=20,col=7,title=B001 box without area::"
        "annotation 20 (image 5): bbox width is 0; expected more than 0"
    )
    assert second == "::error file=a%2Cb%3Ac%25.json,title=B001 box without area::50 %25: a, b"


def suites_of(found):
    return ET.fromstring("\n".join(view(FINDING_VIEWS, "junit")(found)).encode())  # noqa: S314


def test_a_suite_for_each_file_and_a_test_for_each_rule():
    found = report(finding(), finding(row=1), finding("B004"), files=("export.json", "b.json"))
    root = suites_of(found)
    first, second = root
    assert root.attrib["failures"] == first.attrib["failures"] == "1"
    assert (second.attrib["name"], second.attrib["failures"]) == ("b.json", "0")
    for suite in root:
        assert len(suite.findall("testcase")) == int(suite.attrib["tests"]) == 4
    failure = first.find("testcase/failure")
    assert failure.attrib == {"type": "error", "message": "2 findings: box without area"}
    assert "export.json:2:7: error annotation 2 (image 5): bbox width" in failure.text
    assert "export.json:1:7: info" in first.find("testcase/system-out").text


def test_junit_holds_what_xml_cannot():
    name = HOSTILE + "\ufffe"
    (suite,) = suites_of(report(finding(file=name, message=name), files=(name,)))
    assert "<b>" in suite.attrib["name"]
    assert "\ufffe" not in suite.attrib["name"]


def test_values_are_no_markup():
    hostile = "<script>alert(1)</script>"
    odd = finding(file=hostile, message=hostile, ids={"image": hostile}, examples=(hostile,))
    page = Page(
        "\n".join(view(FINDING_VIEWS, "html")(report(odd, files=(hostile,), exporter=hostile)))
    )
    assert page.tags.count("script") == 1
    assert page.text.count(hostile) >= 4


def boxed(*boxes, **more):
    return finding(**more, boxes=tuple(FoundBox(*box) for box in boxes))


def test_boxes_of_a_finding_are_drawn_on_their_image():
    box = ("a.jpg", 40.0, 30.0, (10.0, 5.0, 8.0, 6.0))
    beyond = ("a.jpg", 40.0, 30.0, (-5.0, 5.0, 50.0, 6.0), ((1.0, 2.0, 3.0, 44.0, 5.0, 6.0),))
    page = "\n".join(view(FINDING_VIEWS, "html")(report(boxed(box), boxed(beyond))))
    for path in ("M10 5h8v6H10z", "M-5 5h50v6H-5z", "M1 2L3 44L5 6z"):
        assert page.count(f'd="{path}"') == 2
    # Outlines count as well as boxes, and show how large an image without a size is.
    assert 'viewBox="-5 0 50 44"' in page
    unknown = ("b.jpg", None, None, *beyond[3:])
    page = "\n".join(view(FINDING_VIEWS, "html")(report(boxed(unknown))))
    assert 'viewBox="-5 0 50 44"' in page
    assert "<image" not in page


def test_findings_have_the_boxes_of_the_annotations_they_name():
    records = [
        annotation(1, bbox=(10, 10, 0, 5)),
        annotation(2, image_id=9, bbox=(1, 2, 3, 0)),
        annotation(3, bbox="none"),
    ]
    found = bboxqa.validate(document(records), select=["B001", "S006"])
    boxes = {each.ids["annotation"]: each.boxes for each in found.findings if each.ids}
    assert boxes[1] == (FoundBox("1.jpg", 100.0, 100.0, (10.0, 10.0, 0.0, 5.0)),)
    assert boxes[2] == (FoundBox("", None, None, (1.0, 2.0, 3.0, 0.0)),)
    assert boxes.get(3, ()) == ()


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


def shown_in(found):
    document = strict("\n".join(view(FINDING_VIEWS, "json")(found)))
    SCHEMA.validate(document)
    return document


def test_the_schema_is_one():
    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert [error.message for error in meta.iter_errors(findings_schema())] == []


def test_a_finding_has_all_its_keys():
    found = finding(fix="unsafe", count=3, examples=("/annotations/0", "/annotations/4"))
    (shown,) = shown_in(report(found))["findings"]
    assert shown == {
        "code": "B001", "severity": "error", "message": "bbox width is 0; expected more than 0",
        "file": "export.json", "pointer": "/annotations/0/bbox", "line": 1, "column": 7,
        "ids": {"annotation": 1, "image": 5, "category": 1}, "found": [10, 10, 0, 20],
        "expected": "a width and a height above 0 px", "fixable": "unsafe", "count": 3,
        "examples": ["/annotations/0", "/annotations/4"],
    }  # fmt: skip


def test_the_rest_of_the_object():
    document = shown_in(report(finding(), unlisted={"B004": 7}))
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
    assert [strict(line) for line in lines] == shown_in(found)["findings"]
    assert [line.rstrip(",") for line in view(FINDING_VIEWS, "json")(found)][-4:-2] == lines


def test_half_characters_and_numbers_that_are_none_are_strings():
    odd = finding(found=[float("nan"), float("-inf")], message=HOSTILE, file=HOSTILE)
    (shown,) = shown_in(report(odd, files=(HOSTILE,)))["findings"]
    assert shown["found"] == ["NaN", "-Infinity"]
    assert "\\ud800" in shown["message"]


@given(ANY)
def test_whatever_is_found_fits_the_schema(value):
    found = report(finding(found=value, ids={"annotation": value}))
    shown_in(found)
    (line,) = view(FINDING_VIEWS, "jsonl")(found)
    assert len(line.splitlines()) == 1
    strict(line)


def log_of(found):
    return json.loads("\n".join(view(FINDING_VIEWS, "sarif")(found)).encode())


def run_of(found):
    log = log_of(found)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


def fingerprints(found):
    return [
        result["partialFingerprints"]["primaryLocationLineHash"]
        for result in run_of(found)["results"]
    ]


def test_the_driver_explains_the_rules():
    driver = run_of(report())["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("bboxqa", "1.2.3")
    assert driver["rules"][0] == {
        "id": "B001",
        "shortDescription": {"text": "Box without area"},
        "fullDescription": {"text": "Losses become NaN."},
        "help": {
            "text": "Sides are 0. Losses become NaN. It can be fixed with --fix --unsafe-fixes."
        },
        "defaultConfiguration": {"level": "error"},
    }


def test_a_result_has_rule_level_and_place():
    run = run_of(report(finding("C002"), finding("B004", row=4)))
    first, second = run["results"]
    assert [first["level"], second["level"]] == ["warning", "note"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert second["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "export.json"},
                "region": {"startLine": 5, "startColumn": 7},
            }
        }
    ]
    assert run["columnKind"] == "unicodeCodePoints"


def test_uris_are_relative_and_escaped():
    names = ("./data/a b#ü?.json", "c:d.json", str(Path("/tmp/x y.json")))  # noqa: S108
    run = run_of(report(*(finding(file=name) for name in names)))
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    ]
    assert uris == ["data/a%20b%23%C3%BC%3F.json", "c%3Ad.json", "file:///tmp/x%20y.json"]


def test_hostile_names_are_valid():
    name = HOSTILE.replace("\ud800", "\udcff")
    assert run_of(report(finding(file=name, message=HOSTILE, spot=None)))["results"]


def test_fingerprints_survive_moved_lines_and_are_unique():
    one, two = finding(row=3), finding(row=8, ids={"annotation": 9, "image": 5})
    moved = replace(one, pointer="/annotations/77/bbox", spot=None, excerpt="")
    assert fingerprints(report(one, two)) == fingerprints(report(moved, two))
    assert len(set(fingerprints(report(one, two, moved)))) == 3


EMPTY_BOX = document_of([(1, None, 1, (10, 10, 0, 20), {"area": 0, "iscrowd": 0})])


@pytest.fixture(scope="module")
def checked():
    return bboxqa.validate(EMPTY_BOX)


def test_validate_returns_the_public_report(checked, tmp_path):
    of_file = bboxqa.validate(write(tmp_path / "export.json", EMPTY_BOX))
    assert type(checked) is type(of_file) is bboxqa.Report
    assert "B001" in {finding.code for finding in checked.findings}
    assert checked.counts == of_file.counts


@pytest.mark.parametrize("name", FINDING_VIEWS)
def test_each_format_is_rendered_with_whole_lines(checked, name):
    text = checked.render(name)
    assert "B001" in text
    assert text == "\n".join([*view(FINDING_VIEWS, name)(checked), ""])


def test_to_sarif_is_a_log_of_the_findings(checked):
    log = checked.to_sarif()
    assert log["version"] == "2.1.0"
    assert "B001" in {result["ruleId"] for result in log["runs"][0]["results"]}


def test_a_notebook_shows_the_text_and_nothing_is_markup(checked):
    files = tuple(replace(each, name="<script>.json") for each in checked.files)
    html = replace(checked, files=files)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;.json: 1 image, " in html
    assert all(code in html for code in checked.counts)


def test_a_report_is_a_frozen_value(checked):
    assert replace(checked) == pickle.loads(pickle.dumps(checked)) == checked  # noqa: S301
    assert not hasattr(checked, "__dict__")
    with pytest.raises(AttributeError):
        checked.version = "2"
