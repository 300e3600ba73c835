"""A result as lines of text: a summary like that of `COCOeval.summarize`, and short tables."""

from collections.abc import Iterable, Iterator
from math import isnan

import numpy as np

from bboxqa.core.text import count
from bboxqa.model.diagnosis import Story
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.diagnosis_text import story_lines
from bboxqa.report.numbers import decimal, interval_text
from bboxqa.report.reference import reference_lines
from bboxqa.report.repeats import repeat_lines
from bboxqa.report.table_excerpt import columns_first, table_excerpt

MISSING = {"category": "counts as a category", "ignore": "is ignored"}
"""What is said of missing annotations, by the setting."""
_EMPTY = {
    "agree": "each counts 1 in the mean",
    "unit": "each is one unit of agreement",
    "skip": "left out",
}


_FIGURES = ("f1", "class_share", "mean_iou", "n_units", "n_annotations")
_IF_ALL = "if all annotators were asked about all images (see note)"
_NAMES = {"alpha": "alpha", "f1": "F1"}


def text_lines(
    result: MeasuredAgreement,
    *,
    story: Story | None = None,
    diagnose: bool = False,
    width: int = 100,
    quiet: bool = False,
) -> Iterator[str]:
    """Yield the data and settings, the headline numbers, and the most important rows of tables.

    The tables are those of the first threshold; columns that do not fit the width are left out. The
    story comes last; with `diagnose`, after its tables. With `quiet`, only warnings, the headline
    numbers and those of a reference are yielded.
    """
    n_rows = 10 if diagnose else 3
    if not quiet:
        yield from _measured(result)
    yield from (f"Warning: {line}" for line in result.headlines)
    if not quiet and result.n_images:
        yield ""
    for part in result.thresholds if result.n_images else ():
        yield from _agreement(part, result)
    if not quiet:
        yield from _legend(result)
        yield from repeat_lines(result.thresholds[0], width, n_rows + 1)
    yield from reference_lines(result.thresholds[0], width, offsets=diagnose)
    if not quiet:
        yield from _tables(result.thresholds[0], width, n_rows)
        # If no annotators share an image, all tables are empty.
        tables = diagnose and result.n_images > 0
        why_slow = result.diagnoser.why_slow if story is None else ""
        yield from story_lines(story, width, diagnose=tables, said=result.notes, why_slow=why_slow)
    yield from _verdicts(result)


def _measured(result: MeasuredAgreement) -> Iterator[str]:
    settings = result.settings
    people = count(result.n_annotators, "annotator")
    if result.n_images:
        images = count(result.n_images, "image")
        yield f"{images}, {people}, {count(result.n_annotations, 'annotation')}"
    else:
        yield f"{people}; no image has two, so that their agreement is not measured"
    if result.attribution:
        yield f"annotators by {result.attribution}"
    else:
        yield "annotators are not named in the file"
    yield (
        f"similarity {settings.similarity}, {settings.matcher} matching, "
        f"missing {MISSING[settings.missing]}"
    )
    if result.n_empty_images:
        images = count(result.n_empty_images, "image")
        yield f"{images} left empty by all annotators: {_EMPTY[settings.empty_images]}"


def _agreement(part: ThresholdResult, result: MeasuredAgreement) -> Iterator[str]:
    """Yield the figures of one threshold; existence leads where alpha has no meaning."""
    measure = _measure(part, result.settings.similarity)
    if isnan(part.alpha):
        yield from _objects(part, measure)
        yield from _alpha(part, measure, result.n_empty_images)
    else:
        yield from _alpha(part, measure, result.n_empty_images)
        yield from _objects(part, measure)
    share = f" ({_percent(part.n_complete_units / part.n_units)})" if part.n_units else ""
    yield f" Units: {part.n_units:,}; drawn by everyone: {part.n_complete_units:,}{share}"


def _measure(part: ThresholdResult, similarity: str) -> str:
    short = f"{part.iou_threshold:.2f}"
    if float(short) != part.iou_threshold:
        short = f"{part.iou_threshold:g}"
    measure = f"{part.measure}={short}"
    if part.measure != similarity:
        measure += f" | {similarity}"
    return f"@[ {measure} ]"


