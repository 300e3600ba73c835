"""Names and numbers as a chart shows them."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from unicodedata import bidirectional

from bboxqa.core.text import one_line
from bboxqa.report.charts.palette import DIM

# Longer names of rows are written in a small font.
_MOST_LARGE = 24
THE_OTHERS = "the others"
"""What several other annotators are called."""

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def short_name(name: str, most: int = 28) -> str:
    """Return a name on one line, with its middle cut out if it is longer than `most` characters.

    Examples
    --------
    >>> short_name("a_very_long_name_of_a_category", 15)
    'a_very_…ategory'
    """
    line = one_line(name)
    if len(line) <= most:
        return line
    end = (most - 1) // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def set_apart(name: str) -> str:
    r"""Return a name isolated from the direction of the surrounding text, if it is right-to-left.

    Invisible characters isolate it (UAX 9).

    Examples
    --------
    >>> set_apart("ann"), set_apart("\u05d3\u05e0\u05d4") == "\u2068\u05d3\u05e0\u05d4\u2069"
    ('ann', True)
    """
    if all(bidirectional(sign) not in ("R", "AL", "AN") for sign in name):
        return name
    return f"\u2068{name}\u2069"


def others_of(name: str, every: Collection[str]) -> str:
    """Return what the annotators beside one are called: a single one by name.

    Examples
    --------
    >>> others_of("ann", ["ann", "bob"]), others_of("ann", ["ann", "bob", "eve"])
    ('bob', 'the others')
    """
    others = [each for each in every if each != name]
    return set_apart(short_name(others[0])) if len(others) == 1 else THE_OTHERS


def row_size(names: Sequence[str]) -> int:
    """Return the font size of row names in points; it is smaller for long names."""
    return 8 if max(map(len, names), default=0) > _MOST_LARGE else 10


def number(value: float) -> str:
    """Return a number with two decimals and the minus sign of axes, zero without a sign.

    Examples
    --------
    >>> number(0.8038), number(-0.2), number(-1e-9)
    ('0.80', '−0.20', '0.00')
    """
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a number with its interval, if there is one.

    Examples
    --------
    >>> with_interval(0.8038, 0.7677, 0.8383), with_interval(0.8038, None, None)
    ('0.80 [0.77, 0.84]', '0.80')
    """
    if low is None or high is None:
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def part_of(shown: int, total: int, noun: str) -> str:
    """Return how many of all items are shown, in words; empty if all are.

    Examples
    --------
    >>> part_of(30, 1203, "categories"), part_of(5, 5, "categories")
    ('30 of 1,203 categories', '')
    """
    return "" if shown == total else f"{shown:,} of {total:,} {noun}"


def set_title(ax: "Axes", title: str, *legend: str) -> None:
    """Set a title, and below it the lines of a legend in a small font."""
    lines = [line for line in legend if line]
    ax.set_title(title, loc="left", pad=7 + 11 * len(lines))
    for place, line in enumerate(reversed(lines)):
        ax.annotate(
            line, (0, 1), (0, 5 + 11 * place), color=DIM, fontsize=8,
            xycoords="axes fraction", textcoords="offset points",
        )  # fmt: skip


def draw_nothing(ax: "Axes", title: str, reason: str) -> "Axes":
    """Write the reason why there is nothing to draw, and return the axes."""
    ax.set_axis_off()
    ax.set_title(title)
    ax.text(0, 0.5, reason, color=DIM, transform=ax.transAxes, va="center", wrap=True)
    return ax


def signed(value: float) -> str:
    """Return a number with one decimal and its sign; zero has none.

    Examples
    --------
    >>> signed(2.04), signed(-0.04)
    ('+2.0', '0.0')
    """
    rounded = round(value, 1)
    text = f"{rounded:+.1f}" if rounded else "0.0"
    return text.replace("-", "\N{MINUS SIGN}")
