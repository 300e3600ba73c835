"""Coefficients as JSON, CSV and text."""

import csv
import io
import json
from math import nan

import numpy as np

from bboxqa.model.ratings import Estimate, PairTable, TaskEstimates
from bboxqa.report.stats_views import as_csv, as_json, text_lines

UNDEFINED = "undefined: only one value occurs, so no disagreement is possible"
ADVICE = "Report percent agreement meanwhile."


def task(name=None, value=0.5, shared=10, notes=()):
    return TaskEstimates(
        name, 1200, 3, 3600,
        {
            "krippendorff_alpha": Estimate(value, (0.25, 0.75), 0.125),
            "cohen_kappa_pairwise": Estimate(value, observed=0.75, expected=0.5, n_shared=shared),
            "scott_pi": Estimate(nan, status=UNDEFINED, advice=ADVICE),
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
            "pairs": [],
            "annotators": {},
            "values": {},
            "notes": [],
        }
    ]


def detailed(name=None):
    pairs = PairTable(
        np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32), np.array([1200, 3, 0]),
        np.array([0.5, 0.75, 0]), np.array([0.25, 0.5, nan]), np.array([0.375, 0.25, nan]),
        np.array([0.125, nan, nan]), np.array([[0.25, 0.5], [nan, nan], [nan, nan]]),
    )  # fmt: skip
    return TaskEstimates(
        name, 5, 3, 15, {"krippendorff_alpha": Estimate(0.5)}, ("ann", "b\x1bob", "cid"), pairs,
        {"ann": 0.25, "b\x1bob": nan, "cid": 0.75},
        {
            "cat": {"alpha_without": 0.125, "fleiss_kappa": 0.5, "standard_error": 0.0625,
                    "low": 0.375, "high": 0.625},
            "dog": {"alpha_without": nan, "fleiss_kappa": -0.25, "standard_error": nan,
                    "low": nan, "high": nan},
        },
    )  # fmt: skip


def test_json_has_pairs_annotators_and_values():
    (found,) = json.loads(json.dumps(as_json([detailed()]), allow_nan=False))
    assert found["pairs"] == [
        {"first": "ann", "second": "b\x1bob", "n_shared": 1200, "observed": 0.5,
         "expected": 0.25, "kappa": 0.375, "interval": [0.25, 0.5], "standard_error": 0.125},
        {"first": "ann", "second": "cid", "n_shared": 3, "observed": 0.75, "expected": 0.5,
         "kappa": 0.25, "interval": None, "standard_error": None},
        {"first": "b\x1bob", "second": "cid", "n_shared": 0, "observed": 0, "expected": None,
         "kappa": None, "interval": None, "standard_error": None},
    ]  # fmt: skip
    assert found["annotators"] == {
        "ann": {"alpha_without": 0.25},
        "b\x1bob": {"alpha_without": None},
        "cid": {"alpha_without": 0.75},
    }
    assert found["values"] == {
        "cat": {"alpha_without": 0.125, "fleiss_kappa": 0.5, "standard_error": 0.0625,
                "interval": [0.375, 0.625]},
        "dog": {"alpha_without": None, "fleiss_kappa": -0.25, "standard_error": None,
                "interval": None},
    }  # fmt: skip


def test_csv_has_a_row_for_each_task_and_coefficient():
    rows = list(csv.DictReader(io.StringIO(as_csv([task("a,b"), task()]))))
    assert len(rows) == 6
    assert (rows[0]["task"], rows[0]["value"], rows[0]["low"]) == ("a,b", "0.5", "0.25")
    assert (rows[1]["n_shared"], rows[1]["observed"]) == ("10", "0.75")
    assert (rows[2]["value"], rows[2]["status"]) == ("", UNDEFINED)


def test_names_of_tasks_cannot_steer_a_terminal():
    assert "\x1b" not in "".join(text_lines([task("\x1b[31m"), task("b")]))
