"""Joints of simulated people: where they are in a box, and how annotators place them."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.geometry.similarities.sigmas import COCO_SIGMAS
from bboxqa.model.shapes.coco_joints import COCO_JOINTS, sides_of
from bboxqa.pipelines.simulation.errors import AnnotatorErrors
from bboxqa.pipelines.simulation.scene import DECIMALS

# COCO's joints of somebody who stands and looks at us, as shares of width and height.
_POSE = np.array(
    [
        (0.5, 0.1), (0.55, 0.08), (0.45, 0.08), (0.6, 0.1), (0.4, 0.1), (0.75, 0.22), (0.25, 0.22),
        (0.88, 0.38), (0.12, 0.38), (0.95, 0.52), (0.05, 0.52), (0.66, 0.53), (0.34, 0.53),
        (0.66, 0.74), (0.34, 0.74), (0.66, 0.95), (0.34, 0.95),
    ]
)  # fmt: skip
_MIRRORED = np.arange(len(COCO_JOINTS))
for _left, _right in sides_of(COCO_JOINTS):
    _MIRRORED[[_left, _right]] = _right, _left


def joints_in(edges: FloatArray) -> FloatArray:
    """Return the joints of people who fill boxes: x, y and visibility 2, (M, 17, 3)."""
    low, sides = edges[:, None, :2], (edges[:, 2:] - edges[:, :2])[:, None]
    points = np.full((len(edges), len(_POSE), 3), 2.0)
    points[..., :2] = (low + _POSE * sides).round(DECIMALS)
    return points


def no_joints(n: int) -> FloatArray:
    """Return the joints of M objects that have none, (M, 0, 3)."""
    return np.zeros((n, 0, 3))


def drawn_joints(
    edges: FloatArray,
    shape: IndexArray,
    tired: FloatArray,
    errors: AnnotatorErrors,
    stream: Callable[[str], Generator],
) -> FloatArray:
    """Return the joints that an annotator places in drawn boxes, (M, 17, 3).

    `shape` has the object of each box, and `tired` how many times as often the annotator errs
    there, (N,). A joint that is left out has zeros.
    """
    points, n = joints_in(edges), len(tired)
    size = np.sqrt((edges[:, 2:] - edges[:, :2]).prod(1))
    noise = (stream("scatter").standard_normal((n, len(_POSE), 2)) * tired[:, None, None])[shape]
    # The mean square of the distance is sigma² area, in both directions together.
    spread = errors.scatter * np.sqrt(size[:, None] ** 2 / 2) * np.array(COCO_SIGMAS)
    points[..., :2] += spread[..., None] * noise
    is_mirrored = (stream("mirror").random(n) < errors.mirror * tired)[shape]
    points[is_mirrored] = points[is_mirrored][:, _MIRRORED]
    is_omitted = stream("omit").random((n, len(_POSE))) < errors.omit * tired[:, None]
    points[is_omitted[shape]] = 0
    return points.round(DECIMALS)
