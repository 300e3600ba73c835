"""Views of findings by name; a new one is a function and one line here."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypeAlias

from bboxqa.core.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bboxqa.model.findings import FoundReport

View: TypeAlias = "Callable[[FoundReport], Iterator[str]]"
"""Yields lines without their ends."""

# As strings, so that a view is imported when it is used.
VIEWS: dict[str, str] = {
    "text": "bboxqa.report.findings.as_text:text_lines",
    "concise": "bboxqa.report.findings.concise:concise_lines",
    "json": "bboxqa.report.findings.as_json:json_lines",
    "jsonl": "bboxqa.report.findings.as_json:jsonl_lines",
    "sarif": "bboxqa.report.findings.sarif:sarif_lines",
    "github": "bboxqa.report.findings.github:github_lines",
    "junit": "bboxqa.report.findings.junit:junit_lines",
    "html": "bboxqa.report.findings.as_html:html_lines",
}


def names() -> tuple[str, ...]:
    """Return the names of all views.

    Examples
    --------
    >>> names()
    ('text', 'concise', 'json', 'jsonl', 'sarif', 'github', 'junit', 'html')
    """
    return tuple(VIEWS)


def view(name: str) -> View:
    """Return the view of a name.

    Raises
    ------
    ConfigError
        If there is no such view.
    """
    found: View = resolve_name(lookup("format", VIEWS, name))
    return found
