"""O: the four corners of rotated boxes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, with_span
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.oriented_boxes import PIXEL, are_crossed, misfit, oriented_boxes

_SOME = 10
_NEARLY_ALL = 0.98
# Rectangles with rounded corners are off by up to 0.74 steps, and nine of ten by up to 0.46.
# Corners that people click are off by more.
_MOST, _ROUNDED, _OFF = 0.9, 0.6, 1.5
_LEAST_SHARE = 0.03
_DIGITS = 3
_MANY = 20
_APART = 2.0


def _written(document: Document) -> tuple[IndexArray, FloatArray]:
    """Return the rows of boxes that are written as corners, and these corners."""
    boxes = document.once(oriented_boxes)
    return boxes.row[boxes.is_written], boxes.corners[boxes.is_written]


def _key(document: Document) -> str:
    """Return the key that holds the corners."""
    has_eight = (document.annotations.rotations.n_numbers == 8).any()
    return "bbox" if has_eight else "segmentation"


def _longer_side(corners: FloatArray) -> FloatArray:
    steps = np.diff(corners[:, :3], axis=1)
    longer: FloatArray = np.hypot(steps[..., 0], steps[..., 1]).max(axis=1)
    return longer


def _clipped(document: Document, rows: IndexArray, corners: FloatArray) -> BoolArray:
    """Return which boxes have a corner at an image edge, where tools clip boxes, (Q,) bool."""
    size = document.size[rows][:, None]
    at_edge: BoolArray = np.any((corners < PIXEL) | (corners > size - PIXEL), axis=(1, 2))
    return at_edge


def _step(document: Document, rows: IndexArray, corners: FloatArray) -> float:
    """Return the step in pixels to which coordinates are rounded, at least 1.

    Relative coordinates with few digits have steps of several pixels.
    """
    size = document.size[rows]
    for digits in range(1, _DIGITS + 1):
        shares = corners / size[:, None] * 10**digits
        if np.isfinite(shares).all() and np.abs(shares - shares.round()).max() < 1e-6:
            return max(PIXEL, float(size.max() / 10**digits))
    return PIXEL


def _no_rectangle(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O003: corners that do not form a rectangle, if nearly all others do."""
    rows, corners = _written(document)
    if len(rows) < _SOME:
        return
    whole = ~are_crossed(corners) & ~_clipped(document, rows, corners)
    rows, corners = rows[whole], corners[whole]
    if len(rows) < _SOME:
        return
    off, longer = misfit(corners), _longer_side(corners)
    step = _step(document, rows, corners)
    if np.quantile(off, _MOST) > _ROUNDED * step:
        return
    tolerance = _OFF * step
    wrong = np.flatnonzero((off > tolerance) & (off > _LEAST_SHARE * longer))

    def describe(place: int) -> Defect:
        which = wrong[place]
        n_others = len(rows) - len(wrong)
        return record_defect(
            document,
            ("annotations", int(rows[which]), _key(document)),
            f"corners are {figure(off[which])} px away from those of a rectangle; expected at most "
            f"{figure(tolerance)} px, as {n_others:,} of {len(rows):,} boxes have",
            found=corners[which].ravel().tolist(),
            expected="four corners of a rectangle",
        )

    text = "corners are {span} px away from those of a rectangle in {share}; expected a rectangle"
    span = with_span(text, lambda places: off[wrong[places]])
    if len(wrong):
        yield Hits(rows[wrong], describe, summary=span)


def _crossed(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O004: corners in an order that makes the sides cross."""
    rows, corners = _written(document)
    wrong = np.flatnonzero(are_crossed(corners))

    def describe(place: int) -> Defect:
        return record_defect(
            document,
            ("annotations", int(rows[wrong[place]]), _key(document)),
            "corners are in an order in which two sides cross; expected one after the other around "
            "the box",
            found=corners[wrong[place]].ravel().tolist(),
            expected="corners one after the other around the box",
        )

    summary = (
        "sides cross in {share}, as the corners are in a wrong order; expected one after the other "
        "around the box"
    )
    if len(wrong):
        yield Hits(
            rows[wrong],
            describe,
            summary=lambda _places, share: summary.format(share=share),
        )


def _other_order(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O005: corners whose direction or first corner differs from nearly all others."""
    rows, corners = _written(document)
    if not len(rows):
        return
    whole = ~are_crossed(corners)
    rows, corners = rows[whole], corners[whole]
    first, second, third, fourth = np.moveaxis(corners, 1, 0)
    diagonals = third - first, fourth - second
    area = (diagonals[0][:, 0] * diagonals[1][:, 1] - diagonals[0][:, 1] * diagonals[1][:, 0]) / 2
    clockwise = area > 0
    found = _rare(np.abs(area) > PIXEL, clockwise)
    words = ("clockwise", "counterclockwise")
    words = words if 2 * np.count_nonzero(clockwise) > len(rows) else words[::-1]
    verb = "run"
    if not found.any():
        verb = "begin at"
        for each, (can_tell, holds) in _beginnings(corners).items():
            found = _rare(can_tell, holds)
            if found.any():
                words = each[::-1] if holds[found].any() else each
                break
    common, rare = words

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, _key(document)),
            f"corners {verb} {rare}; those of nearly all other boxes {verb} {common}",
            expected=f"corners that {verb} {common}",
        )

    yield from hits(rows[found], describe, key=_key(document))


