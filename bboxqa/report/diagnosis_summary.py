"""A diagnosis as one plain object, the form of `diagnosis.json`."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from bboxqa.core.remembered import remembered
from bboxqa.model.diagnosis import Diagnosis, Line
from bboxqa.model.table import Table
from bboxqa.report.numbers import json_figure

_FIGURES = ("f1", "miss_rate", "extra_rate", "class_share")
_OF_WORK = ("n", "n_sessions", "hours", "median_seconds")
_CHANGES = ("drift", "fatigue")
_OF_CONFUSIONS = ("first", "second", "n")


@remembered
def diagnosis_summary(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as `diagnosis_schema` describes it; None where a number is undefined.

    It is made once, and must not be changed.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")))
    >>> diagnosis_summary(result.diagnose())["annotators"][0]["miss_rate"]
    {'value': 0.0, 'interval': None}
    """
    tables = diagnosis.tables
    confused = tables["confusions"].records()
    return {
        "threshold": diagnosis.threshold_label,
        "story": list(diagnosis.story),
        "subjects": [_subject(line) for line in diagnosis.lines],
        "warnings": list(diagnosis.warnings),
        "annotators": _annotators(tables),
        "confusions": [_confusion(row) for row in confused],
        "decomposition": [_with_intervals(row) for row in tables["decomposition"].records()],
        **({"work": _work(tables["work"])} if "work" in tables else {}),
        "tables": {
            name: {"columns": [*table.columns], "rows": [*map(list, table.rows())]}
            for name, table in tables.items()
        },
    }


def _subject(line: Line) -> dict[str, Any]:
    return {"annotators": list(line.annotators), "see": line.see}


def _annotators(tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Return the figures of each annotator, whose offsets are rows in the same order."""
    people = tables["annotators"].records()
    edges = _by_annotator(tables.get("offsets"), len(people))
    rotated = _by_annotator(tables.get("rotated_offsets"), len(people))
    return [
        {
            "name": row["annotator"],
            "n": row["n"],
            **{name: json_figure(row, name) for name in _FIGURES},
            "offset_px": [json_figure(edge, "offset_px") for edge in edges[place]],
            **({"rotated_offsets": [*map(_rotated, rotated[place])]} if rotated[place] else {}),
        }
        for place, row in enumerate(people)
    ]


def _by_annotator(table: Table | None, n_annotators: int) -> list[list[dict[str, Any]]]:
    """Return the rows of each annotator; none without a table."""
    rows = [] if table is None else table.records()
    n = len(rows) // max(n_annotators, 1)
    return [rows[n * place : n * (place + 1)] for place in range(n_annotators)]


def _rotated(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("measure", "unit", "spread", "systematic")
    return {**{name: row[name] for name in kept}, **json_figure(row, "offset")}


def _confusion(row: dict[str, Any]) -> dict[str, Any]:
    share, gain = json_figure(row, "share"), json_figure(row, "gain")
    return {
        **{name: row[name] for name in _OF_CONFUSIONS},
        "gain": gain["value"],
        "gain_interval": gain["interval"],
        "share": share["value"],
        "share_interval": share["interval"],
    }


def _work(table: Table) -> list[dict[str, Any]]:
    """Return the figures of all annotators, whose name is None, and of each."""
    return [
        {
            "name": row["annotator"] if place else None,
            **{name: row[name] for name in _OF_WORK},
            "per_minute": json_figure(row, "per_minute"),
            **{
                name: {**json_figure(row, name), "status": row[f"{name}_status"]}
                for name in _CHANGES
            },
        }
        for place, row in enumerate(table.records())
    ]


def _with_intervals(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the decomposition, each interval as one list."""
    kept = {name: row[name] for name in row if not name.endswith(("_low", "_high"))}
    shares = {
        "interval": "share",
        "interval_any": "share_any",
        "alpha_gain_interval": "alpha_gain",
        "f1_gain_interval": "f1_gain",
    }
    return kept | {name: json_figure(row, share)["interval"] for name, share in shares.items()}


def diagnosis_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of `diagnosis_summary`."""
    text = files("bboxqa.report").joinpath("diagnosis.schema.json").read_bytes()
    schema: dict[str, Any] = msgspec.json.decode(text)
    return schema
