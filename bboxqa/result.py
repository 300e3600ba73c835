"""What a run returns: one result, of which every table and file is a view."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.config import AgreeSettings
from bboxqa.errors import BboxqaError
from bboxqa.model import IntArray, ReliabilityData, Source

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AgreementResult", "Column", "Labels", "Table", "ThresholdResult"]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column of texts that repeat: a code per row, -1 for none.

    Attributes
    ----------
    code : (N,) int32
    names : tuple of str
    """

    code: IntArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.code)

    def take(self, index: NDArray[np.int64]) -> "Labels":
        """Return the rows at `index`."""
        return Labels(self.code[index], self.names)

    def decode(self) -> list[str]:
        """Return the text of each row; empty where there is none."""
        names = self.names
        return [names[code] if code >= 0 else "" for code in self.code.tolist()]


Column = Labels | NDArray[Any]

# Rows that are plain values at a time.
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of equal length, by name.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table({"alpha": np.array([0.25, np.nan])})
    >>> len(table), table["alpha"][0]
    (2, np.float64(0.25))
    >>> list(table.rows())
    [(0.25,), (None,)]
    """

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self.columns[name]
        if isinstance(column, Labels):
            return np.array(column.decode(), object)
        if isinstance(column, np.ma.MaskedArray):
            # As a number, an id that is not there would look like one.
            return np.array(column.tolist(), object)
        return column

    def take(self, index: NDArray[np.int64]) -> "Table":
        """Return the rows at `index`, in that order."""
        return Table(
            {
                name: column.take(index) if isinstance(column, Labels) else column[index]
                for name, column in self.columns.items()
            }
        )

    def parts(self) -> Iterator[list[list[Any]]]:
        """Yield some rows at a time, column by column, as plain values, None for undefined."""
        for start in range(0, len(self), _CHUNK):
            part = self.take(np.arange(start, min(start + _CHUNK, len(self))))
            yield [
                column.decode() if isinstance(column, Labels) else _plain(column)
                for column in part.columns.values()
            ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each row as plain values, None for what is undefined."""
        for columns in self.parts():
            yield from zip(*columns, strict=True)

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a dict, None for what is undefined."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a pandas data frame; needs pandas."""
        import pandas as pd

        return pd.DataFrame({name: self[name] for name in self.columns})

    def _repr_html_(self) -> str:
        return html_table(self, 20)


def _plain(column: NDArray[Any]) -> list[Any]:
    values = column.tolist()
    if column.dtype.kind == "f":
        return [None if value != value else value for value in values]  # noqa: PLR0124
    return values  # type: ignore[no-any-return]


def html_table(table: Table, most: int) -> str:
    """Return the first rows of a table as html."""

    def cell(value: object) -> str:
        text = f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)
        return f"<td>{escape(text)}</td>"

    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    shown = table.take(np.arange(min(most, len(table))))
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in shown.rows())
    more = f"<p>… and {len(table) - most:,} more rows</p>" if len(table) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdResult:
    """Agreement at one threshold.

    Attributes
    ----------
    iou_threshold : float
    alpha : float
        Krippendorff's nominal alpha, pooled over all units; NaN where undefined.
    status : str
        "ok", or why alpha is undefined or special.
    interval : tuple of float
        The 95 % interval of `alpha`; NaN where there is none.
    observed, expected : float
        The disagreements D_o and D_e.
    mean_image_alpha : float
        The mean of alpha over images.
    mean_image_interval : tuple of float
    n_units : int
        Objects, as far as the annotators agree on what one is.
    n_complete_units : int
        Those that everybody who was asked drew.
    greedy_alpha : float
        The pooled alpha under greedy matching, which does not depend on the order of the
        annotators; NaN where there are fewer than three annotators or matching is not recursive.
    images, categories, pairs : Table
        Alpha by image, by category against the rest, and by pair of annotators.
    units : Table
        A row per unit and annotator who was asked.
    reliability : ReliabilityData
        What all of it is computed from.
    """

    iou_threshold: float
    alpha: float
    status: str
    interval: tuple[float, float]
    observed: float
    expected: float
    mean_image_alpha: float
    mean_image_interval: tuple[float, float]
    n_units: int
    n_complete_units: int
    greedy_alpha: float
    images: Table
    categories: Table
    pairs: Table
    units: Table
    reliability: ReliabilityData

    def __repr__(self) -> str:
        low, high = self.interval
        alpha = self.status if isnan(self.alpha) else f"{self.alpha:.4f}"
        interval = "" if isnan(low) else f" [{low:.4f}, {high:.4f}]"
        return (
            f"<ThresholdResult IoU {self.iou_threshold:g}: alpha {alpha}{interval}, "
            f"mean over images {self.mean_image_alpha:.4f}, {self.n_units:,} units>"
        )


