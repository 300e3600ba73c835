"""A result as lines of text, like those of `COCOeval.summarize`, and the tables worth showing."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from bboxqa.result import AgreementResult, Table, ThresholdResult

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
        f"{_count(result.n_images, 'image')}, {_count(result.n_annotators, 'annotator')}, "
        f"{_count(result.n_annotations, 'annotation')}; annotators by {result.attribution}"
    )
    if result.n_empty_images:
        meaning = {
            "agree": "1 each in the mean over images",
            "unit": "one unit of agreement each",
            "skip": "left out",
        }[settings.empty_images]
        empty = _count(result.n_empty_images, "image")
        yield f"{empty} left empty by all their annotators: {meaning}"
    yield ""
    for part in result.thresholds:
        where = (
            f"@[ IoU={part.iou_threshold:.2f} | {settings.similarity} | {settings.matcher} | "
            f"missing={settings.missing} ]"
        )
        yield f" Krippendorff's alpha (pooled)      {where} = {_value(part.alpha, part.interval)}"
        if part.status != "ok":
            yield f"   {part.status}"
        mean = _value(part.mean_image_alpha, part.mean_image_interval)
        yield f" Krippendorff's alpha (image mean)  {where} = {mean}"
        yield (
            f" Units, of these drawn by all       {where} = "
            f"{part.n_units:,}, {part.n_complete_units:,}{_share(part)}"
        )
    for note in result.notes:
        yield f" Note: {note}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _share(part: ThresholdResult) -> str:
    return f" ({part.n_complete_units / part.n_units:.1%})" if part.n_units else ""


def _value(value: float, interval: tuple[float, float]) -> str:
    text = "undefined" if isnan(value) else f"{value:.4f}"
    low, high = interval
    return text if isnan(low) else f"{text}  95 % [{low:.4f}, {high:.4f}]"


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


def _worst(table: Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rows by rising alpha, what is undefined last."""
    return np.lexsort((-table["n_units"], table["alpha"]))


def _first(
    table: Table, order: np.ndarray[tuple[int], np.dtype[np.int64]], title: str
) -> ShownTable:
    return ShownTable(title, table.take(order[:_ROWS]), max(len(table) - _ROWS, 0))
