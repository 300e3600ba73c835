"""Findings one per line, in the style of compilers."""

from collections.abc import Iterator

from bboxqa.model.findings import Finding, FoundReport
from bboxqa.report.findings.phrases import content, place


def concise_lines(report: FoundReport) -> Iterator[str]:
    """Return `file:line:column: CODE severity message` for each finding."""
    return map(concise_line, report.findings)


def concise_line(finding: Finding) -> str:
    """Return `file:line:column: CODE severity message`."""
    return f"{place(finding)}: {finding.code} {finding.severity} {content(finding)}"
