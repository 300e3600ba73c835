"""Tables of plain text: columns below each other."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from unicodedata import combining, east_asian_width

NARROWEST = 8
"""Smallest width of a narrowed column."""
SHORT = 20
"""Smallest width of shortened names, so that they mostly remain distinct."""


def table_lines(
    rows: Sequence[Sequence[str]],
    left: Collection[int] = (),
    *,
    gap: int = 2,
    width: int | None = None,
    folded: Collection[int] = (),
) -> Iterator[str]:
    """Yield the lines of a table, with every column as wide as its longest cell.

    All rows have the same length; the first one holds the titles. The columns of `left`, such as
    names, are aligned left, the others right. If rows are longer than the width of the terminal,
    long cells in the columns of `left` are shortened in the middle; those in columns of `folded`
    are folded into several lines instead.

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
        _narrow(widths, left, folded, width - gap * (len(widths) - 1))
    for row in rows:
        pieces = (
            _folded(cell, most) if column in folded else [_shortened(cell, most)]
            for column, (cell, most) in enumerate(zip(row, widths, strict=True))
        )
        for line in zip_longest(*pieces, fillvalue=""):
            cells = (
                _padded(cell, most, left=column in left)
                for column, (cell, most) in enumerate(zip(line, widths, strict=True))
            )
            yield (" " * gap).join(cells).rstrip()


def _narrow(widths: list[int], left: Collection[int], folded: Collection[int], room: int) -> None:
    """Narrow the widest columns of `left`, names first, until all fit or none can be narrowed."""
    names = [column for column in left if column not in folded]
    for columns, least in ((names, SHORT), (left, NARROWEST)):
        while sum(widths) > room:
            widest = max(columns, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= least:
                break
            widths[widest] -= 1


def _shortened(text: str, width: int) -> str:
    """Return a text without its middle, if it is wider than `width`."""
    if _width(text) <= width:
        return text
    room = width - 1
    # The first half gets the odd column.
    end = _start(text[::-1], room // 2)[::-1]
    return f"{_start(text, room - _width(end))}…{end}"


def _folded(text: str, width: int) -> list[str]:
    """Return a text in pieces no wider than `width`, split between words if possible."""
    pieces = []
    while _width(text) > width:
        piece = _start(text, width) or text[0]
        if " " in piece and not text[len(piece) :].startswith(" "):
            piece = piece[: piece.rindex(" ")]
        pieces.append(piece)
        text = text[len(piece) :].removeprefix(" ")
    return [*pieces, text]


def _start(text: str, width: int) -> str:
    """Return the longest start of a text that is not wider than `width`."""
    for stop, character in enumerate(text):
        width -= _width(character)
        if width < 0:
            return text[:stop]
    return text


def _padded(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if left else space + text


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in "WF")
        for character in text
    )
