"""The charts of a result as marks, and on matplotlib axes in the style of the pages."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count, unknown_name
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.results import Figure, MeasuredAgreement
from bboxqa.report.agreement_summary import CHANCE, shown_figures, summary
from bboxqa.report.chart import (
    BACK,
    DASHES,
    DIM,
    LARGE,
    LINE_HEIGHT,
    RADIUS,
    SERIES,
    TEXT,
    Chart,
    Dot,
    Key,
    Mark,
    Path,
    Text,
    layout,
    nothing,
    placed_marks,
    readable_on,
    rectangle,
)
from bboxqa.report.numbers import MINUS, figure_text, json_figure, number, part_of, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Record = Mapping[str, Any]
Rows = Sequence[Record]

_MOST_ROWS, _MOST_ANNOTATORS, _MOST_CATEGORIES = 30, 40, 20
# Characters of a name beside a row and below a column.
_LONGEST, _LONGEST_BELOW = 36, 20
# Cells of larger matrices of pairs have no numbers.
_MOST_WRITTEN = 16
# The colour map cividis at 0, 0.1, … 1, which people with colour vision deficiencies can read.
_CIVIDIS = (
    "#00224e", "#083370", "#35456c", "#4f576c", "#666970", "#7d7c78", "#948e77", "#aea371",
    "#c8b866", "#e5cf52", "#fee838",
)  # fmt: skip
_LINES = {"alpha": "alpha", "f1": "existence: F1", "class_alpha": "class: alpha"}


_Row = tuple[str, Record, str]
"""The name of a row, its figure with its interval, and the text beside it."""


def intervals(figures: Iterable[Figure]) -> Chart:
    """Draw the figures of a threshold with their 95 % intervals."""
    rows = []
    for each in figures:
        ends = None if isnan(sum(each.interval)) else each.interval
        found = {"value": each.value if each.is_known else None, "interval": ends}
        rows.append((each.name.strip(), found, figure_text(found)))
    return _of_rows("", rows, 30, most=1)


def category_intervals(categories: Rows) -> Chart:
    """Draw alpha of each category with its 95 % interval, at most 30 of them, the lowest first."""
    is_f1 = all(row["alpha"] is None for row in categories)
    figure, low, high = ("f1", "f1_low", "f1_high") if is_f1 else ("alpha", "low", "high")
    title = "F1 of categories" if is_f1 else "Alpha of categories"
    known = [row for row in categories if row[figure] is not None]
    known.sort(key=lambda row: (row[figure], -row["n_annotations"]))
    rows = []
    for row in known[:_MOST_ROWS]:
        interval = None if row[low] is None else (row[low], row[high])
        shown = {"value": row[figure], "interval": interval}
        name = f"{short_name(row['category'])} ({row['n_annotations']:,})"
        rows.append((name, shown, figure_text(shown)))
    part = part_of(len(rows), len(known), "categories")
    legend = (
        f"{'' if is_f1 else 'against all others; '}in brackets: annotations",
        part and f"{part}, lowest first",
    )
    return _of_rows(title, rows, 17.3, legend, most=1)


def decomposition(rows: Rows) -> Chart:
    """Draw the share of objects with each kind of disagreement, with its 95 % interval."""
    title = "Objects by kind of disagreement"
    if not rows or not any(row["n_objects"] for row in rows):
        return nothing(title)
    gain = "f1_gain" if all(row["alpha_gain"] is None for row in rows) else "alpha_gain"
    found = []
    for row in rows:
        share = json_figure(row, "share_any")
        ends = share["interval"] and [100 * each for each in share["interval"]]
        figure = {"value": 100 * (share["value"] or 0), "interval": ends}
        text = count(row["n_any"], "object")
        if row[gain] is not None and abs(row[gain]) >= 0.0005:
            change = f"{row[gain]:+,.3f}".replace("-", MINUS)
            text += f"\n{'F1' if gain == 'f1_gain' else 'alpha'} {change} if settled"
        found.append((row["kind"], figure, text))
    return _of_rows(
        title, found, 25, ["an object may have several kinds"], most=1,
        x_label="per cent of objects",
    )  # fmt: skip


def _of_rows(
    title: str,
    rows: Sequence[_Row],
    step: float,
    legend: Sequence[str] = (),
    *,
    most: float = 0.0,
    x_label: str = "",
) -> Chart:
    """Return dots with intervals for each row, the first at the top."""
    if not rows:
        return nothing(title)
    every = [
        each for _, figure, _ in rows
        for each in (figure["value"], *(figure["interval"] or ()))
        if each is not None
    ]  # fmt: skip
    low, high = min([0.0, *every]), max([most, *every])
    margin = 0.05 * (high - low) or 0.05
    x, y = (low - margin * (low < 0), high + margin), (len(rows) - 0.5, -0.5)
    marks: list[Mark] = [Path([(0, y[0]), (0, y[1])], DIM)] if low < 0 else []
    for place, (_, figure, _) in enumerate(rows):
        value, interval = figure["value"], figure["interval"]
        if interval is not None:
            marks.append(Path([(end, place) for end in interval], SERIES[0], width=8, opacity=0.4))
        if value is not None:
            marks.append(Dot(value, place, SERIES[0]))
    return Chart(
        title, marks, x, y, step * len(rows), legend=legend, rows=[name for name, *_ in rows],
        x_label=x_label, beside=[text for *_, text in rows], grid="x",
    )  # fmt: skip


def sensitivity(rows: Rows, chosen: float | None = None) -> Chart:
    """Draw alpha, F1 and class alpha with their 95 % bands, and F1 by chance, by threshold."""
    title = "Agreement by threshold"
    lines = {
        name: [(row["threshold"], row[name]) for row in rows if row[name] is not None]
        for name in _LINES
    }
    by_chance = [(row["threshold"], row["f1_by_chance"]) for row in rows]
    by_chance = [(x, y) for x, y in by_chance if y is not None and y > CHANCE]
    if not any(lines.values()):
        return nothing(title)
    found: list[Path] = []
    keys = []
    for place, (name, label) in enumerate(_LINES.items()):
        if lines[name]:
            bands = [(row["threshold"], json_figure(row, name)["interval"]) for row in rows]
            known = [(x, *ends) for x, ends in bands if ends is not None]
            around = [(x, low) for x, low, _ in known] + [(x, high) for x, _, high in known[::-1]]
            found += [Path(around, fill=SERIES[place], opacity=0.18)] if known else []
            found.append(Path(lines[name], SERIES[place], width=2, dashes=DASHES[place]))
            keys.append(Key(label, SERIES[place], DASHES[place]))
    if by_chance:
        found.append(Path(by_chance, DIM, width=1.5, dashes=(1, 1.65)))
        keys.append(Key("F1 by chance", DIM, (1, 1.65)))
    values = [y for line in found for _, y in line.points]
    x = (rows[0]["threshold"] - 0.01, rows[-1]["threshold"] + 0.01)
    y = (min([*values, 0.0]), max([*values, 1.0]))
    legend = [] if chosen is None else [f"vertical line: the chosen threshold, {chosen:g}"]
    found += [] if chosen is None else [Path([(chosen, y[0]), (chosen, y[1])], DIM)]
    return Chart(
        title, found, x, y, 180, frame="xy", grid="y", keys=keys, legend=legend,
        x_label="least similarity of two annotations of one object",
    )  # fmt: skip


def pair_matrix(order: Sequence[str], pairs: Rows) -> Chart:
    """Draw F1 of each pair of annotators, with the number of their units."""
    shared: Counter[str] = Counter()
    for pair in pairs:
        shared.update({pair["annotator_1"]: pair["n_units"], pair["annotator_2"]: pair["n_units"]})
    kept = {*sorted(order, key=lambda name: -shared[name])[:_MOST_ANNOTATORS]}
    names = [name for name in order if name in kept]
    title = "F1 of pairs of annotators"
    if len(names) < 2:
        return nothing(title)
    cells: _Cells = {}
    for pair in pairs:
        first, second = pair["annotator_1"], pair["annotator_2"]
        if first in kept and second in kept and pair["n_units"]:
            found = (pair["f1"], f"{number(pair['f1'])}\n{pair['n_units']:,}")
            cells |= {(first, second): found, (second, first): found}
    is_written = len(names) <= _MOST_WRITTEN
    shown = part_of(len(names), len(order), "annotators")
    legend = (
        shown and f"{shown}, with most units",
        "blank: nothing to compare" if len(cells) < len(names) * (len(names) - 1) else "",
        "below the value: objects that either drew" if is_written else "darkest: 0, lightest: 1",
    )
    if not is_written:
        cells = {place: (value, "") for place, (value, _) in cells.items()}
    beside, below = (
        {name: short_name(name, most) for name in names} for most in (_LONGEST, _LONGEST_BELOW)
    )
    return _matrix(title, legend, beside, below, cells)


def confusion_matrix(rows: Rows, annotator: str | None = None, *, least: int = 1) -> Chart:
    """Draw the confusion matrix of annotators with the others, in percent of rows."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if annotator is None or row["annotator"] == annotator:
            counts[row["category"], row["others"]] += row["n"]
    title = "Confusion of categories"
    if not counts:
        return nothing(title)
    every = sorted({name for row in rows for name in (row["category"], row["others"])} - {NO_BOX})
    confused: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for (name, other), n in counts.items():
        used[name] += n
        if name != other and NO_BOX not in (name, other):
            confused.update({name: n, other: n})
    most = sorted(every, key=lambda name: (-confused[name], -used[name]))[:_MOST_CATEGORIES]
    names = sorted(name for name in most if used[name] >= least)
    own = [*names, NO_BOX]
    cells: _Cells = {}
    for (name, other), n in counts.items():
        if n and name in own and other in own:
            share = n / used[name]
            cells[name, other] = (share, "<1" if share < 0.01 else f"{100 * share:.0f}")
    who = "one annotator" if annotator is None else short_name(annotator)
    shown = part_of(len(names), len(every), "categories")
    legend = (
        shown and f"{shown}, confused most",
        f"row: category by {who}; in brackets: pairs",
        "column: category by another, % of the row",
    )
    label = {name: name.strip("()") if name == NO_BOX else name for name in own}
    beside = {name: f"{short_name(label[name], 28)} ({used[name]:,})" for name in own}
    below = {name: short_name(label[name], _LONGEST_BELOW) for name in own}
    return _matrix(title, legend, beside, below, cells)


