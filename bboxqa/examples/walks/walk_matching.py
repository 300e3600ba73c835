"""Matching by hand: thirty small cases of two and of three annotators."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import from_units
from bboxqa.examples import read_expected
from bboxqa.examples.walks.walk_alpha import alpha_of
from bboxqa.examples.walks.walk_parts import (
    Check,
    Step,
    Walk,
    check,
    digits,
    short,
    side_by_side,
    table,
)  # fmt: skip
from bboxqa.examples.walks.walk_units import braces, match_boxes, unit_rows
from bboxqa.model.annotations import Annotations, Dataset

_IOU_THRESHOLD = 0.5

_Boxes = Mapping[str, Mapping[str, Any]]
_Case = Mapping[str, Any]


def walk_matching(expected: Mapping[str, Any] | None = None) -> Walk:
    """Walk through the matching of two and of three annotators."""
    matching = (read_expected() if expected is None else expected)["matching"]
    boxes: _Boxes = matching["boxes"]
    cases: list[tuple[int, _Case]] = list(enumerate(matching["cases"], 1))
    two = [case for case in cases if len(case[1]["annotators"]) == 2]
    three = [case for case in cases if len(case[1]["annotators"]) > 2]
    return Walk(
        name="matching",
        introduction=(
            "Before agreement can be counted, the boxes of several annotators have to be matched: "
            "those that show the same object are a unit. Each case below takes some of 28 boxes; "
            f"two boxes may be one object where their IoU is {_IOU_THRESHOLD:g} or more. The "
            "way from units to alpha is shown step by step in the example fruits."
        ),
        steps=(
            _boxes_step(boxes),
            _cases_step(
                "2. Two annotators: Hungarian matching",
                "Pairs are chosen so that the sum of their IoUs is the greatest while no box is in "
                "two pairs; a box without a partner is a unit of its own. In the table, {1,2} is "
                "a unit of box 1 of A and box 2 of B, and {9,-} one that B did not draw.",
                boxes,
                two,
            ),
            _cases_step(
                "3. Three annotators: recursive matching",
                "The boxes of A open units; B is matched to A, then C to A and what is left of C "
                "to B, each time as above. What nobody else drew opens a unit. No annotator is in "
                "a unit twice.",
                boxes,
                three,
            ),
        ),
    )


def _boxes_step(boxes: _Boxes) -> Step:
    rows = [
        [number, box["annotator"], str(box["category_id"]), *map(short, box["bbox"])]
        for number, box in boxes.items()
    ]
    header = ["box", "by", "category", "x", "y", "width", "height"]
    half = (len(rows) + 1) // 2
    return Step(
        title="1. The boxes",
        explanation=(
            "Who drew each box, the number of its category, and where it is, in pixels. Many "
            "coincide on purpose: a case takes the same, a similar or a distant box."
        ),
        body=side_by_side(table(header, rows[:half]), table(header, rows[half:])),
    )


def _cases_step(
    title: str, explanation: str, boxes: _Boxes, cases: Sequence[tuple[int, _Case]]
) -> Step:
    rows, checks = [], []
    for place, case in cases:
        units, alpha = _case_checks(place, case, boxes)
        verdict = "agrees" if units.agrees and alpha.agrees else "DIFFERS"
        chosen = " ".join(map(str, case["box_ids"]))
        rows.append([str(place), chosen, units.computed, alpha.computed, verdict])
        checks += [units, alpha]
    return Step(
        title=title,
        explanation=explanation,
        body=table(["case", "boxes", "units", "alpha", ""], rows, left=[1, 2, 4]),
        checks=tuple(checks),
        verdicts_in_body=True,
    )


def _case_checks(place: int, case: _Case, boxes: _Boxes) -> tuple[Check, Check]:
    """Match the boxes of a case; compare its units and its alpha."""
    data = _dataset(case, boxes)
    matcher = "hungarian" if len(data.annotator_names) == 2 else "recursive"
    units = match_boxes(data, matcher, _IOU_THRESHOLD)
    reliability = from_units(data.annotations, units, data.assigned, len(data.category_names))
    alpha = alpha_of(reliability).value
    return (
        check(f"units of case {place}", braces(unit_rows(data, units)), braces(case["units"])),
        check(f"alpha of case {place}", digits(alpha), digits(case["alpha"])),
    )


def _dataset(case: _Case, boxes: _Boxes) -> Dataset:
    """Return the boxes of a case as one image that all its annotators were shown."""
    annotators: list[str] = case["annotators"]
    ids = sorted(case["box_ids"], key=lambda number: (boxes[str(number)]["annotator"], number))
    chosen = [boxes[str(number)] for number in ids]
    n_categories = max(box["category_id"] for box in chosen)
    return Dataset(
        image_names=("case",),
        image_size=np.zeros((1, 2), np.int32),
        category_names=tuple(str(number) for number in range(1, n_categories + 1)),
        annotator_names=tuple(annotators),
        annotations=Annotations(
            id=np.array(ids, np.int64),
            image=np.zeros(len(ids), np.int32),
            annotator=np.array([annotators.index(box["annotator"]) for box in chosen], np.int32),
            category=np.array([box["category_id"] - 1 for box in chosen], np.int32),
            bbox=np.array([box["bbox"] for box in chosen], np.float64),
            iscrowd=np.zeros(len(ids), np.bool_),
        ),
        assigned=np.ones((1, len(annotators)), np.bool_),
    )
