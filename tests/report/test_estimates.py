"""Coefficients as json, CSV and text."""

import csv
import io
import json
from math import nan

from bboxqa.estimates import Estimate, TaskEstimates
from bboxqa.report.estimates import as_csv, as_json, text_lines

UNDEFINED = "undefined: only one value occurs, so no disagreement is possible"


def task(name=None, value=0.5, shared=10, notes=()):
    return TaskEstimates(
        name, 1200, 3, 3600,
        {
            "krippendorff_alpha": Estimate(value, (0.25, 0.75), 0.125),
            "cohen_kappa_pairwise": Estimate(value, observed=0.75, expected=0.5, n_shared=shared),
            "scott_pi": Estimate(nan, status=UNDEFINED),
        },
        notes=notes,
    )  # fmt: skip


def test_json_has_no_nan_and_exactly_these_keys():
    found = json.loads(json.dumps(as_json([task("on")]), allow_nan=False))
    assert found == [
        {
            "task": "on",
            "n_units": 1200,
            "n_annotators": 3,
            "n_ratings": 3600,
            "coefficients": {
                "krippendorff_alpha": {
                    "value": 0.5,
                    "interval": [0.25, 0.75],
                    "standard_error": 0.125,
                    "status": "ok",
                },
                "cohen_kappa_pairwise": {
                    "value": 0.5,
                    "interval": None,
                    "standard_error": None,
                    "status": "ok",
                    "n_shared": 10,
                    "observed": 0.75,
                    "expected": 0.5,
                },
                "scott_pi": {
                    "value": None,
                    "interval": None,
                    "standard_error": None,
                    "status": UNDEFINED,
                },
            },
            "notes": [],
        }
    ]


def test_csv_has_a_row_for_each_task_and_coefficient():
    rows = list(csv.DictReader(io.StringIO(as_csv([task("a,b"), task()]))))
    assert len(rows) == 6
    assert (rows[0]["task"], rows[0]["value"], rows[0]["low"]) == ("a,b", "0.5", "0.25")
    assert (rows[1]["n_shared"], rows[1]["observed"]) == ("10", "0.75")
    assert (rows[2]["value"], rows[2]["status"]) == ("", UNDEFINED)


def test_text_of_one_task():
    lines = list(text_lines([task(notes=("half a table",))], lambda name, _: name[:4]))
    assert lines[0] == "1,200 units, 3 annotators, 3,600 ratings"
    assert lines[3].split() == [
        "krippendorff_alpha", "0.5000", "[0.2500,", "0.7500]", "0.1250", "krip",
    ]  # fmt: skip
    assert lines[5].split() == ["scott_pi", "undefined"]
    assert f" scott_pi: {UNDEFINED}" in lines
    assert any("percent agreement" in line for line in lines)
    assert lines[-1] == " Note: half a table"
    assert not any("total" in line for line in lines)


def test_several_tasks_have_a_total_weighted_by_what_was_compared():
    lines = list(text_lines([task("in", 0.5, 10), task("on", 0.9, 30), task("up", nan, 0)]))
    total = next(line for line in lines if line.startswith(" total"))
    assert total.split() == ["total", "cohen_kappa_pairwise", "0.8000", "40", "0.7500", "0.5000"]
    assert sum("total" in line for line in lines) == 1
    assert f" scott_pi (in), scott_pi (on), scott_pi (up): {UNDEFINED}" in lines


def test_names_of_tasks_cannot_steer_a_terminal():
    assert "\x1b" not in "".join(text_lines([task("\x1b[31m"), task("b")]))