_Cells = dict[tuple[str, str], tuple[float | None, str]]
"""Value and text of cells, by the names of row and column."""


def _matrix(
    title: str,
    legend: Sequence[str],
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    cells: _Cells,
) -> Chart:
    """Return square cells, dark for 0 and light for 1, with texts as large as they fit."""
    most = max(len(rows), len(columns))
    longest = max([3, *(len(line) for _, text in cells.values() for line in text.split("\n"))])
    # Letters of 7 points have to fit.
    least = max(0.36, 0.065 * longest) if any(text for _, text in cells.values()) else 0.19
    side = 72 * min(max(2.8 / most, least), 0.8)
    letter = min(max(0.9 * side / (0.62 * longest), 7), 10)
    row_of, column_of = ({name: place for place, name in enumerate(of)} for of in (rows, columns))
    marks: list[Mark] = []
    for (row, column), (value, text) in cells.items():
        x, y, color = column_of[column], row_of[row], DIM
        if value is not None:
            fill = _CIVIDIS[round(10 * min(max(value, 0.0), 1.0))]
            marks.append(Path(rectangle((x - 0.5, y - 0.5), (x + 0.5, y + 0.5)), BACK, fill, 0.8))
            color = readable_on(fill)
        if text:
            marks.append(Text(x, y, text, letter, "middle", color))
    return Chart(
        title, marks, (-0.5, len(columns) - 0.5), (len(rows) - 0.5, -0.5), side * len(rows),
        side * len(columns), legend, [*rows.values()], columns=[*columns.values()], frame="",
    )  # fmt: skip


