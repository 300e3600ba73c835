"""A result as lines of text, like those of `COCOeval.summarize`, and the tables worth showing."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count
from bboxqa.model.results import AgreementResult, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.numbers import decimal, interval_text

__all__ = ["ShownTable", "summary_lines", "tables_to_show"]

_ROWS = 10


def summary_lines(result: AgreementResult) -> Iterator[str]:
    """Yield the head of a report: what was measured, and the headline numbers.

    Parameters
    ----------
    result : AgreementResult

    Yields
    ------
    str
        A line without its end.
    """
    settings = result.settings
    yield (
        f"{count(result.n_images, 'image')}, {count(result.n_annotators, 'annotator')}, "
        f"{count(result.n_annotations, 'annotation')}"
    )
    yield f"annotators by {result.attribution}"
    yield (
        f"similarity {settings.similarity}, {settings.matcher} matching, missing "
        + ("counts as a category" if settings.missing == "category" else "is ignored")
    )
    if result.n_empty_images:
        meaning = {
            "agree": "each counts 1 in the mean",
            "unit": "each is one unit of agreement",
            "skip": "left out",
        }[settings.empty_images]
        yield f"{count(result.n_empty_images, 'image')} left empty by all annotators: {meaning}"
    yield ""
    for part in result.thresholds:
        where = f"@[ IoU={_threshold(part)} | {settings.similarity} ]"
        pooled = _value(part.alpha, part.interval)
        mean = _value(part.mean_image_alpha, part.mean_image_interval)
        yield f" Krippendorff's alpha (pooled) {where} = {pooled}"
        if part.status != "ok":
            yield f"   {part.status}"
        yield f" Krippendorff's alpha   (mean) {where} = {mean}"
        complete = f"{part.n_complete_units:,}{_share(part)}"
        yield f" Units, and drawn by all       {where} = {part.n_units:,}, {complete}"
    legend = " pooled: all units together; mean: over images"
    parts = result.thresholds
    if not all(isnan(part.interval[0]) and isnan(part.mean_image_interval[0]) for part in parts):
        legend += f"; in brackets: 95 % interval, {settings.bootstrap:,} draws"
    yield legend
    for note in result.notes:
        yield f" Note: {note}"


def _threshold(part: ThresholdResult) -> str:
    """Return the threshold with two digits, and more only where it has more."""
    short = f"{part.iou_threshold:.2f}"
    return short if float(short) == part.iou_threshold else f"{part.iou_threshold:g}"


def _share(part: ThresholdResult) -> str:
    return f" ({part.n_complete_units / part.n_units:.1%})" if part.n_units else ""


def _value(value: float, interval: tuple[float, float]) -> str:
    return f"{decimal(value) or 'undefined'} {interval_text(interval)}".rstrip()


@dataclass(frozen=True, slots=True, eq=False)
class ShownTable:
    """The rows of a table that are worth showing.

    Attributes
    ----------
    title : str
    table : Table
    left_out : int
        How many rows there are beside those.
    """

    title: str
    table: Table
    left_out: int


def tables_to_show(part: ThresholdResult) -> list[ShownTable]:
    """Return the tables of one threshold, each with its most telling rows.

    Parameters
    ----------
    part : ThresholdResult

    Returns
    -------
    list of ShownTable
        The most frequent categories, and the pairs of annotators and the images that agree least.
    """
    at = f"at IoU {part.iou_threshold:g}"
    frequent = np.argsort(-part.categories["n_annotations"], kind="stable")
    shown = [_first(part.categories, frequent, f"Categories, each against the rest, {at}")]
    if len(part.pairs) > 1:
        shown.append(_first(part.pairs, _worst(part.pairs), f"Pairs of annotators, worst {at}"))
    # Of images that agree equally little, the one with more objects comes first.
    images = part.images.take(np.flatnonzero(part.images["n_units"] > 0))
    shown.append(_first(images, _worst(images), f"Images, worst {at}"))
    return [table for table in shown if len(table.table)]


def _worst(table: Table) -> IndexArray:
    """Return the rows by rising alpha, what is undefined last."""
    return np.lexsort((-table["n_units"], table["alpha"]))


def _first(table: Table, order: IndexArray, title: str) -> ShownTable:
    shown = table.take(order[:_ROWS])
    # Intervals that nobody asked for tell nothing, and a missing alpha shows as such.
    columns = {
        name: column
        for name, column in shown.columns.items()
        if name != "status" and (name not in ("low", "high") or not np.isnan(shown[name]).all())
    }
    return ShownTable(title, Table(columns), max(len(table) - _ROWS, 0))
