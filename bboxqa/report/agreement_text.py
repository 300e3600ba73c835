"""A result as lines of text: the answer on one screen, and its tables where they are asked for."""

from collections.abc import Callable, Collection, Iterator, Sequence
from math import isnan

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, first_few, one_line
from bboxqa.model.diagnosis import OF_KEYPOINTS, REPEATS, Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.table import Categorical, Table
from bboxqa.report.agreement_summary import (
    CHANCE,
    figures_at,
    headline,
    is_by_chance,
    shown_figures,
)
from bboxqa.report.numbers import estimate_text, percent
from bboxqa.report.tables import Excerpt, table_excerpt, table_lines

MISSING = {"category": "counts as a category", "ignore": "is ignored"}
"""What is said of missing annotations, by the setting."""
_EMPTY = {
    "agree": "each counts 1 in the mean over images",
    "unit": "each is one object on which all agree",
    "skip": "left out",
}
_MOST_LINES, _ANSWER_LINES, _MOST_WORDS, _MOST_OF_MANY = 100, 20, 150, 220
"""The most lines with details and without, and the most words without, of a few or of many."""
_FEW, _LEAST, _SENTENCES, _IMAGES, _NAMES, _MOST_GATES = 3, 3, 5, 3, 5, 2
# The value of existence above chance below which most of it may be chance.
_LITTLE = 0.3
# The share of pairs of one object below the threshold from which on they are worth a warning.
_BELOW = 0.05
_AUTO = "Hungarian matching where two annotate an image, greedy matching where more do"

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
# The tables that are shown first.
_FIRST = (
    "annotators", "confusions", "decomposition", "joints", "joint_annotators", "tracks", "work",
    "offsets", "rotated_offsets", "boxes_per_object", "copies", "suggested_threshold",
    "sensitivity", "review",
)  # fmt: skip
# A matrix of more annotators is hard to read, and too wide.
_MOST_COMPARED = 12
# Rows of tables, and annotators of the table of a reference.
_ROWS, _MOST_RIGHT = 5, 10
# The options that write all tables.
_OUT = "--details --out DIR"


def text_lines(
    result: MeasuredAgreement,
    *,
    story: Story | None = None,
    details: bool = False,
    width: int | None = None,
    quiet: bool = False,
    add: Sequence[str] = ("--details",),
) -> Iterator[str]:
    """Yield who was compared, the verdict, what lowers agreement, the figures and what to do next.

    With `details`, all sentences, notes and the first rows of tables follow, 100 lines in all. With
    `quiet`, only warnings, the verdict and the figures are yielded. Names are shortened to fit a
    `width`, that of a terminal. The last line names the options to `add`.
    """
    first = result.thresholds[0]
    records = [
        {**figures_at(part), "categories": part.categories.records()} for part in result.thresholds
    ]
    _, *verdict = headline(records, msgspec.to_builtins(result.settings))
    above = [] if quiet else [_compared(result)]
    above += [f"Warning: {line}" for line in _warnings(result, None if quiet else story)]
    if verdict[_MOST_GATES:]:
        verdict[_MOST_GATES:] = [f"and {count(len(verdict) - _MOST_GATES, 'more threshold')}"]
    above += [*[""] * bool(above), *verdict, ""]
    figures = [*_figures(result)] if result.n_images else []
    tables = [] if quiet else [*_repeats(first, width)]
    tables += reference_lines(first, width, offsets=details)
    if quiet:
        yield from (*above, *figures, *tables)
        return
    last = [*_next_steps(result, story, add, details=details)]
    told = []
    if story is not None:
        n_words = sum(len(line.split()) for line in (*above, *figures, *last))
        most = _MOST_WORDS if result.n_annotators <= _FEW else _MOST_OF_MANY
        n_lines = _ANSWER_LINES - len((*above, *figures, *last)) - 1
        told = [*_sentences(story, most - n_words, n_lines, details=details)]
        if told:
            told = [*[f"At {story.threshold_label}:"] * bool(result.thresholds[1:]), *told, ""]
    lines = [*above, *told, *figures, *tables, *last]
    yield from lines
    if details:
        yield from _details(result, story, width, _MOST_LINES - len(lines))


def _compared(result: MeasuredAgreement) -> str:
    """Return who was taken for an annotator, and what they drew."""
    counts = f"{count(result.n_images, 'image')}, {count(result.n_annotations, 'annotation')}"
    if not result.n_images:
        counts = "no image has two annotators"
    column = result.thresholds[0].pairs.columns["annotator_1"]
    names = [*column.names] if isinstance(column, Categorical) else []
    return f"{counts}, {people(result.n_annotators, names, result.attribution)}"


def people(n: int, names: Sequence[str], attribution: str) -> str:
    """Return how many annotators there are, by what they are named, and the first names."""
    by = f"named by {attribution}" if attribution else "not named in the file"
    return f"{count(n, 'annotator')} {by}: {first_few(names, _NAMES, one_line)}"


