"""The charts: figures with intervals, kinds of disagreement, images, pairs, categories, offsets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt
from textwrap import wrap
from typing import Any, Literal

from bboxqa.core.text import count
from bboxqa.model.diagnosis import ALL_AGREE, NO_BOX
from bboxqa.report.charts.chart import (
    BACK,
    DASHES,
    DIM,
    LARGE,
    MOST_SLANTED,
    SERIES,
    SMALL,
    TEXT,
    Chart,
    Dot,
    Key,
    Mark,
    Path,
    Point,
    Text,
    bar,
    in_rows,
    nothing,
    readable_on,
    span,
    upright,
)
from bboxqa.report.numbers import (
    THE_OTHERS,
    figure_text,
    json_figure,
    number,
    part_of,
    set_apart,
    short_name,
    signed,
)

Rows = Sequence[Mapping[str, Any]]

_MOST_IMAGES, _MOST_ANNOTATORS, _MOST_CATEGORIES = 30, 40, 20
_OTHER = "(other)"
# Characters of a name beside a row and below a column.
_LONGEST_BESIDE, _LONGEST_BELOW = 36, 20
# The colour map cividis at 0, 0.1, … 1, which people with colour vision deficiencies can read.
_CIVIDIS = (
    "#00224e", "#083370", "#35456c", "#4f576c", "#666970", "#7d7c78", "#948e77", "#aea371",
    "#c8b866", "#e5cf52", "#fee838",
)  # fmt: skip
_NOT_MOVED = "no systematic offset"
# The largest offset is drawn as at most this share of the side of the box.
_LARGEST_DRAWN = 0.25
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
# For each edge, its midpoint in a box from 0 to 1, its direction, and where its offset is written.
_EDGES: dict[str, tuple[Point, Point, Point, Literal["start", "middle", "end"]]] = {
    "left": ((0, 0.5), (1, 0), (-0.32, 0.5), "end"),
    "top": ((0.5, 0), (0, 1), (0.5, -0.42), "middle"),
    "right": ((1, 0.5), (1, 0), (1.32, 0.5), "start"),
    "bottom": ((0.5, 1), (0, 1), (0.5, 1.45), "middle"),
}
_Place = tuple[int, int]
_MOST_INTERVALS = 30
"""Categories or annotators that are drawn."""
# Characters of a line that fits beside the longest name of a figure, and lines that fit a row.
_LINE, _MOST_LINES = 29, 3
_DASHED = (3.7, 1.6)
_APART = 0.22
_LINES = {"alpha": "alpha", "f1": "existence: F1", "class_alpha": "class: alpha"}


@dataclass(frozen=True, slots=True)
class _Row:
    """Figures with intervals, the lowest accepted value, or the reason why there is none."""

    name: str
    figures: Sequence[Mapping[str, Any]]
    color: int = 0
    """Of the first figure."""
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

    def figure(record: Mapping[str, Any], key: str, ends: str = "interval") -> Rows:
        return [{"value": record[key], "interval": record[ends]}]

    rows = [
        _Row("Alpha", figure(threshold, "alpha"), 0, threshold["status"], min_alpha),
        _Row("Existence: F1", figure(existence, "f1"), 1, "no objects", min_f1),
        _Row("Existence:\nabove chance", figure(existence, "alpha", "alpha_interval"), 1,
             existence["reason"] or ""),
        _Row("Class: alpha", figure(classes, "alpha"), 2, classes["status"]),
        _Row(f"Place: mean {measure}", figure(place, "mean_iou"), 3, "no matched pairs"),
    ]  # fmt: skip
    return _of_rows("", rows, 30)


def category_intervals(categories: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw alpha of each category with its 95 % interval, at most 30 of them, the lowest first.

    `categories` are from one of ``summary["thresholds"]``. If no category has an alpha, F1 is
    drawn.
    """
    is_f1 = all(row["alpha"] is None for row in categories)
    figure, low, high = ("f1", "f1_low", "f1_high") if is_f1 else ("alpha", "low", "high")
    title = "F1 of categories" if is_f1 else "Alpha of categories"
    known = [row for row in categories if row[figure] is not None]
    worst = sorted(known, key=lambda row: (row[figure], -row["n_annotations"]))[:_MOST_INTERVALS]
    if not worst:
        return nothing(title, "no category has a figure")
    rows = []
    for row in worst:
        ends = None if row[low] is None or row[high] is None else (row[low], row[high])
        name = f"{set_apart(short_name(row['category']))} ({row['n_annotations']:,})"
        rows.append(_Row(name, [{"value": row[figure], "interval": ends}]))
    against = "" if is_f1 else "against all others; "
    shown = part_of(len(worst), len(categories), "categories")
    legend = (f"{against}in brackets: annotations", shown and f"{shown}, lowest first")
    return _of_rows(title, rows, 17.3, legend)


