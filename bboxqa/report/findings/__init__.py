"""Views of what the rules found, one module per format; each yields lines without their ends."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from bboxqa.model.findings import FoundReport

__all__ = ["FINDING_VIEWS", "View"]

View = Callable[[FoundReport], Iterator[str]]


class _Formats(Mapping[str, View]):
    """Loads a format when it is used."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> View:
        module, function = self._places[name].split(":")
        view: View = getattr(import_module(f"{__name__}.{module}"), function)
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


FINDING_VIEWS: Mapping[str, View] = _Formats(
    {
        "text": "as_text:text_lines",
        "concise": "concise:concise_lines",
        "json": "as_json:json_lines",
        "jsonl": "as_json:jsonl_lines",
        "sarif": "sarif:sarif_lines",
        "github": "github:github_lines",
        "junit": "junit:junit_lines",
        "html": "as_html:html_lines",
    }
)
"""Name of a format to its view."""
