"""Findings one per line, as compilers write them."""

from collections.abc import Iterator

from bboxqa.model.findings import FoundReport
from bboxqa.report.findings.phrases import content, place

__all__ = ["concise_lines"]


def concise_lines(report: FoundReport) -> Iterator[str]:
    """Yield `file:line:column: CODE severity message` for each finding.

    Parameters
    ----------
    report : FoundReport

    Yields
    ------
    str
        A line without its end.
    """
    for finding in report.findings:
        yield f"{place(finding)}: {finding.code} {finding.severity} {content(finding)}"