def annotator_intervals(
    title: str,
    people: Sequence[Mapping[str, Any]],
    figures: Mapping[str, str],
    *,
    highest_first: bool = False,
    at_zero: bool = False,
) -> Chart:
    """Draw figures of each annotator with their 95 % intervals, at most 30 annotators.

    Of `people`, each has a "name", and for each figure its "value" and "interval". `figures` are
    keys and labels of figures; the first decides the order, the lowest value at the top unless
    `highest_first`, and is written at the right. With `at_zero`, 0 is marked.
    """
    labels = {
        key: label for key, label in figures.items()
        if any(row[key]["value"] is not None for row in people)
    }  # fmt: skip
    known = [row for row in people if any(row[key]["value"] is not None for key in labels)]
    if not known:
        return nothing(title, "nobody has such a figure")
    first, sign = next(iter(labels)), -1 if highest_first else 1
    known.sort(key=lambda row: (row[first]["value"] is None, sign * (row[first]["value"] or 0)))
    shown = known[:_MOST_INTERVALS]
    part = part_of(len(shown), len(known), "annotators")
    legend = (
        part and f"{part}, {'highest' if highest_first else 'lowest'} first",
        "" if labels[first].lower() == title.lower() else f"numbers: {labels[first]}",
    )
    rows = [_Row(short_name(row["name"]), [row[key] for key in labels]) for row in shown]
    return _of_rows(title, rows, 11.5 + 7.2 * len(labels), legend, [*labels.values()], at_zero)


def _of_rows(
    title: str,
    rows: Sequence[_Row],
    step: float,
    legend: Sequence[str] = (),
    labels: Sequence[str] = (),
    at_zero: bool = False,
) -> Chart:
    """Return dots and bars for each row, the first at the top, with its numbers at the right.

    Rows are `step` points high; `labels` name several figures of a row.
    """
    names = [
        row.name if row.lowest is None else f"{row.name}\nat least {row.lowest:g}" for row in rows
    ]
    size = SMALL if max(len(row.name) for row in rows) > 24 else LARGE
    marks: list[Mark] = [upright(0, -inf, inf)] if at_zero else []
    marks += [mark for place, row in enumerate(rows) for mark in _marks(row, place, size)]
    values = [
        each for row in rows for figure in row.figures
        for each in (row.lowest, figure["value"], *(figure["interval"] or ())) if each is not None
    ]  # fmt: skip
    low, high = min([0.0, *values]), max([0.0, *values])
    margin = 0.05 * (high - low) or 0.05
    ends = (low - margin, high + margin) if at_zero else (floor(10 * low) / 10, max(high, 1))
    keys = [Key(label, SERIES[place], is_dot=True) for place, label in enumerate(labels)]
    return Chart(
        title, marks, ends, in_rows(len(rows)), step * len(rows), legend=legend, rows=names,
        grid="x", letter=size, keys=keys if len(keys) > 1 else (),
    )  # fmt: skip


def _marks(row: _Row, place: int, size: float) -> Iterable[Mark]:
    first, thick = row.figures[0], 3 if len(row.figures) > 1 else 8
    if row.lowest is not None:
        yield upright(row.lowest, place - 0.4, place + 0.4, _DASHED)
    for number_of, figure in enumerate(row.figures):
        at = place + _APART * (number_of - (len(row.figures) - 1) / 2)
        color = SERIES[row.color + number_of]
        if figure["interval"] is not None:
            low, high = figure["interval"]
            yield span(low, high, at, color, thick, 0.4)
        if figure["value"] is not None:
            yield Dot(figure["value"], at, color)
    if first["value"] is None and row.reason:
        lines = wrap(row.reason, _LINE)
        if len(lines) > _MOST_LINES:
            lines = wrap(short_name(row.reason.partition(":")[0], 80), _LINE)
        yield Text(-inf, place, "\n".join(lines), 3, 7, color=DIM)
    # The dot of a figure of 1 extends beyond the axis.
    yield Text(inf, place, figure_text(first), 8, size)


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


