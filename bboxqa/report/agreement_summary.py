"""A result as one plain object, the form of `summary.json` and of `--format json`."""

from collections.abc import Iterator
from importlib.resources import files
from math import isnan
from typing import Any

import msgspec

from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.results import (
    ClassAgreement,
    Existence,
    MeasuredAgreement,
    Place,
    ThresholdResult,
)
from bboxqa.report.diagnosis_summary import diagnosis_summary
from bboxqa.report.json_text import json_text
from bboxqa.report.numbers import json_interval, json_number
from bboxqa.report.reference import reference_record
from bboxqa.report.repeats import repeat_records

_OF_RESULT = (
    "n_images", "n_annotators", "n_annotations", "n_crowd", "n_empty_images", "attribution",
)  # fmt: skip
OF_SETTINGS = ("similarity", "matcher", "missing", "empty_images", "bootstrap", "seed")


def summary(result: MeasuredAgreement) -> dict[str, Any]:
    """Return a result as `summary_schema` describes it; None where a number is undefined.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> summary(bboxqa.agree(data))["thresholds"][0]["alpha"]
    0.0222...
    """
    settings = msgspec.to_builtins(result.settings)
    return {
        **{name: getattr(result, name) for name in _OF_RESULT},
        **{name: settings[name] for name in OF_SETTINGS},
        "version": result.version,
        "notes": list(result.notes),
        "thresholds": [_threshold(part) for part in result.thresholds],
    }


def _threshold(part: ThresholdResult) -> dict[str, Any]:
    return {
        "iou_threshold": part.iou_threshold,
        "alpha": json_number(part.alpha),
        "alpha_reason": part.alpha_reason or None,
        "status": part.status,
        "interval": json_interval(part.interval),
        "observed_disagreement": json_number(part.observed),
        "expected_disagreement": json_number(part.expected),
        "mean_image_alpha": json_number(part.mean_image_alpha),
        "mean_image_status": _mean_status(part),
        "mean_image_interval": json_interval(part.mean_image_interval),
        "mean_drawn_image_alpha": json_number(part.mean_drawn_image_alpha),
        "meaningful_image_alpha": {
            "value": json_number(part.meaningful_image_alpha.mean),
            "interval": json_interval(part.meaningful_image_alpha.interval),
            "n_images": part.meaningful_image_alpha.n_images,
        },
        "share_of_images_at_1": json_number(part.share_of_images_at_1),
        "existence": _existence(part.existence),
        "class": _class(part.class_agreement),
        "place": _place(part.place),
        "greedy_alpha": json_number(part.greedy_alpha),
        "all_asked_alpha": json_number(part.all_asked_alpha),
        "all_asked_f1": json_number(part.all_asked_f1),
        "n_units": part.n_units,
        "n_complete_units": part.n_complete_units,
        "categories": part.categories.records(),
        "pairs": part.pairs.records(),
        **({} if part.repeats is None else {"repeats": repeat_records(part.repeats)}),
        **({} if part.reference is None else {"reference": reference_record(part.reference)}),
    }


def _mean_status(part: ThresholdResult) -> str:
    if not isnan(part.mean_image_alpha):
        return "ok"
    return part.status if part.alpha_has_no_meaning else "undefined: no image"


def _existence(found: Existence) -> dict[str, Any]:
    return {
        "f1": json_number(found.f1),
        "interval": json_interval(found.interval),
        "chance": json_number(found.chance),
        "alpha": json_number(found.alpha),
        "alpha_interval": json_interval(found.alpha_interval),
        "reason": found.reason or None,
    }


def _class(found: ClassAgreement) -> dict[str, Any]:
    return {
        "alpha": json_number(found.alpha),
        "share": json_number(found.share),
        "interval": json_interval(found.interval),
        "share_interval": json_interval(found.share_interval),
        "status": found.status,
    }


def _place(found: Place) -> dict[str, Any]:
    return {
        "mean_iou": json_number(found.mean_iou),
        "median_iou": json_number(found.median_iou),
        "interval": json_interval(found.interval),
        "n_pairs": found.n_pairs,
        "below_threshold": {
            "value": json_number(found.below_threshold),
            "interval": json_interval(found.below_interval),
        },
    }


def json_lines(
    result: MeasuredAgreement,
    *,
    diagnosis: Diagnosis | None = None,
    since: dict[str, Any] | None = None,
) -> Iterator[str]:
    """Yield a result as indented JSON, the form of `summary.json`.

    A diagnosis is added to it, and the `since_summary` of what has changed since a saved result.
    """
    found = summary(result)
    if diagnosis is not None:
        found["diagnosis"] = diagnosis_summary(diagnosis)
    if since is not None:
        found["since"] = since
    yield from json_text(found).rstrip("\n").split("\n")


def summary_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of `summary`."""
    text = files("bboxqa.report").joinpath("summary.schema.json").read_bytes()
    schema: dict[str, Any] = msgspec.json.decode(text)
    return schema
