"""Charts of figures with their intervals: of a threshold, categories, annotators, thresholds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf
from textwrap import wrap
from typing import Any

from bboxqa.report.charts.chart import (
    LARGE,
    SMALL,
    Chart,
    Dot,
    Key,
    Mark,
    Path,
    Text,
    in_rows,
    nothing,
    span,
    upright,
)
from bboxqa.report.charts.palette import DASHES, DIM, SERIES
from bboxqa.report.numbers import (
    figure_text,
    json_figure,
    part_of,
    set_apart,
    short_name,
)

_MOST = 30
"""Categories or annotators that are drawn."""
# Characters of a line that fits beside the longest name of a figure, and lines that fit a row.
_LINE, _MOST_LINES = 29, 3
_DASHED = (3.7, 1.6)
_APART = 0.22
_LINES = {"alpha": "alpha, pooled", "f1": "existence: F1", "class_alpha": "class: alpha"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure with its interval, the lowest accepted value, or the reason why there is none."""

    name: str
    color: str
    value: float | None
    interval: Sequence[float] | None = None
    reason: str = ""
    lowest: float | None = None


def intervals(
    threshold: Mapping[str, Any],
    *,
    min_alpha: float | None = None,
    min_f1: float | None = None,
    measure: str = "IoU",
) -> Chart:
    """Draw alpha, existence, class and place of one threshold with their 95 % intervals.

    `threshold` is one of ``summary["thresholds"]``; `min_alpha` and `min_f1` are drawn as lines.
    `measure` is what values of the similarity are called.
    """
    existence, classes, place = (threshold[name] for name in ("existence", "class", "place"))
    rows = [
        _Row("Alpha, pooled", SERIES[0], threshold["alpha"], threshold["interval"],
             threshold["status"], min_alpha),
        _Row("Existence: F1", SERIES[1], existence["f1"], existence["interval"], "no objects",
             min_f1),
        _Row("Existence:\nabove chance", SERIES[1], existence["alpha"],
             existence["alpha_interval"], existence["reason"] or ""),
        _Row("Class: alpha", SERIES[2], classes["alpha"], classes["interval"], classes["status"]),
        _Row(f"Place: mean {measure}", SERIES[3], place["mean_iou"], place["interval"],
             "no matched pairs"),
    ]  # fmt: skip
    return _of_rows("", rows, 30 * len(rows))


