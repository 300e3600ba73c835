"""Tables of plain text: columns below each other."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from unicodedata import combining, east_asian_width

NARROWEST = 8
"""Columns are not folded to less than this."""


def table_lines(
    rows: Sequence[Sequence[str]],
    left: Collection[int] = (),
    *,
    gap: int = 2,
    width: int | None = None,
) -> Iterator[str]:
    """Yield a line for each row, with every column as wide as its longest cell, and gaps between.

    Rows are equally long; the first one holds the titles. The columns of `left`, such as names, are
    aligned left, the others right. Where rows are longer than the width of the terminal, cells of
    the columns of `left` are folded into several lines.

    Examples
    --------
    >>> for line in table_lines([["id", "name"], ["7", "Apple"], ["12", "Fig"]], left=[1]):
    ...     print(line)
    id  name
     7  Apple
    12  Fig
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if width is not None:
        _narrow(widths, left, width - gap * (len(widths) - 1))
    for row in rows:
        pieces = (_folded(cell, most) for cell, most in zip(row, widths, strict=True))
        for line in zip_longest(*pieces, fillvalue=""):
            cells = (
                _padded(cell, most, left=column in left)
                for column, (cell, most) in enumerate(zip(line, widths, strict=True))
            )
            yield (" " * gap).join(cells).rstrip()


def _narrow(widths: list[int], left: Collection[int], room: int) -> None:
    """Narrow the widest columns of `left` until all fit, or none can be narrowed any more."""
    while sum(widths) > room:
        widest = max(left, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= NARROWEST:
            return
        widths[widest] -= 1


def _folded(text: str, width: int) -> list[str]:
    """Return the pieces of a text, none wider than `width`."""
    pieces = [""]
    if _width(text) <= width:
        return [text]
    for character in text:
        if _width(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _padded(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if left else space + text


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in "WF")
        for character in text
    )
