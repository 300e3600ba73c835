"""An example image for a walk-through: its boxes, their IoUs, and expected results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.examples import example_file
from bboxqa.geometry.kernels.boxes import bbox_iou, corners
from bboxqa.model.annotations import Dataset
from bboxqa.pipelines.read import read_coco


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An annotated image with its expected results."""

    description: str
    """A description of the image and its annotations."""
    data: Dataset
    """N annotations, ordered by annotator, then id."""
    iou: FloatArray
    """(N, N) float64. The IoU of all pairs of boxes."""
    threshold: float
    """The lowest IoU of admissible pairs."""
    expected: Mapping[str, Any]
    """Its part of `expected.json`."""
    category_ids: Mapping[str, str]
    """The name of each category id, as text."""

    def boxes_of(self, annotator: int) -> IndexArray:
        """Return the indices of one annotator's boxes."""
        return np.flatnonzero(self.data.annotations.annotator == annotator)

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs of annotators."""
        return list(combinations(range(len(self.data.annotator_names)), 2))

    def iou_of(self, first: int, second: int) -> float:
        """Return the IoU of two boxes, named by their ids."""
        ids = self.data.annotations.id
        return float(self.iou[ids == first, ids == second].item())


def load_scene(name: str, expected: Mapping[str, Any]) -> Scene:
    """Return an example image with its part of the expected results."""
    document = json.loads(example_file(name).read_text("utf-8"))
    data = read_coco(example_file(name), segmentation=False)
    # Tables are in the order of ids, in which units are numbered as well.
    order = np.lexsort((data.annotations.id, data.annotations.annotator))
    annotations = data.annotations.take(order)
    box = corners(annotations.bbox)
    first, second = np.indices((len(box), len(box))).reshape(2, -1)
    return Scene(
        description=document["info"]["description"],
        data=replace(data, annotations=annotations),
        iou=bbox_iou(box[first], box[second]).reshape(len(box), len(box)),
        threshold=float(expected["images"][name]["iou_threshold"]),
        expected=expected["images"][name],
        category_ids={str(one["id"]): one["name"] for one in document["categories"]},
    )
