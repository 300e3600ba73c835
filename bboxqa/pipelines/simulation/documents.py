"""Simulated annotations and their truth as COCO documents."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.model.outlines import SegmentationKind
from bboxqa.model.shapes.rotated_boxes import bounds, corners
from bboxqa.pipelines.simulation.drawing import Boxes
from bboxqa.pipelines.simulation.scene import DECIMALS, Scene, turned

_CHUNK = 100_000


def document_lines(
    scene: Scene, boxes: Boxes, annotators: tuple[str, ...], asked: BoolArray, info: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the text of a COCO document, with one line for each record."""
    images = (
        {
            "id": number + 1,
            "file_name": name,
            "width": size[0],
            "height": size[1],
            "annotators": [annotators[each] for each in np.flatnonzero(asked[number]).tolist()],
        }
        for number, (name, size) in enumerate(
            zip(scene.image_names, scene.image_size.tolist(), strict=True)
        )
    )
    joints = {} if scene.poses is None else {"keypoints": scene.joint_names}
    categories = (
        {"id": number, "name": name, **joints}
        for number, name in enumerate(scene.category_names, 1)
    )
    yield b'{"info": ' + msgspec.json.encode(info) + b',\n"licenses": [],\n"images": [\n'
    yield _lines(list(images))
    yield b'\n],\n"categories": [\n'
    yield _lines(list(categories))
    yield b'\n],\n"annotations": [\n'
    for start in range(0, len(boxes.id), _CHUNK):
        part = np.arange(start, min(start + _CHUNK, len(boxes.id)))
        yield (b",\n" if start else b"") + _lines(list(_records(scene, boxes, annotators, part)))
    yield b"\n]}\n"


def _lines(records: list[Any]) -> bytes:
    """Return records as JSON with commas between the lines."""
    # Line ends inside strings are escaped, so that each line is a record.
    return (
        msgspec.json.Encoder().encode_lines(records).replace(b"}\n", b"},\n").removesuffix(b",\n")
    )


def _records(
    scene: Scene, boxes: Boxes, annotators: tuple[str, ...], part: IndexArray
) -> Iterator[dict[str, Any]]:
    edges = boxes.edges[part]
    sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    outlines, areas = _outlines(scene, boxes.shape[part], edges)
    if scene.angle is not None:
        areas = sides.prod(axis=1)
        rotated = turned(edges, boxes.angle[part])
        outlines = [[ring] for ring in corners(rotated).round(DECIMALS).reshape(-1, 8).tolist()]
        edges = bounds(rotated).round(DECIMALS)
        sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    areas = np.where(np.isnan(areas), sides.prod(axis=1), areas).round(DECIMALS)
    bbox = np.concatenate([edges[:, :2].round(DECIMALS), sides], axis=1).tolist()
    times = np.datetime_as_string(boxes.seconds[part].astype("datetime64[s]")).tolist()
    joints = boxes.joints[part]
    for place, row in enumerate(part.tolist()):
        record = {
            "id": int(boxes.id[row]),
            "image_id": int(boxes.image[row]) + 1,
            "category_id": int(boxes.category[row]) + 1,
            "bbox": bbox[place],
            "area": float(areas[place]),
            "annotator": annotators[boxes.annotator[row]],
            "iscrowd": 0,
        }
        if (rings := outlines[place]) is not None:
            record["segmentation"] = rings
        if scene.angle is not None:
            record["attributes"] = {"rotation": float(boxes.angle[row])}
        if scene.poses is not None:
            record["keypoints"] = joints[place].ravel().tolist()
            record["num_keypoints"] = int((joints[place, :, 2] > 0).sum())
        for key, objects in (("true_id", boxes.truth), ("merged_id", boxes.merged)):
            if objects[row] >= 0:
                record[key] = int(scene.id[objects[row]])
        if boxes.seconds[row] >= 0:
            record["created_at"] = times[place].replace("T", " ")
        yield record


def _outlines(
    scene: Scene, shape: IndexArray, edges: FloatArray
) -> tuple[list[list[list[float]] | None], FloatArray]:
    """Return the outlines of objects, stretched to boxes, and their areas.

    They are None and NaN for objects with a box only.
    """
    nothing: list[list[list[float]] | None] = [None] * len(shape)
    if scene.outlines is None:
        return nothing, np.full(len(shape), np.nan)
    outlines = scene.outlines.take(shape).packed()
    n_rings = np.where(
        outlines.kind == SegmentationKind.POLYGON, outlines.part_stop - outlines.part_start, 0
    )
    ring_owner = np.repeat(np.arange(len(shape)), n_rings)
    owner = np.repeat(ring_owner, np.diff(outlines.ring_offsets))
    true = scene.edges[shape]
    factor = (edges[:, 2:] - edges[:, :2]) / (true[:, 2:] - true[:, :2])
    xy = edges[owner, :2] + (outlines.xy - true[owner, :2]) * factor[owner]
    # Without errors, vertices stay as they are.
    unmoved = (edges == true).all(axis=1)
    xy = np.where(unmoved[owner, None], outlines.xy, xy.round(DECIMALS))
    flat, bounds = xy.ravel().tolist(), (2 * outlines.ring_offsets).tolist()
    rings = [flat[first:last] for first, last in pairwise(bounds)]
    begin = np.concatenate([[0], np.cumsum(n_rings)]).tolist()
    found = [rings[first:last] or None for first, last in pairwise(begin)]
    areas = sum_by(ring_owner, _ring_areas(xy, outlines.ring_offsets), len(shape))
    return found, np.where(n_rings > 0, areas, np.nan)


def _ring_areas(xy: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the area inside of each ring, by the shoelace formula."""
    if not len(xy):
        return np.zeros(0)
    following = np.arange(1, len(xy) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    ahead = xy[following]
    cross = xy[:, 0] * ahead[:, 1] - ahead[:, 0] * xy[:, 1]
    areas: FloatArray = np.abs(np.add.reduceat(cross, offsets[:-1])) / 2
    return areas
