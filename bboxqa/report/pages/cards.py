"""What a page says about each annotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bboxqa.report.pages.html_document import interval, number, percent
from bboxqa.report.pages.pictures import line_style

_EDGES = ("left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True)
class Card:
    """An annotator."""

    name: str
    style: str
    figures: Sequence[tuple[str, str, str]]
    """Title, value and interval."""
    chart: str
    confused: str


def annotator_cards(diagnosis: Mapping[str, Any] | None) -> list[Card]:
    """Return a card for each annotator of the document "diagnosis"."""
    if diagnosis is None:
        return []
    return [_card(place, row) for place, row in enumerate(diagnosis["annotators"])]


def _card(place: int, row: Mapping[str, Any]) -> Card:
    figures = [("annotations", number(row["n"]), "")]
    for title, key in (
        ("F1 with the others", "f1"),
        ("misses", "miss_rate"),
        ("extras", "extra_rate"),
        ("same category", "class_share"),
    ):
        value, bounds = row[key]["value"], row[key]["interval"]
        text = number(value) if key == "f1" else percent(value)
        scale = bounds if key == "f1" or bounds is None else [100 * each for each in bounds]
        figures.append((title, text, interval(scale, 2 if key == "f1" else 1)))
    return Card(row["name"], line_style(place), figures, "", "")
