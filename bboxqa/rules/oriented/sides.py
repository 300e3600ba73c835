"""O: rotated boxes whose width and height are swapped, and boxes of five or eight numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, span_of, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.oriented_boxes import is_rotated_file, oriented_boxes

_MANY, _NEARLY_ALL = 20, 0.95
_LONG = 1.5
_NEAR = 15.0
_ALIKE = 0.9
_NEIGHBOURS = 5
_CONSISTENT = 0.8


def _swapped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O008: boxes a quarter turn off their outlines, or off the rest of their category."""
    boxes = document.once(oriented_boxes)
    if not len(boxes):
        return
    against_outline = document.once(_off_outline)
    beside_rest, is_sure = document.once(_off_category)
    by_row = {int(row): place for place, row in enumerate(boxes.row)}

    def sides(row: int) -> str:
        width, height = boxes.size[by_row[row]]
        return f"width is {figure(width)} and height {figure(height)}"

    def of_outline(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"{sides(row)}, a quarter turn off the outline; expected them swapped",
            found=boxes.size[by_row[row]].tolist(),
            expected="width and height swapped",
        )

    def of_rest(row: int) -> Defect:
        longer = "height" if np.diff(boxes.size[by_row[row]])[0] < 0 else "width"
        what = "across the others in the image" if is_sure[by_row[row]] else "unlike the others"
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"{sides(row)}, {what}: of nearly all boxes of the category the {longer} is longer",
            found=boxes.size[by_row[row]].tolist(),
            expected="width and height swapped",
        )

    yield from hits(boxes.row[against_outline], of_outline, Severity.ERROR, key="bbox")
    left = beside_rest & ~against_outline
    yield from hits(boxes.row[left & is_sure], of_rest, key="bbox")
    yield from hits(boxes.row[left & ~is_sure], of_rest, Severity.INFO, key="bbox")


def _directions(corners: FloatArray) -> FloatArray:
    """Return the direction of the first side in degrees."""
    step = corners[:, 1] - corners[:, 0]
    found: FloatArray = np.degrees(np.arctan2(step[:, 1], step[:, 0]))
    return found


def _off_outline(document: Document) -> BoolArray:
    """Return which boxes match their outline with width and height swapped, (Q,) bool."""
    boxes = document.once(oriented_boxes)
    known = np.isfinite(boxes.angle) & np.isfinite(boxes.corners[:, 0, 0])
    known &= np.isin(boxes.row, _five(document))
    found = np.zeros(len(boxes), np.bool_)
    where = np.flatnonzero(known)
    if len(where) < 3:
        return found
    corners, size, angle = boxes.corners[where], boxes.size[where], boxes.angle[where]
    sides = np.hypot(*np.moveaxis(np.diff(corners[:, :3], axis=1), 2, 0))
    # The first side is the width if it has the same length; otherwise, the second side is.
    direction = _directions(corners)
    is_second = np.abs(sides - size).sum(axis=1) > np.abs(sides[:, ::-1] - size).sum(axis=1)
    direction = direction + 90 * is_second
    elongated = size.max(axis=1) > _LONG * size.min(axis=1)
    for factor in (1.0, -1.0, 180 / np.pi, -180 / np.pi):
        apart = np.abs((direction - factor * angle + 90) % 180 - 90)
        agrees, contrary = apart < _NEAR, apart > 90 - _NEAR
        if (agrees & elongated).sum() >= max(1, _CONSISTENT * elongated.sum()):
            found[where[contrary & elongated]] = True
            return found
    return found


def _five(document: Document) -> IndexArray:
    rotations = document.annotations.rotations
    rows: IndexArray = rotations.row[rotations.n_numbers == 5]
    return rows


