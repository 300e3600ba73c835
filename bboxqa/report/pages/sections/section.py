"""A section of a page: sentences, and charts with their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Documents = Mapping[str, Mapping[str, Any]]
"""The JSON files of a result by name: "summary", "manifest", and those of a diagnosis, if any."""


@dataclass(frozen=True, slots=True)
class Data:
    """A table of a page, which a click shows."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """A chart and its tables; only tables where there is nothing to draw."""

    tables: Sequence[Data]
    chart: "Axes | None" = None
    caption: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section with its title; `name` is its anchor."""

    name: str
    title: str
    sentences: Sequence[str]
    evidence: Sequence[Evidence]


def column_names(columns: Sequence[str], measure: str) -> list[str]:
    """Return names of columns; those of other similarities are not called IoU.

    Examples
    --------
    >>> column_names(["f1", "mean_iou"], "OKS"), column_names(["mean_iou"], "IoU")
    (['f1', 'mean_similarity'], ['mean_iou'])
    """
    if measure == "IoU":
        return [*columns]
    return [name.replace("mean_iou", "mean_similarity") for name in columns]


def table_rows(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table of the document "diagnosis", by column."""
    columns: Sequence[str] = table["columns"]
    return [dict(zip(columns, row, strict=True)) for row in table["rows"]]


def data_of(name: str, records: Sequence[Mapping[str, Any]]) -> Data:
    """Return records as a table; figures with intervals become three columns.

    Examples
    --------
    >>> found = data_of("F1", [{"name": "ann", "f1": {"value": 0.9, "interval": [0.8, 0.95]}}])
    >>> found.columns, found.rows
    (['name', 'f1', 'f1_low', 'f1_high'], [['ann', 0.9, 0.8, 0.95]])
    """
    flat = [dict(_cells(record)) for record in records]
    return Data(name, [*flat[0]] if flat else [], [[*row.values()] for row in flat])


def _cells(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    cells = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            low, high = value["interval"] or (None, None)
            cells += [(key, value["value"]), (f"{key}_low", low), (f"{key}_high", high)]
        else:
            cells.append((key, value))
    return cells
