"""Findings as one self-contained html page."""

from collections.abc import Iterator

from bboxqa.model.findings import FoundReport
from bboxqa.report.pages.findings_page import findings_page


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield a page with the files, the number of findings of each rule, and all listed findings."""
    yield from findings_page(report).splitlines()
