"""A result as lines of text: a summary like that of `COCOeval.summarize`, and short tables."""

from collections.abc import Iterator
from math import isnan

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count
from bboxqa.model.results import AgreementResult, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.numbers import decimal, interval_text
from bboxqa.report.table_excerpt import table_excerpt

_MISSING = {"category": "counts as a category", "ignore": "is ignored"}
_EMPTY = {
    "agree": "each counts 1 in the mean",
    "unit": "each is one unit of agreement",
    "skip": "left out",
}


def text_lines(
    result: AgreementResult, *, width: int | None = None, quiet: bool = False
) -> Iterator[str]:
    """Yield what was measured, the headline numbers, and the most telling rows of the tables.

    The tables are those of the first threshold; names longer than the width of the terminal are
    folded. With `quiet`, only warnings and the headline numbers are yielded.
    """
    if not quiet:
        yield from _measured(result)
    yield from (f"Warning: {line}" for line in result.headlines)
    if not quiet:
        yield ""
    for part in result.thresholds:
        yield from _agreement(part, result.settings.similarity)
    if not quiet:
        yield from _legend(result)
        yield from _tables(result.thresholds[0], width)
    yield from _verdicts(result)


def _measured(result: AgreementResult) -> Iterator[str]:
    settings = result.settings
    yield (
        f"{count(result.n_images, 'image')}, {count(result.n_annotators, 'annotator')}, "
        f"{count(result.n_annotations, 'annotation')}"
    )
    yield f"annotators by {result.attribution}"
    yield (
        f"similarity {settings.similarity}, {settings.matcher} matching, "
        f"missing {_MISSING[settings.missing]}"
    )
    if result.n_empty_images:
        images = count(result.n_empty_images, "image")
        yield f"{images} left empty by all annotators: {_EMPTY[settings.empty_images]}"


def _agreement(part: ThresholdResult, similarity: str) -> Iterator[str]:
    short = f"{part.iou_threshold:.2f}"
    if float(short) != part.iou_threshold:
        short = f"{part.iou_threshold:g}"
    measure = f"{part.measure}={short}"
    if part.measure != similarity:
        measure += f" | {similarity}"
    pooled = _estimate(part.alpha, part.interval)
    mean = _estimate(part.mean_image_alpha, part.mean_image_interval)
    yield f" Krippendorff's alpha (pooled) @[ {measure} ] = {pooled}"
    if part.status != "ok":
        yield f"   {part.status}"
    if not isnan(part.all_asked_alpha):
        alpha = decimal(part.all_asked_alpha)
        yield f"   {alpha} if all annotators were asked about all images (see note)"
    yield f" Krippendorff's alpha   (mean) @[ {measure} ] = {mean}"
    share = f" ({100 * part.n_complete_units / part.n_units:.1f} %)" if part.n_units else ""
    yield f" Objects: {part.n_units:,}; drawn by everyone: {part.n_complete_units:,}{share}"


def _estimate(value: float, interval: tuple[float, float]) -> str:
    return f"{decimal(value) or 'undefined'} {interval_text(interval)}".rstrip()


def _legend(result: AgreementResult) -> Iterator[str]:
    legend = " pooled: all units together; mean: over images"
    parts = result.thresholds
    if any(
        interval_text(part.interval) or interval_text(part.mean_image_interval) for part in parts
    ):
        legend += f"; in brackets: 95 % interval, {result.settings.bootstrap:,} draws"
    yield legend
    for note in result.notes[len(result.headlines) :]:
        yield f" Note: {note}"


def _tables(part: ThresholdResult, width: int | None) -> Iterator[str]:
    """Yield the most frequent categories, and the pairs and images that agree least."""
    at = f"at {part.threshold_label}"
    frequent = np.argsort(-part.categories["n_annotations"], kind="stable")
    yield from table_excerpt(
        f"Categories, each against the rest, {at}", part.categories, frequent, width
    )
    if len(part.pairs) > 1:
        yield from table_excerpt(
            f"Pairs of annotators, worst {at}", part.pairs, _worst(part.pairs), width
        )
    # Of images that agree equally little, the one with more objects comes first.
    images = part.images.take(np.flatnonzero(part.images["n_units"] > 0))
    yield from table_excerpt(f"Images, worst {at}", images, _worst(images), width)


def _worst(table: Table) -> IndexArray:
    """Return the rows by rising alpha, what is undefined last."""
    return np.lexsort((-table["n_units"], table["alpha"]))


def _verdicts(result: AgreementResult) -> Iterator[str]:
    """Yield whether the alpha of each threshold reaches the lowest that is accepted."""
    lowest = result.settings.min_alpha
    if lowest is None:
        return
    for part in result.thresholds:
        yield ""
        alpha = f"{part.threshold_label}: alpha"
        if part.all_agree:
            yield f"{alpha} is undefined, but all annotators agree, which passes {lowest:g}"
        elif isnan(part.alpha):
            yield f"{alpha} is undefined, which does not reach {lowest:g}"
        else:
            verdict = "reaches" if part.reaches(lowest) else "below threshold:"
            yield f"{alpha} {decimal(part.alpha)} {verdict} {lowest:g}"
