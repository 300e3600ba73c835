"""Findings as SARIF."""

import json
from pathlib import Path

from msgspec.structs import replace
from support.reports import HOSTILE, finding, report

from bboxqa.report import FINDING_VIEWS, view


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
