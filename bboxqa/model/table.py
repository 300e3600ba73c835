"""Tables: named columns of equal length, and what rows without a name or an id are called."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray, IntArray, RowArrays, TextArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count

if TYPE_CHECKING:
    import pandas as pd


def id_as_name(number: object) -> str:
    """Return how an image is called that has no file name."""
    return f"(id {number})"


def place_in_words(file: str, at: str | int) -> str:
    """Return a line, or what a JSON pointer leads to, as it is written behind a file."""
    if isinstance(at, int):
        return f"{file}:{at}"
    return f"{file}#{at}" if at else file


ShownIds = TextArray | IndexArray | NDArray[np.object_]
"""What users find annotations by: ids of the file or its tool, or places in words, as objects."""


def joined_ids(parts: "Sequence[ShownIds]") -> "TextArray | NDArray[np.object_]":
    """Return the ids of several lists as texts; as objects where none are those of a tool."""
    kind: Any = np.str_ if any(part.dtype.kind == "U" for part in parts) else np.object_
    texts = (np.array([*map(str, part.tolist())], kind) for part in parts)
    return np.concatenate([np.zeros(0, kind), *texts])


class Categorical(RowArrays, frozen=True, eq=False):
    """A column of repeated texts, with one code per row; -1 where there is no text."""

    shared = frozenset({"names"})
    code: IntArray
    """(N,) int32."""
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Categorical: {count(len(self), 'row')}, {count(len(self.names), 'name')}>"

    def decode(self) -> list[str]:
        """Return the text of each row; "" where there is none."""
        names = self.names
        return [names[code] if code >= 0 else "" for code in self.code.tolist()]


def text_column(texts: Sequence[str]) -> Categorical:
    """Return a column of texts."""
    names, code = np.unique(np.array(texts, object).astype(str), return_inverse=True)
    return Categorical(code.astype(np.int32), tuple(names.tolist()))


Column = Categorical | NDArray[Any]

# Number of rows converted to Python values at a time.
_CHUNK = 1 << 16


class Table(msgspec.Struct, frozen=True, eq=False):
    """Columns of equal length, by name, which text, page and JSON render.

    Attributes
    ----------
    columns : mapping of str to column
        A figure and its interval are the columns ``f1``, ``f1_low`` and ``f1_high``.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table({"alpha": np.array([0.25, np.nan])})
    >>> len(table), table["alpha"][0]
    (2, np.float64(0.25))
    >>> list(table.rows())
    [(0.25,), (None,)]
    >>> table
    <Table: 2 rows of alpha>
    >>> table.head(1).records()
    [{'alpha': 0.25}]
    """

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"<Table: {count(len(self), 'row')} of {', '.join(self.columns)}>"

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self.columns[name]
        return np.array(column.decode(), object) if isinstance(column, Categorical) else column

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the code of each row of a column of texts."""
        column = self.columns[name]
        return np.asarray(column.code if isinstance(column, Categorical) else column, np.int64)

    def take(self, index: NDArray[np.int64]) -> "Table":
        """Return the rows at `index`, in that order."""
        return Table(
            {
                name: column.take(index) if isinstance(column, Categorical) else column[index]
                for name, column in self.columns.items()
            }
        )

    @property
    def with_interval(self) -> list[str]:
        """The columns whose interval is in two other columns."""
        return [name for name in self.columns if {f"{name}_low", f"{name}_high"} <= {*self.columns}]

    def head(self, n: int = 5) -> "Table":
        """Return the first `n` rows."""
        return self.take(np.arange(min(max(n, 0), len(self))))

    def parts(self) -> Iterator[list[list[Any]]]:
        """Yield chunks of rows as columns of Python values; None where undefined."""
        for start in range(0, len(self), _CHUNK):
            part = self.take(np.arange(start, min(start + _CHUNK, len(self))))
            columns: list[list[Any]] = []
            for column in part.columns.values():
                if isinstance(column, Categorical):
                    columns.append(column.decode())
                elif column.dtype.kind == "f":
                    columns.append([None if e != e else e for e in column.tolist()])  # noqa: PLR0124
                else:
                    columns.append(column.tolist())
            yield columns

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each row as Python values; None where undefined."""
        for columns in self.parts():
            yield from zip(*columns, strict=True)

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a dict; None where undefined."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a pandas data frame; needs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise ConfigError("a data frame needs pandas: pip install pandas") from None

        return pd.DataFrame({name: self[name] for name in self.columns})

    def _repr_html_(self) -> str:
        return html_table(self, 20)


def figure_columns(name: str, value: NDArray[Any], interval: NDArray[Any]) -> dict[str, Column]:
    """Return the columns of a figure with its interval, (N,) and (N, 2)."""
    return {name: value, f"{name}_low": interval[..., 0], f"{name}_high": interval[..., 1]}


def stacked_tables(parts: Sequence[tuple[float, Table]]) -> Table:
    """Return tables with the same columns, one below the other, after a column of thresholds."""
    tables = [table for _, table in parts]
    thresholds = np.repeat([each for each, _ in parts], [len(table) for table in tables])
    columns: dict[str, Column] = {"iou_threshold": thresholds}
    for name in tables[0].columns:
        parts_of = [table.columns[name] for table in tables]
        texts = [each for each in parts_of if isinstance(each, Categorical)]
        if not texts:
            columns[name] = np.concatenate([table[name] for table in tables])
        elif all(each.names is texts[0].names for each in texts):
            code = np.concatenate([each.code for each in texts])
            columns[name] = Categorical(code, texts[0].names)
        else:
            columns[name] = text_column([text for each in texts for text in each.decode()])
    return Table(columns)


def html_table(table: Table, most: int) -> str:
    """Return the first `most` rows of a table as HTML."""
    from html import escape

    def cell(value: object) -> str:
        text = f"{value:z.4f}" if isinstance(value, float) else "" if value is None else str(value)
        return f"<td>{escape(text)}</td>"

    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in table.head(most).rows())
    more = f"<p>… and {len(table) - most:,} more rows</p>" if len(table) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
