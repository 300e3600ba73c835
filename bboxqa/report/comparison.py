"""A comparison of two versions of a data set as text, as one plain object and as a folder."""

from collections.abc import Iterable, Iterator, Mapping
from math import isnan, nan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.text import count, first_few, one_line
from bboxqa.model.annotations import completed
from bboxqa.model.comparison import PLURALS, ComparisonResult, Version
from bboxqa.model.table import Table, stacked_tables
from bboxqa.report.agreement_summary import OF_SETTINGS
from bboxqa.report.numbers import (
    decimal,
    difference_text,
    interval_text,
    json_text,
    json_value,
    picked,
    table_lines,
)
from bboxqa.report.result_files import manifest, write_tables

_NAMED = 3
_BOTH = ("both", "renamed")
_OF_CHANGE = (
    "status", "before", "before_interval", "after", "after_interval", "difference", "interval",
)  # fmt: skip
_FIGURES = ("alpha, pooled", "alpha, mean over images", "existence, F1")


def text_lines(result: ComparisonResult, *, quiet: bool = False) -> Iterator[str]:
    """Yield the changes, and agreement before and after."""
    if not quiet:
        for name, version in (("before", result.before), ("after", result.after)):
            files = first_few(version.sources, _NAMED, lambda source: one_line(source.name))
            numbers = (count(version.n_images, "image"), count(version.n_annotators, "annotator"),
                       count(version.n_annotations, "annotation"))  # fmt: skip
            yield f"{name + ':':7} {files}: {', '.join(numbers)}"
        ways = [
            f"named by {version.attribution}" if version.attribution else "not named"
            for version in (result.before, result.after)
        ]
        yield f"annotators {' before, and after '.join(dict.fromkeys(ways))}"
        settings = result.settings
        similar = (
            f"{result.measure} of {min(settings.iou_threshold):g} or more "
            f"(similarity {settings.similarity}, matcher {settings.matcher})"
        )
        both = (np.isin(of["status"], _BOTH).any() for of in (result.images, result.annotators))
        if all(both):
            how = f"{similar}, since {result.unused_ids}"
            yield f"annotations matched by {f'id, others by {similar}' if result.by_id else how}"
    yield from (f"Warning: {line}" for line in result.headlines)
    if not quiet:
        yield from ("", _answer(result), "")
        for noun, plural in PLURALS.items():
            found = _things(getattr(result, plural), noun)
            parts = [f"{found.pop('n_both'):,} in both"]
            for word, names in found.items():
                shown = [" → ".join(n.values()) if isinstance(n, dict) else n for n in names]
                named = f"{len(names):,} {word}: {first_few(shown, _NAMED, one_line)}"
                parts += [named] * bool(names)
            yield f" {plural.capitalize()}: {'; '.join(parts)}"
        yield ""
    yield from _change_lines(result)
    if result.thresholds and not quiet:
        yield ""
    yield from _agreement_lines(result)
    if not quiet:
        yield from (f" Note: {note}" for note in result.notes[len(result.headlines) :])


def _answer(result: ComparisonResult) -> str:
    """Return how agreement changed at the first threshold, and how many annotations did."""
    n, parts = result.counts, list[str]()
    for part in result.thresholds[:1]:
        for word, change in (("existence", part.f1), ("alpha", part.pooled)):
            low, high = np.where(np.isnan(change.interval), change.difference, change.interval)
            what = "rose" if low > 0 else "fell" if high < 0 else "did not clearly change"
            figure = f"{change.difference:+.2f} {interval_text(change.interval, 2)}".rstrip()
            parts += [f"{word} {what}: {figure}"] * (abs(change.difference) > 0)
    n_changed = sum(n.values()) - n["unchanged"] - n["removed"] - n["added"]
    changed = count(n_changed, "annotation")
    parts.append(f"{changed} changed, {n['removed']:,} removed, {n['added']:,} added")
    answer = "; ".join(parts)
    return answer[0].upper() + answer[1:]


def _change_lines(result: ComparisonResult) -> Iterator[str]:
    """Yield the number of annotations of each kind of change, with their share of a version."""
    if 0 < result.counts["unchanged"] == sum(result.counts.values()):
        yield f" Annotations: {result.counts['unchanged']:,} in both, all unchanged"
        return
    rows = [["Annotations", "", ""]]
    for name, number in result.counts.items():
        if name == "crowd_flag_changed" and not number:
            continue
        version, which = (result.after, "after") if name == "added" else (result.before, "before")
        share = f"{100 * number / version.n_annotations:.1f} % of those {which}" if number else ""
        if name == "moved" and number:
            (median, most), (typical, least) = result.moved_px, result.moved_similarity
            share += (
                f"; by {median:.4g} px (median; at most {most:.4g}), {result.measure} "
                f"{typical:.2f} (median; at least {least:.2f})"
            )
        rows.append([name.replace("_", " "), f"{number:,}", share])
    yield from (f" {line}" for line in table_lines(rows, left=(0, 2)))


