"""What a page says about each annotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bboxqa.core.text import count
from bboxqa.report.charts.heat_maps import NO_BOX
from bboxqa.report.pages.html_document import interval, number, percent
from bboxqa.report.pages.page_charts import offset_charts, table_rows
from bboxqa.report.pages.pictures import line_style


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
    charts = offset_charts(diagnosis)
    confused = _confusions(table_rows(diagnosis["tables"]["confusion_matrix"]))
    cards = [
        (
            row["f1"]["value"],
            _card(place, row, charts.get(row["name"], ""), confused.get(row["name"], "")),
        )
        for place, row in enumerate(diagnosis["annotators"])
    ]
    # The lowest F1 first; those without one last.
    cards.sort(key=lambda each: (each[0] is None, each[0] or 0.0))
    return [card for _, card in cards]


def _confusions(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what each annotator confuses most often, in words."""
    worst: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if NO_BOX not in (row["category"], row["others"]) and row["category"] != row["others"]:
            most = worst.get(row["annotator"])
            if most is None or row["n"] > most["n"]:
                worst[row["annotator"]] = row
    return {
        name: f"most often differs on: {row['category']}, where others say {row['others']} "
        f"({count(row['n'], 'pair')})"
        for name, row in worst.items()
    }


def _card(place: int, row: Mapping[str, Any], chart: str, confused: str) -> Card:
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
    return Card(row["name"], line_style(place), figures, chart, confused)
