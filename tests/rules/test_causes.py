"""Causes hide what follows from them, and defects of many records are one finding."""

import json

import pytest
from support.mutants import MUTATIONS, clean, mutant
from support.validation import document_of, exact, findings, report_of, whole_file

from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.registry import RULES
from bboxqa.rules.runner import apply, codes_of

SETTINGS = ValidateSettings()

INFINITE = [float("inf")] * 4
MASK = {"size": [100, 80], "counts": [10, 20, 7970]}


def changed(change):
    document = clean(0)
    change(document)
    return exact(document)


CAUSES = {
    "a box of infinities": (
        changed(lambda d: d["annotations"][5].update(bbox=INFINITE)),
        "F004",
        {"S006": 1},
    ),
    "an empty record": (
        changed(lambda d: d["annotations"].append({})),
        "S012",
        {"S002": 4, "S005": 1, "S010": 1, "S011": 1},
    ),
    "a box that is no box": (
        changed(lambda d: d["annotations"][0].update(bbox=[], area=0)),
        "S006",
        {"B011": 1},
    ),
    "a box without area": (
        changed(lambda d: d["annotations"][0].update(bbox=[5, 5, 0, 9], area=0)),
        "B001",
        {"B011": 1},
    ),
    "a mask of another size": (
        whole_file({"annotations": [{"segmentation": MASK}]}),
        "R001",
        {"B011": 1},
    ),
    "a repeated category": (
        changed(lambda d: d["categories"].extend([d["categories"][-1]] * 49)),
        "C001",
        {"C002": 49},
    ),
    "all records twice": (
        changed(lambda d: d["annotations"].extend(d["annotations"])),
        "D001",
        {"I001": 48},
    ),
    "an outline beyond its image": (
        changed(
            lambda d: d["annotations"][0].update(
                segmentation=[[600, 10, 700, 10, 700, 60, 600, 60]], bbox=[600, 10, 100, 50],
                area=2000,
            )
        ),
        "P006",
        {"B003": 1},
    ),
    "a file that ends early": (exact(clean(0))[:4000], "F001", {}),
    "none of the lists": ('{"images": []}', "S001", {"S004": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_one_finding_that_shows_what_it_hides_on_demand(name):
    content, code, hidden = CAUSES[name]
    report = report_of(content)
    loud = [each.code for each in report.findings if each.severity is not Severity.INFO]
    assert loud == [code]
    assert report.hidden == ({code: hidden} if hidden else {})
    shown = report_of(content, show_consequences=True)
    assert shown.hidden == {}
    assert {code, *hidden} <= set(shown.counts)


def test_a_cause_hides_nothing_that_is_more_severe():
    # A box outside its image, and its outline, which only leaves it: an error and a warning.
    outline = [[150, 10, 190, 10, 190, 40, 150, 40]]
    example = {"annotations": [{"bbox": [150, 10, 40, 30], "segmentation": outline}]}
    report = report_of(example, select=("B002", "B003", "P006"))
    assert report.severities[Severity.ERROR] == 1
    assert report.hidden == {"B002": {"P006": 1}}


OF_ONE_FILE = [code for code, rule in RULES.items() if rule.scope != "files"]


@pytest.mark.parametrize("code", OF_ONE_FILE)
def test_hits_name_the_records_that_they_are_about(code):
    """Otherwise a wrong record could be hidden, or counted in a summary."""
    texts = [RULES[code].bad, *([mutant(code, seed=0)] if code in MUTATIONS else [])]
    for document in map(document_of, texts):
        for rule, rows in apply(document, codes_of(document, SETTINGS), SETTINGS):
            for number, row in zip(
                rows.numbers.tolist() if rows.name else (), rows.rows, strict=False
            ):
                pointer = rows.describe(document, number).pointer
                assert f"{pointer}/".startswith(f"/{rows.name}/{row}/"), rule.code


def boxes(n_wrong, n_sound):
    wrong = [{"bbox": [90, n % 50, 10.1 + n / 100, 20]} for n in range(n_wrong)]
    return {"annotations": [*wrong, *({"bbox": [n % 70, 5, 20, 20]} for n in range(n_sound))]}


def test_from_a_fifth_of_the_records_on_a_defect_is_one_finding():
    (found,) = findings(boxes(20, 80), code="B004")
    assert found.message == (
        "20 of 100 annotations; the first: bbox extends 0.1 px beyond the right edge of its image "
        "(100 x 80); expected a box inside the image"
    )
    assert (found.count, found.pointer, found.fix) == (20, "/annotations", "unsafe")
    assert len(found.examples) == 3
    assert len(findings(boxes(19, 81), code="B004")) == 19


def test_only_findings_of_a_severity_are_listed_and_all_are_counted():
    example = boxes(3, 0) | {"categories": [{}, {"id": 1}]}
    report = report_of(example, min_severity="error")
    assert {each.code for each in report.findings} == set(report.counts) == {"C001"}
    assert report.severities[Severity.INFO] == report_of(example).severities[Severity.INFO] > 0
    json.dumps(report.hidden)


def test_one_box_copied_into_all_records_is_one_finding_and_changes_no_area():
    images = [{"width": 100 + n % 4, "height": 80} for n in range(8)]
    drawn = [{"image_id": image, "category_id": category, "bbox": [60, 60, 20, 4],
              "area": image * 17} for image in range(1, 9) for category in (1, 2)]  # fmt: skip
    content = {"images": images, "categories": [{}, {}], "annotations": drawn}
    report = report_of(content, ignore=("Q001",))
    assert set(report.counts) == {"B014"}
    assert report.findings[0].severity == "error"
    assert {"B011", "D003"} <= set(report.hidden["B014"])
    mended = fix(document_of(content), ValidateSettings(show_consequences=True), unsafe=False)
    assert mended.changes == ()


@pytest.mark.parametrize(("n_empty", "n_findings"), [(19, 19), (20, 1)])
def test_records_with_equal_messages_are_one_finding_from_20_on(n_empty, n_findings):
    content = json.loads(whole_file({"annotations": [{}] * 200}))
    content["annotations"][5] = "text"
    content["annotations"][10 : 10 + n_empty] = [{}] * n_empty
    found = findings(exact(content), code="S012")
    assert len(found) == n_findings
    assert sum(each.count for each in found) == n_empty
    if n_findings == 1:
        assert found[0].message.startswith("20 of 200 annotations: record is {}, with none of ")
        assert len(list(found[0].edits)) == 20
