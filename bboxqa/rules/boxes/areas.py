"""B: areas that differ from the areas of outlines or boxes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.core.blocks import rows_where
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.document.annotation_columns import Form
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, row_edits, span_of, summary_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.boxes.area_factors import AreaFactor, area_factor, share_factor
from bboxqa.rules.boxes.bare_areas import areas_differ, bare_areas
from bboxqa.rules.boxes.copies import copied_boxes
from bboxqa.rules.boxes.ring_areas import fits_rings
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import overshoot, rounded_number
from bboxqa.rules.facts.layouts.box_layout import diagnose, in_other_layout
from bboxqa.rules.facts.layouts.doubtful_boxes import doubtful_boxes, in_doubtful_pixels
from bboxqa.rules.facts.ring_measures import ring_lengths
from bboxqa.rules.facts.ring_shapes import RingState, ring_states
from bboxqa.rules.facts.visible_areas import visible_areas

# Fewer cases than this are not taken as a habit of the exporter.
_ENOUGH = 5
# In pixels. A box that extends beyond its image by less than this is rounded.
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class _Areas:
    """The areas of N annotations, and the areas of their outlines and boxes."""

    given: FloatArray
    sides: FloatArray
    """(N, 2). Width and height of the boxes."""
    outline: FloatArray
    """(N,). Areas of outlines; clipped to the image if the area differs."""
    ring: FloatArray
    """(R,). The same for each ring."""
    outlined: BoolArray
    """(N,). Whether there is an outline with an area."""
    boxed: BoolArray
    """(N,). Whether the area should be the area of the box."""

    def expected(self, row: int) -> float:
        """Return the area that an annotation should have; NaN if unknown."""
        if self.outlined[row]:
            return float(self.outline[row])
        return float(self.sides[row].prod()) if self.boxed[row] else nan


def _compared(document: Document, settings: ValidateSettings) -> tuple[_Areas, BoolArray]:
    """Return the areas of a document, and which differ from the outlines."""
    columns, outline = document.annotations, document.outline_area
    given, n_rows = columns.area, len(columns.area)
    outlined = rows_where(n_rows, lambda rows: outline[rows] > 0)
    differs = outlined & rows_where(
        n_rows, lambda rows: areas_differ(given[rows], outline[rows], settings)
    )
    visible, ring = visible_areas(document, np.flatnonzero(differs))
    areas = _Areas(given, columns.bbox[:, 2:], visible, ring, outlined, _boxed(document))
    return areas, differs


def _areas(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    with np.errstate(all="ignore"):
        areas, single = _compared(document, settings)
        of_box, n_comparable = _of_habit(document, single, areas, settings)
        single &= ~of_box
        suspects = np.flatnonzero(single)
        single[suspects[_explained(document, suspects, areas.outline, areas.ring)]] = False
        # Outlines entirely outside the image are reported by other rules.
        single &= ~(areas.outlined & (areas.outline == 0))
        bare = bare_areas(areas.given, areas.sides, areas.boxed, settings)
        single |= bare.off
        single |= rows_where(len(single), lambda rows: areas.given[rows] <= 0) & ~of_box
        suspects = np.flatnonzero(single)
        of_outline, sides = document.outline_area[suspects], areas.sides[suspects]
        whole = np.where(areas.outlined[suspects], of_outline, sides.prod(1))
        factor = area_factor(document, suspects, whole, settings)
        doubtful = suspects[share_factor(document, suspects, whole)]
    too_large = bare.off & (areas.given > 0) & bare.are_of_outlines
    if bare.are_of_outlines:
        doubtful = np.union1d(doubtful, np.flatnonzero(too_large))
    elif (areas.boxed & ~bare.off).sum() < _ENOUGH:
        # No other annotation shows that areas are those of boxes.
        doubtful = np.union1d(doubtful, np.flatnonzero(bare.constant))

    if of_box.any():
        rows = np.flatnonzero(of_box)
        yield from described_hits([_of_boxes(document, areas.expected, rows, n_comparable)])

    if factor is not None:
        single[factor.rows] = False
        near = np.isin(document.image[suspects], document.image[factor.rows])
        doubtful = np.union1d(doubtful, suspects[near])
        yield from _of_factor(document, factor, int((areas.outlined | areas.boxed).sum()))

    def describe(row: int) -> Defect:
        of_outline = bool(areas.outlined[row])
        at_most = bool(too_large[row])
        found = _found(document, row, areas.expected(row), of_outline=of_outline, at_most=at_most)
        return replace(found, edits=()) if row in doubtful else found

    def summary(rows: IndexArray, share: str) -> str:
        if bare.constant[rows].all():
            given = areas.given[rows[0]]
            return f"area is {given:.6g} in {share}, whatever their boxes; expected their areas"
        factors = [areas.given[row] / areas.expected(row) for row in rows.tolist()]
        return _in_words(np.array(factors), share)

    yield from hits(single, describe, summary=summary)


def _of_habit(
    document: Document, differs: BoolArray, areas: _Areas, settings: ValidateSettings
) -> tuple[BoolArray, int]:
    """Return which areas are areas of boxes, if this is a habit, and how many are comparable."""
    given, sides = areas.given, areas.sides
    of_box = differs & document.has_box
    of_box &= rows_where(len(given), lambda rows: _is_box(given[rows], sides[rows].prod(1)))
    boxes = np.flatnonzero(of_box)
    right = boxes[fits_rings(document, boxes, areas.outline, areas.ring, settings)]
    of_box[right] = False
    n_comparable = _n_comparable(document, areas.outlined, settings) - len(right)
    if of_box.sum() < _ENOUGH or 2 * of_box.sum() <= n_comparable:
        of_box[:] = False
    return of_box, n_comparable


def _in_words(factor: FloatArray, share: str) -> str:
    """Return a message on areas, given as factors of the expected areas."""
    factor = factor[np.isfinite(factor)]
    if len(factor) == 0:
        return f"area is 0 or less in {share}; expected more than 0"
    return f"area is {span_of(factor)} times the area of outline or box in {share}; expected 1"


def _of_factor(document: Document, factor: AreaFactor, total: int) -> Iterator[Hits]:
    """Yield the finding on areas that differ by one factor, unless a box rule reports it."""
    diagnosis, rows = document.once(diagnose), factor.rows
    if diagnosis is not None and diagnosis.layout.is_scaled:
        rows = rows[~diagnosis.concerned[rows]]
    if len(rows):
        factor = replace(factor, rows=rows)
        message = factor.message(document, total)
        found = summary_defect(message, "annotations", rows, "area", expected="the same area")
        yield from described_hits([found])


def _n_comparable(document: Document, outlined: BoolArray, settings: ValidateSettings) -> int:
    """Return the number of annotations whose outline and box have different areas."""
    given, outline = document.annotations.area, document.outline_area
    sides = document.annotations.bbox[:, 2:]
    differ = rows_where(
        len(given),
        lambda rows: (
            ~np.isnan(given[rows]) & areas_differ(sides[rows].prod(1), outline[rows], settings)
        ),
    )
    return int((outlined & document.has_box & differ).sum())


def _is_box(given: FloatArray, box: FloatArray) -> BoolArray:
    """Return which areas equal the area of the box, up to rounding."""
    equal: BoolArray = np.abs(given - box) <= 1e-3 * box + 0.5
    return equal


def _boxed(document: Document) -> BoolArray:
    """Return the annotations with a box in COCO's layout and without an outline."""
    form = document.annotations.form
    bare: BoolArray = document.has_box & np.isin(form, (Form.ABSENT, Form.EMPTY))
    return bare & ~document.once(in_other_layout)


