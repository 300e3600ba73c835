"""IoU by hand: fourteen pairs of boxes and twelve pairs of polygons."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.examples import read_expected
from bboxqa.examples.walks.walk_parts import Check, Step, Walk, check, digits, hang, short, table
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, overlap
from bboxqa.geometry.kernels.rasters import draw_inclusive, raster_areas

_NOTES = (
    (
        "Boxes 5: the source states an IoU of 0.6667 for a B that is shifted both across and "
        "down. That is the IoU of a B shifted across alone, pair 4; pair 5 shares 16 of 34 px, "
        "0.4706."
    ),
    (
        "Boxes 10: the source counts a shared square of 10 by 10 px, as in pair 9. Its A begins "
        "5 px further down, so that 10 by 15 px are shared: 150 of 4850, 0.0309."
    ),
    "Boxes 11: 129000 / 271000 is 0.4760; the source has one zero too many, 0.0476.",
    (
        "Polygons: the source has two sections on partial overlap, above and below an IoU of "
        "0.5, and their headings are exchanged."
    ),
)


def walk_iou(expected: Mapping[str, Any] | None = None) -> Walk:
    """Walk through the IoU of boxes and of polygons."""
    if expected is None:
        expected = read_expected()
    return Walk(
        name="iou",
        introduction=(
            "Intersection over union (IoU) says how well two shapes coincide: the area that both "
            "cover, divided by the area that at least one covers. It is 1 for the same shape and "
            "0 for shapes that do not overlap, whatever their size."
        ),
        steps=(
            _boxes_step(expected["bbox_iou"]),
            _polygons_step(expected["polygon_iou_pixel_inclusive"]),
        ),
        notes=_NOTES,
    )


def _boxes_step(pairs: Sequence[Mapping[str, Any]]) -> Step:
    a, b = (corners(np.array([pair[side] for pair in pairs], np.float64)) for side in "ab")
    shared = overlap(a, b)
    union = sum(np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b)) - shared
    iou = bbox_iou(a, b)
    rows, checks = [], []
    for place, pair in enumerate(pairs):
        one = check(f"IoU of boxes {place + 1}", digits(iou[place]), digits(pair["iou"]))
        areas = [short(shared[place]), short(union[place])]
        boxes = [_box(pair["a"]), _box(pair["b"])]
        rows.append([str(place + 1), *boxes, *areas, one.computed, one.verdict])
        checks.append(one)
    header = ["", "A", "B", "intersection", "union", "IoU", ""]
    return Step(
        title="1. Boxes",
        explanation=(
            "A box is given as x, y, width, height. The intersection is a box, too: it reaches "
            "from the larger of the two left edges to the smaller of the two right ones, and in "
            "the same way from top to bottom. union = area of A + area of B - intersection."
        ),
        body=table(header, rows, left=[1, 2, 6]),
        checks=tuple(checks),
        verdicts_in_body=True,
    )


def _box(bbox: Sequence[float]) -> str:
    return " ".join(map(short, bbox))


def _polygons_step(pairs: Sequence[Mapping[str, Any]]) -> Step:
    parts = [_polygon_pair(place, pair) for place, pair in enumerate(pairs, 1)]
    return Step(
        title="2. Polygons, as pixels",
        explanation=(
            "A polygon is drawn on a grid of pixels, its boundary included, and pixels are "
            "counted: a square from 0 to 3 covers 4 by 4 of them. (bboxqa compares polygons "
            "exactly by default; these are the figures of --similarity pixel.)"
        ),
        body="\n\n".join(text for text, _ in parts),
        checks=tuple(one for _, one in parts),
        verdicts_in_body=True,
    )


def _polygon_pair(place: int, pair: Mapping[str, Any]) -> tuple[str, Check]:
    a, b = (np.array(pair[side], np.float64).reshape(-1, 2) for side in "ab")
    shared, union = raster_areas([a], [b], (0, 0), draw_inclusive)
    iou = shared / union
    # The pixel count is compared only if the source gives one.
    stated = [
        found if pair[key] is None else pair[key]
        for key, found in (("intersection_px", shared), ("union_px", union), ("iou", iou))
    ]
    one = check(f"IoU of polygons {place}", _quotient(shared, union, iou), _quotient(*stated))
    lines = [
        hang(f"{place:2}  A  ", _points(a)),
        hang("    B  ", _points(b)),
        f"    IoU = {one.computed}: {one.verdict}",
    ]
    return "\n".join(lines), one


def _quotient(shared: float, union: float, iou: float) -> str:
    return f"{short(shared)} px / {short(union)} px = {digits(iou)}"


def _points(vertices: FloatArray) -> str:
    return " ".join(f"({short(x)},{short(y)})" for x, y in vertices.tolist())
