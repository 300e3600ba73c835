"""Cells that spreadsheets do not run, and that readers of CSV read back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.model.ratings import Estimate, TaskEstimates
from bboxqa.report.numbers import csv_cell, csv_row
from bboxqa.report.stats_views import as_csv


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "=", "-cat", "\uff1d1"]
)
def test_formulas_are_neutralised(text):
    ((cell,),) = csv.reader(io.StringIO(csv_row([text]), newline=""))
    assert cell == f"'{text}"
    assert [*csv.reader(io.StringIO(csv_row([text], raw=True), newline=""))] == [[text]]


@pytest.mark.parametrize("text", ["-5", "+3", "-1.5e-3", "-", "", "cat", "a=1", "-.5"])
def test_numbers_and_other_texts_stay(text):
    assert csv_cell(text) == text


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=5))
def test_rows_are_read_back(cells):
    text = csv_row(cells, raw=True)
    assert [*csv.reader(io.StringIO(text, newline=""))] == [cells]


@pytest.mark.parametrize(("name", "shown"), [("a\rb", r"a\x0db"), ("two\nlines", r"two\nlines")])
def test_the_name_of_a_task_is_one_line(name, shown):
    lines = as_csv([TaskEstimates(name, 5, 2, 10, {"scott_pi": Estimate(0.5)})]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"{shown},5,")