def category_intervals(categories: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw alpha of each category with its 95 % interval, at most 30 of them, the lowest first.

    `categories` are from one of ``summary["thresholds"]``. If no category has an alpha, F1 is
    drawn.
    """
    is_f1 = all(row["alpha"] is None for row in categories)
    figure, low, high = ("f1", "f1_low", "f1_high") if is_f1 else ("alpha", "low", "high")
    title = "F1 of categories" if is_f1 else "Alpha of categories"
    known = [row for row in categories if row[figure] is not None]
    worst = sorted(known, key=lambda row: (row[figure], -row["n_annotations"]))[:_MOST]
    if not worst:
        return nothing(title, "no category has a figure")
    rows = [
        _Row(
            f"{set_apart(short_name(row['category']))} ({row['n_annotations']:,})",
            SERIES[0],
            row[figure],
            None if row[low] is None or row[high] is None else (row[low], row[high]),
        )
        for row in worst
    ]
    against = "" if is_f1 else "against all others; "
    shown = part_of(len(worst), len(categories), "categories")
    legend = (f"{against}in brackets: annotations", shown and f"{shown}, lowest first")
    return _of_rows(title, rows, 17.3 * len(rows), legend)


def _of_rows(title: str, rows: Sequence[_Row], height: float, legend: Sequence[str] = ()) -> Chart:
    """Return a dot and a bar for each row, the first at the top, with its numbers at the right."""
    names = [
        row.name if row.lowest is None else f"{row.name}\nat least {row.lowest:g}" for row in rows
    ]
    size = SMALL if max(len(row.name) for row in rows) > 24 else LARGE
    marks = [mark for place, row in enumerate(rows) for mark in _marks(row, place, size)]
    return Chart(
        title, marks, (_left_end(rows), 1), in_rows(len(rows)), height, legend=legend, rows=names,
        grid="x", letter=size,
    )  # fmt: skip


def _marks(row: _Row, place: int, size: float) -> Iterable[Mark]:
    # The dot of a figure of 1 extends beyond the axis.
    if row.value is None:
        reason = "\n".join(_reason_lines(row.reason))
        return [Text(-inf, place, reason, 3, 7, color=DIM), Text(inf, place, "–", 8, size)]
    text = Text(inf, place, figure_text({"value": row.value, "interval": row.interval}), 8, size)
    marks: list[Mark] = []
    if row.lowest is not None:
        marks.append(upright(row.lowest, place - 0.4, place + 0.4, _DASHED))
    if row.interval is not None:
        low, high = row.interval
        marks.append(span(low, high, place, row.color, 8, 0.4))
    return [*marks, Dot(row.value, place, row.color), text]


def _reason_lines(reason: str) -> list[str]:
    """Return a reason in lines that fit between two rows, or what it says before its colon."""
    lines = wrap(short_name(reason, 100), _LINE)
    return lines if len(lines) <= _MOST_LINES else wrap(reason.partition(":")[0], _LINE)


def _left_end(rows: Iterable[_Row]) -> float:
    """Return the start of the axis: 0, or the next lower tenth of a negative value."""
    ends = [each for row in rows for each in (row.lowest, row.value, *(row.interval or ()))]
    return floor(10 * min([0.0, *(each for each in ends if each is not None)])) / 10


def annotator_intervals(
    title: str,
    people: Sequence[Mapping[str, Any]],
    figures: Mapping[str, str],
    *,
    highest_first: bool = False,
    at_zero: bool = False,
) -> Chart:
    """Draw figures of each annotator with their 95 % intervals, at most 30 annotators.

    Parameters
    ----------
    title : str
    people : sequence of mapping
        "name", and for each figure its "value" and "interval", None where undefined.
    figures : mapping of str to str
        Keys and labels of the figures. The first one decides the order, the lowest value at the
        top, and is written at the right.
    highest_first : bool
        Whether the highest value is at the top instead.
    at_zero : bool
        Whether 0 is marked, with increases on its right.
    """
    figures = {
        key: label
        for key, label in figures.items()
        if any(row[key]["value"] is not None for row in people)
    }
    known = [row for row in people if any(row[key]["value"] is not None for key in figures)]
    if not known:
        return nothing(title, "nobody has such a figure")
    first, sign = next(iter(figures)), -1 if highest_first else 1
    known.sort(key=lambda row: _or_last(row[first]["value"], sign))
    shown = known[:_MOST]
    marks: list[Mark] = [upright(0, -inf, inf)] if at_zero else []
    for number_of, key in enumerate(figures):
        shift = _APART * (number_of - (len(figures) - 1) / 2)
        for place, row in enumerate(shown):
            if row[key]["value"] is not None:
                marks += _dot_and_bar(row[key], place + shift, SERIES[number_of])
    marks += [Text(inf, place, figure_text(row[first]), 8) for place, row in enumerate(shown)]
    part = part_of(len(shown), len(known), "annotators")
    order = "highest" if highest_first else "lowest"
    written = "" if figures[first].lower() == title.lower() else f"numbers: {figures[first]}"
    keys = [Key(label, SERIES[place], is_dot=True) for place, label in enumerate(figures.values())]
    return Chart(
        title, marks, _ends(shown, figures, at_zero=at_zero), in_rows(len(shown)),
        72 * (0.16 + 0.1 * len(figures)) * len(shown), grid="x",
        legend=(part and f"{part}, {order} first", written),
        rows=[short_name(row["name"]) for row in shown], keys=keys if len(keys) > 1 else (),
    )  # fmt: skip


def _or_last(value: float | None, sign: int) -> float:
    return inf if value is None else sign * value


def _dot_and_bar(figure: Mapping[str, Any], place: float, color: str) -> list[Mark]:
    low, high = figure["interval"] or (None, None)
    bar = [] if low is None else [span(low, high, place, color, 3, 0.45)]
    return [*bar, Dot(figure["value"], place, color, 2.5)]


def _ends(
    people: Sequence[Mapping[str, Any]], figures: Iterable[str], *, at_zero: bool
) -> tuple[float, float]:
    """Return the ends of an axis that holds all figures, with a margin."""
    found = [row[key] for row in people for key in figures if row[key]["value"] is not None]
    values = [each for row in found for each in (row["value"], *(row["interval"] or ()))]
    low, high = min([*values, *([0.0] * at_zero)]), max([*values, *([0.0] * at_zero)])
    margin = 0.05 * (high - low) or 0.05
    return low - margin, high + margin


def sensitivity(rows: Sequence[Mapping[str, Any]], chosen: float | None = None) -> Chart:
    """Draw alpha, F1 and class alpha with their 95 % bands, and F1 by chance, by threshold.

    `rows` are those of the table "sensitivity"; `chosen` is the threshold of the result.
    """
    title = "Agreement by threshold"
    lines = {
        name: [(row["threshold"], row[name]) for row in rows if row[name] is not None]
        for name in (*_LINES, "f1_by_chance")
    }
    if not any(lines.values()):
        return nothing(title, "no agreement is defined at any threshold")
    marks: list[Mark] = []
    keys = []
    for place, (name, label) in enumerate(_LINES.items()):
        if lines[name]:
            bands = [(row["threshold"], json_figure(row, name)["interval"]) for row in rows]
            known = [(x, *ends) for x, ends in bands if ends is not None]
            around = [(x, low) for x, low, _ in known] + [(x, high) for x, _, high in known[::-1]]
            marks += [Path([around], fill=SERIES[place], opacity=0.18)] if known else []
            marks.append(Path([lines[name]], SERIES[place], width=2, dashes=DASHES[place]))
            keys.append(Key(label, SERIES[place], DASHES[place]))
    if lines["f1_by_chance"]:
        marks.append(Path([lines["f1_by_chance"]], DIM, width=1.5, dashes=(1, 1.65)))
        keys.append(Key("F1 by chance", DIM, (1, 1.65)))
    if chosen is not None:
        marks.append(upright(chosen, -inf, inf))
        marks.append(Text(chosen, inf, f"chosen: {chosen:g}", 3, color=DIM, rise=6))
    ends = [
        y for mark in marks if isinstance(mark, Path) for piece in mark.pieces for _, y in piece
    ]
    values = [y for y in ends if abs(y) < inf]
    thresholds = [row["threshold"] for row in rows]
    return Chart(
        title, marks, (min(thresholds) - 0.01, max(thresholds) + 0.01),
        (min([*values, 0.0]), max([*values, 1.0])), 180, frame="xy", grid="y", keys=keys,
        legend=(" ",), x_label="least similarity of two annotations of one object",
    )  # fmt: skip
