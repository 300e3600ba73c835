"""Matrices as coloured cells: pairs of annotators, and confusions of categories."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.report.charts.copied import reason_left_out
from bboxqa.report.charts.figures import CHART_WIDTH, AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    draw_nothing,
    number,
    part_of,
    set_apart,
    set_title,
    short_name,
)
from bboxqa.report.charts.palette import BACK, DIM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

_OTHER = "(other)"
_MOST_ANNOTATORS, _MOST_CATEGORIES = 40, 20
# With more cells in a row, cells are too small for text.
_MOST_WRITTEN = 16
# Sizes of letters in cells in points, and the width of a letter as a share of its size.
_SMALLEST, _LARGEST, _LETTER = 7.0, 10.0, 0.62
# The share of the width of a cell that its text may fill.
_MOST_FILLED = 0.9
# Characters of a name beside a row and below a column.
_LONGEST_BESIDE, _LONGEST_BELOW = 36, 20
_NAMES = {"alpha": "Alpha", "f1": "F1"}
# The ends of the five lines that hatch a cell, from its centre; those of neighbours continue them.
_LOW, _HIGH = np.clip(np.arange(-2, 3)[:, None] / 3 + [-0.5, 0.5], -0.5, 0.5).T
_STROKES = np.stack([np.column_stack([_LOW, _HIGH]), np.column_stack([_HIGH, _LOW])], axis=1)
# Text colours in cells, whose colours are the same on a light and a dark page.
_ON_LIGHT, _ON_DARK = "#101418", "#fdfdfd"


@page_style()
def pair_matrix(
    order: Sequence[str],
    pairs: Sequence[Mapping[str, Any]],
    figure: Literal["f1", "alpha"] = "f1",
    *,
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw the agreement of each pair of annotators, with the number of their units.

    Cells of annotators without a shared image are hatched. `order` has the annotators of the table
    "agreement_matrix"; `pairs` are from one of ``summary["thresholds"]``. With more than 40
    annotators, those with most units are drawn.
    """
    names = _most_shared(order, pairs)
    place = {name: index for index, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    n_units = np.zeros(values.shape, np.int64)
    for pair in pairs:
        row, column = (place.get(pair[f"annotator_{side}"], -1) for side in (1, 2))
        if row >= 0 and column >= 0:
            value = pair[figure]
            values[[row, column], [column, row]] = np.nan if value is None else value
            n_units[[row, column], [column, row]] = pair["n_units"]
    title = f"{_NAMES[figure]} of pairs of annotators"
    if len(names) < 2:
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, "there are no two annotators")
    beside, below = (
        [short_name(name, longest) for name in names]
        for longest in (_LONGEST_BESIDE, _LONGEST_BELOW)
    )
    is_written = len(names) <= _MOST_WRITTEN
    longest = max(len("0.00"), len(f"{n_units.max():,}"))
    ax, letter = _labelled_axes(axes, beside, below, longest)
    shared = n_units > 0
    _hatch(ax, ~shared & ~np.eye(len(names), dtype=np.bool_))
    if not np.isnan(values).all():
        cells = _draw_cells(ax, values, _levels(values))
        if not is_written:
            _add_scale(ax, cells)
    if is_written:
        _write(ax, shared, values, letter, lambda row, column: (
            ("–" if np.isnan(values[row, column]) else number(values[row, column]))
            + f"\n{n_units[row, column]:,}"
        ))  # fmt: skip
    shown = part_of(len(names), len(order), "annotators")
    set_title(
        ax, title, shown and f"{shown}, with most units",
        "" if (shared | np.eye(len(names), dtype=np.bool_)).all() else "hatched: no units",
        "below the value: units of the pair" if is_written else "",
    )  # fmt: skip
    return ax