def offsets(rows: Rows) -> Chart:
    """Draw how far from those of the others the edges of boxes are, with their 95 % intervals."""
    title = "Offsets of edges in pixels"
    known = [row for row in rows if row["offset_px"] is not None]
    figures = [json_figure(row, "offset_px") for row in known[:_MOST_ROWS]]
    found = [
        (f"{short_name(row['annotator'])}: {row['edge']}", figure, figure_text(figure))
        for row, figure in zip(known, figures, strict=False)
    ]
    return _of_rows(title, found, 17.3, [part_of(len(found), len(known), "edges")])


_STYLE: dict[str, Any] = {
    "axes.titlecolor": TEXT, "axes.titley": 1.0, "axes.facecolor": "none",
    "figure.facecolor": "none", "text.color": TEXT, "font.size": LARGE, "legend.frameon": False,
    "patch.edgecolor": BACK, "text.parse_math": False, "svg.fonttype": "none",
    "svg.hashsalt": "bboxqa", "pdf.fonttype": 42,
}  # fmt: skip
# The room for charts as a share of what letters of a usual font take; the smallest letters, as a
# share of their size.
_WIDER, _LEAST_LETTERS = 1.07, 0.7
# Parameters of a user's session, which a style must not change.
_OF_SESSION = ("backend", "interactive", "figure.max_open_warning")
# Fonts with letters that the one of matplotlib lacks; those that are installed are used.
_FONTS = (
    "Arial Unicode MS", "Hiragino Sans", "Malgun Gothic", "Microsoft YaHei",
    "Noto Sans Arabic", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Devanagari",
    "PingFang HK", "Segoe UI", "WenQuanYi Micro Hei", "Yu Gothic",
)  # fmt: skip


