"""Converting raw lists of key points to columns."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.formats.document.raw_values import MISSING, are_numbers, floats


def keypoints_of(values: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of `Keypoints` for the raw lists of keypoints of some records.

    The values have any type, and are `MISSING` where a record has no key points; ``row`` is an
    index into `values`.
    """
    row = [n for n, value in enumerate(values) if value is not MISSING and value is not None]
    lists = [values[n] if type(values[n]) is list else None for n in row]
    if not are_numbers(list(chain.from_iterable(filter(None, lists)))):
        lists = [value if value is not None and are_numbers(value) else None for value in lists]
    n_numbers = np.array([-1 if value is None else len(value) for value in lists], np.int64)
    in_threes = [value for value in lists if value and len(value) % 3 == 0]
    whole = (n_numbers > 0) & (n_numbers % 3 == 0)
    columns = {name: np.zeros(len(row), np.int64) for name in ("n_visible", "n_odd", "n_origin")}
    bounds = np.full((len(row), 4), np.nan)
    if in_threes:
        points = floats(list(chain.from_iterable(in_threes))).reshape(-1, 3)
        n_points = n_numbers[whole] // 3
        starts = np.cumsum(n_points) - n_points
        visibility, labelled = points[:, 2], points[:, 2] > 0
        at_origin = labelled & (points[:, :2] == 0).all(axis=1)
        for name, counted in (
            ("n_visible", labelled),
            ("n_odd", ~np.isin(visibility, (0, 1, 2))),
            ("n_origin", at_origin),
        ):
            columns[name][whole] = np.add.reduceat(counted.astype(np.int64), starts)
        placed = np.where((labelled & ~at_origin)[:, None], points[:, :2], np.nan)
        bounds[whole, :2] = np.fmin.reduceat(placed, starts)
        bounds[whole, 2:] = np.fmax.reduceat(placed, starts)
    return {"row": np.array(row, np.int64), "n_numbers": n_numbers, **columns, "bounds": bounds}
