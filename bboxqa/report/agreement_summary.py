"""A result and its diagnosis as plain objects, the form of `--format json` and of JSON files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from math import isnan
from typing import Any

import msgspec

from bboxqa.core.remembered import remembered
from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.results import MeasuredAgreement, ReferenceAgreement, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.encodings import json_text
from bboxqa.report.numbers import json_figure, json_interval, json_number, picked

_OF_RESULT = (
    "n_images", "n_annotators", "n_annotations", "n_crowd", "n_empty_images", "attribution",
)  # fmt: skip
OF_SETTINGS = ("similarity", "matcher", "missing", "empty_images", "bootstrap", "seed")
"""The settings that a summary repeats."""
_RATES = ("f1", "miss_rate", "extra_rate", "class_share")
_OF_REPEATS = ("f1", "alpha", "class_alpha", "class_share", "mean_iou")
_OF_REFERENCE = ("precision", "recall", "f1", "class_share", "mean_similarity")

Record = dict[str, Any]


def summary(result: MeasuredAgreement) -> Record:
    """Return a result as `summary_schema` describes it; None where a number is undefined.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read(example_file("fruits"))
    >>> summary(bboxqa.agree(data))["thresholds"][0]["alpha"]
    0.0222...
    """
    settings = msgspec.to_builtins(result.settings)
    return {
        **{name: getattr(result, name) for name in _OF_RESULT},
        **{name: settings[name] for name in OF_SETTINGS},
        "version": result.version,
        "notes": list(result.notes),
        "thresholds": [
            {
                **figures_at(part),
                "categories": part.categories.records(),
                "pairs": part.pairs.records(),
                **({} if part.repeats is None else {"repeats": _repeats(part.repeats)}),
                **({} if part.reference is None else {"reference": _reference(part.reference)}),
            }
            for part in result.thresholds
        ],
    }


def figures_at(part: ThresholdResult) -> Record:
    """Return the figures at a threshold, without those of categories and annotators."""
    meaningful, existence, place = part.meaningful_image_alpha, part.existence, part.place
    known = not isnan(part.mean_image_alpha)
    unknown = part.status if part.alpha_has_no_meaning else "undefined: no image"
    return {
        **picked(part, "iou_threshold", "alpha"),
        "alpha_reason": part.alpha_reason or None,
        **picked(part, "status", "interval"),
        "largest_category": {
            "name": part.largest_category[0] or None,
            "share": json_number(part.largest_category[1]),
        },
        "observed_disagreement": json_number(part.observed),
        "expected_disagreement": json_number(part.expected),
        **picked(part, "mean_image_alpha"),
        "mean_image_status": "ok" if known else unknown,
        **picked(part, "mean_image_interval", "mean_drawn_image_alpha"),
        "meaningful_image_alpha": {
            "value": json_number(meaningful.mean),
            **picked(meaningful, "interval", "n_images"),
        },
        **picked(part, "share_of_images_at_1"),
        "existence": {
            **picked(existence, "f1", "interval", "chance", "alpha", "alpha_interval"),
            "reason": existence.reason or None,
        },
        "class": picked(
            part.class_agreement, "alpha", "share", "interval", "share_interval", "status"
        ),
        "place": {
            **picked(place, "mean_iou", "median_iou", "interval", "n_pairs"),
            "below_threshold": {
                "value": json_number(place.below_threshold),
                "interval": json_interval(place.below_interval),
            },
        },
        **picked(part, "greedy_alpha", "all_asked_alpha", "all_asked_f1"),
        **picked(part, "n_units", "n_complete_units"),
    }


def _repeats(table: Table) -> list[Record]:
    """Return a record for all annotators together, whose name is None, and for each."""
    return [
        {"annotator": row["annotator"] if place else None}
        | _figures(row, ("n_images", "n_annotations"), _OF_REPEATS)
        for place, row in enumerate(table.records())
    ]


def _figures(row: Record, counts: Sequence[str], figures: Sequence[str]) -> Record:
    """Return some counts and figures of a row of a table."""
    found = {name: row[name] for name in counts}
    return found | {name: json_figure(row, name) for name in figures}


def _reference(found: ReferenceAgreement) -> Record:
    """Return the reference, and a record of the figures of each annotator."""
    offsets = found.offsets.records()
    is_rotated = "measure" in found.offsets.columns
    return {
        **picked(
            found, "name", "n_images", "n_reference_images", "n_empty_images", "n_annotations"
        ),
        "annotators": [
            {
                "name": row["annotator"],
                **_figures(row, ("n_images", "n", "n_reference", "n_matched"), _OF_REFERENCE),
                **_offsets([each for each in offsets if each["annotator"] == row["annotator"]],
                           ("measure", "unit", "systematic"), is_rotated=is_rotated),
            }
            for row in found.annotators.records()
        ],
    }  # fmt: skip


def _offsets(rows: list[Record], kept: tuple[str, ...], *, is_rotated: bool) -> Record:
    """Return the offsets of an annotator: of edges, or of rotated boxes."""
    if not is_rotated:
        return {"offset_px": [json_figure(row, "offset_px") for row in rows]}
    rotated = [{name: row[name] for name in kept} | json_figure(row, "offset") for row in rows]
    return {"offset_px": [], **({"rotated_offsets": rotated} if rotated else {})}


@remembered
def diagnosis_summary(diagnosis: Diagnosis) -> Record:
    """Return a diagnosis as `diagnosis_schema` describes it; None where a number is undefined.

    It is made once, and must not be changed.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read(example_file("fruits")))
    >>> diagnosis_summary(result.diagnose())["annotators"][0]["miss_rate"]
    {'value': 0.0, 'interval': None}
    """
    tables = diagnosis.tables
    return {
        "threshold": diagnosis.threshold_label,
        "story": list(diagnosis.story),
        "subjects": [
            {"annotators": list(line.annotators), "see": line.see} for line in diagnosis.lines
        ],
        "warnings": list(diagnosis.warnings),
        "advice": diagnosis.advice,
        "annotators": _annotators(tables),
        "confusions": [_confusion(row) for row in tables["confusions"].records()],
        "decomposition": [_kind(row) for row in tables["decomposition"].records()],
        **({"work": _work(tables["work"])} if "work" in tables else {}),
        "tables": table_records(tables, tables.keys()),
    }


def table_records(tables: Mapping[str, Table], names: Collection[str]) -> Record:
    """Return the columns and rows of the tables of some names."""
    return {
        name: {"columns": [*table.columns], "rows": [*map(list, table.rows())]}
        for name, table in tables.items()
        if name in names
    }


def _annotators(tables: Mapping[str, Table]) -> list[Record]:
    """Return the figures of each annotator."""
    is_rotated = "rotated_offsets" in tables
    table = tables.get("rotated_offsets" if is_rotated else "offsets")
    rows: dict[str, list[Record]] = {}
    for row in [] if table is None else table.records():
        rows.setdefault(row["annotator"], []).append(row)
    kept = ("measure", "unit", "spread", "systematic")
    return [
        {"name": row["annotator"]}
        | _figures(row, ("n",), _RATES)
        | _offsets(rows.get(row["annotator"], []), kept, is_rotated=is_rotated)
        for row in tables["annotators"].records()
    ]


def _confusion(row: Record) -> Record:
    found = {name: row[name] for name in ("first", "second", "n")}
    for name in ("gain", "share"):
        figure = json_figure(row, name)
        found |= {name: figure["value"], f"{name}_interval": figure["interval"]}
    return found


def _kind(row: Record) -> Record:
    """Return a row of the decomposition, each interval as one list."""
    kept = {name: row[name] for name in row if not name.endswith(("_low", "_high"))}
    shares = {
        "interval": "share",
        "interval_any": "share_any",
        "alpha_gain_interval": "alpha_gain",
        "f1_gain_interval": "f1_gain",
    }
    return kept | {name: json_figure(row, share)["interval"] for name, share in shares.items()}


def _work(table: Table) -> list[Record]:
    """Return the figures of all annotators, whose name is None, and of each."""
    counts = ("n", "n_sessions", "hours", "median_seconds")
    return [
        {"name": row["annotator"] if place else None}
        | _figures(row, counts, ("per_minute",))
        | {
            name: json_figure(row, name) | {"status": row[f"{name}_status"]}
            for name in ("drift", "fatigue")
        }
        for place, row in enumerate(table.records())
    ]


def json_lines(result: MeasuredAgreement, *, diagnosis: Diagnosis | None = None) -> Iterator[str]:
    """Yield a result, and its diagnosis, as indented JSON, the form of `summary.json`."""
    found = summary(result)
    if diagnosis is not None:
        found["diagnosis"] = diagnosis_summary(diagnosis)
    yield from json_text(found).rstrip("\n").split("\n")


def summary_schema() -> Record:
    """Return the JSON schema (2020-12) of `summary`."""
    return schema("summary")


def diagnosis_schema() -> Record:
    """Return the JSON schema (2020-12) of `diagnosis_summary`."""
    return schema("diagnosis")


def schema(name: str) -> Record:
    """Return one of the JSON schemas beside this module."""
    text = files("bboxqa.report").joinpath(f"{name}.schema.json").read_bytes()
    found: Record = msgspec.json.decode(text)
    return found
