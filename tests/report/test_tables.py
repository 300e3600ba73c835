"""Tables and coefficients as csv files, JSON and text, and cells that spreadsheets do not run."""

import csv
import io
import json
import tempfile
from math import nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.datasets import csv_rows, document_of, write

from bboxqa.model.ratings import Estimate, PairTable, TaskEstimates
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.read import read_coco
from bboxqa.report.agreement_summary import summary
from bboxqa.report.numbers import csv_row, table_lines
from bboxqa.report.result_files import write_folder
from bboxqa.report.stats_views import as_csv, as_json, text_lines


def test_a_wide_character_takes_two_columns():
    assert list(table_lines([["名", "n"], ["abc", "1"]], [0])) == ["名   n", "abc  1"]
    assert list(table_lines([["e\u0301", "n"], ["ab", "1"]], [0])) == ["e\u0301   n", "ab  1"]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "=", "-cat", "\uff1d1"]
)
def test_formulas_are_neutralised(text):
    ((cell,),) = csv.reader(io.StringIO(csv_row([text]), newline=""))
    assert cell == f"'{text}"
    assert [*csv.reader(io.StringIO(csv_row([text], raw=True), newline=""))] == [[text]]


@pytest.mark.parametrize("text", ["-5", "+3", "-1.5e-3", "-", "", "cat", "a=1", "-.5"])
def test_numbers_and_other_texts_stay(text):
    assert csv_row([text, 1]) == f"{text},1\n"


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=5))
def test_rows_are_read_back(cells):
    text = csv_row(cells, raw=True)
    assert [*csv.reader(io.StringIO(text, newline=""))] == [cells]


@pytest.mark.parametrize(("name", "shown"), [("a\rb", r"a\x0db"), ("two\nlines", r"two\nlines")])
def test_the_name_of_a_task_is_one_line(name, shown):
    lines = as_csv([TaskEstimates(name, 5, 2, 10, {"scott_pi": Estimate(0.5)})]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"{shown},5,")


# The reader writes signs that steer, but for ends of lines, as their escapes.
NAMES = st.text(st.sampled_from(",\"\n;' aé"), min_size=1, max_size=6)


def document(names, category):
    rows = [(place, "a,b", 1, (1, 2, 30, 40)) for place in range(1, len(names) + 1)]
    return document_of(rows, names, (category,), annotators=["a,b", "c"])


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), NAMES)
def test_every_cell_is_read_as_it_is_in_the_table(names, category):
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "a.json", document(names, category))
        settings = AgreeSettings(iou_threshold=(0.5, 0.75), bootstrap=0)
        result = agree_with(read_coco(source), settings)
        write_folder(result, summary(result), Path(folder) / "out")
        for name in ("images", "units", "pairs", "categories"):
            with (Path(folder) / "out" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            tables = [(part.iou_threshold, getattr(part, name)) for part in result.thresholds]
            assert header == ["iou_threshold", *tables[0][1].columns]
            assert rows == [
                # The end of a line is written as its escape, as the others are.
                ["" if value is None else str(value).replace("\n", "\\n") for value in values]
                for threshold, table in tables
                for values in ((threshold, *row) for row in table.rows())
            ]


def test_undefined_and_missing_are_empty_cells(tmp_path):
    source = write(tmp_path / "a.json", document(["x"], "k"))
    result = agree_with(read_coco(source), AgreeSettings(bootstrap=0))
    write_folder(result, summary(result), tmp_path / "out")
    units = (tmp_path / "out" / "units.csv").read_text().splitlines()
    assert units == [
        "iou_threshold,image,unit,annotator,annotation,category,state",
        '0.5,x,0,"a,b",1,k,drawn',
        "0.5,x,0,c,,,missing",
    ]
    pairs = (tmp_path / "out" / "pairs.csv").read_text().splitlines()
    reason = "no meaning: all annotations are of one category"
    assert pairs[1] == f'0.5,"a,b",c,,{reason},1,0.0,,,,'
    both = document(["x"], "k")
    both["annotations"].append({**both["annotations"][0], "id": 2, "annotator": "c"})
    result = agree_with(read_coco(write(source, both)), AgreeSettings(bootstrap=0))
    write_folder(result, summary(result), tmp_path / "same")
    pairs = (tmp_path / "same" / "pairs.csv").read_text().splitlines()
    assert pairs[1] == '0.5,"a,b",c,,undefined: no two values that could differ,1,1.0,,,1.0,1.0'


def test_categories_are_no_formulas_of_a_spreadsheet(tmp_path):
    source = write(tmp_path / "a.json", document(["x"], "=1+1"))
    result = agree_with(read_coco(source), AgreeSettings(bootstrap=0))
    for raw, cell in ((False, "'=1+1"), (True, "=1+1")):
        write_folder(result, summary(result), tmp_path / cell, raw_csv=raw)
        lines = (tmp_path / cell / "units.csv").read_text().splitlines()
        assert lines[1] == f'0.5,x,0,"a,b",1,{cell},drawn'


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
    plain = {"interval": None, "standard_error": None, "status": "ok"}
    bounds = {"interval": [0.25, 0.75], "standard_error": 0.125}
    pairs = {"n_shared": 10, "observed": 0.75, "expected": 0.5}
    coefficients = {
        "krippendorff_alpha": plain | bounds | {"value": 0.5},
        "cohen_kappa_pairwise": plain | pairs | {"value": 0.5},
        "scott_pi": plain | {"value": None, "status": UNDEFINED},
    }
    whole = {"task": "on", "n_units": 1200, "n_annotators": 3, "n_ratings": 3600}
    rest = {"pairs": [], "annotators": {}, "values": {}, "notes": []}
    assert found == [whole | {"coefficients": coefficients} | rest]


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
    rows = csv_rows(as_csv([task("a,b"), task()]))
    assert len(rows) == 6
    assert (rows[0]["task"], rows[0]["value"], rows[0]["low"]) == ("a,b", "0.5", "0.25")
    assert (rows[1]["n_shared"], rows[1]["observed"]) == ("10", "0.75")
    assert (rows[2]["value"], rows[2]["status"]) == ("", UNDEFINED)


def test_names_of_tasks_cannot_steer_a_terminal():
    assert "\x1b" not in "".join(text_lines([task("\x1b[31m"), task("b")]))