def _alpha(part: ThresholdResult, measure: str, n_empty: int) -> Iterator[str]:
    yield f" Krippendorff's alpha (pooled) {measure} = {_estimate(part.alpha, part.interval)}"
    if part.status != "ok":
        yield f"   {part.status}"
    if not isnan(part.all_asked_alpha):
        yield f"   {decimal(part.all_asked_alpha)} {_IF_ALL}"
    if part.alpha_has_no_meaning:
        yield f" Krippendorff's alpha   (mean) {measure} = –"
    if isnan(part.mean_image_alpha):
        return
    mean = _estimate(part.mean_image_alpha, part.mean_image_interval)
    yield f" Krippendorff's alpha   (mean) {measure} = {mean}"
    ones = f"exactly 1 in {_percent(part.share_of_images_at_1)} of the images"
    if n_empty and not isnan(part.mean_drawn_image_alpha):
        ones = f"{decimal(part.mean_drawn_image_alpha)} without images left empty; {ones}"
    if n_empty or part.share_of_images_at_1 > 0:
        yield f"   {ones}"
    yield from _meaningful(part)


def _meaningful(part: ThresholdResult) -> Iterator[str]:
    """Yield the mean over images in which alpha has a meaning, if it has none in some images."""
    found = part.meaningful_image_alpha
    if found.n_images == found.n_drawn_images:
        return
    if not found.n_images:
        yield "   no image alone has an alpha with a meaning: in each, one category is above 90 %"
        return
    yield (
        f"   {_estimate(found.mean, found.interval)} over the {found.n_images:,} of "
        f"{found.n_drawn_images:,} images with objects where it has a meaning: no category "
        "above 90 %"
    )


