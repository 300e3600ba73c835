"""A result as lines of text: the answer on one screen, and its tables where they are asked for."""

from collections.abc import Iterator, Sequence
from math import isnan

import msgspec
import numpy as np

from bboxqa.core.text import count, first_few, names_in_words, one_line
from bboxqa.model.diagnosis import REPEATS, Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement, ReferenceAgreement, ThresholdResult
from bboxqa.model.table import Categorical, Table
from bboxqa.report.agreement_summary import (
    CHANCE,
    Values,
    facts,
    figures_at,
    headline,
    is_by_chance,
    reference_figures,
    shown_figures,
    summary,
)
from bboxqa.report.numbers import MINUS, estimate_text, percent, table_excerpt, table_lines

_MOST_LINES, _ANSWER_LINES, _MOST_WORDS, _MOST_OF_MANY = 100, 20, 150, 220
"""The most lines with details and without, and the most words without, of a few or of many."""
_FEW, _LEAST, _SENTENCES, _IMAGES, _NAMES, _MOST_GATES = 3, 3, 5, 3, 5, 2
# The value of existence above chance below which most of it may be chance.
_LITTLE = 0.3
# The share of pairs of one object below the threshold from which on they are worth a warning.
_BELOW = 0.05

# The tables that details show, the most useful first.
_TABLES = (
    "categories", "pairs", "images", "annotators", "confusions", "decomposition", "joints",
    "joint_annotators", "tracks", "work", "offsets", "rotated_offsets", "boxes_per_object",
    "copies", "suggested_threshold", "sensitivity",
)  # fmt: skip
# What orders their rows: the lowest values first, or with "-" the largest, without 0.
_ORDERS = {
    "categories": "f1", "pairs": "f1", "annotators": "f1", "tracks": "idf1",
    "joints": "-distance_percent", "joint_annotators": "-offset_percent",
    "offsets": "-offset_percent", "rotated_offsets": "p_value", "copies": "-n_identical",
}  # fmt: skip
# What stands below their names.
_MEANINGS = {
    "categories": "f1: of each two annotators on its objects; "
    "found: share that the other one drew, under any name",
    "pairs": "n_units: objects in images that both were asked about",
    "images": "cost: {of} without it, minus {of} of all",
}
# Tables of all thresholds, including that of the result.
_OF_ALL_THRESHOLDS = ("sensitivity", "suggested_threshold")
_ROWS = 5
# The options that write all tables.
_OUT = "--details --out DIR"


def text_lines(
    result: MeasuredAgreement,
    *,
    story: Story | None = None,
    details: bool = False,
    quiet: bool = False,
    add: Sequence[str] = ("--details",),
) -> Iterator[str]:
    """Yield who was compared, the verdict, what lowers agreement, the figures and what to do."""
    first = result.thresholds[0]
    records = [
        {
            **figures_at(part),
            **({"reference": reference_figures(part.reference)} if part.reference else {}),
            "categories": part.categories.records(),
        }
        for part in result.thresholds
    ]
    _, *verdict = headline(records, msgspec.to_builtins(result.settings))
    counts = f"{count(result.n_images, 'image')}, {count(result.n_annotations, 'annotation')}"
    if not result.n_images:
        counts = "no image has two annotators"
        if first.reference is not None:
            counts = f"compared with the reference {one_line(first.reference.name)}"
    who = people(result.annotator_names, result.attribution)
    above = [] if quiet else [f"{counts}, {who}"]
    is_chance = is_by_chance(records[0])
    warnings = _warnings(result, None if quiet else story, is_chance=is_chance)
    above += [f"Warning: {line}" for line in warnings]
    if verdict[_MOST_GATES:]:
        verdict[_MOST_GATES:] = [f"and {count(len(verdict) - _MOST_GATES, 'more threshold')}"]
    above += [*[""] * bool(above), *(line.replace(MINUS, "-") for line in verdict), ""]
    figures, tables = [*_figures(result, records)] if result.n_images else [], list[str]()
    if first.repeats is not None and not quiet:
        # All annotators, then each, the lowest F1 first.
        order = np.append(0, 1 + np.argsort(first.repeats["f1"][1:], kind="stable"))
        title = f"Annotators with themselves, in images annotated again, at {first.threshold_label}"
        shown = ("annotator", "n_images", "f1", "class_share", "mean_iou", "alpha")
        tables += table_excerpt(first.repeats, order, title, "repeats", 1 + _ROWS, shown, out=_OUT)
    if first.reference is not None:
        tables += reference_lines(first.reference, first.threshold_label, offsets=details)
    if quiet:
        yield from (*above, *figures, *tables)
        return
    # Images with objects, in the order of what they cost.
    images = first.images.take(np.flatnonzero(first.images["n_units"] > 0))
    order = np.lexsort((-images["n_units"], images["mean_iou"], -images["cost"]))
    costly = images.take(order)
    last = [*_next_steps(result, story, add, costly, details=details, is_chance=is_chance)]
    told = list[str]()
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
        yield from _details(result, story, costly, _MOST_LINES - len(lines))