def _agreement_lines(result: ComparisonResult) -> Iterator[str]:
    if not result.thresholds:
        return
    rows = [["Agreement", "before", "after", "difference", "95 % interval"]]
    for part in result.thresholds:
        for word, change in zip(_FIGURES, (part.pooled, part.mean, part.f1), strict=True):
            numbers = [decimal(value) or "–" for value in (change.before, change.after)]
            ends = (difference_text(change.difference), interval_text(change.interval))
            rows.append([f"{word}, {part.threshold_label}", *numbers, *ends])
    yield from (f" {line}" for line in table_lines(rows, left=(0, 4)))
    for part in result.thresholds:
        if part.pooled.status != "ok":
            yield f" {part.threshold_label}: {part.pooled.status}"
    drawn = ""
    if not all(isnan(part.pooled.interval[0]) for part in result.thresholds):
        drawn = f", drawn together ({result.settings.bootstrap:,} draws)"
    images = count(max(result.n_measured_images), "image")
    yield f" in the {images} that both versions measure{drawn}"


def summary(result: ComparisonResult) -> dict[str, Any]:
    """Return a result as comparison.schema.json says; None where a number is undefined."""
    settings = msgspec.to_builtins(result.settings)
    (median, most), (typical, least) = result.moved_px, result.moved_similarity
    return {
        "before": _version(result.before),
        "after": _version(result.after),
        "matched_by": "id" if result.by_id else "similarity",
        "unused_ids": result.unused_ids or None,
        "changes": dict(result.counts),
        "moved_px": {"median": json_value(median), "largest": json_value(most)},
        "moved_similarity": {"median": json_value(typical), "smallest": json_value(least)},
        "images": _things(result.images, "image"),
        "categories": result.categories.records(),
        "annotators": result.annotators.records(),
        "renames": result.renames.records(),
        "paired": result.paired,
        "n_measured_images": dict(zip(("before", "after"), result.n_measured_images, strict=True)),
        "thresholds": [
            {
                "iou_threshold": part.iou_threshold,
                "pooled": picked(part.pooled, *_OF_CHANGE),
                "mean_over_images": picked(part.mean, *_OF_CHANGE),
                "f1": picked(part.f1, *_OF_CHANGE),
                "categories": part.categories.records(),
            }
            for part in result.thresholds
        ],
        **{name: settings[name] for name in OF_SETTINGS},
        "version": result.version,
        "notes": list(result.notes),
    }


def _version(version: Version) -> dict[str, Any]:
    parts = () if version.agreement is None else version.agreement.thresholds
    return {
        "files": [source.name for source in version.sources],
        **picked(version, "n_images", "n_annotators", "n_annotations", "attribution"),
        "thresholds": [
            {**picked(part, "iou_threshold", "alpha"), **picked(part.existence, "f1")}
            for part in parts
        ],
    }


def _things(table: Table, noun: str) -> dict[str, Any]:
    """Return the number of items in both versions, and the names of the others."""
    found: dict[str, list[Any]] = {"both": [], "renamed": [], "removed": [], "added": []}
    names = (table[f"{noun}_before"], table[f"{noun}_after"], table["status"])
    for before, after, status in zip(*names, strict=True):
        renamed = {"before": before, "after": after}
        found[status].append(renamed if status == "renamed" else before or after)
    return {"n_both": len(found.pop("both")) + len(found["renamed"]), **found}


def json_lines(result: ComparisonResult) -> Iterator[str]:
    """Yield a result as indented JSON, the form of `summary.json`."""
    yield from json_text(summary(result)).rstrip("\n").split("\n")


def write_comparison(
    result: ComparisonResult, folder: Path, *, raw_csv: bool = False, kept: Iterable[Path] = ()
) -> list[Path]:
    """Write summary.json, manifest.json and the tables as csv; return their paths."""
    names = ("changes", "images", "categories", "annotators", "renames")
    tables = {name: getattr(result, name) for name in names}
    for name in ("categories", "images") if result.thresholds else ():
        parts = [(part.iou_threshold, getattr(part, name)) for part in result.thresholds]
        tables[f"alpha_{name}"] = stacked_tables(parts)
    sources = [*result.before.sources, *result.after.sources]
    reading = completed(result.after.reading, result.before.reading)
    found = manifest(result.settings, sources, reading)
    documents = {"summary": summary(result), "manifest": found}
    return write_tables(folder, documents, tables, raw_csv=raw_csv, kept=kept)


def since_lines(since: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of a saved result, and those of now."""
    yield from ("", f"Since {since['folder']}")
    before, now = since["n_annotations"].values()
    yield f" {count(before, 'annotation')} before, {now:,} now"
    rows = [["Agreement", "before", "now", "difference"]]
    for name, *values, difference in (each.values() for each in since["figures"]):
        change = difference_text(nan if difference is None else difference)
        rows.append([name, *(decimal(value) or "–" for value in values), change])
    yield from (f" {line}" for line in table_lines(rows, left=(0,)))
    yield f" Note: {since['reason']}"