def _rare(can_tell: BoolArray, holds: BoolArray) -> BoolArray:
    """Return where `holds` differs from nearly all others, among those that `can_tell`."""
    n, n_held = int(can_tell.sum()), int((can_tell & holds).sum())
    if n >= _MANY and 0 < n - n_held <= (1 - _NEARLY_ALL) * n:
        return can_tell & ~holds
    if n >= _MANY and 0 < n_held <= (1 - _NEARLY_ALL) * n:
        return can_tell & holds
    return np.zeros(len(holds), np.bool_)


def _beginnings(corners: FloatArray) -> dict[tuple[str, str], tuple[BoolArray, BoolArray]]:
    """Return where the first corner can be named, and where it is a certain corner.

    Keys are the phrases for this corner and for any other.
    """
    found = {}
    for axis, sign, name in ((1, 1, "top"), (0, 1, "left"), (1, -1, "bottom"), (0, -1, "right")):
        ordered = np.sort(sign * corners[..., axis], axis=1)
        is_first = sign * corners[:, 0, axis] == ordered[:, 0]
        words = (f"the {name} corner", f"a corner other than the {name} one")
        found[words] = (ordered[:, 1] - ordered[:, 0] > _APART, is_first)
    return found


def _turned(place: int) -> list[float]:
    """Return the corners of a rotated rectangle."""
    x, y = 12 + 4 * (place % 20), 20 + 5 * (place // 20)
    return [x, y, x + 12, y + 9, x + 6, y + 17, x - 6, y + 8]


def _example(*odd: list[float], n: int = 60) -> dict[str, Any]:
    """Return an example of rotated boxes, the last ones with odd corners."""
    rings = [*map(_turned, range(n)), *odd]
    return {
        "annotations": [
            {
                "segmentation": [ring],
                "bbox": [min(ring[::2]), min(ring[1::2]), 18, 17],
                "area": 150,
            }
            for ring in rings
        ]
    }


RULES = (
    Rule(
        code="O003",
        title="four corners are not a rectangle",
        severity=Severity.WARNING,
        breaks="""Trainers of rotated boxes replace the corners by the smallest rectangle around
            them, which is not the annotated shape.""",
        explanation="""The corners of nearly all boxes in the file form rectangles, up to rounding,
            but the corners of this box do not. A single corner was moved, or numbers were swapped.
            Boxes that are cut off at an edge of the image are not checked, and neither are files
            with arbitrary quadrilaterals, such as DOTA's. Draw the box again.""",
        bad=_example([40, 50, 52, 59, 46, 67, 30, 60], n=11),
        good=_example([40, 50, 52, 59, 46, 67, 34, 58], n=11),
        check=_no_rectangle,
        consequences=("B011",),
    ),
    Rule(
        code="O004",
        title="corners of a rotated box are crossed",
        severity=Severity.ERROR,
        breaks="""Its polygon is a bow tie: the area is near 0, so IoU with anything is, and tools
            that need valid polygons stop.""",
        explanation="""The corners are in an order in which two sides cross, such as top left, top
            right, bottom left, bottom right. A script wrote them row by row. Write them one after
            the other around the box.""",
        bad=_example([40, 50, 52, 59, 34, 58, 46, 67], n=2),
        good=_example([40, 50, 52, 59, 46, 67, 34, 58], n=2),
        check=_crossed,
        consequences=("O003", "O005", "P005", "B011"),
    ),
    Rule(
        code="O005",
        title="corners of a rotated box in an unusual order",
        severity=Severity.INFO,
        breaks="""Tools that read a direction from the first side turn the box, or take width for
            height; the rectangle itself is the same.""",
        explanation="""The corners of at least 98 % of the boxes, and at least 20, run in one
            direction and begin at the same place, for example at the top corner. The corners of
            this box do not. It came from another tool, or was changed by a script. Order all
            corners alike if any program reads directions from them.""",
        bad=_example([40, 50, 34, 58, 46, 67, 52, 59]),
        good=_example([40, 50, 52, 59, 46, 67, 34, 58]),
        check=_other_order,
    ),
)
