"""A result as lines of text: a summary like that of `COCOeval.summarize`, and short tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, one_line
from bboxqa.model.diagnosis import OF_KEYPOINTS, REPEATS, Diagnosis, Story
from bboxqa.model.results import (
    Figure,
    MeasuredAgreement,
    ThresholdResult,
)
from bboxqa.model.table import Categorical, Table
from bboxqa.report.numbers import decimal, estimate_text, percent
from bboxqa.report.tables import Excerpt, columns_first, table_excerpt

MISSING = {"category": "counts as a category", "ignore": "is ignored"}
"""What is said of missing annotations, by the setting."""
_EMPTY = {
    "agree": "each counts 1 in the mean",
    "unit": "each is one unit of agreement",
    "skip": "left out",
}
_IF_ALL = "if all annotators were asked about all images (see note)"
# The last columns of the tables of categories, pairs and images.
_LAST = ("f1", "class_share", "mean_iou", "n_units", "n_annotations")
_OF_GROUP = ("n_objects", "f1", "missed_share", "badly_placed_share", "class_share")

# The columns that are shown of wide tables; the last ones may not fit.
_COLUMNS = {
    "decomposition": ("kind", "n_any", "share_any", "alpha_gain", "f1_gain"),
    "annotators": ("annotator", "n", "f1", "miss_rate", "extra_rate", "class_share"),
    "boxes_per_object": ("annotator", "n", "twice_rate", "split_rate", "merge_rate"),
    "offsets": ("annotator", "edge", "n", "offset_px", "offset_percent", "systematic"),
    "rotated_offsets": ("annotator", "measure", "unit", "n", "offset", "spread", "systematic"),
    "category_use": ("annotator", "category", "n_used", "n_expected", "use", "systematic"),
    "copies": ("annotator_1", "annotator_2", "n", "n_identical", "identical_share", "copied"),
    "difficulty": ("category", "n", "alpha", "found_share", "class_share"),
    "agreement_by_size": ("size", *_OF_GROUP),
    "agreement_by_size_quarter": ("size", *_OF_GROUP),
    "agreement_by_crowding": ("crowding", *_OF_GROUP),
    "agreement_by_region": ("region", *_OF_GROUP),
    "work": ("annotator", "n_sessions", "per_minute", "drift", "fatigue"),
    "work_sessions": ("annotator", "session", "start", "f1", "per_minute"),
    "joints": ("joint", "n_both", "missing_share", "distance_percent", "swapped_share", "sigma"),
    "joint_annotators": (
        "annotator", "joint", "offset_x_px", "offset_y_px", "missing_share", "swapped_share",
    ),
    "tracks": ("annotator_1", "annotator_2", "n_boxes_1", "n_boxes_2", "idf1", "switches"),
    "sensitivity": ("threshold", "alpha", "f1", "f1_by_chance", "existence_alpha", "class_share"),
    "suggested_threshold": ("similarity", "threshold", "distance", "sigma", "n_images", "reason"),
    # The reason names the kind and the annotators.
    "review_images": ("image", "alpha_gain", "f1_gain", "reason", "n_objects"),
    "review": ("image", "alpha_gain", "f1_gain", "reason"),
}  # fmt: skip
# Tables of all thresholds, including that of the result.
_OF_ALL_THRESHOLDS = ("sensitivity", "suggested_threshold")
# A matrix of more annotators is hard to read, and too wide.
_MOST_COMPARED = 12
# Annotators of the table of a reference.
_MOST_RIGHT = 10


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
    first = result.thresholds[0]
    if not quiet:
        yield from _measured(result)
    yield from (f"Warning: {line}" for line in result.headlines)
    if not quiet and result.n_images:
        yield ""
    for part in result.thresholds if result.n_images else ():
        yield from _agreement(part, result)
    if not quiet:
        yield from _legend(result)
        yield from _repeats(first, width, n_rows + 1)
    yield from reference_lines(first, width, offsets=diagnose)
    if not quiet:
        yield from _tables(first, width, n_rows)
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
    named = f"by {result.attribution}" if result.attribution else "are not named in the file"
    yield f"annotators {named}"
    yield (
        f"similarity {settings.similarity}, {settings.matcher} matching, "
        f"missing {MISSING[settings.missing]}"
    )
    if result.n_empty_images:
        images = count(result.n_empty_images, "image")
        yield f"{images} left empty by all annotators: {_EMPTY[settings.empty_images]}"


def _agreement(part: ThresholdResult, result: MeasuredAgreement) -> Iterator[str]:
    """Yield the figures of one threshold; existence leads where alpha has no meaning."""
    short = f"{part.iou_threshold:.2f}"
    if float(short) != part.iou_threshold:
        short = f"{part.iou_threshold:g}"
    similarity = result.settings.similarity
    other = "" if part.measure == similarity else f" | {similarity}"
    measure = f"@[ {part.measure}={short}{other} ]"
    figures = {figure.name: figure for figure in part.figures}
    alpha = _alpha(part, figures, measure, result.n_empty_images)
    objects = _objects(part, figures, measure)
    parts = (objects, alpha) if isnan(part.alpha) else (alpha, objects)
    yield from (line for lines in parts for line in lines)
    share = f" ({percent(part.n_complete_units / part.n_units)})" if part.n_units else ""
    yield f" Units: {part.n_units:,}; drawn by everyone: {part.n_complete_units:,}{share}"


def _line(label: str, measure: str, figure: Figure) -> str:
    return f" {label:30}{measure} = {estimate_text(figure.value, figure.interval)}"


def _alpha(
    part: ThresholdResult, figures: Mapping[str, Figure], measure: str, n_empty: int
) -> Iterator[str]:
    yield _line("Krippendorff's alpha (pooled)", measure, figures["alpha"])
    if part.status != "ok":
        yield f"   {part.status}"
    if not isnan(part.all_asked_alpha):
        yield f"   {decimal(part.all_asked_alpha)} {_IF_ALL}"
    mean = figures["mean_image_alpha"]
    if mean.is_known or part.alpha_has_no_meaning:
        yield _line("Krippendorff's alpha   (mean)", measure, mean)
    if not mean.is_known:
        return
    ones = f"exactly 1 in {percent(part.share_of_images_at_1)} of the images"
    if n_empty and not isnan(part.mean_drawn_image_alpha):
        ones = f"{decimal(part.mean_drawn_image_alpha)} without images left empty; {ones}"
    if n_empty or part.share_of_images_at_1 > 0:
        yield f"   {ones}"
    found = part.meaningful_image_alpha
    if not found.n_images and found.n_drawn_images:
        yield "   no image alone has an alpha with a meaning: each has one category"
    elif found.n_images < found.n_drawn_images:
        yield (
            f"   {estimate_text(found.mean, found.interval)} over the {found.n_images:,} of "
            f"{found.n_drawn_images:,} images with objects of two categories or "
            "more"
        )


def _objects(part: ThresholdResult, figures: Mapping[str, Figure], measure: str) -> Iterator[str]:
    """Yield existence, class and place."""
    existence, place = part.existence, part.place
    yield _line("Existence: F1", measure, figures["f1"])
    if not isnan(part.all_asked_f1):
        yield f"   {decimal(part.all_asked_f1)} {_IF_ALL}"
    above = figures["existence_alpha"]
    if above.is_known:
        by_chance = f"F1 by chance {decimal(existence.chance)}"
        yield f"{_line('Existence: above chance', measure, above)}; {by_chance}"
    elif above.reason and figures["f1"].is_known:
        yield f"   not corrected for chance: {above.reason}"
    if not place.n_pairs:
        return
    named, below = figures["class_alpha"], figures["below_share"]
    share = percent(part.class_agreement.share)
    equal = f"{share} of {count(place.n_pairs, 'matched pair')} equal"
    yield f"{_line('Class: nominal alpha', measure, named)}; {equal}"
    if named.reason:
        yield f"   {named.reason}"
    median = f"median {decimal(place.median_iou)}"
    yield f"{_line(f'Place: mean {part.measure}', measure, figures['mean_iou'])}; {median}"
    if below.value > 0:
        low, high = below.interval
        bounds = f" [{100 * low:.1f}, {100 * high:.1f}]" if below.has_interval else ""
        yield (
            f"   {percent(below.value)}{bounds} of the matched pairs are below "
            f"{part.threshold_label} themselves, joined by others of their object"
        )


def _legend(result: MeasuredAgreement) -> Iterator[str]:
    legend = " pooled: all units together; mean: over images"
    alphas = ("alpha", "mean_image_alpha")
    figures = [figure for part in result.thresholds for figure in part.figures]
    if any(figure.has_interval for figure in figures if figure.name in alphas):
        legend += f"; in brackets: 95 % interval, {result.settings.bootstrap:,} draws"
    if result.n_images:
        is_near = result.thresholds[0].measure == "OKS"
        near = "are near each other, though not enough" if is_near else "overlap, though too little"
        yield legend
        yield " existence: do two annotators draw the same objects? class: with the same category?"
        yield " place: how similar are their annotations of one object?"
        yield " A unit is a set of annotations that match each other."
        yield f" Units that {near} to match, count as one object below."
    yield from (f" Note: {note}" for note in result.notes[len(result.headlines) :])


def _repeats(part: ThresholdResult, width: int, n_rows: int) -> Iterator[str]:
    """Yield the agreement of all annotators with themselves, then of each, the lowest F1 first."""
    if part.repeats is not None:
        order = np.append(0, 1 + np.argsort(part.repeats["f1"][1:], kind="stable"))
        title = f"Annotators with themselves, in images annotated again, at {part.threshold_label}"
        columns = ("annotator", "n_images", "f1", "class_share", "mean_iou", "alpha")
        shown = Excerpt(title, "repeats", n_rows, columns)
        yield from table_excerpt(part.repeats, order, width, shown)


def reference_lines(
    part: ThresholdResult, width: int | None = None, *, offsets: bool = False
) -> Iterator[str]:
    """Yield the agreement of annotators with the reference, the lowest F1 first.

    With `offsets`, a second table has the offsets of edges, or of rotated boxes.
    """
    found = part.reference
    if found is None:
        return
    order = np.argsort(found.annotators["f1"], kind="stable")
    title = f"Annotators against the reference {one_line(found.name)} at {part.threshold_label}"
    title += f"\n {found.n_images:,} of its {count(found.n_reference_images, 'image')}, "
    title += count(found.n_annotations, "object")
    if found.n_empty_images:
        title += f"; {count(found.n_empty_images, 'image')} without any: all drawn there is wrong"
    columns = ("annotator", "f1", "precision", "recall", "class_share", "mean_similarity")
    shown = Excerpt(title, "reference", columns=columns)
    yield from table_excerpt(found.annotators, order, width, shown)
    if offsets and len(found.offsets):
        is_rotated = "measure" in found.offsets.columns
        of = ("measure", "unit", "offset") if is_rotated else ("edge", "offset_px")
        title = f"{'Boxes' if is_rotated else 'Edges of boxes'} against those of the reference"
        shown = Excerpt(title, "reference_offsets", 4 * _MOST_RIGHT, ("annotator", *of))
        yield from table_excerpt(found.offsets, np.arange(len(found.offsets)), width, shown)


def _tables(part: ThresholdResult, width: int, n_rows: int) -> Iterator[str]:
    """Yield the most frequent categories, the pairs that agree least, and the costliest images."""
    at = f"at {part.threshold_label}"
    title = f"Categories, the most frequent first, each against the rest, {at}"
    order = np.argsort(-part.categories["n_annotations"], kind="stable")
    found = _shown(part, part.categories, ("category", "alpha", "low", "high"))
    yield from table_excerpt(found, order, width, Excerpt(title, "categories", n_rows))
    if len(part.pairs) > 1:
        by = "f1" if np.isnan(part.pairs["alpha"]).any() else "alpha"
        order = np.lexsort((-part.pairs["n_units"], part.pairs[by]))
        title = f"Pairs of annotators, lowest {'F1' if by == 'f1' else by} {at}"
        found = _shown(part, part.pairs, ("annotator_1", "annotator_2", "alpha"))
        yield from table_excerpt(found, order, width, Excerpt(title, "pairs", n_rows))
    images = part.images.take(np.flatnonzero(part.images["n_units"] > 0))
    # In a tie of costs, the image with the least similar annotations comes first, then the one with
    # more objects. NaN is last.
    order = np.lexsort((-images["n_units"], images["mean_iou"], -images["cost"]))
    of = "F1" if isnan(part.alpha) else "alpha"
    cost = f"{of} without the image, minus {of} of all; other figures: of the image alone"
    title = f"Images, by what they cost in {of} {at}"
    found = _shown(part, images, ("image", "cost", "alpha", "f1", "below_threshold"))
    shown = Excerpt(title, "images", n_rows, legend={"cost": cost})
    yield from table_excerpt(found, order, width, shown)


def _shown(part: ThresholdResult, table: Table, names: Sequence[str]) -> Table:
    """Return a table with some columns first; columns of other similarities are not called IoU."""
    columns = columns_first(table, (*names, *_LAST)).columns
    own = "mean_iou" if part.measure == "IoU" else "mean_similarity"
    return Table({name.replace("mean_iou", own): column for name, column in columns.items()})


def _verdicts(result: MeasuredAgreement) -> Iterator[str]:
    """Yield whether the figures of each threshold reach the accepted minimum."""
    settings = result.settings
    for part in result.thresholds:
        if settings.min_alpha is not None:
            yield from ("", f"{part.threshold_label}: {_alpha_verdict(part, settings.min_alpha)}")
        if settings.min_f1 is not None:
            f1, lowest = part.existence.f1, settings.min_f1
            verdict = "reaches" if part.reaches_f1(lowest) else "below threshold:"
            text = f"F1 {decimal(f1)} {verdict} {lowest:g}"
            if isnan(f1):
                text = f"F1 is undefined and cannot reach {lowest:g}"
            yield from ("", f"{part.threshold_label}: {text}")


def _alpha_verdict(part: ThresholdResult, lowest: float) -> str:
    if part.all_agree:
        return f"alpha is undefined, but all annotators agree, which passes {lowest:g}"
    if isnan(part.alpha):
        what = "has no meaning here" if part.alpha_has_no_meaning else "is undefined"
        advice = "" if isnan(part.existence.f1) else "; to gate on existence, give --min-f1"
        return f"alpha {what} and cannot reach {lowest:g}{advice}"
    verdict = "reaches" if part.reaches(lowest) else "below threshold:"
    return f"alpha {decimal(part.alpha)} {verdict} {lowest:g}"


def story_lines(
    story: Story | None,
    width: int,
    *,
    diagnose: bool,
    said: Collection[str] = (),
    why_slow: str = "",
) -> Iterator[str]:
    """Yield a story, with `diagnose` after the tables of its diagnosis; without either, a hint.

    Warnings that were `said` before are left out. `why_slow` is why there is no story.
    """
    if story is None:
        if not diagnose:
            hint = "To see who, what and where lowers agreement, add --diagnose"
            yield from ("", hint + f"; left out, since {one_line(why_slow)}" * bool(why_slow))
        return
    if diagnose and isinstance(story, Diagnosis):
        yield from _diagnosis_tables(story, width)
    yield from ("", f"What lowers agreement at {story.threshold_label}")
    yield from (f" - {one_line(line)}" for line in story.story)
    yield from (f" Warning: {one_line(line)}" for line in story.warnings if line not in said)


def _diagnosis_tables(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    """Yield the first rows of each table of a diagnosis, the review queue last."""
    left_out = []
    for name, table in {**diagnosis.tables, "review": diagnosis.review}.items():
        if name == REPEATS:
            # It is shown above.
            continue
        order = _ORDERS.get(name)
        rows = np.arange(len(table)) if order is None else order(table)
        if len(table) and not len(rows):
            left_out.append(f"{name}.csv")
        title = name.replace("_", " ").capitalize()
        if name not in _OF_ALL_THRESHOLDS:
            title += f" at {diagnosis.threshold_label}"
        shown = Excerpt(title, name, columns=_columns(name, table), folded="reason")
        yield from table_excerpt(table, rows, width, shown)
    if left_out:
        yield from ("", f"More tables of --out DIR: {', '.join(left_out)}")


def _columns(name: str, table: Table) -> Collection[str] | None:
    """Return the columns to show, without empty texts; joints have their category if several."""
    if name not in _COLUMNS:
        return None
    found = ((each, table.columns.get(each)) for each in _COLUMNS[name])
    columns = [
        each for each, column in found if not isinstance(column, Categorical) or any(column.names)
    ]
    if name in OF_KEYPOINTS and len(np.unique(table["category"])) > 1:
        columns.insert(columns.index("joint"), "category")
    return columns


def images_compared(row: Mapping[str, Any]) -> str:
    """Return the number of images of an annotator's figures; empty if all images count.

    Examples
    --------
    >>> images_compared({"n_images": 47, "n_images_asked": 143})
    '47 of 143'
    """
    # Results of earlier versions have the first count only.
    n_asked = row.get("n_images_asked", row["n_images"])
    return f"{row['n_images']:,} of {n_asked:,}" if row["n_images"] < n_asked else ""


def _by(
    name: str, *, largest: bool = False, systematic: bool = False, known: bool = False
) -> Callable[[Table], IndexArray]:
    """Return an order by a column, with `systematic` rows first, and of `known` values only."""

    def order(table: Table) -> IndexArray:
        key = -np.abs(table[name]) if largest else table[name]
        rows: IndexArray = np.lexsort((key, ~table["systematic"] if systematic else key))
        return rows[~np.isnan(key[rows])] if known else rows

    return order


def _largest_gain(table: Table) -> IndexArray:
    gain = table["alpha_gain"]
    return np.argsort(-(table["f1_gain"] if np.isnan(gain).all() else gain), kind="stable")


def _most_confused(table: Table) -> IndexArray:
    rows = np.flatnonzero(table["category"] != table["others"])
    return rows[np.argsort(-table["n"][rows], kind="stable")]


# Rows that show nothing are left out, such as the matrix of two annotators, which repeats their F1.
_ORDERS: dict[str, Callable[[Table], IndexArray]] = {
    "pair_similarity": _by("mean_similarity"),
    "decomposition_by_category": _largest_gain,
    "decomposition_by_annotator": _largest_gain,
    "annotators": _by("f1"),
    "offsets": _by("offset_percent", largest=True, systematic=True),
    "rotated_offsets": _by("p_value", systematic=True, known=True),
    "quarter_turns": lambda table: np.flatnonzero(table["share"] > 0),
    "category_use": _by("p_value", systematic=True, known=True),
    "confusion_matrix": _most_confused,
    "agreement_matrix": lambda table: np.arange(
        len(table) if 2 < len(table) <= _MOST_COMPARED else 0
    ),
    "agreement_groups": lambda table: np.arange(len(table) if (table["group"] > 1).any() else 0),
    "copies": lambda table: np.flatnonzero(table["n_identical"] > 0),
    # Without one of two annotators, nothing can be compared.
    "category_vitality": _by("vitality", known=True),
    "joints": _by("distance_percent", largest=True),
    "joint_annotators": _by("offset_percent", largest=True, systematic=True),
    "tracks": _by("idf1"),
    # Every other threshold of 0.05 to 0.95.
    "sensitivity": lambda table: np.arange(1, len(table), 2),
}