def _objects(part: ThresholdResult, measure: str) -> Iterator[str]:
    """Yield existence, class and place."""
    existence, classes, place = part.existence, part.class_agreement, part.place
    f1 = _estimate(existence.f1, existence.interval)
    yield f" Existence: F1                 {measure} = {f1}"
    if not isnan(part.all_asked_f1):
        yield f"   {decimal(part.all_asked_f1)} {_IF_ALL}"
    if isnan(existence.alpha):
        # Without a reason, F1 is undefined as well.
        if existence.reason and not isnan(existence.f1):
            yield f"   not corrected for chance: {existence.reason}"
    else:
        above = _estimate(existence.alpha, existence.alpha_interval)
        by_chance = f"F1 by chance {decimal(existence.chance)}"
        yield f" Existence: above chance       {measure} = {above}; {by_chance}"
    if not place.n_pairs:
        return
    alpha = _estimate(classes.alpha, classes.interval)
    equal = f"{_percent(classes.share)} of {count(place.n_pairs, 'matched pair')} equal"
    yield f" Class: nominal alpha          {measure} = {alpha}; {equal}"
    if classes.status != "ok":
        yield f"   {classes.status}"
    mean = _estimate(place.mean_iou, place.interval)
    label = f" Place: mean {part.measure}"
    yield f"{label:31}{measure} = {mean}; median {decimal(place.median_iou)}"
    if place.below_threshold > 0:
        low, high = place.below_interval
        bounds = "" if isnan(low) else f" [{100 * low:.1f}, {100 * high:.1f}]"
        yield (
            f"   {_percent(place.below_threshold)}{bounds} of the matched pairs are below "
            f"{part.threshold_label} themselves, joined by others of their object"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _estimate(value: float, interval: tuple[float, float]) -> str:
    return f"{decimal(value) or '–'} {interval_text(interval)}".rstrip()


def _legend(result: MeasuredAgreement) -> Iterator[str]:
    legend = " pooled: all units together; mean: over images"
    parts = result.thresholds
    if any(
        interval_text(part.interval) or interval_text(part.mean_image_interval) for part in parts
    ):
        legend += f"; in brackets: 95 % interval, {result.settings.bootstrap:,} draws"
    if result.n_images:
        yield legend
        yield " existence: do two annotators draw the same objects? class: with the same category?"
        yield " place: how similar are their annotations of one object?"
        near = "overlap, though too little"
        if parts[0].measure == "OKS":
            near = "are near each other, though not enough"
        yield " A unit is a set of annotations that match each other."
        yield f" Units that {near} to match, count as one object below."
    for note in result.notes[len(result.headlines) :]:
        yield f" Note: {note}"


def _tables(part: ThresholdResult, width: int, n_rows: int) -> Iterator[str]:
    """Yield the most frequent categories, the pairs that agree least, and the costliest images."""
    at = f"at {part.threshold_label}"
    frequent = np.argsort(-part.categories["n_annotations"], kind="stable")
    yield from table_excerpt(
        f"Categories, the most frequent first, each against the rest, {at}",
        _shown(part, part.categories, ("category", "alpha", "low", "high", *_FIGURES)),
        frequent,
        width,
        file="categories",
        n_rows=n_rows,
    )
    if len(part.pairs) > 1:
        by = "f1" if np.isnan(part.pairs["alpha"]).any() else "alpha"
        worst = np.lexsort((-part.pairs["n_units"], part.pairs[by]))
        pairs = _shown(part, part.pairs, ("annotator_1", "annotator_2", "alpha", *_FIGURES))
        yield from table_excerpt(
            f"Pairs of annotators, lowest {_NAMES[by]} {at}",
            pairs,
            worst,
            width,
            file="pairs",
            n_rows=n_rows,
        )
    images = part.images.take(np.flatnonzero(part.images["n_units"] > 0))
    # In a tie of costs, the image with the least similar annotations comes first, then the one with
    # more objects. NaN is last.
    costly = np.lexsort((-images["n_units"], images["mean_iou"], -images["cost"]))
    of = "F1" if isnan(part.alpha) else "alpha"
    images = _shown(part, images, ("image", "cost", "alpha", "f1", "below_threshold", *_FIGURES))
    title = f"Images, by what they cost in {of} {at}"
    legend = {
        "cost": f"{of} without the image, minus {of} of all; other figures: of the image alone"
    }
    yield from table_excerpt(
        title, images, costly, width, file="images", n_rows=n_rows, legend=legend
    )


def _shown(part: ThresholdResult, table: Table, names: Iterable[str]) -> Table:
    """Return a table with some columns first; columns of other similarities are not called IoU."""
    found = columns_first(table, names)
    if part.measure == "IoU":
        return found
    columns = found.columns.items()
    return Table({name.replace("mean_iou", "mean_similarity"): column for name, column in columns})


def _verdicts(result: MeasuredAgreement) -> Iterator[str]:
    """Yield whether the figures of each threshold reach the accepted minimum."""
    settings = result.settings
    for part in result.thresholds:
        if settings.min_alpha is not None:
            yield from ("", f"{part.threshold_label}: {_alpha_verdict(part, settings.min_alpha)}")
        if settings.min_f1 is not None:
            yield from ("", f"{part.threshold_label}: {_f1_verdict(part, settings.min_f1)}")


def _alpha_verdict(part: ThresholdResult, lowest: float) -> str:
    if part.all_agree:
        return f"alpha is undefined, but all annotators agree, which passes {lowest:g}"
    if isnan(part.alpha):
        what = "has no meaning here" if part.alpha_has_no_meaning else "is undefined"
        advice = "" if isnan(part.existence.f1) else "; to gate on existence, give --min-f1"
        return f"alpha {what} and cannot reach {lowest:g}{advice}"
    verdict = "reaches" if part.reaches(lowest) else "below threshold:"
    return f"alpha {decimal(part.alpha)} {verdict} {lowest:g}"


def _f1_verdict(part: ThresholdResult, lowest: float) -> str:
    f1 = part.existence.f1
    if isnan(f1):
        return f"F1 is undefined and cannot reach {lowest:g}"
    verdict = "reaches" if part.reaches_f1(lowest) else "below threshold:"
    return f"F1 {decimal(f1)} {verdict} {lowest:g}"