def _warnings(result: MeasuredAgreement, story: Story | None) -> Iterator[str]:
    """Yield facts that may make the figures misleading."""
    part = result.thresholds[0]
    yield from result.headlines
    if part.place.below_threshold > _BELOW:
        yield (
            f"{percent(part.place.below_threshold, 0)} of the pairs counted as one object are "
            f"below {part.threshold_label}, joined by a third annotation; class and place include "
            "them"
        )
    above = part.existence.alpha
    if above < _LITTLE and part.existence.chance > CHANCE and not is_by_chance(figures_at(part)):
        yield (
            "most of existence is chance: annotations of other images match nearly as often, as "
            "objects lie in similar places"
        )
    yield from (line for line in (story.warnings if story else ()) if line not in result.notes)


def _sentences(story: Story, n_words: int, n_lines: int, *, details: bool) -> Iterator[str]:
    """Yield who and what lowers agreement: as many sentences as have room, all with `details`."""
    hidden = story.suggestion if isinstance(story, Diagnosis) and not details else None
    most = max(_LEAST, min(_SENTENCES, n_lines))
    for place, line in enumerate(line for line in story.story if line != hidden):
        n_words -= len(line.split())
        if not details and (place == most or (n_words < 0 and place >= _LEAST)):
            return
        yield f" - {one_line(line)}"


def _figures(result: MeasuredAgreement) -> Iterator[str]:
    """Yield existence, class, place and alpha: of one threshold in lines, of several as a table."""
    parts = [
        (part, [*shown_figures(figures_at(part), part.measure, result.n_annotators)])
        for part in result.thresholds
    ]
    has_intervals = not all(isnan(part.existence.interval[0]) for part in result.thresholds)
    in_brackets = ", 95 % intervals" if has_intervals else ""
    if len(parts) == 1:
        (part, figures), similarity = parts[0], result.settings.similarity
        of = "" if similarity in ("bbox", part.measure) else f" ({similarity})"
        yield f"At {part.threshold_label}{of}{in_brackets}"
        rows = [
            [each.name, estimate_text(each.value, each.interval), each.reason] for each in figures
        ]
        yield from (f" {line}" for line in table_lines(rows, left=range(3)))
        return
    *_, alpha = parts[0][1]
    names = ["Existence", "Class", "Place", alpha.name]
    rows = [[parts[0][0].measure, *(name.lower() for name in names)]]
    for part, figures in parts:
        found = {each.name: estimate_text(each.value, each.interval) for each in figures}
        rows.append([f"{part.iou_threshold:g}", *(found.get(name, "–") for name in names)])
    yield f"By threshold{in_brackets}"
    yield from (f" {line}" for line in table_lines(rows, left=range(1, 5)))


def _next_steps(
    result: MeasuredAgreement, story: Story | None, add: Sequence[str], *, details: bool
) -> Iterator[str]:
    """Yield the images to look at, the first note, and what to do and to type next."""
    images, order = _costly_images(result.thresholds[0])
    costly = [one_line(images["image"][row]) for row in order[:_IMAGES] if images["cost"][row] > 0]
    yield ""
    if costly:
        yield f"Look at: {', '.join(costly)}"
    notes = result.notes[len(result.headlines) :]
    if notes and not details:
        more = f" ({count(len(notes) - 1, 'more note')}: --details)" if notes[1:] else ""
        yield f"Note: {notes[0]}{more}"
    if story is None and (why := result.diagnoser.why_slow) and result.n_images:
        yield f"Who and what lowers agreement: --details ({one_line(why)})"
    is_chance = is_by_chance(figures_at(result.thresholds[0]))
    advice = "" if story is None or is_chance else story.advice
    steps = [*[advice] * bool(advice), *[f"add {', '.join(add)}"] * bool(add)]
    if steps:
        yield f"Next: {'; '.join(steps)}"


def _costly_images(part: ThresholdResult) -> tuple[Table, IndexArray]:
    """Return the images with objects, and their rows in the order of what they cost.

    In a tie, the image with the least similar annotations comes first, then the one with more
    objects.
    """
    images = part.images.take(np.flatnonzero(part.images["n_units"] > 0))
    return images, np.lexsort((-images["n_units"], images["mean_iou"], -images["cost"]))


def _details(
    result: MeasuredAgreement, story: Story | None, width: int | None, room: int
) -> Iterator[str]:
    """Yield settings, notes and the first rows of tables, as many as there is room for."""
    part, settings = result.thresholds[0], result.settings
    share = f" ({percent(part.n_complete_units / part.n_units, 0)})" if part.n_units else ""
    matching = _AUTO if settings.matcher == "auto" else f"{settings.matcher} matching"
    how = f"Similarity {settings.similarity}, objects by {matching}; a missing"
    lines = [
        "",
        f"{how} annotation {MISSING[settings.missing]}",
        f"{count(part.n_units, 'object')}, drawn by everyone: {part.n_complete_units:,}{share}",
        *_mean_alpha(part),
    ]
    if result.n_empty_images:
        images = count(result.n_empty_images, "image")
        lines.append(f"{images} left empty by all annotators: {_EMPTY[settings.empty_images]}")
    lines += [f"Note: {note}" for note in result.notes[len(result.headlines) :]]
    yield from lines
    room -= len(lines) + 1
    left_out = []
    for name, block in _blocks(part, story, width):
        if len(block) <= room:
            yield from block
            room -= len(block)
        elif block:
            left_out.append(name)
    if left_out:
        yield f"More tables, csv files of {_OUT}: {', '.join(left_out)}"


