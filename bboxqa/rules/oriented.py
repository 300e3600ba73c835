"""O: rotated boxes: their angles, corners and numbers."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import Checked, Rows, summary
from bboxqa.rules.base.rule import rule
from bboxqa.rules.facts.boxes import figure, size_text
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.shapes import is_rotated_file, oriented_boxes

_CIRCLE = 360.0


def _turned(angle: float) -> dict[str, Any]:
    """Return an example of two boxes, of which the second has an angle."""
    boxes = ([10, 10, 30, 20], 30), ([11, 10, 30, 20], angle)
    return {"annotations": [{"bbox": b, "attributes": {"rotation": a}} for b, a in boxes]}


def _cornered(*rings: list[int]) -> dict[str, Any]:
    """Return an example of boxes that are outlines of four corners."""
    return {
        "annotations": [
            {"segmentation": [ring], "bbox": [min(ring[::2]), min(ring[1::2]), 18, 17], "area": 150}
            for ring in rings
        ]
    }


_TWO = [12, 20, 24, 29, 18, 37, 6, 28], [16, 20, 28, 29, 22, 37, 10, 28]


@rule(
    "O001 warning: angle of a rotated box out of its range",
    breaks="Programs that expect at most one turn refuse the box or turn it wrongly.",
    explanation="""The angle is more than a whole turn: a script added angles, or wrote degrees for
        radians. Write the remainder in the message, which is the same direction.""",
    bad=_turned(765),
    good=_turned(45),
    requires=("F004", "S015"),
)
def _out_of_range(document: Document, _settings: ValidateSettings) -> Checked:
    boxes, origin = document.once(oriented_boxes), document.reading.origin
    # VOC has radians; in the document they are in degrees.
    is_radians = origin is not None and origin.title == "Pascal VOC XML"
    factor, unit = (np.pi / 180, "radians") if is_radians else (1.0, "degrees")
    direction = boxes.angle % _CIRCLE * factor

    def says(which: int) -> str:
        angle, to = (figure(each[which]) for each in (boxes.angle * factor, direction))
        return f"angle is {angle}, the direction {to}"

    yield Rows(
        np.abs(boxes.angle) > _CIRCLE,
        says,
        "annotations/bbox",
        f"{unit} from 0 to {figure(_CIRCLE * factor)}",
        lambda which: float(boxes.angle[which]) * factor,
        owner=boxes.row,
        key="bbox",
    )


@rule(
    "O004 error: corners of a rotated box are crossed",
    breaks="Its polygon is a bow tie, with an area and an IoU near 0.",
    explanation="""The corners are in an order in which two sides cross. Write them one after the
        other around the box.""",
    bad=_cornered(*_TWO, [40, 50, 52, 59, 34, 58, 46, 67]),
    good=_cornered(*_TWO, [40, 50, 52, 59, 46, 67, 34, 58]),
)
def _crossed(document: Document, _settings: ValidateSettings) -> Checked:
    boxes = document.once(oriented_boxes)
    has_eight = (document.annotations.rotations.n_numbers == 8).any()
    yield Rows(
        boxes.is_written & _are_crossed(boxes.corners),
        "corners are in an order in which two sides cross",
        "annotations/bbox" if has_eight else "annotations/segmentation",
        "one after the other around the box",
        lambda which: boxes.corners[which].ravel().tolist(),
        owner=boxes.row,
    )


def _are_crossed(corners: FloatArray) -> BoolArray:
    """Return whether two opposite sides of four corners cross, (Q,) bool."""
    edges = np.roll(corners, -1, axis=1) - corners
    after = np.roll(edges, -1, axis=1)
    turns = edges[..., 0] * after[..., 1] - edges[..., 1] * after[..., 0]
    # Around a simple shape, at most one of the turns goes the other way.
    crossed: BoolArray = ((turns > 0).sum(axis=1) == 2) & ((turns < 0).sum(axis=1) == 2)
    return crossed


@rule(
    "O006 info: rotated box extends beyond its image",
    breaks="YOLO's trainers skip images with such labels; others clip the corners.",
    explanation="""A corner lies beyond its image by more than `overshoot_px`. It is only a warning
        if the centre lies beyond as well: the box belongs to another image, or the size is
        wrong.""",
    bad=_cornered([85, 30, 105, 40, 100, 50, 80, 40]),
    good=_cornered([75, 30, 95, 40, 90, 50, 70, 40]),
    requires=("F004", "S015", "B002", "B014", "T003"),
)
def _beyond(document: Document, settings: ValidateSettings) -> Checked:
    boxes, rotations = document.once(oriented_boxes), document.annotations.rotations
    corners = boxes.corners.copy()
    # Whether the first numbers are the centre or a corner is unknown, but both are in the image.
    five = rotations.row[rotations.n_numbers == 5]
    at = np.flatnonzero(np.isin(boxes.row, five) & np.isnan(corners[:, 0, 0]))
    corners[at] = rotations.values[np.searchsorted(rotations.row, boxes.row[at])][:, None, :2]
    size = document.size[boxes.row][:, None]
    farthest = np.maximum(-corners, corners - size).max(axis=(1, 2))
    centre = corners.mean(axis=1, keepdims=True)
    is_out = np.maximum(-centre, centre - size).max(axis=(1, 2)) > 0
    beyond = farthest > settings.overshoot_px

    def says(which: int) -> str:
        of_image = f"its image{size_text(document.size[boxes.row[which]])}"
        if is_out[which]:
            return f"the centre of the rotated box lies beyond {of_image}"
        return f"a corner lies {figure(farthest[which])} px beyond {of_image}"

    for where, severity in ((beyond & is_out, Severity.WARNING), (beyond & ~is_out, None)):
        yield Rows(
            where,
            says,
            "annotations/bbox",
            "it inside",
            lambda which: corners[which].ravel().tolist(),
            severity=severity,
            owner=boxes.row,
            key="bbox",
        )


@rule(
    "O009 info: bbox of five or eight numbers",
    breaks="pycocotools and most other programs for COCO expect four numbers and stop.",
    explanation="""At least half of the boxes have five numbers, the last of which is an angle, or
        eight, which are four corners. COCO does not define them, and programs differ. Write corners
        as `segmentation` and their bounds as `bbox`.""",
    bad={"annotations": [{"bbox": [40, 40, 30, 20, 30], "area": 600}]},
    good={"annotations": [{"bbox": [40, 40, 30, 20], "area": 600}]},
)
def _longer(document: Document, _settings: ValidateSettings) -> Checked:
    if document.reading.origin is not None or not is_rotated_file(document):
        return
    rotations = document.annotations.rotations
    for number, what in ((5, "an angle"), (8, "four corners")):
        rows = rotations.row[rotations.n_numbers == number]
        yield summary(
            f"bbox of {count(len(rows), 'annotation')} has {number} numbers: a rotated box with "
            f"{what}; COCO has x, y, width, height",
            "annotations/bbox",
            rows,
            expected="x, y, width, height",
        )
