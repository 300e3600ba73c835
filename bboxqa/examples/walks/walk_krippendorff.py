"""Krippendorff's alpha by hand: twelve tables of two annotators."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import from_table
from bboxqa.examples import read_expected
from bboxqa.examples.walks.walk_alpha import alpha_of, alpha_text, matrix_text
from bboxqa.examples.walks.walk_parts import Step, Walk, check, digits, table
from bboxqa.examples.walks.walk_units import NOBODY
from bboxqa.model.units import ReliabilityData

_NOTES = ("Table 5: the source has alpha without its sign. D_o / D_e is 1.2, and 1 - 1.2 = -0.2.",)


def walk_krippendorff(expected: Mapping[str, Any] | None = None) -> Walk:
    """Walk through alpha for reliability data of increasing size."""
    cases = (read_expected() if expected is None else expected)["krippendorff"]
    return Walk(
        name="krippendorff",
        introduction=(
            "Two annotators, A and B, put objects (units) into categories 1, 2, 3 and so on. "
            'Where one of them drew nothing ("-"), that counts as a category called "missing". '
            "For each table: the matrix of coincidences, in which every pair of values within a "
            "unit is counted in both directions; n, the number of values; D_o, the share of pairs "
            "that disagree; D_e, the share that would if the same values were dealt out by "
            "chance; and alpha = 1 - D_o / D_e, 1 for full agreement and 0 for chance."
        ),
        steps=tuple(_step(place, case) for place, case in enumerate(cases, 1)),
        notes=_NOTES,
    )


def _step(place: int, case: Mapping[str, Any]) -> Step:
    rows: list[list[int | None]] = case["annotators_x_units"]
    data, names = _reliability(rows)
    header = ["unit", *map(str, range(1, len(rows[0]) + 1))]
    values = [
        [annotator, *(NOBODY if value is None else str(value) for value in row)]
        for annotator, row in zip("AB", rows, strict=True)
    ]
    alpha = digits(alpha_of(data).value)
    return Step(
        title=f"{place}. {case['name'].capitalize()}",
        explanation="",
        body="\n\n".join(
            [table(header, values, left=[0]), matrix_text(data, names), alpha_text(data)]
        ),
        checks=(check(f"alpha of table {place}", alpha, digits(case["alpha"])),),
    )


def _reliability(rows: list[list[int | None]]) -> tuple[ReliabilityData, list[str]]:
    """Return the table as reliability data, and the names of the categories that occur."""
    categories = sorted({value for row in rows for value in row if value is not None})
    index = {value: place for place, value in enumerate(categories)}
    values = [[-1 if value is None else index[value] for value in row] for row in rows]
    table_of_values = np.array(values, np.int32)
    asked = np.ones(table_of_values.shape, np.bool_)
    return from_table(table_of_values, asked, len(categories)), list(map(str, categories))
