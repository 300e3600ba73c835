"""Findings as one page of html without other files."""

from collections.abc import Iterator

from bboxqa.model.findings import FoundReport
from bboxqa.report.pages.findings_page import findings_page


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield a page with the files, how much each rule found, and all findings that are listed."""
    yield from findings_page(report).splitlines()
