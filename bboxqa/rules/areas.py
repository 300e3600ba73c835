"""B: areas that differ from the areas of outlines or boxes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.formats.columns import Form
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import (
    record_edit,
    record_hits,
    row_edits,
    span_of,
    summary_hits,
)
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import overshoot, rounded_number
from bboxqa.rules.facts.layout import copies_in, doubtful_boxes, in_other_layout
from bboxqa.rules.facts.ring_measures import ring_lengths
from bboxqa.rules.facts.rings import RingState, ring_states, visible_areas

# Fewer cases are not taken as a habit of the exporter.
_ENOUGH = 5
# So many equal areas of boxes of different sizes are a placeholder.
_SAME = 10
# The relative tolerance of a factor, for rounded areas and coordinates.
_NEAR = 0.04
# In pixels. A box that extends beyond its image by less than this is rounded.
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class _Areas:
    """The areas of N annotations, and what they should be."""

    given: FloatArray
    of_box: FloatArray
    """(N,). Width times height of the boxes."""
    outline: FloatArray
    """(N,). Areas of outlines; clipped to the image where the area differs."""
    ring: FloatArray
    """(R,). The same for each ring."""
    outlined: BoolArray
    """(N,). Whether there is an outline with an area."""
    bare: BoolArray
    """(N,). Whether there is a box in COCO's layout, and no outline."""
    differs: BoolArray
    """(N,). Whether the area differs from that of the outline, or of the bare box."""

    @property
    def expected(self) -> FloatArray:
        """(N,). The area that each annotation should have; NaN if unknown."""
        return np.where(self.outlined, self.outline, np.where(self.bare, self.of_box, np.nan))


def _differ(area: FloatArray, expected: FloatArray, settings: ValidateSettings) -> BoolArray:
    """Return which areas differ from the expected ones by more than the tolerance."""
    differ: BoolArray = np.abs(area - expected) > settings.area_tolerance * expected + 1
    return differ


def _compared(document: Document, settings: ValidateSettings) -> _Areas:
    columns, outline = document.annotations, document.outline_area
    given, of_box = columns.area, columns.bbox[:, 2:].prod(axis=1)
    outlined = outline > 0
    bare = document.has_box & np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
    bare &= ~document.once(in_other_layout)
    differs = outlined & _differ(given, outline, settings)
    outline, ring = visible_areas(document, np.flatnonzero(differs))
    differs |= bare & _differ(given, of_box, settings)
    return _Areas(given, of_box, outline, ring, outlined, bare, differs)


