"""Registry of views; a new one is a function and one line here.

A view takes a value and yields lines without line ends.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from bboxqa.core.plugins import lookup

View: TypeAlias = Callable[..., Iterator[str]]

# Strings, so that a view is imported only when it is used.
AGREEMENT_VIEWS: dict[str, str] = {
    "text": "bboxqa.report.agreement_text:text_lines",
    "json": "bboxqa.report.agreement_summary:json_lines",
}
"""Views of an `AgreementResult`."""

FINDING_VIEWS: dict[str, str] = {
    "text": "bboxqa.report.findings:text_lines",
    "concise": "bboxqa.report.findings:concise_lines",
    "json": "bboxqa.report.finding_formats:json_lines",
    "jsonl": "bboxqa.report.finding_formats:jsonl_lines",
    "sarif": "bboxqa.report.finding_formats:sarif_lines",
    "github": "bboxqa.report.finding_formats:github_lines",
    "junit": "bboxqa.report.finding_formats:junit_lines",
    "html": "bboxqa.report.finding_formats:html_lines",
}
"""Views of a `Report`."""

AUDIT_VIEWS: dict[str, str] = {
    "text": "bboxqa.report.audit:text_lines",
    "json": "bboxqa.report.audit:json_lines",
}
"""Views of an `AuditResult`."""

COMPARISON_VIEWS: dict[str, str] = {
    "text": "bboxqa.report.comparison:text_lines",
    "json": "bboxqa.report.comparison:json_lines",
}
"""Views of a result of `compare`."""


def view(views: Mapping[str, str], name: str) -> View:
    """Return the view of a name."""
    from pkgutil import resolve_name

    found: View = resolve_name(lookup("format", views, name))
    return found
