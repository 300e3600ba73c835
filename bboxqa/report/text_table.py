"""Tables of plain text: columns below each other."""

from collections.abc import Collection, Iterator, Sequence

__all__ = ["table_lines"]


def table_lines(
    rows: Sequence[Sequence[str]], left: Collection[int] = (), *, gap: int = 2
) -> Iterator[str]:
    """Yield a line for each row, with every column as wide as its longest cell.

    Parameters
    ----------
    rows : sequence of sequence of str
        Equally long; the first one holds the titles.
    left : collection of int
        The columns that are aligned left, such as names; the others are aligned right.
    gap : int
        Spaces between two columns.

    Examples
    --------
    >>> for line in table_lines([["id", "name"], ["7", "Apple"], ["12", "Fig"]], left=[1]):
    ...     print(line)
    id  name
     7  Apple
    12  Fig
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield (" " * gap).join(cells).rstrip()
