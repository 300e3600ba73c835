"""O: angles of rotated boxes that are out of range or in a wrong unit."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, span_of, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.oriented_boxes import CIRCLE, oriented_boxes

_RADIANS = "Pascal VOC XML"
"""The format whose angles are in radians; in the document they are in degrees."""
_FEW, _SOME = 3, 20
_RARE = 0.05
_HALF = 0.5
# The possible upper limits of angles in radians.
_ENDS = (np.pi / 2, np.pi, 2 * np.pi)
_NEAR_END = 0.93
_THIRD = 0.2


def _angles(document: Document) -> tuple[IndexArray, FloatArray]:
    """Return the rows of boxes with an angle, and their angles."""
    boxes = document.once(oriented_boxes)
    known = np.isfinite(boxes.angle)
    return boxes.row[known], boxes.angle[known]


def _has_radians(document: Document) -> bool:
    origin = document.reading.origin
    return origin is not None and origin.title == _RADIANS


def _are_degrees(document: Document, angles: FloatArray) -> bool:
    """Return whether angles that should be radians are degrees."""
    turned = angles[angles != 0]
    n_large = np.count_nonzero(np.abs(turned) > CIRCLE)
    return _has_radians(document) and bool(n_large >= max(1, _HALF * len(turned)))


def _out_of_range(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rows, angles = _angles(document)
    if _are_degrees(document, angles):
        return
    large, negative = np.abs(angles) > CIRCLE, angles < 0
    # Some tools count up to half a turn in both directions, so many negative angles are normal.
    odd = negative & ~large
    if len(angles) < _SOME or odd.sum() > _RARE * len(angles):
        odd[:] = False
    wrong = np.flatnonzero(large | odd)
    factor, unit = (np.pi / 180, "radians") if _has_radians(document) else (1.0, "degrees")
    whole = figure(CIRCLE * factor)

    def describe(place: int) -> Defect:
        row, angle = int(rows[wrong[place]]), float(angles[wrong[place]])
        expected = f"{unit} from 0 to {whole}"
        if odd[wrong[place]]:
            expected += f", as {len(angles) - int(odd.sum()):,} of {len(angles):,} are"
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"angle is {figure(angle * factor)}, the direction "
            f"{figure(angle % CIRCLE * factor)}; expected {expected}",
            found=angle * factor,
            expected=expected,
        )

    def summary(places: IndexArray, share: str) -> str:
        span = span_of(angles[wrong[places]] * factor)
        return f"angles of {share} are {span}; expected {unit} from 0 to {whole}"

    if len(wrong):
        yield Hits(rows[wrong], describe, key="bbox", summary=summary)


def _seem_radians(angles: FloatArray) -> bool:
    """Return whether degrees seem to be radians, spread evenly up to a limit of their range."""
    signed = np.abs((angles + CIRCLE / 2) % CIRCLE - CIRCLE / 2)
    if len(signed) < _SOME:
        return False
    end = next((end for end in _ENDS if signed.max() <= end + 0.01), 0.0)
    thirds = [_share(signed, end * part / 3, end * (part + 1) / 3) for part in range(3)]
    return bool(end and signed.max() >= _NEAR_END * end and min(thirds) >= _THIRD)


def _share(values: FloatArray, low: float, high: float) -> float:
    inside: BoolArray = (values >= low) & (values < high + 0.01)
    return float(inside.mean())


def _other_unit(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rows, angles = _angles(document)
    if _are_degrees(document, angles):
        found = angles * np.pi / 180
        large = np.abs(angles) > CIRCLE
        yield from summary_hits(
            f"{np.count_nonzero(large):,} of {len(rows):,} angles are more than a whole turn in "
            f"radians, up to {figure(np.abs(found).max())}: they are degrees; expected radians "
            f"from 0 to {figure(2 * np.pi)}",
            "annotations",
            rows[large],
            "bbox",
            expected="radians",
        )
        return
    is_five = np.isin(rows, document.annotations.rotations.row[_five(document)])
    rows, angles = rows[~is_five], angles[~is_five]
    if not _has_radians(document) and _seem_radians(angles):
        end = np.abs((angles + CIRCLE / 2) % CIRCLE - CIRCLE / 2).max()
        yield from summary_hits(
            f"angles of all {len(rows):,} rotated boxes are within {figure(end)} degrees and "
            "spread evenly, as radians are; expected degrees",
            "annotations",
            rows,
            "bbox",
            expected="degrees",
        )


def _five(document: Document) -> BoolArray:
    is_five: BoolArray = document.annotations.rotations.n_numbers == 5
    return is_five


def _boxes(angles: list[float]) -> dict[str, Any]:
    """Return an example of boxes with angles."""
    return {
        "annotations": [
            {"bbox": [10 + place, 10, 30, 20], "attributes": {"rotation": angle}}
            for place, angle in enumerate(angles)
        ]
    }


RULES = (
    Rule(
        code="O001",
        title="angle of a rotated box out of its range",
        severity=Severity.WARNING,
        breaks="""Programs that expect at most one turn refuse the box or draw it in another
            direction; a regressed angle has no limit.""",
        explanation="""The angle is more than a whole turn, or it is negative while nearly all other
            angles in the file are not. A script added angles, or subtracted a turn. Write the
            remainder in the message, which is the same direction.""",
        bad=_boxes([30, 765]),
        good=_boxes([30, 45]),
        check=_out_of_range,
        requires=("F004", "S015"),
    ),
    Rule(
        code="O002",
        title="angles of rotated boxes in a wrong unit",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every box points in a wrong direction: 90 degrees that are read as radians are 117
            degrees, and radians that are read as degrees leave boxes nearly upright.""",
        explanation="""Label Studio, CVAT and Datumaro write degrees, roLabelImg (robndbox of Pascal
            VOC) writes radians. Here the angles are in the other unit: radians above a whole turn,
            or degrees that all lie within half, one or two times 3.14 and fill that range evenly,
            in at least 20 boxes. A script did not convert them. Multiply by 57.2958 to get degrees,
            or divide by it to get radians.""",
        bad=_boxes([0.155 * n for n in range(1, 21)]),
        good=_boxes([9.3 * n for n in range(1, 21)]),
        check=_other_unit,
        consequences=("O001", "O006", "O007", "O008"),
    ),
)
