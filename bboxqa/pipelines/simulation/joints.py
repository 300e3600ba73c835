"""Joints of simulated people: their true places, and those drawn by annotators."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.geometry.similarities.box import COCO_SIGMAS
from bboxqa.model.shapes.coco_joints import coco_places, sides_of
from bboxqa.pipelines.simulation.errors import AnnotatorErrors
from bboxqa.pipelines.simulation.scene import DECIMALS, Scene

# Sigma of joints that are not COCO's, as a share of the size.
_SIGMA = 0.05


def joints_in(edges: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the joints of poses in boxes: x, y and visibility, (M, J, 3)."""
    low, sides = edges[:, None, :2], (edges[:, 2:] - edges[:, :2])[:, None]
    points = poses.copy()
    points[..., :2] = (low + poses[..., :2] * sides).round(DECIMALS)
    points[poses[..., 2] == 0] = 0
    return points


def true_joints(scene: Scene) -> FloatArray:
    """Return the joints of all objects, (N, J, 3); J is 0 without key points."""
    return no_joints(len(scene)) if scene.poses is None else joints_in(scene.edges, scene.poses)


def no_joints(n: int) -> FloatArray:
    """Return the joints of M objects that have none, (M, 0, 3)."""
    return np.zeros((n, 0, 3))


def drawn_joints(
    scene: Scene,
    edges: FloatArray,
    shape: IndexArray,
    tired: FloatArray,
    errors: AnnotatorErrors,
    stream: Callable[[str], Generator],
) -> FloatArray:
    """Return the joints that an annotator places in drawn boxes, (M, J, 3).

    `shape` is the object of each box, and `tired` the factor of the annotator's error rates there,
    (N,). A joint that is left out has zeros.
    """
    names, n = scene.joint_names, len(tired)
    if scene.poses is None:
        return no_joints(len(edges))
    points = joints_in(edges, scene.poses[shape])
    size = np.sqrt((edges[:, 2:] - edges[:, :2]).prod(1))
    noise = (stream("scatter").standard_normal((n, len(names), 2)) * tired[:, None, None])[shape]
    # The mean squared distance, over both directions, is sigma² times the area.
    spread = errors.scatter * np.sqrt(size[:, None] ** 2 / 2) * _sigmas(names)
    points[..., :2] += spread[..., None] * noise
    is_mirrored = (stream("mirror").random(n) < errors.mirror * tired)[shape]
    points[is_mirrored] = points[is_mirrored][:, _mirrored(names)]
    is_omitted = stream("omit").random((n, len(names))) < errors.omit * tired[:, None]
    points[is_omitted[shape] | (points[..., 2] == 0)] = 0
    return points.round(DECIMALS)


def _sigmas(names: Sequence[str]) -> FloatArray:
    """Return COCO's sigma of each joint, (J,); one common value for other joints."""
    places = coco_places(names)
    return np.array([COCO_SIGMAS[place] for place in places] or [_SIGMA] * len(names))


def _mirrored(names: Sequence[str]) -> IndexArray:
    """Return the index of each joint's mirror image, (J,)."""
    order = np.arange(len(names))
    for left, right in sides_of(names):
        order[[left, right]] = right, left
    return order