def _areas(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    with np.errstate(all="ignore"):
        areas = _compared(document, settings)
        habit, n_comparable = _of_boxes(document, areas, settings)
        wrong = areas.differs & ~habit
        suspects = np.flatnonzero(wrong & areas.outlined)
        wrong[suspects[_explained(document, areas, suspects)]] = False
        # Other rules report outlines that lie entirely outside of their image.
        wrong &= ~(areas.outlined & (areas.outline == 0))
        constant, is_omitted = _bare(areas, settings)
        if is_omitted:
            wrong &= ~areas.bare | (areas.given > areas.of_box)
        wrong |= constant | ((areas.given <= 0) & ~habit)
        if constant.any():
            wrong &= ~areas.bare | constant | (areas.given > areas.of_box) | (areas.given <= 0)
        doubtful = _in_doubt(document, areas, wrong)
        if (areas.bare & ~areas.differs).sum() < _ENOUGH:
            # No other annotation shows that areas are those of boxes.
            doubtful |= constant
        if is_omitted:
            doubtful |= areas.bare & (areas.given > 0)
    yield from summary_hits(
        f"area is width x height of the box in {habit.sum():,} of {n_comparable:,} annotations "
        "whose outlines have another area; expected the area of the outline",
        "annotations",
        np.flatnonzero(habit),
        "area",
        expected="the area of the outline",
        edits=row_edits(np.flatnonzero(habit), lambda row: _edits(document, areas, row)),
    )
    expected = areas.expected

    def says(row: int) -> str:
        of = "outline" if areas.outlined[row] else "box"
        should = f"{expected[row]:.6g}, the area of its {of}"
        if is_omitted and areas.bare[row] and areas.given[row] > 0:
            should = f"at most {should}"
        known = expected[row] > 0 and np.isfinite(expected[row])
        return f"area is {areas.given[row]:.6g}; expected {should if known else 'more than 0'}"

    def summary(rows: IndexArray, share: str) -> str:
        if constant[rows].all():
            given = areas.given[rows[0]]
            return f"area is {given:.6g} in {share}, whatever their boxes; expected their areas"
        factor = areas.given[rows] / expected[rows]
        factor = factor[np.isfinite(factor)]
        if len(factor) == 0:
            return f"area is 0 or less in {share}; expected more than 0"
        return f"area is {span_of(factor)} times the area of outline or box in {share}; expected 1"

    yield from record_hits(
        document,
        wrong,
        says,
        "area",
        found=lambda row: float(areas.given[row]),
        edits=lambda row: () if doubtful[row] else _edits(document, areas, row),
        summary=summary,
    )


def _of_boxes(
    document: Document, areas: _Areas, settings: ValidateSettings
) -> tuple[BoolArray, int]:
    """Return which areas of outlines are those of boxes, if most are, and how many could be."""
    habit = areas.differs & areas.outlined & document.has_box
    habit &= np.abs(areas.given - areas.of_box) <= 1e-3 * areas.of_box + 0.5
    # An area between the largest ring and the sum of all is right where rings overlap.
    rows, rings = np.flatnonzero(habit), document.annotations.rings
    ring = np.flatnonzero(np.isin(rings.row, rows))
    largest = np.zeros(len(rows))
    np.maximum.at(largest, np.searchsorted(rows, rings.row[ring]), areas.ring[ring])
    given, tolerance = areas.given[rows], settings.area_tolerance
    right = (largest > 0) & (given >= (1 - tolerance) * largest - 1)
    right &= given <= (1 + tolerance) * areas.outline[rows] + 1
    habit[rows[right]] = False
    comparable = areas.outlined & document.has_box & ~np.isnan(areas.given)
    comparable &= _differ(areas.of_box, document.outline_area, settings)
    n_comparable = int(comparable.sum()) - int(right.sum())
    if habit.sum() < _ENOUGH or 2 * habit.sum() <= n_comparable:
        habit[:] = False
    return habit, n_comparable


def _bare(areas: _Areas, settings: ValidateSettings) -> tuple[BoolArray, bool]:
    """Return which areas are one placeholder, and whether areas are those of omitted outlines."""
    smaller = areas.bare & areas.differs & (areas.given < areas.of_box) & (areas.given > 0)
    none = np.zeros(len(smaller), np.bool_)
    if smaller.sum() < _ENOUGH or 2 * smaller.sum() <= areas.bare.sum():
        return none, False
    values, n_each = np.unique(areas.given[smaller], return_counts=True)
    constant: BoolArray = smaller & (areas.given == values[n_each.argmax()])
    sizes = areas.of_box[constant]
    is_constant = n_each.max() >= max(_SAME, smaller.sum() / 2)
    if is_constant and _differ(sizes.max(), sizes.min(), settings):
        return constant, False
    return none, True


def _explained(document: Document, areas: _Areas, suspects: IndexArray) -> BoolArray:
    """Return which areas are right although the shoelace formula gives another value.

    The number of pixels differs from the area of a polygon by up to half its perimeter. Rings
    may overlap or be holes. For a ring that crosses itself, the formula gives no area.
    """
    rings, given, outline = (
        document.annotations.rings,
        areas.given[suspects],
        areas.outline[suspects],
    )
    ring = np.flatnonzero(np.isin(rings.row, suspects))
    owner = np.searchsorted(suspects, rings.row[ring])
    slack = sum_by(owner, ring_lengths(rings, ring), len(suspects)) / 2 + 1
    largest = np.zeros(len(suspects))
    np.maximum.at(largest, owner, areas.ring[ring])
    lowest = np.where(largest > 0, 2 * largest - outline, outline)
    explained: BoolArray = (given >= lowest - slack) & (given <= outline + slack) & (slack > 1)
    rest = ~explained[owner]
    crossed = np.zeros(len(suspects), np.bool_)
    if rest.any():
        sound = document.once(ring_states)[ring[rest]] == RingState.SOUND
        crossed[owner[rest][~sound]] = True
    return explained | (crossed & (given > 0))


def _in_doubt(document: Document, areas: _Areas, wrong: BoolArray) -> BoolArray:
    """Return the annotations of images where areas differ by one factor, (N,) bool.

    Then either areas or coordinates are scaled.
    """
    image, n = document.image, len(document.images)
    expected = np.where(areas.outlined, document.outline_area, areas.expected)
    ratio = areas.given / expected
    known = np.flatnonzero(wrong & (image >= 0) & np.isfinite(ratio) & (ratio > 0))
    low, high = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(low, image[known], ratio[known])
    np.maximum.at(high, image[known], ratio[known])
    shared = (np.bincount(image[known], minlength=n) > 1) & (high <= low * (1 + _NEAR))
    ordered = np.sort(ratio[known])
    if len(ordered) >= _ENOUGH:
        n_near = np.searchsorted(ordered, ordered * (1 + _NEAR), "right") - np.arange(len(ordered))
        if 2 * n_near.max() >= len(ordered) and n_near.max() >= _ENOUGH:
            first = ordered[n_near.argmax()]
            near = (ratio[known] >= first) & (ratio[known] <= first * (1 + _NEAR))
            shared[image[known[near]]] = True
    result: BoolArray = np.append(shared, False)[image]
    return result


def _edits(document: Document, areas: _Areas, row: int) -> tuple[Edit, ...]:
    expected = float(areas.expected[row])
    if not (expected > 0 and np.isfinite(expected)) or document.once(doubtful_boxes)[row]:
        return ()
    if not areas.outlined[row] and _is_box_in_doubt(document, row):
        return ()
    return record_edit("annotations", row, "area", value=rounded_number(expected))


def _is_box_in_doubt(document: Document, row: int) -> bool:
    """Return whether a box is a copy, extends beyond its image, or fits its area as two corners."""
    copies = document.once(copies_in)
    if copies is not None and row in copies.rows:
        return True
    bbox, size = document.annotations.bbox[[row]], document.size[[row]]
    of_corners = float(np.abs(bbox[0, 2:] - bbox[0, :2]).prod())
    area = document.annotations.area[row]
    fits = of_corners > 1 and abs(area - of_corners) <= 1e-3 * of_corners + 0.5
    return bool(np.any(overshoot(bbox, size) > _ROUNDING) or fits)


RULES = (
    Rule(
        code="B011",
        title="area differs from the area of the outline",
        severity=Severity.WARNING,
        breaks="AP_S, AP_M and AP_L of COCOeval describe other objects.",
        explanation="""The area is 0 or negative, or differs by more than `area_tolerance` from the
            area of the outline inside its image, or of the box without an outline. The fix
            recomputes it, unless areas differ by one factor or the boxes or sizes are in doubt
            (B003 to B007, B012).""",
        bad={"annotations": [{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 600}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 310}]},
        check=_areas,
        fix="safe",
        requires=(
            "F004", "S006", "S010", "S012", "S015", "B001", "B014", "R001", "R002", "R008", "P008",
            "P009", "O004",
        ),
    ),
)  # fmt: skip
