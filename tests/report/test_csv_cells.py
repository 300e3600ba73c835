"""Cells that spreadsheets do not run, and that readers of CSV read back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.model.estimates import Estimate, TaskEstimates
from bboxqa.report.coefficients import as_csv
from bboxqa.report.csv_cells import csv_cell, csv_row


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


def test_a_carriage_return_is_quoted_in_tasks():
    task = TaskEstimates("a\rb", 5, 2, 10, {"scott_pi": Estimate(0.5)})
    assert as_csv([task]).split("\n")[1].startswith('"a\rb",')
