"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from collections.abc import Iterator

from bboxqa.core.text import one_line
from bboxqa.model.findings import Finding, FoundReport, Severity
from bboxqa.report.findings.phrases import content, labelled, rule_text

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MESSAGE_SIGNS = "%\r\n"
_PROPERTY_SIGNS = "%\r\n:,"


def github_lines(report: FoundReport) -> Iterator[str]:
    """Yield `::error file=…,line=…,col=…,title=…::message` for each finding."""
    # GitHub shows the first few of each kind only.
    for finding in sorted(report.findings, key=lambda finding: -finding.severity.rank):
        properties = ",".join(
            f"{key}={_escape(value, _PROPERTY_SIGNS)}"
            for key, value in _properties(report, finding).items()
        )
        message = _escape(content(finding), _MESSAGE_SIGNS)
        yield f"::{_COMMANDS[finding.severity]} {properties}::{message}"


def _properties(report: FoundReport, finding: Finding) -> dict[str, str]:
    properties = {"file": one_line(finding.file)}
    if finding.spot is not None:
        properties |= {"line": str(finding.spot.line), "col": str(finding.spot.column)}
    return {**properties, "title": labelled(rule_text(report, finding.code))}


def _escape(text: str, signs: str) -> str:
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)
