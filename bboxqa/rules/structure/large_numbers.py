"""S: numbers of annotations that are too large to be a place or an angle (S015)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.dataset.wrong_values import MAX_COORDINATE
from bboxqa.formats.raw_values import FARTHEST
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure

_PLACE = f"at most {MAX_COORDINATE:g} px from 0"
OF_LARGE_NUMBERS = (
    "B002", "B003", "B004", "B009", "B010", "B011", "O001", "O006", "P006", "P007", "Q002",
)  # fmt: skip
"""What follows from a number that is too large."""
_OUTLINE = [[10, 10, 30, 10, 30, 40, 10, 40]]
_ANGLE = f"degrees, less than {FARTHEST:,.0f}"
_OF_BOX = f"degrees or radians, at most {FARTHEST:,.0f}"
_ANGLES = {_ANGLE: "attributes.rotation", _OF_BOX: "the angle of bbox"}


def _too_large(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    yield from _hits(document, "bbox", *_largest(np.arange(len(columns)), columns.bbox), _PLACE)
    rings = columns.rings
    owner = np.repeat(rings.row, np.diff(rings.offsets))
    yield from _hits(document, "segmentation", *_largest(owner, rings.xy), _PLACE)
    angles = columns.rotations
    far = np.abs(angles.angle) >= FARTHEST
    yield from _hits(document, "attributes", angles.row[far], angles.angle[far], _ANGLE)
    turned = (angles.n_numbers == 5) & (np.abs(angles.values[:, 4]) > FARTHEST)
    yield from _hits(document, "bbox", angles.row[turned], angles.values[turned, 4], _OF_BOX)


def _largest(row: IndexArray, values: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return the annotations with a coordinate that is too large, and the first such value."""
    at, column = np.nonzero(np.abs(values) > MAX_COORDINATE)
    first = run_starts(row[at])
    return row[at][first], values[at, column][first]


def _hits(
    document: Document, key: str, rows: IndexArray, values: FloatArray, expected: str
) -> Iterator[Hits]:
    of = dict(zip(rows.tolist(), values.tolist(), strict=True))

    def describe(row: int) -> Defect:
        value = "more than a float can hold" if np.isinf(of[row]) else figure(of[row])
        what = _ANGLES.get(expected, f"a number of {key}")
        found: Any = None if np.isinf(of[row]) else of[row]
        return record_defect(
            document,
            ("annotations", row, key),
            f"{what} is {value}; expected {expected}",
            found=found,
            expected=expected,
            edits=_bounds(document, row) if expected == _PLACE else (),
        )

    yield from hits(rows, describe, summary=f"{key} is too large in {{share}}; expected {expected}")


def _bounds(document: Document, row: int) -> tuple[Edit, ...]:
    """Return the edit that replaces a box by the bounds of its outline, if these can be right."""
    left, top, right, bottom = bounds = document.outline_bounds[row].tolist()
    if not (np.abs(bounds) <= MAX_COORDINATE).all() or right <= left or bottom <= top:
        return ()
    box = [left, top, right - left, bottom - top]
    return (Edit(pointer_to("annotations", row, "bbox"), "replace", box),)


RULES = (
    Rule(
        code="S015",
        title="number too large for a place or an angle",
        severity=Severity.ERROR,
        breaks="""Areas and IoU of such boxes are infinite or inexact, and programs that allocate a
            mask for them run out of memory.""",
        explanation="""A coordinate is more than a thousand million pixels from 0, or an angle is a
            million degrees or more. No image is that large: a division by nearly 0 or a wrong unit
            made the number, or bytes were read as another type. The unsafe fix replaces a box by
            the bounds of its outline. Redraw other annotations, or remove them.""",
        bad={"annotations": [{"bbox": [1e300, 10, 20, 30], "segmentation": _OUTLINE}]},
        good={"annotations": [{"bbox": [10, 10, 20, 30], "segmentation": _OUTLINE}]},
        check=_too_large,
        fix="unsafe",
        consequences=OF_LARGE_NUMBERS,
    ),
)
