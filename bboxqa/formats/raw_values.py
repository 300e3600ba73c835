"""Classifying the values of raw records, and converting them to numbers and outlines."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray
from bboxqa.core.json_values import shortened
from bboxqa.formats.columns import Form, Kind
from bboxqa.model.masks import MAX_MASK_PIXELS, compress_counts, decode_counts, run_bounds

_NUMBER = r"(?ai)\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*"

FARTHEST = 1e6
"""The largest accepted angle in degrees; no tool writes a larger one."""
MAX_COORDINATE = 1e9
"""In pixels. Beyond this, areas are not exact to a pixel; no image is that large."""

NUMBERS = {int, float}
"""The types of numbers, without bool."""


MISSING = msgspec.UNSET
"""The value of a key that is missing."""
_KINDS: dict[type, int] = {
    msgspec.UnsetType: Kind.MISSING, type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT,
    float: Kind.FLOAT, str: Kind.TEXT, list: Kind.LIST, dict: Kind.DICT, msgspec.Raw: Kind.LIST,
}  # fmt: skip


def kinds_of(values: Sequence[Any], types: set[type]) -> ByteArray:
    """Return the kind of each of the values, whose `types` are given."""
    if len(types) == 1:
        return np.full(len(values), _KINDS[next(iter(types))], np.uint8)
    return np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, len(values))


def are_numbers(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers; booleans are not."""
    return set(map(type, values)) <= NUMBERS


def floats(values: Sequence[Any]) -> FloatArray:
    """Return numbers as floats; integers beyond the range of floats become infinite."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:
        largest, signs = sys.float_info.max, (-np.inf, np.inf)
        return np.array([signs[v > 0] if abs(v) > largest else v for v in values], np.float64)


def boxes_of(column: Sequence[Any], types: set[type], *, are_floats: bool = False) -> FloatArray:
    """Return boxes, (N, 4); NaN where a value is not four finite numbers.

    `are_floats` says that lists have floats only, and tuples four.
    """
    if types == {list} and (type(column[0]) is tuple or set(map(len, column)) <= {4}):
        flat = list(chain.from_iterable(column))
        if are_floats or are_numbers(flat):
            numbers = np.array(flat, np.float64) if are_floats else floats(flat)
            boxes = numbers.reshape(-1, 4)
            if not np.isfinite(numbers).all():
                boxes[~np.isfinite(boxes).all(1)] = np.nan
            return boxes
    boxes = np.full((len(column), 4), np.nan)
    for place, value in enumerate(column):
        if type(value) is list and len(value) == 4 and are_numbers(value):
            boxes[place] = floats(value)
    boxes[~np.isfinite(boxes).all(1)] = np.nan
    return boxes


def numbers_of(column: Sequence[Any]) -> FloatArray:
    """Return numbers, (N,) float64; NaN where a value is not a finite number."""
    if not are_numbers(column):
        column = [value if type(value) in NUMBERS else np.nan for value in column]
    numbers = floats(column)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def form_of(value: Any) -> int:
    """Return the `Form` of an outline."""
    if value in (None, "", []):
        return Form.EMPTY
    if type(value) is not list:
        forms = {dict: Form.RLE, str: Form.TEXT, msgspec.UnsetType: Form.ABSENT}
        return forms.get(type(value), Form.OTHER)
    types = set(map(type, value))
    if types != {list}:
        return Form.FLAT if types <= NUMBERS else Form.OTHER
    if any(inner and type(inner[0]) is list for inner in value):
        points = list(chain.from_iterable(value))
        is_nested = set(map(type, points)) == {list} and _are_pairs(points)
        return Form.NESTED if is_nested else Form.OTHER
    return Form.PAIRS if len(value) > 2 and _are_pairs(value) else Form.RINGS


def _are_pairs(points: Iterable[Any]) -> bool:
    return all(len(point) == 2 and are_numbers(point) for point in points)


def mask_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return a mask by the columns of `Rles`, with its own problem and run lengths."""
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
    runs, wrong = _runs(counts)
    total, area = (-1, -1) if wrong else (sum(runs), sum(runs[1::2]))
    problem, bounds, text = problem or wrong, (np.nan,) * 4, b""
    if not problem and total == height * width:
        array = np.array(runs, np.int64)
        bounds = run_bounds(array, height)
        text = counts.encode() if isinstance(counts, str) else compress_counts(array, height, width)
    return {
        "size": (height, width),
        "total": min(total, 1 << 62),
        "area": min(area, 1 << 62),
        "bounds": bounds,
        "compressed": type(counts) is str,
        "problem": problem,
        "counts": text,
    }


def _runs(counts: object) -> tuple[list[int], str]:
    """Return run lengths, and why they cannot be read."""
    runs: list[int] = []
    if isinstance(counts, str):
        try:
            runs = decode_counts(counts.encode()).tolist()
        except (ValueError, OverflowError) as error:
            said = "pycocotools may silently read another mask"
            return [], f"counts is not valid: {error}; {said}"
    elif isinstance(counts, list) and set(map(type, counts)) <= {int}:
        runs = counts
    else:
        return [], f"counts is {shortened(counts)}; expected text, or a list of whole numbers"
    if runs and min(runs) < 0:
        return runs, f"counts has a run of {min(runs)}; expected 0 or more"
    return runs, ""


def degrees(value: object) -> float:
    """Return a rotation as a number, which may be written as text; NaN for anything else.

    Examples
    --------
    >>> degrees(30), degrees("-1.5e1"), degrees("left"), degrees("1e999")
    (30.0, -15.0, nan, inf)
    """
    if type(value) in NUMBERS or (isinstance(value, str) and re.fullmatch(_NUMBER, value)):
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            return np.inf
    return np.nan


MARK_KEYS = ("machine", "source", "model")
"""The keys of annotations that may hold such a mark."""
_MACHINES = frozenset(
    ("auto", "automatic", "machine", "model", "prediction", "predicted", "semi-auto")
) | {"pre-annotation"}


def count_marks(values: Iterable[tuple[object, ...]]) -> Counter[str]:
    """Return the number of annotations that a machine created first, by the key that says so.

    The key is `machine` with true, `source` with a word such as "auto" or "semi-auto", or `model`
    with the name of a model. `values` are those of `MARK_KEYS` of each annotation.

    Examples
    --------
    >>> count_marks([(None, "auto", None), (None, None, "")])
    Counter({'source': 1})
    """
    found: Counter[str] = Counter()
    for machine, source, model in values:
        is_true = isinstance(machine, str) and machine.lower() == "true"
        if machine is True or machine == 1 or is_true:
            found["machine"] += 1
        elif isinstance(source, str) and source.lower() in _MACHINES:
            found["source"] += 1
        elif isinstance(model, str) and model:
            found["model"] += 1
    return found