@dataclass(frozen=True, slots=True, eq=False)
class AgreementResult:
    """How far annotators agree, at one or more thresholds.

    With a single threshold, `alpha`, `interval`, `mean_image_alpha`, `images`, `categories`,
    `pairs` and `units` are those of that threshold; with several, ask `thresholds`.

    Attributes
    ----------
    thresholds : tuple of ThresholdResult
        In the order of the settings.
    n_images, n_annotators, n_annotations : int
        What was measured; crowd annotations are not among them.
    n_crowd : int
        Crowd annotations, which are left out.
    n_empty_images : int
        Images that all their annotators left empty.
    settings : AgreeSettings
    version : str
        Of bboxqa.
    attribution : str
        How it was found who annotated what.
    sources : tuple of Source
        The files that were read.
    notes : tuple of str
        What a reader of the numbers has to know.
    """

    thresholds: tuple[ThresholdResult, ...]
    n_images: int
    n_annotators: int
    n_annotations: int
    n_crowd: int
    n_empty_images: int
    settings: AgreeSettings
    version: str
    attribution: str
    sources: tuple[Source, ...]
    notes: tuple[str, ...]

    def _only(self) -> ThresholdResult:
        if len(self.thresholds) != 1:
            found = ", ".join(f"{t.iou_threshold:g}" for t in self.thresholds)
            raise BboxqaError(
                f"this result has several IoU thresholds ({found}); choose one of "
                "`result.thresholds`"
            )
        return self.thresholds[0]

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha, pooled over all units."""
        return self._only().alpha

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `alpha`."""
        return self._only().interval

    @property
    def mean_image_alpha(self) -> float:
        """The mean of alpha over images."""
        return self._only().mean_image_alpha

    @property
    def status(self) -> str:
        """Why `alpha` is undefined, or "ok"."""
        return self._only().status

    @property
    def images(self) -> Table:
        """Alpha by image."""
        return self._only().images

    @property
    def categories(self) -> Table:
        """Alpha by category against the rest."""
        return self._only().categories

    @property
    def pairs(self) -> Table:
        """Alpha by pair of annotators."""
        return self._only().pairs

    @property
    def units(self) -> Table:
        """A row per unit and annotator."""
        return self._only().units

    def __repr__(self) -> str:
        lines = [
            (
                f"<AgreementResult: {self.n_images:,} images, {self.n_annotators} annotators, "
                f"{self.n_annotations:,} annotations, similarity {self.settings.similarity!r}, "
                f"matcher {self.settings.matcher!r}"
            )
        ]
        lines += [f"  {threshold!r}" for threshold in self.thresholds]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        columns = {
            "IoU": np.array([t.iou_threshold for t in self.thresholds]),
            "alpha": np.array([t.alpha for t in self.thresholds]),
            "low": np.array([t.interval[0] for t in self.thresholds]),
            "high": np.array([t.interval[1] for t in self.thresholds]),
            "mean over images": np.array([t.mean_image_alpha for t in self.thresholds]),
            "units": np.array([t.n_units for t in self.thresholds]),
            "status": np.array([t.status for t in self.thresholds]),
        }
        head = (
            f"{self.n_images:,} images · {self.n_annotators} annotators · "
            f"{self.n_annotations:,} annotations · similarity {self.settings.similarity} · "
            f"matcher {self.settings.matcher} · missing {self.settings.missing}"
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p>{escape(head)}</p>{html_table(Table(columns), 50)}<ul>{notes}</ul>"
