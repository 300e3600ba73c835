"""What a page says about each annotator."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bboxqa.core.text import count, names_in_words
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.report.agreement_text import images_compared
from bboxqa.report.charts.charts import offsets
from bboxqa.report.charts.svg import chart_svg
from bboxqa.report.numbers import (
    THE_OTHERS,
    interval,
    json_figure,
    number,
    others_of,
    percent,
)
from bboxqa.report.pages.pictures import Legend
from bboxqa.report.pages.sections import table_rows

MOST = 24
"""Annotators that have a card; all are in the table."""
# With more annotators, only systematic offsets are drawn.
_MOST_DRAWN = 12
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

Entry = tuple[str, str, str]
"""The title, value and interval of a figure on a card."""


def annotator_cards(diagnosis: Mapping[str, Any] | None, of: Legend) -> list[dict[str, Any]]:
    """Return cards of annotators with errors in most objects, the lowest F1 first."""
    if diagnosis is None:
        return []
    tables = diagnosis["tables"]
    shapes, rows = (_by_annotator(tables[name]) for name in ("boxes_per_object", "annotators"))
    order = sorted(rows, key=lambda name: -_n_errors(rows[name], shapes[name]))
    cells = table_rows(tables["confusion_matrix"])
    confused, charts = _confusions(cells, [*rows]), _offset_charts(diagnosis, order[:MOST])
    several = len({row["category"] for row in cells} - {NO_BOX}) > 1
    shown = [row for row in diagnosis["annotators"] if row["name"] in order[:MOST]]
    # Those without an F1 come last.
    shown.sort(key=lambda row: (row["f1"]["value"] is None, row["f1"]["value"] or 0.0))
    return [
        {
            "name": (name := row["name"]),
            "style": of.style(name) if name in of.annotators else "",
            "figures": [
                *_figures(row, images_compared(rows[name]), others_of(name, [*rows]),
                          several=several),
                *_of_shapes(shapes[name]),
            ],
            "chart": charts.get(name, ""),
            # Objects to which others gave another category may not match, such as parts of a group.
            "confused": "" if row["class_share"]["value"] == 1 else confused.get(name, ""),
            "n": row["n"],
            "misses": row["miss_rate"]["value"],
            "extras": row["extra_rate"]["value"],
        }
        for row in shown
    ]  # fmt: skip


def _by_annotator(table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {row["annotator"]: row for row in table_rows(table)}


def _n_errors(row: Mapping[str, Any], shapes: Mapping[str, Any]) -> int:
    """Return the number of objects that an annotator missed, added, repeated, split or merged."""
    return int(row["n_missed"] + row["n_extra"] + sum(shapes[n] for _, n, _ in _SHAPES))


def _figures(
    row: Mapping[str, Any], compared: str, others: str, *, several: bool
) -> Iterator[Entry]:
    yield "annotations", number(row["n"]), ""
    if compared:
        yield "images without shared boxes", compared, ""
    yield f"F1 with {others}", number(row["f1"]["value"]), interval(row["f1"]["interval"])
    yield _share("misses", row["miss_rate"])
    yield _share("extras", row["extra_rate"])
    if several:
        yield _share("same category", row["class_share"])


def _share(title: str, figure: Mapping[str, Any]) -> Entry:
    bounds = figure["interval"] and [100 * each for each in figure["interval"]]
    return title, percent(figure["value"]), interval(bounds, 1)


def _of_shapes(row: Mapping[str, Any]) -> list[Entry]:
    """Return the rates of objects drawn twice, split and merged that are not zero."""
    return [_share(title, json_figure(row, rate)) for title, n, rate in _SHAPES if row[n]]


def _offset_charts(diagnosis: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return charts of offsets by annotator; none for rotated boxes and key points."""
    from markupsafe import Markup

    tables = diagnosis["tables"]
    if "offsets" not in tables:
        return {}
    own: dict[str, list[Mapping[str, Any]]] = {}
    for row in table_rows(tables["offsets"]):
        if row["annotator"] in names:
            own.setdefault(row["annotator"], []).append(row)
    copies, every = table_rows(tables["copies"]), [row["name"] for row in diagnosis["annotators"]]
    return {
        who: Markup(  # noqa: S704 - `chart_svg` escapes texts
            chart_svg(offsets(rows, title="", copies=copies, others=others_of(who, every)),
                      f"Offsets of {who}"))
        for who, rows in own.items()
        if len(own) <= _MOST_DRAWN or any(row["systematic"] for row in rows)
    }  # fmt: skip


def _confusions(rows: Sequence[Mapping[str, Any]], every: Sequence[str]) -> dict[str, str]:
    """Return the most frequent difference of each annotator from most others, in words.

    It is compared with the majority: in pairs, the errors of one would show up for all others.
    """
    worst: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if NO_BOX not in (row["category"], row["others"]) and row["category"] != row["others"]:
            most = worst.get(row["annotator"], {})
            # Results of earlier versions do not have the number.
            if row.get("n_most", 0) > most.get("n_most", 0):
                worst[row["annotator"]] = row
    return {name: _confusion(row, others_of(name, every)) for name, row in worst.items()}


def _confusion(row: Mapping[str, Any], others: str) -> str:
    who = "most others say" if others == THE_OTHERS else f"{others} says"
    own, theirs = names_in_words((row["category"], row["others"]))
    return f"most often differs on: {own}, where {who} {theirs} ({count(row['n_most'], 'object')})"


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
    rows = _by_annotator(diagnosis["tables"]["agreement_groups"])
    return rows if len({row["group"] for row in rows.values()}) > 1 else {}
