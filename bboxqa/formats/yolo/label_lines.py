"""Parsing the lines of a label file: boxes, outlines and key points."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bboxqa.core.text import count
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import LEAST_PIXELS, MOST_BEYOND
from bboxqa.formats.yolo.inferred_poses import is_surely_pose


class LineError(ValueError):
    """A line that is not a label."""


class ShapeError(LineError):
    """A line with key points, of which no file says how many there are."""


LabelKind = Literal["box", "outline", "quadrangle", "pose"]
"""The kinds of labels, which the number of values distinguishes."""


@dataclass(slots=True)
class Label:
    """The label in a line, in coordinates relative to the image."""

    number: int
    """The number of the class."""
    kind: LabelKind
    values: list[float]
    score: float | None = None


def label_of(line: str, keypoints: tuple[int, int] | None) -> Label:
    """Parse a line.

    Raises LineError if the line is not as YOLO writes it.

    Parameters
    ----------
    line : str
    keypoints : tuple of int or None
        Number of key points, and number of values per key point, if known.

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
        raise LineError(f"{line[:60]!r} has a value that is no number") from None
    if not number.is_integer() or not 0 <= number < 1 << 31:
        raise LineError(f"the class is {first}; expected a whole number, 0 or more")
    if not all(map(math.isfinite, values)):
        raise LineError(f"{line[:60]!r} has a value that is not finite")
    kind, score = _kind(values, keypoints)
    return Label(int(number), kind, values[: len(values) - (score is not None)], score)


def _kind(values: list[float], keypoints: tuple[int, int] | None) -> tuple[LabelKind, float | None]:
    """Return the kind of the numbers after a class, and the confidence if there is one."""
    n = len(values)
    if keypoints is not None:
        n_pose = 4 + keypoints[0] * keypoints[1]
        if n in (n_pose, n_pose + 1):
            return "pose", values[-1] if n > n_pose else None
    if n in (4, 5):
        return "box", values[-1] if n == 5 else None
    if n < 6:
        some = f"{count(n, 'number')} after the class"
        raise LineError(f"the line has {some}; expected 4 for a box, or more points")
    if keypoints is None and is_surely_pose(values):
        shape = f"kpt_shape: [{(n - 4) // 3}, 3]"
        raise ShapeError(
            f"the line seems to be a box and key points; expected {shape} in data.yaml"
        )
    if n % 2 and not 0 <= values[-1] <= 1:
        raise LineError(f"the line has {n} numbers after the class; expected pairs of x and y")
    return "quadrangle" if n in (8, 9) else "outline", values[-1] if n % 2 else None


def pixels_in(label: Label) -> float | None:
    """Return a coordinate that is too large to be relative to the image; None if there is none.

    Examples
    --------
    >>> pixels_in(label_of("0 300 200 60 60", None)), pixels_in(label_of("0 .5 .5 1.2 1", None))
    (300.0, None)
    """
    shares = label.values[:4] if label.kind == "pose" else label.values
    largest = max(shares, key=abs)
    return largest if abs(largest) > LEAST_PIXELS else None


def beyond(label: Label) -> float | None:
    """Return the coordinate that is farthest outside the image; None if all are inside."""
    shares = label.values[:4] if label.kind == "pose" else label.values
    if min(shares) >= -MOST_BEYOND and max(shares) <= 1 + MOST_BEYOND:
        return None
    return max(shares, key=lambda share: abs(share - 0.5))


def shape_of(
    label: Label, size: tuple[int, int], keypoints: tuple[int, int] | None, *, outlines: bool
) -> Record:
    """Return the COCO geometry keys of a label, in pixels."""
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
    """Return key points as in COCO, a flat list of x, y and visibility."""
    n_values = keypoints[1] if keypoints is not None else 3
    points = np.array(values[: len(values) // n_values * n_values]).reshape(-1, n_values)
    seen = points[:, 2] if n_values == 3 else 2.0 * points.any(1)
    is_seen = np.greater(seen, 0)
    whole = np.column_stack([points[:, :2] * size * is_seen.reshape(-1, 1), seen])
    return {"keypoints": whole.ravel().tolist(), "num_keypoints": int(is_seen.sum())}
