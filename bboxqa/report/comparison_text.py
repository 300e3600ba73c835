"""A comparison of two versions of a data set, as lines of text."""

from collections.abc import Iterator
from math import isnan

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, first_few, one_line
from bboxqa.model.comparison import Change, ComparisonResult, Version
from bboxqa.model.table import Categorical, Table
from bboxqa.report.numbers import decimal, interval_text
from bboxqa.report.table_excerpt import table_excerpt
from bboxqa.report.text_table import table_lines

_ROWS = 5
_NAMED = 3


def text_lines(
    result: ComparisonResult, *, width: int | None = None, quiet: bool = False
) -> Iterator[str]:
    """Yield the changes, agreement before and after, and the rows that changed most.

    Names longer than the width of the terminal are folded. With `quiet`, only warnings, the numbers
    of annotations and alpha are yielded.
    """
    warnings = [f"Warning: {line}" for line in result.headlines]
    if quiet:
        yield from warnings
        yield from change_lines(result)
        yield from agreement_lines(result)
        return
    yield from _compared(result)
    yield from warnings
    yield ""
    for noun in ("image", "category", "annotator"):
        yield things_line(getattr(result, _PLURALS[noun]), noun)
    yield ""
    yield from change_lines(result)
    if result.thresholds:
        yield ""
    yield from agreement_lines(result)
    for note in result.notes[len(result.headlines) :]:
        yield f" Note: {note}"
    yield from _tables(result, width)


_PLURALS = {"image": "images", "category": "categories", "annotator": "annotators"}


def _compared(result: ComparisonResult) -> Iterator[str]:
    for name, version in (("before", result.before), ("after", result.after)):
        yield f"{name + ':':7} {_version(version)}"
    ways = [
        f"by {version.attribution}" if version.attribution else "not named"
        for version in (result.before, result.after)
    ]
    yield f"annotators {' before, and after '.join(dict.fromkeys(ways))}"
    settings = result.settings
    similar = (
        f"similarity {settings.similarity} of {min(settings.iou_threshold):g} or more, "
        f"{settings.matcher} matching"
    )
    if not all(
        np.isin(table["status"], ("both", "renamed")).any()
        for table in (result.images, result.annotators)
    ):
        return
    if result.by_id:
        yield f"annotations matched by id, others by {similar}"
    else:
        yield f"annotations matched by {similar}, since {result.unused_ids}"


def _version(version: Version) -> str:
    return (
        f"{first_few(version.sources, _NAMED, lambda source: one_line(source.name))}: "
        f"{count(version.n_images, 'image')}, {count(version.n_annotators, 'annotator')}, "
        f"{count(version.n_annotations, 'annotation')}"
    )


def things_line(table: Table, noun: str) -> str:
    """Return the numbers of removed, added and renamed images, categories or annotators."""
    status = table["status"]
    parts = [f"{int((status == 'both').sum() + (status == 'renamed').sum()):,} in both"]
    for word in ("renamed", "removed", "added"):
        rows = np.flatnonzero(status == word)
        if len(rows):
            parts.append(f"{len(rows):,} {word}: {_named(table.take(rows), noun, len(rows))}")
    return f" {_PLURALS[noun].capitalize()}: {'; '.join(parts)}"


def _named(table: Table, noun: str, number: int) -> str:
    names = _short(table.take(np.arange(min(number, _NAMED))), noun)[noun]
    more = f" and {number - _NAMED:,} more" if number > _NAMED else ""
    return f"{', '.join(map(one_line, names))}{more}"


def change_lines(result: ComparisonResult) -> Iterator[str]:
    """Yield the number of annotations of each kind of change, with their share of a version."""
    rows = []
    for name, number in result.counts.items():
        if name == "crowd_flag_changed" and not number:
            continue
        version, which = (result.after, "after") if name == "added" else (result.before, "before")
        share = f"{100 * number / version.n_annotations:.1f} % of those {which}" if number else ""
        if name == "moved" and number:
            share += f"; {_movement(result)}"
        rows.append([name.replace("_", " "), f"{number:,}", share])
    for line in table_lines([["Annotations", "", ""], *rows], left=(0, 2)):
        yield f" {line}"


def _movement(result: ComparisonResult) -> str:
    median, most = result.moved_px
    typical, least = result.moved_similarity
    return (
        f"by {median:.4g} px (median; at most {most:.4g}), {result.measure} "
        f"{typical:.2f} (median; at least {least:.2f})"
    )


