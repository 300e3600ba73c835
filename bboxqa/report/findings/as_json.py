"""Findings as JSON: one object, or a line for each finding."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from bboxqa.core.json_values import json_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity


def json_lines(report: FoundReport) -> Iterator[str]:
    """Yield one JSON object, as `findings_schema` describes it, with a line for each finding."""
    head = {
        "version": report.version,
        "exporter": _exporter(report),
        "files": [_file(file) for file in report.files],
        "counts": report.counts,
        "severities": {severity: report.severities.get(severity, 0) for severity in Severity},
        "hidden": report.hidden,
        "notes": report.notes,
    }
    yield "{"
    for key, value in head.items():
        yield f'"{key}": {json_line(value)},'
    yield '"findings": ['
    last = len(report.findings) - 1
    for number, finding in enumerate(report.findings):
        yield json_line(_finding(finding)) + ("," if number < last else "")
    yield "]"
    yield "}"


def jsonl_lines(report: FoundReport) -> Iterator[str]:
    """Yield each finding as a JSON object on one line."""
    for finding in report.findings:
        yield json_line(_finding(finding))


def _exporter(report: FoundReport) -> Any:
    if len(report.files) == 1:
        return report.files[0].exporter
    return {file.name: file.exporter for file in report.files} or None


def _file(file: FileReport) -> dict[str, Any]:
    return {
        "name": file.name,
        **({"kind": file.kind} if file.kind else {}),
        "exporter": file.exporter,
        "n_images": file.n_images,
        "n_annotations": file.n_annotations,
        "n_categories": file.n_categories,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    spot = finding.spot
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "file": finding.file,
        "pointer": finding.pointer,
        "line": None if spot is None else spot.line,
        "column": None if spot is None else spot.column,
        "ids": finding.ids,
        "found": finding.found,
        "expected": finding.expected,
        "fixable": finding.fix,
        "count": finding.count,
        "examples": finding.examples,
    }


def finding_keys() -> tuple[str, ...]:
    """Return the keys of a finding, in their order."""
    return tuple(findings_schema()["$defs"]["finding"]["required"])


def findings_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of `json_lines`."""
    text = files("bboxqa.report.findings").joinpath("findings.schema.json").read_bytes()
    schema: dict[str, Any] = json.loads(text)
    return schema
