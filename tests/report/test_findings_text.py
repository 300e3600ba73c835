"""Findings for people: text, concise and statistics."""

import re

import pytest
from msgspec.structs import replace
from support.reports import RULES, finding, report

from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.findings import statistics_lines, text_lines


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


def test_what_is_not_listed_is_counted():
    lines = lines_of(finding(fix="unsafe"), unlisted={"B001": 1481, "C002": 2})
    assert "  … and 1,481 more (--max-findings 0 shows all)" in lines
    assert "C002 warning: equal names (2)" in lines
    assert lines[-3] == "1,482 errors, 2 warnings, 0 info"
    assert lines[-2] == "[?] at least 1 fixable with --fix --unsafe-fixes"
    # No finding that is not listed has a fix.
    lines = lines_of(finding(fix="unsafe"), unlisted={"C002": 2})
    assert lines[-2] == "[?] 1 fixable with --fix --unsafe-fixes"


def test_the_end_counts_and_says_how_to_go_on():
    lines = lines_of(
        finding(fix="unsafe"), finding("D001", row=1, fix="safe"), finding("B004", row=2)
    )
    assert lines[-3:] == [
        "1 error, 1 warning, 1 info",
        "[*] 1 fixable with --fix, [?] 1 fixable with --fix --unsafe-fixes",
        "Next: bboxqa validate export.json --unsafe-fixes --diff",
    ]


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