def decomposition(rows: Rows) -> Chart:
    """Draw the share of objects with each kind of disagreement, with its 95 % interval.

    `rows` are the rows of the table "decomposition". Objects may have several kinds. Beside each
    bar are the number of objects, and the rise of alpha (or F1 without alpha) if annotators settled
    them.
    """
    title = "Objects by kind of disagreement"
    if not rows or not any(row["n_objects"] for row in rows):
        return nothing(title, "there are no objects")
    gain = "f1_gain" if all(row["alpha_gain"] is None for row in rows) else "alpha_gain"
    marks: list[Mark] = []
    ends = []
    for place, row in enumerate(rows):
        share = json_figure(row, "share_any")
        low, high = (100 * each for each in share["interval"] or [share["value"] or 0] * 2)
        color = SERIES[2 if row["kind"] == ALL_AGREE else 0]
        marks.append(bar(0, 100 * (share["value"] or 0), place, color))
        if share["interval"] is not None:
            marks.append(span(low, high, place, TEXT, 1.2, 1))
        ends.append(high)
        marks.append(Text(high, place, _gain_text(row, gain), 5))
    return Chart(
        title, marks, (0, 1.05 * max([*ends, 1])), in_rows(len(rows)), 25 * len(rows),
        legend=("an object may have several kinds",), rows=[row["kind"] for row in rows],
        x_label="per cent of objects",
    )  # fmt: skip


def _gain_text(row: Mapping[str, Any], gain: str) -> str:
    text = count(row["n_any"], "object")
    if row[gain] is None or abs(row[gain]) < 0.0005:
        return text
    return f"{text}\n{'F1' if gain == 'f1_gain' else 'alpha'} {signed(row[gain], 3)} if settled"


def image_costs(images: Rows, n_images: int, figure: str = "alpha") -> Chart:
    """Draw the costs of the costliest images in alpha, or in F1 where alpha has no meaning.

    `images` and `n_images` are from the document "worst_images"; `figure` is "alpha" or "F1". At
    most 30 images are drawn.
    """
    title = f"What images cost in {figure}"
    worst = [row for row in images if row["cost"] is not None][:_MOST_IMAGES]
    if not worst:
        return nothing(title, f"there are no two images with {figure}")
    marks: list[Mark] = [upright(0, -0.5, len(worst) - 0.5)]
    for place, row in enumerate(worst):
        marks.append(bar(min(row["cost"], 0), max(row["cost"], 0), place, SERIES[1]))
        marks.append(Text(max(row["cost"], 0), place, number(row[figure.lower()]), 5))
    costs = [0.0, *(row["cost"] for row in worst)]
    low, high = min(costs), max(costs)
    margin = 0.05 * (high - low) or 0.01
    shown = part_of(len(worst), n_images, "images")
    legend = (
        shown and f"{shown}, costliest first",
        f"bar: rise of {figure} without the image",
        f"number: {figure} of the image",
    )
    return Chart(
        title, marks, (low - margin * (low < 0), high + margin), in_rows(len(worst)),
        16 * len(worst), legend=legend, rows=[short_name(row["file_name"]) for row in worst],
    )  # fmt: skip


def pair_matrix(order: Sequence[str], pairs: Rows, figure: Literal["f1", "alpha"] = "f1") -> Chart:
    """Draw the agreement of each pair of annotators, with the number of their units.

    Cells of annotators without a shared image are blank. `order` has the annotators of the table
    "agreement_matrix"; `pairs` are from one of ``summary["thresholds"]``. With more than 40
    annotators, those with most units are drawn.
    """
    names = _most_shared(order, pairs)
    place = {name: index for index, name in enumerate(names)}
    title = f"{'Alpha' if figure == 'alpha' else 'F1'} of pairs of annotators"
    if len(names) < 2:
        return nothing(title, "there are no two annotators")
    values: dict[_Place, float] = {}
    texts = {}
    for pair in pairs:
        row, column = (place.get(pair[f"annotator_{side}"], -1) for side in (1, 2))
        if row >= 0 and column >= 0 and pair["n_units"]:
            for cell in ((row, column), (column, row)):
                texts[cell] = f"{number(pair[figure])}\n{pair['n_units']:,}"
                if pair[figure] is not None:
                    values[cell] = pair[figure]
    is_written = len(names) <= MOST_SLANTED
    shown = part_of(len(names), len(order), "annotators")
    legend = [
        shown and f"{shown}, with most units",
        "blank: nothing to compare" if len(texts) < len(names) * (len(names) - 1) else "",
        "below the value: objects that either drew" if is_written else "darkest: 0, lightest: 1",
    ]  # fmt: skip
    beside, below = (
        [short_name(name, most) for name in names] for most in (_LONGEST_BESIDE, _LONGEST_BELOW)
    )
    return _matrix(title, legend, beside, below, values, texts if is_written else {})