def _mean_alpha(part: ThresholdResult) -> Iterator[str]:
    """Yield the mean of alpha over images, for comparison with published figures."""
    mean, found = part.mean_image_alpha, part.meaningful_image_alpha
    if isnan(mean):
        return
    yield (
        f"Mean of the alphas of images: {estimate_text(mean, part.mean_image_interval)}; exactly 1 "
        f"in {percent(part.share_of_images_at_1, 0)} of the images"
    )
    if found.n_images < found.n_drawn_images and found.n_images:
        yield (
            f"The same of the {found.n_images:,} of {found.n_drawn_images:,} images with objects "
            f"of two categories or more: {estimate_text(found.mean, found.interval)}"
        )


def _blocks(
    part: ThresholdResult, story: Story | None, width: int | None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each table, the most useful first."""
    at = f"at {part.threshold_label}"
    order = np.argsort(part.categories["f1"], kind="stable")
    found = _shown(part, part.categories, ("category", "f1", "found", "class_share", "alpha"))
    legend = {
        "f1": "F1 of each two annotators on objects of the category",
        "found": "share that the other one drew, under any name",
    }
    title = f"Categories, worst first, {at}"
    columns = (*found.columns,)[:7]
    shown = Excerpt(title, "categories", 2 * _ROWS, columns, legend=legend)
    yield "categories", [*table_excerpt(found, order, width, shown)]
    if len(part.pairs) > 1:
        by = "f1" if np.isnan(part.pairs["alpha"]).any() else "alpha"
        order = np.lexsort((-part.pairs["n_units"], part.pairs[by]))
        title = f"Pairs of annotators, lowest {'F1' if by == 'f1' else by} {at}"
        found = _shown(part, part.pairs, ("annotator_1", "annotator_2", "alpha"))
        yield "pairs", [*table_excerpt(found, order, width, Excerpt(title, "pairs", _ROWS))]
    images, order = _costly_images(part)
    of = "F1" if isnan(part.alpha) else "alpha"
    cost = f"{of} without the image, minus {of} of all; other figures: of the image alone"
    title = f"Images, by what they cost in {of} {at}"
    found = _shown(part, images, ("image", "cost", "alpha", "f1", "below_threshold"))
    shown = Excerpt(title, "images", _ROWS, legend={"cost": cost})
    yield "images", [*table_excerpt(found, order, width, shown)]
    if not isinstance(story, Diagnosis):
        return
    tables = {**story.tables, "review": story.review}
    for name in dict.fromkeys((*_FIRST, *tables)):
        if name in tables and name != REPEATS:
            yield name, _table(name, tables[name], story.threshold_label, width)


def _table(name: str, table: Table, threshold: str, width: int | None) -> list[str]:
    """Return the first rows of a table of a diagnosis; none if it shows nothing."""
    order = _ORDERS.get(name)
    rows = np.arange(len(table)) if order is None else order(table)
    title = name.replace("_", " ").capitalize()
    if name not in _OF_ALL_THRESHOLDS:
        title += f" at {threshold}"
    n_rows = _ROWS if name in _FIRST else 3
    shown = Excerpt(title, name, n_rows, _columns(name, table), folded="reason")
    return [*table_excerpt(table, rows, width, shown)]


def _repeats(part: ThresholdResult, width: int | None) -> Iterator[str]:
    """Yield the agreement of all annotators with themselves, then of each, the lowest F1 first."""
    if part.repeats is not None:
        order = np.append(0, 1 + np.argsort(part.repeats["f1"][1:], kind="stable"))
        title = f"Annotators with themselves, in images annotated again, at {part.threshold_label}"
        columns = ("annotator", "n_images", "f1", "class_share", "mean_iou", "alpha")
        shown = Excerpt(title, "repeats", 1 + _ROWS, columns, out=_OUT)
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
    shown = Excerpt(title, "reference", columns=columns, out=_OUT)
    yield from table_excerpt(found.annotators, order, width, shown)
    if offsets and len(found.offsets):
        is_rotated = "measure" in found.offsets.columns
        of = ("measure", "unit", "offset") if is_rotated else ("edge", "offset_px")
        title = f"{'Boxes' if is_rotated else 'Edges of boxes'} against those of the reference"
        shown = Excerpt(title, "reference_offsets", 4 * _MOST_RIGHT, ("annotator", *of))
        yield from table_excerpt(found.offsets, np.arange(len(found.offsets)), width, shown)


def _shown(part: ThresholdResult, table: Table, names: Sequence[str]) -> Table:
    """Return a table with some columns first; columns of other similarities are not called IoU."""
    # The last columns may not fit.
    order = [*dict.fromkeys((*names, *_LAST, *table.columns))]
    own = "mean_iou" if part.measure == "IoU" else "mean_similarity"
    found = {name: table.columns[name] for name in order if name in table.columns}
    return Table({name.replace("mean_iou", own): column for name, column in found.items()})


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
