"""Recognising the notation of outlines, and decoding run lengths."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.json_values import shortened
from bboxqa.formats.document.annotation_columns import Form
from bboxqa.formats.document.raw_values import MISSING, NUMBERS, are_numbers
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS, decode_counts, run_bounds

Bounds = tuple[float, float, float, float]
_NONE = (np.nan,) * 4


def form_of(value: Any) -> int:
    """Return the `Form` of an outline."""
    if type(value) is list:
        return _form_of_list(value)
    if type(value) is dict:
        return Form.RLE
    if value is None or value == "":
        return Form.EMPTY
    if type(value) is str:
        return Form.TEXT
    return Form.ABSENT if value is MISSING else Form.OTHER


def _form_of_list(value: list[Any]) -> int:
    if not value:
        return Form.EMPTY
    types = set(map(type, value))
    if types != {list}:
        return Form.FLAT if types <= NUMBERS else Form.OTHER
    if any(inner and type(inner[0]) is list for inner in value):
        points = list(chain.from_iterable(value))
        pairs = set(map(type, points)) == {list} and _are_pairs(points)
        return Form.NESTED if pairs else Form.OTHER
    return Form.PAIRS if len(value) > 2 and _are_pairs(value) else Form.RINGS


def _are_pairs(points: Iterable[Any]) -> bool:
    return all(len(point) == 2 and are_numbers(point) for point in points)


def rle_of(value: dict[str, Any]) -> tuple[int, int, int, int, Bounds, bool, str]:
    """Return height, width, sum of run lengths, area, bounds, whether compressed, and problem."""
    size, counts = value.get("size"), value.get("counts")
    height, width = -1, -1
    problem = ""
    if type(size) is list and [type(side) for side in size] == [int, int]:
        # Sides beyond the limit are clipped, so that products fit in 64 bits.
        height, width = (max(-1, min(side, MAX_MASK_PIXELS)) for side in size)
    if height < 1 or width < 1:
        problem = f"size is {shortened(size)}; expected [height, width] of whole numbers above 0"
    elif height * width >= MAX_MASK_PIXELS:
        problem = f"size is {shortened(size)}; expected fewer than {MAX_MASK_PIXELS:,} pixels"
    compressed = type(counts) is str
    runs: list[int] = []
    if isinstance(counts, str):
        runs, wrong = _runs(counts)
    elif type(counts) is list and set(map(type, counts)) <= {int}:
        runs, wrong = counts, ""
    else:
        wrong = f"counts is {shortened(counts)}; expected text, or a list of whole numbers"
    if not wrong and runs and min(runs) < 0:
        wrong = f"counts has a run of {min(runs)}; expected 0 or more"
    problem = problem or wrong
    total, area = (-1, -1) if wrong else (sum(runs), sum(runs[1::2]))
    is_whole = not problem and total == height * width
    bounds = run_bounds(np.array(runs, np.int64), height) if is_whole else _NONE
    return height, width, min(total, 1 << 62), min(area, 1 << 62), bounds, compressed, problem


def _runs(counts: str) -> tuple[list[int], str]:
    try:
        return decode_counts(counts.encode()).tolist(), ""
    except (ValueError, OverflowError) as error:
        said = "pycocotools may silently read another mask"
        return [], f"counts is not valid: {error}; {said}"