def _most_shared(order: Sequence[str], pairs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the annotators to draw, in their order."""
    shared: Counter[str] = Counter()
    for pair in pairs:
        shared.update({pair["annotator_1"]: pair["n_units"], pair["annotator_2"]: pair["n_units"]})
    kept = sorted(order, key=lambda name: -shared[name])[:_MOST_ANNOTATORS]
    return [name for name in order if name in set(kept)]


def confusion_matrix(rows: Rows, annotator: str | None = None, *, least: int = 1) -> Chart:
    """Draw the confusion matrix of annotators with the others, in percent of rows.

    `rows` are those of the table "confusion_matrix"; with `annotator`, only those of this one
    count. With more than 20 categories, the most confused ones are drawn, and the others together
    as a column; none that is in fewer pairs than `least`.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if annotator is None or row["annotator"] == annotator:
            counts[row["category"], row["others"]] += row["n"]
    title = "Confusion of categories"
    if not counts:
        return nothing(title, "no object has several annotators to compare")
    names, total = _most_confused(rows, counts, least)
    own = [*names, NO_BOX]
    others = own if len(names) == total else [*names, _OTHER, NO_BOX]
    n: Counter[_Place] = Counter()
    for (name, other), number_of in counts.items():
        if name in own:
            n[own.index(name), others.index(other if other in others else _OTHER)] += number_of
    sums: Counter[int] = Counter()
    for (line, _), number_of in n.items():
        sums[line] += number_of
    values = {cell: number_of / sums[cell[0]] for cell, number_of in n.items() if number_of}
    texts = {cell: "<1" if each < 0.01 else f"{100 * each:.0f}" for cell, each in values.items()}
    who = "one annotator" if annotator is None else set_apart(short_name(annotator))
    shown = part_of(len(names), total, "categories")
    legend = [
        shown and f"{shown}, confused most",
        f"row: category by {who}; in brackets: pairs",
        "column: category by another, % of the row",
    ]
    beside = [f"{set_apart(_shown(name))} ({sums[line]:,})" for line, name in enumerate(own)]
    below = [_shown(each, _LONGEST_BELOW) for each in others]
    return _matrix(title, legend, beside, below, values, texts)


def _most_confused(
    rows: Rows, counts: Mapping[tuple[str, str], int], least: int
) -> tuple[list[str], int]:
    """Return the categories to draw, sorted, and how many there are."""
    names = sorted({name for row in rows for name in (row["category"], row["others"])} - {NO_BOX})
    confused: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for (own, other), n in counts.items():
        used[own] += n
        if own != other and NO_BOX not in (own, other):
            confused.update({own: n, other: n})
    kept = sorted(names, key=lambda name: (-confused[name], -used[name]))[:_MOST_CATEGORIES]
    return sorted(name for name in kept if used[name] >= least), len(names)


def _shown(name: str, longest: int = 28) -> str:
    return name.strip("()") if name in (NO_BOX, _OTHER) else short_name(name, longest)


def _matrix(
    title: str,
    legend: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[_Place, float],
    texts: Mapping[_Place, str],
) -> Chart:
    """Return square cells, dark for 0 and light for 1, with texts as large as they fit."""
    most = max(len(rows), len(columns))
    longest = max([3, *(len(line) for text in texts.values() for line in text.split("\n"))])
    side = 72 * min(max(2.8 / most, 0.36, 0.065 * longest), 0.8)
    if most > MOST_SLANTED:
        side = 72 * (0.3 if most < 25 else 0.19)
    letter = min(max(0.9 * side / (0.62 * longest), 7), 10)
    marks: list[Mark] = []
    for (row, column), shade in values.items():
        corners = _box((column - 0.5, row - 0.5), (column + 0.5, row + 0.5))
        marks.append(Path([corners], BACK, _color(shade), 0.8))
    for (row, column), text in texts.items():
        value = values.get((row, column))
        color = DIM if value is None else readable_on(_color(value))
        marks.append(Text(column, row, text, 0, letter, "middle", color))
    size = 9 if most <= MOST_SLANTED else 8 if most <= 25 else 7
    return Chart(
        title, marks, (-0.5, len(columns) - 0.5), in_rows(len(rows)), side * len(rows),
        side * len(columns), legend, rows, columns, frame="", letter=size,
    )  # fmt: skip


def _color(value: float) -> str:
    """Return the colour of a value from 0 to 1, between two neighbours of the map."""
    share = 10 * min(max(value, 0.0), 1.0)
    first = min(max(int(share), 0), 9)
    pairs = zip(_channels(_CIVIDIS[first]), _channels(_CIVIDIS[first + 1]), strict=True)
    mixed = (round(one + (other - one) * (share - first)) for one, other in pairs)
    return "#" + "".join(f"{each:02x}" for each in mixed)


def _channels(color: str) -> list[int]:
    return [int(color[start : start + 2], 16) for start in (1, 3, 5)]


def offsets(edges: Rows, *, others: str = THE_OTHERS) -> Chart:
    """Draw a box with its four edges where an annotator draws them on average.

    `edges` are the rows of one annotator of the table "offsets". Arrows from the edges of the
    others to those of the annotator are magnified by the factor in the legend; the numbers are
    pixels with their 95 % intervals. Only systematic offsets are drawn, since magnified chance
    would look like a finding; offsets without an interval are grey. `others` is what the other
    annotators are called.
    """
    name = short_name(edges[0]["annotator"]) if edges else ""
    known = [row for row in edges if row["offset_percent"] is not None]
    if not known:
        return nothing(name, "no object to compare with others", 209)
    moved = [row for row in known if row["systematic"] or row["offset_px_low"] is None]
    largest = max((abs(row["offset_percent"]) for row in moved), default=0) / 100
    fitting = (each for each in _FACTORS if each * largest <= _LARGEST_DRAWN)
    factor = max(fitting, default=_FACTORS[0])
    drawn = {row["edge"]: factor * row["offset_percent"] / 100 for row in moved}
    ends = [drawn.get(edge, 0.0) for edge in ("left", "top", "right", "bottom")]
    marks: list[Mark] = [
        Path([_box((0, 0), (1, 1))], DIM, dashes=(3.7, 1.6)),
        Path([_box((ends[0], ends[1]), (1 + ends[2], 1 + ends[3]))], TEXT, width=1.5),
    ]
    for row in edges:
        middle, (right, down), at, align = _EDGES[row["edge"]]
        away = drawn.get(row["edge"], 0.0)
        if abs(away) > 0.005:
            end = (middle[0] + right * away, middle[1] + down * away)
            marks += _arrow(middle, end, SERIES[1] if row["systematic"] else DIM)
        text = _offset_text(row)
        marks.append(Text(*at, text, 0, SMALL, align, bold=row["systematic"]))
    legend = (f"dashed: {others}", _how_large(factor) if moved else _NOT_MOVED)
    return Chart(name, marks, (-1.2, 2.2), (1.8, -0.8), 160, 209, legend, frame="")


def _how_large(factor: float) -> str:
    """Return the magnification of a drawing in words.

    Examples
    --------
    >>> _how_large(20), _how_large(0.5)
    ('drawn 20 times as large', 'drawn 2 times smaller')
    """
    if factor < 1:
        return f"drawn {1 / factor:g} times smaller"
    return "true to scale" if factor == 1 else f"drawn {factor:g} times as large"


def _offset_text(row: Mapping[str, Any]) -> str:
    figure = json_figure(row, "offset_px")
    if figure["value"] is None:
        return "–"
    ends = figure["interval"]
    bounds = "" if ends is None else f"\n[{signed(ends[0])}, {signed(ends[1])}]"
    return f"{signed(figure['value'])} px{bounds}"


def _box(first: Point, second: Point) -> list[Point]:
    (left, top), (right, bottom) = first, second
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def _arrow(start: Point, end: Point, color: str) -> list[Mark]:
    x, y = end[0] - start[0], end[1] - start[1]
    length = sqrt(x * x + y * y)
    x, y = 0.09 * x / length, 0.09 * y / length
    head = [end, (end[0] - x - y / 2, end[1] - y + x / 2), (end[0] - x + y / 2, end[1] - y - x / 2)]
    return [Path([[start, end]], color, width=2), Path([[*head, end]], fill=color)]