@contextmanager
def page_style() -> Iterator[None]:
    """Use the style of the pages inside the context, whatever style the user has chosen."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.font_manager import fontManager

    settings: Any = {**mpl.rcParamsDefault, **_STYLE, "axes.prop_cycle": cycler(color=SERIES)}
    installed = {font.name for font in fontManager.ttflist}
    settings["font.family"] = ["sans-serif", *(name for name in _FONTS if name in installed)]
    for name in _OF_SESSION:
        del settings[name]
    # Not rc_context: it would undo the settings that a notebook makes with its first figure.
    before: Any = {name: mpl.rcParams[name] for name in settings}
    mpl.rcParams.update(settings)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def draw_chart(chart: Chart, ax: "Axes | None" = None) -> "Axes":
    """Draw a chart on given axes, which it fills, or on a new figure that a notebook shows."""
    from matplotlib import pyplot as plt
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    align: Any = {"start": "left", "middle": "center", "end": "right"}
    with page_style():
        found = layout(chart)
        size = np.array([found.total_width, found.total_height])
        if ax is None:
            # The letters of matplotlib are wider than others.
            side = (_WIDER * size[0] / 72, size[1] / 72)
            ax = plt.figure(figsize=side, facecolor=BACK).add_axes((0, 0, 1, 1))
        ax.set_axis_off()
        figure: Any = ax.figure
        # Axes have their size when the figure is laid out.
        figure.canvas.figure.draw_without_rendering()
        room = ax.get_window_extent().size * 72 / figure.dpi
        if chart.width is None:
            wanted = room / np.clip(min(room / size), _LEAST_LETTERS, 1)
            width, height = np.array([found.width, chart.height]) + wanted / (_WIDER, 1) - size
            low = _LEAST_LETTERS * chart.height
            found = layout(replace(chart, width=max(width, 40.0), height=max(height, low)))
        size = np.array([_WIDER * found.total_width, found.total_height])
        ax.set(xlim=(0, size[0]), ylim=(size[1], 0), aspect="equal")
        scale = float(min(room / size))
        for mark in placed_marks(found):
            if isinstance(mark, Text):
                ax.text(
                    mark.x, mark.y, mark.text, color=mark.color, fontsize=scale * mark.size,
                    ha=align[mark.align], va="center", linespacing=LINE_HEIGHT,
                    weight="bold" if mark.is_bold else "normal",
                    rotation=45 * mark.is_turned, rotation_mode="anchor",
                )  # fmt: skip
            elif isinstance(mark, Dot):
                ax.plot([mark.x], [mark.y], "o", color=mark.color, markersize=2 * scale * RADIUS)
            else:
                ax.add_patch(PathPatch(
                    Outline(mark.points), facecolor=mark.fill, edgecolor=mark.color,
                    linewidth=scale * mark.width, linestyle=(0, mark.dashes or None),
                    alpha=mark.opacity, capstyle="butt",
                ))  # fmt: skip
    return ax


class Plots:
    """The charts of a result, at its first threshold.

    Each method draws on the given matplotlib axes, or on those of a new ``pyplot`` figure, which
    notebooks show automatically, and returns the axes.

    All but `intervals` and `category_intervals` need the diagnosis of the result, which is computed
    by the first of them. An annotator who is not there raises ConfigError.

    Examples
    --------
    >>> import bboxqa
    >>> from matplotlib.figure import Figure
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read(example_file("fruits")))
    >>> ax = result.plot.category_intervals(Figure().subplots())
    >>> [label.get_text() for label in ax.texts if "(" in label.get_text()]
    ['Apple (6)', 'Banana (3)']
    """

    def __init__(self, result: MeasuredAgreement) -> None:
        self._result = result

    def intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, existence, class and place with their 95 % intervals."""
        measure = self._result.thresholds[0].measure
        figures = shown_figures(self._threshold, measure, self._result.n_annotators)
        return draw_chart(intervals(figures), ax)

    def category_intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha of each category, or F1 where none has an alpha; the 30 lowest, in order."""
        return draw_chart(category_intervals(self._threshold["categories"]), ax)

    def sensitivity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, F1 and class alpha by threshold, with 95 % bands and the chosen threshold."""
        chosen = self._threshold["iou_threshold"]
        return draw_chart(sensitivity(self._rows("sensitivity"), chosen), ax)

    def pair_matrix(self, ax: "Axes | None" = None) -> "Axes":
        """Draw F1 of each pair of annotators, similar annotators side by side.

        The number below it counts the units of the pair. With more than 40 annotators, those with
        most units are drawn.
        """
        order = [row["annotator"] for row in self._rows("agreement_matrix")]
        return draw_chart(pair_matrix(order, self._threshold["pairs"]), ax)

    def confusion_matrix(self, annotator: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the confusion matrix of one annotator, or of all, with the others.

        "no box" stands for a missing annotation. With more than 20 categories, the most confused
        ones are drawn.
        """
        if annotator is not None:
            self._check(annotator)
        return draw_chart(confusion_matrix(self._rows("confusion_matrix"), annotator), ax)

    def offsets(self, annotator: str, ax: "Axes | None" = None) -> "Axes":
        """Draw how far the edges of the boxes of an annotator are from those of the others.

        Rotated boxes and key points, whose offsets are in a table of the diagnosis, raise
        ConfigError.
        """
        self._check(annotator)
        tables = self._result.diagnose().tables
        if "offsets" not in tables:
            other = next(each for each in ("rotated_offsets", "joint_annotators") if each in tables)
            raise ConfigError(f"only upright boxes have edges; the table {other} has offsets")
        own = [row for row in self._rows("offsets") if row["annotator"] == annotator]
        return draw_chart(offsets(own), ax)

    def decomposition(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of objects of each kind of disagreement, with its 95 % interval."""
        return draw_chart(decomposition(self._rows("decomposition")), ax)

    @cached_property
    def _threshold(self) -> dict[str, Any]:
        found: dict[str, Any] = summary(self._result)["thresholds"][0]
        return found

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return self._result.diagnose().tables[table].records()

    def _check(self, annotator: str) -> None:
        names: list[str] = self._result.diagnose().tables["annotators"]["annotator"].tolist()
        if annotator not in names:
            raise ConfigError(f"annotator {unknown_name(annotator, names)}")
