"""Units as rows, with an annotation id per annotator."""

from collections.abc import Sequence

from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import UnitTable

Row = tuple[int | None, ...]
"""One unit: an annotation id per annotator, or None."""

NOBODY = "-"
"""The entry of an annotator without an annotation."""


def match_boxes(data: Dataset, matcher: str, iou_threshold: float) -> UnitTable:
    """Match boxes that reach a threshold; see `bboxqa.matching.matchers`."""
    pairs, _ = candidate_pairs(data, "bbox", iou_threshold)
    return match(data.annotations, pairs, matcher, iou_threshold)


def unit_rows(data: Dataset, units: UnitTable) -> list[Row]:
    """Return the units with the ids of their annotations, a column per annotator."""
    rows: list[list[int | None]] = [[None] * len(data.annotator_names) for _ in range(len(units))]
    annotations = data.annotations
    for unit, annotator, number in zip(
        units.unit.tolist(), annotations.annotator.tolist(), annotations.id.tolist(), strict=True
    ):
        rows[unit][annotator] = number
    return [tuple(row) for row in rows]


def braces(rows: Sequence[Sequence[int | None]]) -> str:
    """Return units in one line.

    Examples
    --------
    >>> braces([(1, 6), (2, None)])
    '{1,6} {2,-}'
    """
    units = (",".join(NOBODY if one is None else str(one) for one in row) for row in rows)
    return " ".join(f"{{{unit}}}" for unit in units)
