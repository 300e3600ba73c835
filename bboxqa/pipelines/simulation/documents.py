"""Simulated annotations and their truth as COCO documents."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays, sum_by
from bboxqa.model.outlines import SegmentationKind
from bboxqa.model.shapes.rotated_boxes import bounds, corners
from bboxqa.pipelines.simulation.scene import DECIMALS, Scene, turned

_CHUNK = 100_000


@frozen_arrays
class Boxes:
    """M annotations, ordered by image."""

    id: IndexArray
    image: IntArray
    category: IntArray
    annotator: IntArray
    edges: FloatArray
    angle: FloatArray
    """(M,). In degrees; 0 of upright boxes."""
    joints: FloatArray
    """(M, J, 3). The key points; J is 0 without."""
    shape: IndexArray
    """(M,) int64. The object of the scene whose outline each has."""
    truth: IndexArray
    """(M,) int64. The object that was drawn; -1 for extras."""
    merged: IndexArray
    """(M,) int64. The second object in the same box; -1 where there is none."""
    seconds: IndexArray
    """(M,) int64. The time of each annotation in seconds since 1970; -1 if unknown."""


class _Record(msgspec.Struct, omit_defaults=True):
    """An annotation of a COCO file."""

    id: int
    image_id: int
    category_id: int
    bbox: list[float]
    area: float
    annotator: str
    iscrowd: int | None = None
    segmentation: list[list[float]] | None = None
    attributes: dict[str, float] | None = None
    keypoints: list[float] | None = None
    num_keypoints: int | None = None
    true_id: int | None = None
    merged_id: int | None = None
    created_at: str | None = None


def document_lines(
    scene: Scene, boxes: Boxes, annotators: tuple[str, ...], asked: BoolArray, info: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the text of a COCO document, with one line for each record.

    Parameters
    ----------
    scene : Scene
        The images, categories and outlines.
    boxes : Boxes
        The annotations.
    annotators : tuple of str
        Names of the annotators.
    asked : (I, A) bool array
        Who annotated which image.
    info : dict
        The value of the key "info".
    """
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
) -> Iterator[_Record]:
    edges = boxes.edges[part]
    sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    outlines, areas = _outlines(scene, boxes.shape[part], edges)
    attributes: list[dict[str, float] | None] = [None] * len(part)
    if scene.angle is not None:
        areas = sides.prod(axis=1)
        rotated = turned(edges, boxes.angle[part])
        points = corners(rotated).round(DECIMALS).reshape(-1, 8)
        outlines = [[ring] for ring in points.tolist()]
        attributes = [{"rotation": angle} for angle in boxes.angle[part].tolist()]
        edges = bounds(rotated).round(DECIMALS)
        sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    truth, merged = boxes.truth[part], boxes.merged[part]
    columns = zip(
        boxes.id[part].tolist(),
        (boxes.image[part] + 1).tolist(),
        (boxes.category[part] + 1).tolist(),
        np.concatenate([edges[:, :2].round(DECIMALS), sides], axis=1).tolist(),
        np.where(np.isnan(areas), sides.prod(axis=1), areas).round(DECIMALS).tolist(),
        boxes.annotator[part].tolist(),
        outlines,
        attributes,
        *_key_points(scene, boxes.joints[part]),
        np.where(truth < 0, 0, scene.id[truth]).tolist() if len(scene) else [0] * len(part),
        np.where(merged < 0, 0, scene.id[merged]).tolist() if len(scene) else [0] * len(part),
        _times(boxes.seconds[part]),
        strict=True,
    )
    for (
        id_, image, category, bbox, area, who, rings, more, points, n_points, true_id, merged_id,
        time,
    ) in columns:  # fmt: skip
        yield _Record(
            id_, image, category, bbox, area, annotators[who], 0, rings, more, points,
            n_points, true_id or None, merged_id or None, time,
        )  # fmt: skip


def _key_points(scene: Scene, joints: FloatArray) -> tuple[list[Any], list[Any]]:
    """Return the key points of annotations and their number; None without key points."""
    if scene.poses is None:
        return [None] * len(joints), [None] * len(joints)
    n_labelled = (joints[..., 2] > 0).sum(1)
    return joints.reshape(len(joints), -1).tolist(), n_labelled.tolist()


def _times(seconds: IndexArray) -> list[str | None]:
    texts = np.datetime_as_string(seconds.astype("datetime64[s]")).tolist()
    known = (seconds >= 0).tolist()
    return [
        text.replace("T", " ") if is_known else None
        for text, is_known in zip(texts, known, strict=True)
    ]


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
