"""Coefficients of tables of ratings as values for JSON, and as CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from bboxqa.model.ratings import Estimate, LabelAgreement, TaskEstimates
from bboxqa.report.csv_cells import csv_line
from bboxqa.report.numbers import json_interval, json_number

_COUNTS = ("task", "n_units", "n_annotators", "n_ratings")
_COLUMNS = (
    *_COUNTS, "coefficient", "value", "low", "high", "standard_error", "status", "n_shared",
    "observed", "expected",
)  # fmt: skip


def as_json(tasks: Sequence[TaskEstimates]) -> list[dict[str, Any]]:
    """Return tasks as values for JSON, one object per task; None where a number is undefined.

    Examples
    --------
    >>> task = TaskEstimates(None, 5, 2, 10, {"scott_pi": Estimate(0.5)})
    >>> as_json([task])[0]["coefficients"]["scott_pi"]
    {'value': 0.5, 'interval': None, 'standard_error': None, 'status': 'ok'}
    """
    return [
        {
            **{column: getattr(task, column) for column in _COUNTS},
            "coefficients": {
                name: _estimate_json(estimate) for name, estimate in task.coefficients.items()
            },
            "pairs": pairs_json(task),
            "annotators": {
                name: {"alpha_without": json_number(value)}
                for name, value in task.annotators.items()
            },
            "values": {name: _value_json(columns) for name, columns in task.values.items()},
            "notes": list(task.notes),
        }
        for task in tasks
    ]


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    values: dict[str, Any] = {
        "value": json_number(estimate.value),
        "interval": json_interval(estimate.interval),
        "standard_error": json_number(estimate.standard_error),
        "status": estimate.status,
    }
    if estimate.n_shared is not None:
        values["n_shared"] = estimate.n_shared
        values["observed"] = json_number(estimate.observed)
        values["expected"] = json_number(estimate.expected)
    return values


def pairs_json(task: TaskEstimates) -> list[dict[str, Any]]:
    """Return a row for each pair of annotators."""
    if task.pairs is None:
        return []
    names, pairs = task.annotator_names, task.pairs
    return [
        {
            "first": names[first],
            "second": names[second],
            "n_shared": n_shared,
            "observed": json_number(observed),
            "expected": json_number(expected),
            "kappa": json_number(kappa),
            "interval": json_interval(interval),
            "standard_error": json_number(error),
        }
        for first, second, n_shared, observed, expected, kappa, error, interval in zip(
            *(getattr(pairs, field.name).tolist() for field in fields(pairs)), strict=True
        )
    ]


def _value_json(columns: Mapping[str, float]) -> dict[str, Any]:
    values: dict[str, Any] = {
        column: json_number(number)
        for column, number in columns.items()
        if column not in ("low", "high")
    }
    if "low" in columns:
        values["interval"] = json_interval((columns["low"], columns["high"]))
    return values


def as_csv(tasks: Sequence[TaskEstimates], *, raw: bool = False) -> str:
    """Return CSV with a row per task and coefficient; a cell is empty where a number is undefined.

    With `raw`, texts that spreadsheets would run as formulas stay as they are.

    Examples
    --------
    >>> print(as_csv([TaskEstimates("on", 5, 2, 10, {"scott_pi": Estimate(0.5)})]).splitlines()[1])
    on,5,2,10,scott_pi,0.5,,,,ok,,,
    """
    lines = [csv_line(_COLUMNS)]
    for task in tasks:
        for name, estimate in task.coefficients.items():
            low, high = map(json_number, estimate.interval)
            row = {"coefficient": name, "low": low, "high": high, **_estimate_json(estimate)}
            row |= {column: getattr(task, column) for column in _COUNTS}
            lines.append(csv_line(map(row.get, _COLUMNS), raw=raw))
    return "".join(lines)


def labels_json(labels: Sequence[LabelAgreement]) -> list[dict[str, Any]]:
    """Return the agreement on each label as values for JSON; None where a number is undefined.

    Examples
    --------
    >>> labels_json([LabelAgreement("sit", Estimate(0.5, (0.25, 0.75), 0.1), 2, 4, 1)])
    [{'label': 'sit', 'agreement': 0.5, 'interval': [0.25, 0.75], 'standard_error': 0.1, \
'status': 'ok', 'both': 2, 'either': 4, 'n_recordings': 1}]
    """
    records = []
    for label in labels:
        values = _estimate_json(label.agreement)
        counts = {"both": label.both, "either": label.either, "n_recordings": label.n_recordings}
        head = {"label": label.label, "agreement": values.pop("value")}
        records.append({**head, **values, **counts})
    return records