def _most_shared(order: Sequence[str], pairs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the annotators to draw, in their order."""
    shared: Counter[str] = Counter()
    for pair in pairs:
        shared.update({pair["annotator_1"]: pair["n_units"], pair["annotator_2"]: pair["n_units"]})
    kept = sorted(order, key=lambda name: -shared[name])[:_MOST_ANNOTATORS]
    return [name for name in order if name in set(kept)]


@page_style()
def confusion_matrix(
    rows: Sequence[Mapping[str, Any]],
    annotator: str | None = None,
    *,
    copies: Sequence[Mapping[str, Any]] = (),
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw the confusion matrix of annotators with the others, in percent of rows.

    `rows` and `copies` are the rows of the tables "confusion_matrix" and "copies"; with
    `annotator`, only this annotator's rows count. With more than 20 categories, the most confused
    ones are drawn, and the others together as a column.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if annotator is None or row["annotator"] == annotator:
            counts[row["category"], row["others"]] += row["n"]
    who = "one annotator" if annotator is None else set_apart(short_name(annotator))
    title = "Confusion of categories"
    names, total = _most_confused(rows, counts)
    if not counts:
        reason = reason_left_out(copies, "no object has several annotators", annotator)
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, reason)
    columns = [*names, NO_BOX] if len(names) == total else [*names, _OTHER, NO_BOX]
    n = _count_table(counts, [*names, NO_BOX], columns)
    sums = n.sum(1)
    with np.errstate(invalid="ignore"):
        percent = 100 * n / sums[:, None]
    percent[n == 0] = np.nan
    labels = [
        f"{set_apart(_shown(name))} ({int(each):,})"
        for name, each in zip([*names, NO_BOX], sums, strict=True)
    ]
    ax, letter = _labelled_axes(axes, labels, [_shown(each, _LONGEST_BELOW) for each in columns])
    _draw_cells(ax, percent, np.linspace(0, 100, 11))
    _write(ax, n > 0, percent, letter, lambda row, column: _percent(percent[row, column]))
    shown = part_of(len(names), total, "categories")
    set_title(
        ax, title, shown and f"{shown}, confused most",
        f"row: category by {who}; in brackets: pairs", "column: category by another, % of the row",
    )  # fmt: skip
    return ax


def _most_confused(
    rows: Iterable[Mapping[str, Any]], counts: Mapping[tuple[str, str], int]
) -> tuple[list[str], int]:
    """Return the categories to draw, in the order of the rows, and how many there are."""
    names = [*dict.fromkeys(name for row in rows for name in (row["category"], row["others"]))]
    names = sorted(name for name in names if name != NO_BOX)
    confused: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for (own, other), n in counts.items():
        used[own] += n
        if own != other and NO_BOX not in (own, other):
            confused[own] += n
            confused[other] += n
    kept = sorted(names, key=lambda name: (-confused[name], -used[name]))[:_MOST_CATEGORIES]
    return [name for name in names if name in set(kept)], len(names)


def _count_table(
    counts: Mapping[tuple[str, str], int], names: Sequence[str], columns: Sequence[str]
) -> FloatArray:
    """Return the counts as an array; columns that are not named are those of "(other)"."""
    row = {name: index for index, name in enumerate(names)}
    column = {name: index for index, name in enumerate(columns)}
    table = np.zeros((len(names), len(columns)))
    for (own, other), n in counts.items():
        if own in row:
            table[row[own], column.get(other, column.get(_OTHER, 0))] += n
    return table


def _shown(name: str, longest: int = 28) -> str:
    return name.strip("()") if name in (NO_BOX, _OTHER) else short_name(name, longest)


def _percent(value: float) -> str:
    return "<1" if value < 1 else f"{value:.0f}"


def _labelled_axes(
    axes: AxesMaker, rows: Sequence[str], columns: Sequence[str], n_characters: int = 3
) -> tuple["Axes", float]:
    """Return axes with labels and square cells, and the size of letters in cells.

    If the cells are few, they are wide enough for so many characters.
    """
    most = max(len(rows), len(columns))
    side = min(max(2.8 / most, 0.36, 0.065 * n_characters), 0.8)
    if most > _MOST_WRITTEN:
        side = 0.3 if most < 25 else 0.19
    scale = 0.6 if most > _MOST_WRITTEN else 0.0
    width = 0.4 + scale + 0.065 * max(map(len, rows)) + side * len(columns)
    ax = axes(width, 1.2 + 0.05 * max(map(len, columns)) + side * len(rows))
    letter = 72 * side * _MOST_FILLED / (_LETTER * n_characters)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    is_large = most <= _MOST_WRITTEN
    size = 9 if is_large else 8 if most <= 25 else 7
    ax.set_yticks(range(len(rows)), rows, fontsize=size)
    ax.set_xticks(
        range(len(columns)), columns, fontsize=size, rotation=45 if is_large else 90,
        rotation_mode="anchor", ha="right", va="top" if is_large else "center",
    )  # fmt: skip
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax, min(max(letter, _SMALLEST), _LARGEST)


def _squares(marked: BoolArray) -> Any:
    """Return the corners of the marked cells, row by row, (N, 4, 2)."""
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    return np.argwhere(marked)[:, None, ::-1] + corners


def _draw_cells(ax: "Axes", values: FloatArray, levels: FloatArray) -> "PolyCollection":
    """Draw the cells that have a value, row by row, and return them."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import BoundaryNorm

    known = ~np.isnan(values)
    cells = PolyCollection(
        _squares(known), array=values[known], norm=BoundaryNorm(levels.tolist(), 256),
        cmap="cividis", edgecolors=BACK, linewidths=0.8,
    )  # fmt: skip
    ax.add_collection(cells)
    return cells


def _hatch(ax: "Axes", marked: BoolArray) -> None:
    """Hatch the marked cells.

    The lines are one path: browsers print patterns as pictures, which take 100 MB for 1,000 cells.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if marked.any():
        row, column = np.nonzero(marked)
        centres = np.column_stack([column, row])
        ends = (centres[:, None, None] + _STROKES[None]).reshape(-1, 2)
        codes = np.tile([Path.MOVETO, Path.LINETO], len(ends) // 2)
        ax.add_patch(PathPatch(Path(ends, codes), fill=False, edgecolor=DIM, linewidth=0.6))


def _levels(values: FloatArray) -> FloatArray:
    """Return about ten round numbers from the lowest to the highest value, none above 1."""
    from matplotlib.ticker import MaxNLocator

    lowest, high = float(np.nanmin(values)), float(np.nanmax(values))
    middle = (lowest + high) / 2
    high = min(max(high, middle + 0.02), 1.0)
    low = min(lowest, high - 0.04)
    if low < 0 <= lowest:
        # No negative numbers for values that cannot be negative.
        low, high = 0.0, high - low
    levels = MaxNLocator(10, steps=[1, 2, 5, 10]).tick_values(low, high)
    return np.asarray(levels, np.float64)


def _add_scale(ax: "Axes", cells: "PolyCollection") -> None:
    scale = ax.figure.colorbar(cells, ax=ax, shrink=0.8, pad=0.02, aspect=18)
    scale.outline.set_visible(False)
    scale.ax.tick_params(length=0, labelsize=8)


def _write(
    ax: "Axes",
    marked: BoolArray,
    values: FloatArray,
    size: float,
    text: Callable[[int, int], str],
) -> None:
    """Write a text into each marked cell that stands out from the colour of the cell."""
    from matplotlib.collections import PolyCollection

    cells = next((each for each in ax.collections if isinstance(each, PolyCollection)), None)
    for row, column in np.argwhere(marked).tolist():
        color = DIM
        if cells is not None and not np.isnan(values[row, column]):
            red, green, blue, _ = cells.to_rgba(values[row, column])
            color = _ON_LIGHT if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else _ON_DARK
        ax.text(
            column, row, text(row, column), color=color, fontsize=size, ha="center", va="center",
            linespacing=1.1, in_layout=False,
        )  # fmt: skip
