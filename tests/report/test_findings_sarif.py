"""Findings as SARIF, against the parts of its schema that are used."""

import json
from dataclasses import replace
from pathlib import Path

from jsonschema import Draft7Validator
from support.reports import HOSTILE, finding, report

from bboxqa.report.registry import FINDING_VIEWS, view

# As in the schema of SARIF 2.1.0, without the properties that are not used; like there, none
# other is allowed.
TEXT = {"type": "object", "required": ["text"], "additionalProperties": False,
        "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}}}  # fmt: skip
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def thing(required=(), **properties):
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
    }


def several(items, *, unique=False):
    return {"type": "array", "items": items, "uniqueItems": unique}


STRING, BAG = {"type": "string"}, {"type": "object"}
RULE = thing(
    ["id"],
    id=STRING,
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
    defaultConfiguration=thing(level=LEVEL),
)
REGION = thing(
    startLine={"type": "integer", "minimum": 1}, startColumn={"type": "integer", "minimum": 1}
)
PLACE = thing(
    physicalLocation=thing(
        artifactLocation=thing(uri={"type": "string", "format": "uri-reference"}), region=REGION
    )
)
RESULT = thing(
    ["message"],
    ruleId=STRING,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=TEXT,
    locations=several(PLACE),
    partialFingerprints={"type": "object", "additionalProperties": STRING},
    properties=BAG,
)
RUN = thing(
    ["tool"],
    tool=thing(
        ["driver"],
        driver=thing(["name"], name=STRING, version=STRING, rules=several(RULE, unique=True)),
    ),
    invocations=several(
        thing(
            ["executionSuccessful"],
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=several(thing(["message"], level=LEVEL, message=TEXT)),
        )
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=several(RESULT),
)
SARIF = Draft7Validator(
    {
        "type": "object",
        "required": ["version", "runs"],
        "additionalProperties": False,
        "properties": {"$schema": STRING, "version": {"enum": ["2.1.0"]}, "runs": several(RUN)},
    }
)


def log_of(found):
    return json.loads("\n".join(view(FINDING_VIEWS, "sarif")(found)).encode())


def run_of(found):
    log = log_of(found)
    SARIF.validate(log)
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