def _off_category(document: Document) -> tuple[BoolArray, BoolArray]:
    """Return boxes whose longer side is unlike the category, and which lie across, (Q,) bool."""
    boxes = document.once(oriented_boxes)
    found, is_sure = np.zeros(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    width, height = boxes.size.T
    wide, high = width > _LONG * height, height > _LONG * width
    category = document.category[boxes.row]
    for number in np.unique(category):
        of_it = (category == number) & (wide | high)
        n, n_wide = int(of_it.sum()), int((of_it & wide).sum())
        n_rare = min(n_wide, n - n_wide)
        if n >= _MANY and 0 < n_rare <= (1 - _NEARLY_ALL) * n:
            rare = of_it & (high if n_wide > n - n_wide else wide)
            found |= rare
            for place in np.flatnonzero(rare).tolist():
                is_sure[place] = _is_across(document, of_it & ~rare, place)
    return found, is_sure


def _is_across(document: Document, others: BoolArray, place: int) -> bool:
    """Return whether the longer side of a box is perpendicular to the others in its image."""
    boxes = document.once(oriented_boxes)
    image = document.image[boxes.row]
    near = others & (image == image[place])
    if near.sum() < _NEIGHBOURS:
        return False
    axis = boxes.angle + 90 * (boxes.size[:, 1] > boxes.size[:, 0])
    turns = np.exp(2j * np.radians(axis[near]))
    mean = turns.mean()
    apart = np.abs((axis[place] - np.degrees(np.angle(mean)) / 2 + 90) % 180 - 90)
    return bool(np.abs(mean) > _ALIKE and apart > 90 - _NEAR)


def _longer(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O009: boxes of five or eight numbers."""
    if document.reading.origin is not None or not is_rotated_file(document):
        return
    rotations = document.annotations.rotations
    for number, what in ((5, "an angle"), (8, "four corners")):
        of_number = rotations.n_numbers == number
        rows = rotations.row[of_number]
        more = ""
        if number == 5 and len(rows):
            more = f", from {span_of(rotations.values[of_number, 4])}"
        yield from summary_hits(
            f"bbox of {count(len(rows), 'annotation')} has {number} numbers: a rotated box with "
            f"{what}{more}; COCO has x, y, width, height",
            "annotations",
            rows,
            "bbox",
            expected="x, y, width, height",
        )


def _numbers(n: int) -> dict[str, Any]:
    box = [40, 40, 30, 20, 30][:n]
    return {"annotations": [{"bbox": box, "area": 600}]}


def _long(*sizes: tuple[int, int]) -> dict[str, Any]:
    """Return an example of rotated boxes of a category, the last ones with odd sizes."""
    return {
        "annotations": [
            {"bbox": [10 + place, 30, *size], "attributes": {"rotation": 40 + place % 5}}
            for place, size in enumerate([*([(30, 12)] * 24), *sizes])
        ]
    }


RULES = (
    Rule(
        code="O008",
        title="width and height of a rotated box are swapped",
        severity=Severity.WARNING,
        breaks="""The box lies across its object: its overlap with other annotators' boxes of the
            object is less than half, and a model learns a wrong direction.""",
        explanation="""The box is a quarter turn off its outline (an error), or off the other boxes
            of its category in the image, whose longer sides are nearly parallel. Width and height
            were swapped without adding 90 degrees to the angle. If the sides are only swapped
            compared with 95 % of the category, and nothing shows that the box is wrong, it is an
            info finding, as with a matching angle it is the same rectangle. Look at the image, and
            swap them.""",
        bad=_long((12, 30)),
        good=_long((30, 12)),
        check=_swapped,
    ),
    Rule(
        code="O009",
        title="bbox of five or eight numbers",
        severity=Severity.INFO,
        scope="data set",
        breaks="""pycocotools and most other programs for COCO expect four numbers and stop;
            programs for rotated boxes differ in the meaning of five numbers.""",
        explanation="""At least half of the boxes have five numbers, the last of which is an angle,
            or eight, which are four corners. These are rotated boxes, which COCO does not define:
            detectron2 writes the centre, width, height and degrees counterclockwise, MMRotate the
            centre, width, height and radians clockwise. Document which it is, or write corners as
            `segmentation` and their bounds as `bbox`, which every program reads.""",
        bad=_numbers(5),
        good=_numbers(4),
        check=_longer,
    ),
)