def people(names: Sequence[str], attribution: str) -> str:
    """Return how many annotators there are, by what they are named, and the first names."""
    by = f" named by {attribution}" if attribution else " not named in the file"
    if "per annotator" in attribution:
        by = f", {attribution.replace(' per annotator', ' each' * (len(names) > 1))}"
    return f"{count(len(names), 'annotator')}{by}: {first_few(names_in_words(names), _NAMES)}"


def _warnings(result: MeasuredAgreement, story: Story | None, *, is_chance: bool) -> Iterator[str]:
    """Yield facts that may make the figures misleading."""
    part = result.thresholds[0]
    yield from result.headlines
    if part.place.below_threshold > _BELOW:
        yield (
            f"{percent(part.place.below_threshold, 0)} of the pairs behind class and place are "
            f"below {part.threshold_label}"
        )
    if part.existence.alpha < _LITTLE and part.existence.chance > CHANCE and not is_chance:
        yield (
            "most of existence is chance: annotations of other images match nearly as often, as "
            "objects lie in similar places"
        )
    yield from (line for line in (story.warnings if story else ()) if line not in result.notes)


def _sentences(story: Story, n_words: int, n_lines: int, *, details: bool) -> Iterator[str]:
    """Yield who and what lowers agreement: as many sentences as have room, all with `details`."""
    hidden = story.suggestion if isinstance(story, Diagnosis) and not details else None
    lines = [f" - {one_line(line)}" for line in story.story if line != hidden]
    more, n_told = " - more: --details", len(lines)
    while not details and n_told > _LEAST:
        told = [*lines[:n_told], *[more] * (n_told < len(lines))]
        n_own = sum(len(line.split()) for line in told)
        if n_told <= _SENTENCES and len(told) <= n_lines and n_own <= n_words:
            break
        n_told -= 1
    yield from lines[:n_told]
    if n_told < len(lines):
        yield more


def _figures(result: MeasuredAgreement, records: Sequence[Values]) -> Iterator[str]:
    """Yield existence, class, place and alpha: of one threshold in lines, of several as a table."""
    parts = [
        (part, [*shown_figures(record, part.measure, result.n_annotators)])
        for part, record in zip(result.thresholds, records, strict=True)
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
    result: MeasuredAgreement,
    story: Story | None,
    add: Sequence[str],
    costly: Table,
    *,
    details: bool,
    is_chance: bool,
) -> Iterator[str]:
    """Yield the images to look at, the first note, and what to do and to type next."""
    worst = costly.head(_IMAGES)
    names = map(one_line, worst["image"][worst["cost"] > 0])
    yield ""
    if shown := ", ".join(names):
        yield f"Look at: {shown}"
    notes = result.notes[len(result.headlines) :]
    if notes and not details:
        more = f" ({count(len(notes) - 1, 'more note')}: --details)" if notes[1:] else ""
        yield f"Note: {notes[0]}{more}"
    if story is None and (why := result.why_slow) and result.n_images:
        yield f"Who and what lowers agreement: --details ({one_line(why)})"
    advice = "" if story is None or is_chance else story.advice
    steps = [*[advice] * bool(advice), *[f"add {', '.join(add)}"] * bool(add)]
    if steps:
        yield f"Next: {'; '.join(steps)}"


