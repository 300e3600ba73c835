"""The lines of a label file: boxes, outlines and key points."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.translated import Record

MOST_BEYOND = 0.005
"""How far beyond the image a share may lie by rounding."""
_PIXELS = 2
"""Coordinates further from 0 are pixels: shapes reach beyond their image by less."""
_VISIBILITY = {0.0, 1.0, 2.0}


class LineError(ValueError):
    """A line that is no label; its text continues "line 7: "."""


@dataclass(slots=True)
class Label:
    """What a line says, in shares of the image."""

    number: int
    """Of the class."""
    kind: str
    """A key of `LABEL_KINDS`."""
    values: list[float]
    score: float | None = None


LABEL_KINDS = ("box", "outline", "quadrangle", "pose")
"""What a line may be: by its number of values."""


def label_of(line: str, keypoints: tuple[int, int] | None) -> Label:
    """Return what a line says.

    Raises LineError if it is not as YOLO writes it.

    Parameters
    ----------
    line : str
    keypoints : tuple of int or None
        Number of key points and of values for each, where that is known.

    Examples
    --------
    >>> label_of("3 0.5 0.5 0.25 0.5", None)
    Label(number=3, kind='box', values=[0.5, 0.5, 0.25, 0.5], score=None)
    >>> label_of("0 0.1 0.1 0.3 0.1 0.3 0.2 0.1 0.2", None).kind
    'quadrangle'
    """
    first, *rest = line.split()
    try:
        values = [float(each) for each in rest]
        number = float(first)
    except ValueError:
        raise LineError(f"{line[:60]!r} are not numbers only") from None
    if not number.is_integer() or not 0 <= number < 1 << 31:
        raise LineError(f"the class is {first}; expected a whole number from 0 on")
    if not all(map(math.isfinite, values)):
        raise LineError(f"{line[:60]!r} are not finite numbers only")
    kind, score = _kind(values, keypoints)
    return Label(int(number), kind, values[: len(values) - (score is not None)], score)


def _kind(values: list[float], keypoints: tuple[int, int] | None) -> tuple[str, float | None]:
    """Return what numbers after a class are, and the confidence that is the last of some."""
    n = len(values)
    if keypoints is not None:
        n_pose = 4 + keypoints[0] * keypoints[1]
        if n in (n_pose, n_pose + 1):
            return "pose", values[-1] if n > n_pose else None
    if n in (4, 5):
        return "box", values[-1] if n == 5 else None
    if n > 6 and keypoints is None and (n - 4) % 3 == 0 and set(values[6::3]) <= _VISIBILITY:
        return "pose", None
    if n < 6:
        raise LineError(f"has {n} numbers after the class; expected 4 of a box, or more points")
    if n % 2 and not 0 <= values[-1] <= 1:
        raise LineError(f"has {n} numbers after the class; expected pairs of x and y")
    return "quadrangle" if n in (8, 9) else "outline", values[-1] if n % 2 else None


def pixels_in(label: Label) -> float | None:
    """Return the coordinate of a label that is too large for a share; None without one.

    Examples
    --------
    >>> pixels_in(label_of("0 300 200 60 60", None)), pixels_in(label_of("0 .5 .5 1.2 1", None))
    (300.0, None)
    """
    shares = label.values[:4] if label.kind == "pose" else label.values
    largest = max(shares, key=abs)
    return largest if abs(largest) > _PIXELS else None


def beyond(label: Label) -> float | None:
    """Return the coordinate of a label that is farthest outside of its image; None if inside."""
    shares = label.values[:4] if label.kind == "pose" else label.values
    if min(shares) >= -MOST_BEYOND and max(shares) <= 1 + MOST_BEYOND:
        return None
    return max(shares, key=lambda share: abs(share - 0.5))


def shape_of(
    label: Label, size: tuple[int, int], keypoints: tuple[int, int] | None, *, outlines: bool
) -> Record:
    """Return the keys of an annotation of COCO that say where a label is, in pixels."""
    width, height = size
    if label.kind in ("box", "pose"):
        x, y, w, h = label.values[:4]
        record: Record = {
            "bbox": [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]
        }
        if label.kind == "pose":
            record |= _keypoints(label.values[4:], size, keypoints)
        return record
    points = np.array(label.values).reshape(-1, 2) * size
    record = {"bbox": shapes.bounds(points)}
    if outlines:
        record["segmentation"] = [shapes.ring(points)]
    if label.kind == "quadrangle" and (degrees := shapes.rotation_of(points)) is not None:
        record["attributes"] = {"rotation": degrees}
    return record


def _keypoints(
    values: list[float], size: tuple[int, int], keypoints: tuple[int, int] | None
) -> dict[str, Any]:
    """Return key points as COCO has them: x, y and visibility by turns."""
    n_values = keypoints[1] if keypoints is not None else 3
    points = np.array(values[: len(values) // n_values * n_values]).reshape(-1, n_values)
    seen = points[:, 2] if n_values == 3 else 2.0 * points.any(1)
    is_seen = np.greater(seen, 0)
    whole = np.column_stack([points[:, :2] * size * is_seen.reshape(-1, 1), seen])
    return {"keypoints": whole.ravel().tolist(), "num_keypoints": int(is_seen.sum())}
