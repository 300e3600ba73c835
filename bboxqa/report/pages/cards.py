"""What a page says about each annotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bboxqa.core.text import count, names_in_words
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.report.charts.copied import images_compared
from bboxqa.report.charts.labels import THE_OTHERS, others_of
from bboxqa.report.pages.html_document import interval, number, percent
from bboxqa.report.pages.page_charts import offset_charts
from bboxqa.report.pages.pictures import Legend
from bboxqa.report.pages.sections.section import table_rows

MOST = 24
"""Annotators that have a card; all are in the table."""
# Fewer annotators cannot form two groups of two or more.
_FEWEST_OF_GROUPS = 4
# The most members of a group that are named.
_MOST_NAMED = 12
# Columns of `boxes_per_object` that a card shows: title, count and rate.
_SHAPES = (
    ("drawn twice", "n_twice", "twice_rate"),
    ("split", "n_split", "split_rate"),
    ("merged", "n_merged", "merge_rate"),
)


@dataclass(frozen=True, slots=True)
class Card:
    """An annotator."""

    name: str
    style: str
    figures: Sequence[tuple[str, str, str]]
    """Title, value and interval."""
    chart: str
    confused: str
    n: int
    misses: float | None
    extras: float | None


def annotator_cards(diagnosis: Mapping[str, Any] | None, of: Legend) -> list[Card]:
    """Return cards of annotators with errors in most objects, the lowest F1 first."""
    if diagnosis is None:
        return []
    shapes = _shapes(diagnosis)
    rows = table_rows(diagnosis["tables"]["annotators"])
    rows.sort(key=lambda row: -_n_errors(row, shapes[row["annotator"]]))
    compared = {row["annotator"]: images_compared(row) for row in rows}
    names = {row["annotator"] for row in rows[:MOST]}
    charts = offset_charts(diagnosis, names)
    cells = table_rows(diagnosis["tables"]["confusion_matrix"])
    confused = _confusions(cells, [*compared])
    several = len({row["category"] for row in cells} - {NO_BOX}) > 1
    grouped = _grouped(diagnosis)
    work = {row["name"]: row for row in diagnosis.get("work", ())[1:]}
    shown = [row for row in diagnosis["annotators"] if row["name"] in names]
    # Those without an F1 come last.
    shown.sort(key=lambda row: (row["f1"]["value"] is None, row["f1"]["value"] or 0.0))
    return [
        Card(
            name=row["name"],
            style=of.style(row["name"]) if row["name"] in of.annotators else "",
            figures=[
                *_figures(
                    row, compared[row["name"]], others_of(row["name"], [*compared]),
                    several_categories=several,
                ),
                *_of_shapes(shapes[row["name"]]),
                *_of_group(grouped.get(row["name"])),
                *_of_time(work.get(row["name"])),
            ],
            chart=charts.get(row["name"], ""),
            # Objects to which others gave another category may not match, such as parts of a group.
            confused="" if row["class_share"]["value"] == 1 else confused.get(row["name"], ""),
            n=row["n"],
            misses=row["miss_rate"]["value"],
            extras=row["extra_rate"]["value"],
        )
        for row in shown
    ]  # fmt: skip


def group_sentences(diagnosis: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on groups of annotators who agree more among themselves."""
    if diagnosis is None or len(diagnosis["annotators"]) < _FEWEST_OF_GROUPS:
        return []
    groups: dict[int, list[str]] = {}
    for name, row in _grouped(diagnosis).items():
        groups.setdefault(row["group"], []).append(name)
    if not groups:
        return ["No annotators were found who agree more among themselves than with the others."]
    sentences = [
        f"Group {number}: {', '.join(names_in_words(names[:_MOST_NAMED]))}"
        + (f" and {len(names) - _MOST_NAMED:,} more." if names[_MOST_NAMED:] else ".")
        for number, names in sorted(groups.items())
    ]
    first = (
        f"The annotators form {len(groups)} groups, which agree more within than with each other: "
        "each may read the instructions in its own way."
    )
    return [first, *sentences]


def _grouped(diagnosis: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the row of each annotator in the table of groups; none if all are one group."""
    rows = table_rows(diagnosis["tables"]["agreement_groups"])
    several = len({row["group"] for row in rows}) > 1
    return {row["annotator"]: row for row in rows} if several else {}


def _shapes(diagnosis: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return how often each annotator draws objects twice, splits or merges them."""
    rows = table_rows(diagnosis["tables"]["boxes_per_object"])
    return {row["annotator"]: row for row in rows}


def _n_errors(row: Mapping[str, Any], shapes: Mapping[str, Any]) -> int:
    """Return the number of objects that an annotator missed, added, repeated, split or merged."""
    return int(row["n_missed"] + row["n_extra"] + sum(shapes[n] for _, n, _ in _SHAPES))


def _of_shapes(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the rates of objects drawn twice, split and merged that are not zero."""
    figures = []
    for title, n, rate in _SHAPES:
        if row[n]:
            ends = [row[f"{rate}_low"], row[f"{rate}_high"]]
            bounds = None if None in ends else [100 * each for each in ends]
            figures.append((title, percent(row[rate]), interval(bounds, 1)))
    return figures


def _of_group(row: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if row is None:
        return []
    return [
        ("group", number(row["group"]), ""),
        ("F1 with category in the group", number(row["within"]), ""),
        ("F1 with category outside it", number(row["between"]), ""),
    ]


def _of_time(row: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    # The results of a model have no times.
    if row is None or not row["n_sessions"]:
        return []
    speed = row["per_minute"]
    return [
        ("annotations a minute", number(speed["value"], 1), interval(speed["interval"], 1)),
        ("sessions", number(row["n_sessions"]), ""),
    ]


def _confusions(rows: Sequence[Mapping[str, Any]], every: Sequence[str]) -> dict[str, str]:
    """Return the most frequent difference of each annotator from most others, in words.

    `every` are all annotators.

    It is compared with the majority: in pairs, the errors of one would show up for all others.
    """
    worst: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if NO_BOX not in (row["category"], row["others"]) and row["category"] != row["others"]:
            most = worst.get(row["annotator"])
            if _n_most(row) > (_n_most(most) if most else 0):
                worst[row["annotator"]] = row
    return {name: _confusion(row, others_of(name, every)) for name, row in worst.items()}


def _confusion(row: Mapping[str, Any], others: str) -> str:
    who = "most others say" if others == THE_OTHERS else f"{others} says"
    own, theirs = names_in_words((row["category"], row["others"]))
    number = count(_n_most(row), "object")
    return f"most often differs on: {own}, where {who} {theirs} ({number})"


def _n_most(row: Mapping[str, Any]) -> int:
    # Results of earlier versions do not have it.
    return int(row.get("n_most", 0))


def _figures(
    row: Mapping[str, Any], compared: str, others: str, *, several_categories: bool
) -> list[tuple[str, str, str]]:
    figures = [("annotations", number(row["n"]), "")]
    if compared:
        figures.append(("images without shared boxes", compared, ""))
    for title, key in (
        (f"F1 with {others}", "f1"),
        ("misses", "miss_rate"),
        ("extras", "extra_rate"),
        ("same category", "class_share"),
    ):
        value, bounds = row[key]["value"], row[key]["interval"]
        text = number(value) if key == "f1" else percent(value)
        scale = bounds if key == "f1" or bounds is None else [100 * each for each in bounds]
        figures.append((title, text, interval(scale, 2 if key == "f1" else 1)))
    return figures if several_categories else figures[:-1]