def _explained(
    document: Document, suspects: IndexArray, outline: FloatArray, ring_area: FloatArray
) -> BoolArray:
    """Return which areas are correct although the shoelace formula gives another value.

    The number of pixels differs from the area of a polygon by up to half its perimeter. Rings
    may overlap or be holes. For a ring that crosses itself, the formula gives no area.
    """
    columns, rings = document.annotations, document.annotations.rings
    given, outline = columns.area[suspects], outline[suspects]
    ring = np.flatnonzero(np.isin(rings.row, suspects))
    owner = np.searchsorted(suspects, rings.row[ring])
    slack = sum_by(owner, ring_lengths(rings, ring), len(suspects)) / 2 + 1
    largest = np.zeros(len(suspects))
    np.maximum.at(largest, owner, ring_area[ring])
    # A run-length mask has no rings that could explain a different area.
    lowest = np.where(largest > 0, 2 * largest - outline, outline)
    explained: BoolArray = (given >= lowest - slack) & (given <= outline + slack) & (slack > 1)
    rest = ~explained[owner]
    crossed = np.zeros(len(suspects), np.bool_)
    sound = document.once(ring_states)[ring[rest]] == RingState.SOUND
    crossed[owner[rest][~sound]] = True
    return explained | (crossed & (given > 0))


