"""The shapes of Darwin JSON."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Record
from bboxqa.formats.translation.masks import Masks, RowMask, Size, checked_size
from bboxqa.formats.translation.untrusted import (
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    numbers_of,
    plain_text,
    points_of,
)
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS, joined

# Names of shapes that are kept but not compared; the first that an annotation has counts.
_APART = {
    "keypoint": "key point", "line": "polyline", "skeleton": "skeleton", "tag": "image tag",
    "cuboid": "cuboid", "eye": "eye", "string": "string", "table": "table", "graph": "graph",
    "link": "link", "simple_table": "table",
}  # fmt: skip


def shape_of(annotation: dict[str, Any]) -> tuple[Record, int]:
    """Return the COCO geometry keys of a shape, and its number of holes.

    A polygon also gets its bounding box. Raises ValueProblemError if the values are not as Darwin
    writes them.
    """
    if "polygon" in annotation or "complex_polygon" in annotation:
        return _polygon(mapping(annotation.get("polygon") or annotation.get("complex_polygon")))
    if "bounding_box" in annotation:
        box = {"bbox": numbers_of(annotation["bounding_box"], ("x", "y", "w", "h"))}
        return {**box, **_key_points(annotation)}, 0
    if "ellipse" in annotation:
        return _ellipse(mapping(annotation["ellipse"])), 0
    for key, name in _APART.items():
        if key in annotation:
            line = line_of(mapping(annotation["line"]).get("path")) if key == "line" else {}
            return {"shape": name, **line, **_key_points(annotation)}, 0
    raise ValueProblemError(f"has no shape among {', '.join(sorted(annotation))[:80]}")


def _key_points(annotation: dict[str, Any]) -> Record:
    """Return the key points of an annotation with their names; empty if it has none."""
    if "keypoint" in annotation:
        return {"keypoints": [*numbers_of(annotation["keypoint"], ("x", "y")), 2]}
    keypoints: list[float] = []
    joints = []
    for node in map(mapping, items(mapping(annotation.get("skeleton")).get("nodes"))):
        visibility = 1 if node.get("occluded") is True else 2
        keypoints += [*numbers_of(node, ("x", "y")), visibility]
        joints.append(plain_text(node.get("name")))
    return {"keypoints": keypoints, "joints": joints} if joints else {}


def _polygon(polygon: dict[str, Any]) -> tuple[Record, int]:
    paths = items(polygon.get("paths") or polygon.get("path"))
    if paths and isinstance(paths[0], dict):
        paths = [paths, *items(polygon.get("additional_paths"))]
    if not paths:
        raise ValueProblemError("polygon.paths are missing; expected lists of points")
    rings = [points_of(path, "polygon.paths") for path in paths]
    outer = shapes.outer_rings(rings)
    record: Record = {"bbox": shapes.bounds(np.concatenate(rings))}
    record["segmentation"] = [shapes.ring(each) for each in outer]
    return record, len(rings) - len(outer)


def _ellipse(ellipse: dict[str, Any]) -> Record:
    x, y = numbers_of(ellipse.get("center"), ("x", "y"))
    wide, high = numbers_of(ellipse.get("radius"), ("x", "y"))
    angle = ellipse.get("angle")
    degrees = float(np.rad2deg(number_of(angle, "angle"))) if angle else 0.0
    points = shapes.ellipse((x, y), (wide, high), degrees)
    return shapes.outlined(points)


class Raster:
    """A raster layer, whose pixels hold the numbers of masks.

    Raises MaskProblemError if the values are not as Darwin writes them.
    """

    def __init__(self, layer: dict[str, Any], size: Size | None) -> None:
        if size is None:
            raise MaskProblemError("is in an image whose size the file does not say")
        self._size = checked_size(size)
        self._numbers = mapping(layer.get("mask_annotation_ids_mapping"))
        self._spans: dict[float, IndexArray] = _spans(layer.get("dense_rle"), *size)
        self._is_taken: set[float] = set()

    def ids(self) -> list[str]:
        """Return the ids of the masks in this layer."""
        return [own_id for own_id, number in self._numbers.items() if number is not None]

    def shape_of(self, own_id: str, masks: Masks) -> Record:
        """Return the geometry keys of a mask of this layer."""
        number = self._numbers[own_id]
        number = number if isinstance(number, int | float) else -1
        spans = self._spans.get(number, _NOTHING)
        # The text of a mask is counted once, even if several annotations have it.
        n_characters = 0 if number in self._is_taken else _LEAST_OF_SPAN * len(spans)
        self._is_taken.add(number)
        return masks.record(RowMask(spans, *self._size, n_characters=n_characters), self._size)


_NOTHING: IndexArray = np.zeros((0, 2), np.int64)
_LEAST_OF_SPAN = 4
"""Characters that a number and a run length take at least, with their commas."""


def _spans(rle: object, width: int, height: int) -> dict[float, IndexArray]:
    """Return the spans of each mask number, from alternating numbers and run lengths by row."""
    flat = items(rle)
    if len(flat) % 2 or not all(type(each) is int and 0 <= each < MAX_MASK_PIXELS for each in flat):
        raise MaskProblemError("has a dense_rle that is not a list of values and run lengths")
    values, runs = np.array(flat[::2], np.int64), np.array(flat[1::2], np.int64)
    if runs.sum() != width * height:
        found = f"has run lengths of {runs.sum():,} pixels"
        raise MaskProblemError(f"{found}; its image has {width} × {height}")
    stops = np.cumsum(runs)
    order = np.flatnonzero(runs > 0)
    order = order[np.argsort(values[order], kind="stable")]
    spans, numbers = np.stack([stops - runs, stops], 1)[order], values[order]
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    parts = np.split(spans, begins[1:])
    by_number = zip(numbers[begins].tolist(), parts, strict=True)
    return {number: joined(part) for number, part in by_number}