def agreement_lines(result: ComparisonResult) -> Iterator[str]:
    """Yield alpha and F1 before and after, if both versions have them."""
    if not result.thresholds:
        return
    rows = [["Agreement", "before", "after", "difference", "95 % interval"]]
    for part in result.thresholds:
        for word, change in (
            ("alpha, pooled", part.pooled),
            ("alpha, mean over images", part.mean),
            ("existence, F1", part.f1),
        ):
            rows.append([f"{word}, {part.threshold_label}", *_numbers(change)])
    for line in table_lines(rows, left=(0, 4)):
        yield f" {line}"
    for part in result.thresholds:
        if part.pooled.status != "ok":
            yield f" {part.threshold_label}: {part.pooled.status}"
    before, after = result.n_measured_images
    drawn = ""
    if not all(isnan(part.pooled.interval[0]) for part in result.thresholds):
        draws = f"{result.settings.bootstrap:,} draws"
        drawn = f", drawn {'together' if result.paired else 'independently'} ({draws})"
    if result.paired:
        yield f" in the {count(after, 'image')} that both versions measure{drawn}"
        yield from _all_images(result)
    else:
        yield (
            f" in all images: {before:,} before and {after:,} after, none of which both "
            f"measure{drawn}"
        )


def _numbers(change: Change) -> list[str]:
    numbers = [decimal(value) or "–" for value in (change.before, change.after)]
    difference = "–" if isnan(change.difference) else f"{change.difference:+z.4f}"
    return [*numbers, difference, interval_text(change.interval)]


def _all_images(result: ComparisonResult) -> Iterator[str]:
    """Yield pooled alpha and F1 of all images, if a version measures further images."""
    before, after = result.before.agreement, result.after.agreement
    if before is None or after is None:
        return
    if (before.n_images, after.n_images) == result.n_measured_images:
        return
    for old, new in zip(before.thresholds, after.thresholds, strict=True):
        for word, one, other in (
            ("alpha, pooled", old.alpha, new.alpha),
            ("existence, F1", old.existence.f1, new.existence.f1),
        ):
            yield (
                f" in all images: {word}, {old.threshold_label}: {decimal(one) or '–'} in "
                f"{before.n_images:,} before, {decimal(other) or '–'} in {after.n_images:,} after"
            )


def _tables(result: ComparisonResult, width: int | None) -> Iterator[str]:
    """Yield the most frequent renames, and the images and annotators with most changes."""
    renames = np.arange(len(result.renames))
    yield from table_excerpt(
        "Renamed annotations", result.renames, renames, width, file="renames", n_rows=_ROWS
    )
    for noun, plural in _PLURALS.items():
        table = getattr(result, plural)
        if noun == "image":
            table = table.take(np.flatnonzero(np.isin(table["status"], ("both", "renamed"))))
        rows = _most_changed(table)
        if len(table) > 1 and len(rows):
            shown = _short(table.take(rows), noun)
            order = np.arange(len(rows))
            yield from table_excerpt(
                f"{plural.capitalize()}, most changed",
                shown,
                order,
                width,
                file=plural,
                n_rows=_ROWS,
            )
    for part in result.thresholds[:1]:
        table = part.categories
        rows = np.argsort(-np.abs(np.nan_to_num(table["difference"])), kind="stable")
        rows = rows[np.nan_to_num(table["difference"])[rows] != 0]
        title = f"Alpha by category, largest differences at {part.threshold_label}"
        order = np.arange(len(rows))
        yield from table_excerpt(
            title, table.take(rows), order, width, file="alpha_categories", n_rows=_ROWS
        )


def _most_changed(table: Table) -> IndexArray:
    """Return the rows with changes, those with most first."""
    same = ("n_before", "n_after", "n_unchanged")
    names = [name for name in table.columns if name.startswith("n_") and name not in same]
    total = sum((table[name] for name in names), np.zeros(len(table), np.int64))
    order = np.argsort(-total, kind="stable")
    return order[total[order] > 0]


def _short(table: Table, noun: str) -> Table:
    """Return a table with one column of names, without counts that are all 0."""
    pairs = zip(table[f"{noun}_before"], table[f"{noun}_after"], strict=True)
    names = tuple(" → ".join(dict.fromkeys(filter(None, pair))) for pair in pairs)
    counts = {
        name: column
        for name, column in table.columns.items()
        if name.startswith("n_") and table[name].any()
    }
    return Table({noun: Categorical(np.arange(len(table), dtype=np.int32), names), **counts})
