"""Views of a result of agreement by name; a new one is a function and one line here."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypeAlias

from bboxqa.core.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bboxqa.model.results import AgreementResult

View: TypeAlias = "Callable[[AgreementResult], Iterator[str]]"
"""Yields lines without their ends."""

# As strings, so that a view is imported when it is used.
VIEWS: dict[str, str] = {
    "text": "bboxqa.report.agreement_text:text_lines",
    "json": "bboxqa.report.agreement_summary:json_lines",
}


def names() -> tuple[str, ...]:
    """Return the names of all views.

    Examples
    --------
    >>> names()
    ('text', 'json')
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