def _details(
    result: MeasuredAgreement, story: Story | None, costly: Table, room: int
) -> Iterator[str]:
    """Yield settings, notes and the first rows of tables, as many as there is room for."""
    part = result.thresholds[0]
    notes = (f"Note: {note}" for note in result.notes[len(result.headlines) :])
    lines = ["", *facts(summary(result)), *notes]
    yield from lines
    room -= len(lines) + 1
    tables = {"categories": part.categories, "pairs": part.pairs, "images": costly}
    if len(part.pairs) < 2:
        del tables["pairs"]
    if isinstance(story, Diagnosis):
        tables |= {**story.tables, "review": story.review}
    names = [*_TABLES, *(name for name in tables if name not in (*_TABLES, REPEATS))]
    left_out = []
    for name in (name for name in names if name in tables and len(tables[name])):
        block = [*_table(part, name, tables[name])] if name in _TABLES else []
        if block and len(block) <= room:
            yield from block
            room -= len(block)
        elif block or name not in _TABLES:
            left_out.append(name)
    if left_out:
        yield f"More tables, csv files of {_OUT}: {', '.join(left_out)}"


def _table(part: ThresholdResult, name: str, table: Table) -> Iterator[str]:
    """Yield the first rows of a table, texts and then figures before other columns."""
    rows = np.arange(len(table))
    if name == "sensitivity":
        # Where chance is low, F1 above it is no news.
        rows, hidden = rows[1::4], ("f1_by_chance", "existence_alpha")
        table = Table({each: of for each, of in table.columns.items() if each not in hidden})
    elif key := _ORDERS.get(name):
        values = table[key.lstrip("-")]
        values = -np.abs(values) if key[0] == "-" else values
        # Rows that are systematic come first.
        later = ~table["systematic"] if "systematic" in table.columns else values
        rows = np.lexsort((values, later))
        rows = rows[values[rows] != 0] if key[0] == "-" else rows
    title = name.replace("_", " ").capitalize()
    title += ", worst first," if name in _MEANINGS else ""
    title += "" if name in _OF_ALL_THRESHOLDS else f" at {part.threshold_label}"
    if meaning := _MEANINGS.get(name):
        title += f"\n {meaning.format(of='F1' if isnan(part.alpha) else 'alpha')}"
    # Values of other similarities are not called IoU; "low" and "high" are the ends of alpha.
    own = "mean_iou" if part.measure == "IoU" else "mean_similarity"
    new = {"low": "alpha_low", "high": "alpha_high", "mean_iou": own}
    named = Table({new.get(each, each): column for each, column in table.columns.items()})
    texts = [each for each, of in named.columns.items() if isinstance(of, Categorical)]
    figures = [each for each in named.columns if named[each].dtype.kind == "f"]
    # What alpha would be without somebody says less about them than their rates.
    rates = [each for each in named.with_interval if each != "vitality"]
    first = [next(iter(named.columns)), *texts, "cost", *rates, *figures]
    shown = dict.fromkeys((*first, *named.columns))
    n_rows = 2 * _ROWS if name == "categories" else _ROWS
    yield from table_excerpt(named, rows, title, name, n_rows, [*shown])


def reference_lines(
    found: ReferenceAgreement, threshold: str, *, offsets: bool = False
) -> Iterator[str]:
    """Yield the agreement of annotators with the reference, the lowest F1 first."""
    order = np.argsort(found.annotators["f1"], kind="stable")
    title = f"Annotators against the reference {one_line(found.name)} at {threshold}"
    title += f"\n {found.n_images:,} of its {count(found.n_reference_images, 'image')}, "
    title += count(found.n_annotations, "object")
    if found.n_empty_images:
        title += f"; {count(found.n_empty_images, 'image')} without any: all drawn there is wrong"
    columns = ("annotator", "f1", "precision", "recall", "class_share", "mean_similarity")
    yield from table_excerpt(found.annotators, order, title, "reference", columns=columns, out=_OUT)
    if offsets and len(found.offsets):
        is_rotated = "measure" in found.offsets.columns
        of = ("measure", "unit", "offset") if is_rotated else ("edge", "offset_px")
        title = f"{'Boxes' if is_rotated else 'Edges of boxes'} against those of the reference"
        rows, shown = np.arange(len(found.offsets)), ("annotator", *of)
        yield from table_excerpt(found.offsets, rows, title, "reference_offsets", 40, shown)