def _found(
    document: Document, row: int, expected: float, *, of_outline: bool, at_most: bool
) -> Defect:
    area = document.annotations.area[row]
    is_known = expected > 0 and np.isfinite(expected)
    where = "its outline" if of_outline else "its box"
    most = "at most " if at_most else ""
    should = f"{most}{expected:.6g}, the area of {where}" if is_known else "more than 0"
    return record_defect(
        document,
        ("annotations", row, "area"),
        f"area is {area:.6g}; expected {should}",
        found=float(area),
        expected=should,
        edits=_area_edits(document, row, expected, of_outline=of_outline) if is_known else (),
    )


def _of_boxes(
    document: Document, expected: Callable[[int], float], wrong: IndexArray, total: int
) -> Defect:
    return summary_defect(
        f"area is width x height of the box in {len(wrong):,} of {total:,} annotations whose "
        "outlines have another area; expected the area of the outline",
        "annotations",
        wrong,
        "area",
        expected="the area of the outline",
        edits=row_edits(
            wrong, lambda row: _area_edits(document, row, expected(row), of_outline=True)
        ),
    )


def _area_edits(document: Document, row: int, area: float, *, of_outline: bool) -> tuple[Edit, ...]:
    if document.once(in_doubtful_pixels if of_outline else doubtful_boxes)[row]:
        return ()
    if not of_outline and _is_box_in_doubt(document, row):
        return ()
    return (Edit(pointer_to("annotations", row, "area"), "replace", rounded_number(area)),)


def _is_box_in_doubt(document: Document, row: int) -> bool:
    """Return whether a box is a copy, extends beyond its image, or fits its area as two corners."""
    if document.once(copied_boxes)[row]:
        return True
    bbox, size = document.annotations.bbox[[row]], document.size[[row]]
    first, second = bbox[0, [0, 0, 0]], bbox[0, [2, 1, 3]]
    third, fourth = bbox[0, [1, 2, 1]], bbox[0, [3, 3, 2]]
    as_corners = np.abs(first - second) * np.abs(third - fourth)
    fits = (as_corners > 1) & _is_box(document.annotations.area[[row]], as_corners)
    return bool(np.any(overshoot(bbox, size) > _ROUNDING) or fits.any())


RULES = (
    Rule(
        code="B011",
        title="area differs from the area of the outline",
        severity=Severity.WARNING,
        breaks="""COCOeval sorts objects by `area` into small, medium and large: with wrong areas
            AP_S, AP_M and AP_L describe other objects, and an area of 0 counts as small.""",
        explanation="""The area is 0 or negative, or it differs by more than `area_tolerance` from
            the area of the outline inside its image, or of the box if there is no outline. Holes,
            and differences between a polygon and its pixels, are allowed. The fix recomputes the
            area. It does not if all areas differ by one factor, since then either areas or
            coordinates are scaled: look at an image. Nor does it if the boxes or the size of the
            image are in doubt (B003 to B007, B012, B013). Without outlines, areas that are mostly
            smaller than boxes are those of omitted outlines; a larger one then has no fix, as its
            box may be too small.""",
        bad={"annotations": [
            {"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 600},
        ]},
        good={"annotations": [
            {"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 310},
        ]},
        check=_areas,
        fix="safe",
    ),
)  # fmt: skip
