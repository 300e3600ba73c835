"""Findings as SARIF 2.1.0, which code scanning services read."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from bboxqa.core.json_values import json_safe
from bboxqa.model.findings import Finding, FoundReport, RuleText, Severity, identities
from bboxqa.report.findings.phrases import content, missing, named_records

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# GitHub keeps at most this many results of a run.
_MOST = 5000


def sarif_lines(report: FoundReport) -> Iterator[str]:
    """Yield a SARIF log of one run, with at most 5,000 results, the worst first."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report)]}
    yield from json.dumps(json_safe(log), indent=1, allow_nan=False).split("\n")


def _run(report: FoundReport) -> dict[str, Any]:
    index = {code: number for number, code in enumerate(report.rules)}
    named = list(zip(report.findings, identities(report.findings), strict=True))
    named.sort(key=lambda pair: -pair[0].severity.rank)
    invocation: dict[str, Any] = {"executionSuccessful": True}
    left_out = missing(report) + max(len(named) - _MOST, 0)
    if left_out:
        invocation["toolExecutionNotifications"] = [_notification(left_out)]
    return {
        "tool": {
            "driver": {
                "name": "bboxqa",
                "version": report.version,
                "rules": [_rule(rule) for rule in report.rules.values()],
            }
        },
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, name, index) for finding, name in named[:_MOST]],
    }


def _notification(left_out: int) -> dict[str, Any]:
    text = (
        f"{left_out:,} more findings are not among the results: "
        f"at most {_MOST:,} are written, the worst first, and of each rule as many as "
        "--max-findings says."
    )
    return {"level": "warning", "message": {"text": text}}


def _rule(rule: RuleText) -> dict[str, Any]:
    fixable = {
        None: "",
        "safe": " It can be fixed with --fix.",
        "unsafe": " It can be fixed with --fix --unsafe-fixes.",
    }[rule.fix]
    title = rule.title[:1].upper() + rule.title[1:]
    explained = f"{rule.explanation} {rule.breaks}".strip()
    return {
        "id": rule.code,
        "shortDescription": {"text": title},
        "fullDescription": {"text": rule.breaks},
        "help": {"text": f"{explained}{fixable}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, name: str, index: dict[str, int]) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.spot is not None:
        where["region"] = {"startLine": finding.spot.line, "startColumn": finding.spot.column}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        # In a SARIF message, brackets would turn text of the file into a link.
        "message": {"text": re.sub(r"([\\\[\]])", r"\\\1", content(finding))},
        "locations": [{"physicalLocation": where}],
        # GitHub uses the first one only; a hash of the line would be the same for all findings
        # in a file without line ends.
        "partialFingerprints": {"primaryLocationLineHash": name, "bboxqaIdentity/v1": name},
        "properties": {"pointer": finding.pointer, "ids": finding.ids, "fixable": finding.fix},
    }
    if finding.count > 1 and (named := named_records(finding)):
        result["properties"]["records"] = named
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    return result


def _uri(file: str) -> str:
    r"""Return the path of a file as a URI, relative where the path is.

    Examples
    --------
    >>> _uri("a b/ü:1.json")
    'a%20b/%C3%BC%3A1.json'
    """
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        # A name from a program that this file system cannot hold.
        file = json_safe(file)
    path = PurePath(file)
    if path.is_absolute():
        return path.as_uri()
    return quote(os.fsencode(path.as_posix()))
