"""A comparison of two versions as one plain object, and as a folder of files."""

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from math import nan
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.model.comparison import AgreementChange, Change, ComparisonResult, SinceRun, Version
from bboxqa.model.table import Table
from bboxqa.report.agreement_summary import OF_SETTINGS
from bboxqa.report.json_text import json_text
from bboxqa.report.numbers import json_interval, json_number
from bboxqa.report.result_files import manifest, write_tables


def summary(result: ComparisonResult) -> dict[str, Any]:
    """Return a result as `comparison_schema` describes it; None where a number is undefined.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> summary(bboxqa.compare(data, data))["changes"]["unchanged"]
    9
    """
    settings = msgspec.to_builtins(result.settings)
    return {
        "before": _version(result.before),
        "after": _version(result.after),
        "matched_by": "id" if result.by_id else "similarity",
        "unused_ids": result.unused_ids or None,
        "changes": dict(result.counts),
        "moved_px": _median_and_extreme(result.moved_px, "largest"),
        "moved_similarity": _median_and_extreme(result.moved_similarity, "smallest"),
        "images": _things(result.images, "image"),
        "categories": result.categories.records(),
        "annotators": result.annotators.records(),
        "renames": result.renames.records(),
        "paired": result.paired,
        "n_measured_images": dict(zip(("before", "after"), result.n_measured_images, strict=True)),
        "thresholds": [_threshold(part) for part in result.thresholds],
        **{name: settings[name] for name in OF_SETTINGS},
        "version": result.version,
        "notes": list(result.notes),
    }


def _version(version: Version) -> dict[str, Any]:
    agreement = version.agreement
    return {
        "files": [source.name for source in version.sources],
        "n_images": version.n_images,
        "n_annotators": version.n_annotators,
        "n_annotations": version.n_annotations,
        "attribution": version.attribution,
        "thresholds": []
        if agreement is None
        else [
            {
                "iou_threshold": part.iou_threshold,
                "alpha": json_number(part.alpha),
                "f1": json_number(part.existence.f1),
            }
            for part in agreement.thresholds
        ],
    }


def _median_and_extreme(numbers: tuple[float, float], extreme: str) -> dict[str, float | None]:
    return {"median": json_number(numbers[0]), extreme: json_number(numbers[1])}


def _things(table: Table, noun: str) -> dict[str, Any]:
    """Return the number of items in both versions, and the names of the others."""
    found: dict[str, list[Any]] = {"both": [], "renamed": [], "removed": [], "added": []}
    names = (table[f"{noun}_before"], table[f"{noun}_after"], table["status"])
    for before, after, status in zip(*names, strict=True):
        renamed = {"before": before, "after": after}
        found[status].append(renamed if status == "renamed" else before or after)
    return {"n_both": len(found.pop("both")) + len(found["renamed"]), **found}


def _threshold(part: AgreementChange) -> dict[str, Any]:
    return {
        "iou_threshold": part.iou_threshold,
        "pooled": _figure(part.pooled),
        "mean_over_images": _figure(part.mean),
        "f1": _figure(part.f1),
        "categories": part.categories.records(),
    }


def _figure(change: Change) -> dict[str, Any]:
    return {
        "status": change.status,
        "before": json_number(change.before),
        "before_interval": json_interval(change.before_interval),
        "after": json_number(change.after),
        "after_interval": json_interval(change.after_interval),
        "difference": json_number(change.difference),
        "interval": json_interval(change.interval),
    }


def json_lines(result: ComparisonResult) -> Iterator[str]:
    """Yield a result as indented JSON, the form of `summary.json`."""
    yield from json_text(summary(result)).rstrip("\n").split("\n")


def since_summary(since: SinceRun) -> dict[str, Any]:
    """Return the figures before and now, and the changed annotations; None where unknown."""
    before, after = since.n_annotations
    return {
        "folder": since.folder,
        "figures": [
            {
                "name": name,
                "before": None if was is None else json_number(was),
                "now": json_number(value),
                "difference": json_number(value - (nan if was is None else was)),
            }
            for name, was, value in since.figures
        ],
        "annotations_by_id": dict(since.counts) or None,
        "n_annotations": {"before": before, "now": after},
        "reason": since.reason,
    }


def comparison_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of `summary`."""
    text = files("bboxqa.report").joinpath("comparison.schema.json").read_bytes()
    schema: dict[str, Any] = msgspec.json.decode(text)
    return schema


def write_comparison(
    result: ComparisonResult, folder: Path, *, raw_csv: bool = False, kept: Iterable[Path] = ()
) -> list[Path]:
    """Write summary.json, manifest.json and the tables as csv; return their paths.

    Raises OutputError if this would replace one of the files `kept`.
    """
    names = ("changes", "images", "categories", "annotators", "renames")
    tables: dict[str, Sequence[tuple[float | None, Table]]] = {
        name: [(None, getattr(result, name))] for name in names
    }
    for name in ("categories", "images") if result.thresholds else ():
        parts = [(part.iou_threshold, getattr(part, name)) for part in result.thresholds]
        tables[f"alpha_{name}"] = parts
    sources = [*result.before.sources, *result.after.sources]
    reading = {**result.before.reading, **result.after.reading}
    documents = {
        "summary": summary(result),
        "manifest": manifest(result.settings, sources, reading),
    }
    return write_tables(folder, documents, tables, raw_csv=raw_csv, kept=kept)
