"""Boxes as columns, and their layout where numbers prove that it is not COCO's."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    MIX,
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    distinct,
    median,
    run_starts,
)
from bboxqa.core.json_values import shortened
from bboxqa.formats.columns import Columns, Form
from bboxqa.geometry.boxes import bbox_iou, corners

# How far hand-drawn boxes may extend beyond their image, as a share of its side.
_PART_OF_SIDE = 0.02
_PIXELS = 2.0
# Whole pixels become shares with a few digits, and pixels again, up to this difference.
_ROUNDING = 1e-6


class Boxes(msgspec.Struct, frozen=True, eq=False):
    """N boxes, with what may show their layout; NaN for numbers that are unknown."""

    bbox: FloatArray
    """(N, 4) float64. The numbers as written."""
    size: FloatArray
    """(N, 2) float64. Width and height of the image of each box."""
    image: IndexArray | IntArray
    """(N,) integers. The image of each box; -1 for none."""
    n_images: int
    author: IntArray
    """(N,) int32. An index into `names`; -1 for unknown."""
    names: tuple[str, ...]
    area: FloatArray | None = None
    """(N,) float64. The areas as written of boxes without outlines."""
    bounds: FloatArray | None = None
    """(N, 4) float64. Left, top, right and bottom of each outline."""

    @property
    def sized(self) -> BoolArray:
        """(N,) bool. Whether the box has width and height above 0, and its image a known size."""
        sound: BoolArray = (self.bbox[:, 2] > 0) & (self.bbox[:, 3] > 0)
        return sound & ~np.isnan(self.size[:, 0] + self.size[:, 1])


def boxes_in(
    columns: Columns, images: tuple[FloatArray, IndexArray | IntArray, int], author: IntArray
) -> Boxes:
    """Return the boxes of annotations; `images` are the `size`, `image` and `n_images` of them."""
    outlined = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
    area = np.where(outlined, np.nan, columns.area)
    bounds = outline_bounds(columns, images[0]) if outlined.any() else None
    return Boxes(columns.bbox, *images, author, columns.annotator_names, area, bounds)


def has_rings(columns: Columns) -> BoolArray:
    """Return which outlines consist of rings of at least 3 points each, (N,) bool."""
    rings = columns.rings
    sound: BoolArray = columns.form == Form.RINGS
    bad = (rings.n_numbers < 6) | (rings.n_numbers % 2 == 1)
    sound[rings.row[bad]] = False
    return sound


def outline_bounds(columns: Columns, size: FloatArray) -> FloatArray:
    """Return left, top, right and bottom of each outline of valid size, (N, 4); NaN for others."""
    rings, bounds = columns.rings, np.full((len(columns), 4), np.nan)
    filled = np.flatnonzero(np.diff(rings.offsets))
    starts = filled[run_starts(rings.row[filled])]
    rows, vertices = rings.row[starts], rings.offsets[starts]
    bounds[rows, :2] = np.minimum.reduceat(rings.xy, vertices)
    bounds[rows, 2:] = np.maximum.reduceat(rings.xy, vertices)
    bounds[~has_rings(columns)] = np.nan
    rles = columns.rles
    of_mask = size[rles.row][:, ::-1]
    fits = np.isnan(of_mask).any(axis=1) | (rles.size == of_mask).all(axis=1)
    bounds[rles.row[fits]] = rles.bounds[fits]
    return bounds


def inside(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes lie inside their images, up to the inaccuracy of drawing, (N,) bool."""
    slack = _PART_OF_SIDE * size + _PIXELS
    # A box that ends beyond the range of a float is outside.
    with np.errstate(over="ignore", invalid="ignore"):
        result = (bbox[:, :2] >= -slack) & (bbox[:, :2] + bbox[:, 2:] - size <= slack)
    return result[:, 0] & result[:, 1]


def overshoot(bbox: FloatArray, size: FloatArray) -> FloatArray:
    """Return how far each edge of boxes, (N, 4), extends beyond images of a size, (N, 2), in px."""
    with np.errstate(all="ignore"):
        return np.hstack([-bbox[:, :2], bbox[:, :2] + bbox[:, 2:] - size])


_SIDES, _CENTRE = "x, y, width, height", "centre-x, centre-y, width, height"
_OF_CORNERS = ("x1, y1, x2, y2", "y1, x1, y2, x2")
_UNITS = {
    1: "parts of the image (0 to 1)",
    100: "percent of the image (0 to 100)",
    1000: "thousandths of the image (0 to 1000)",
}


class Layout(msgspec.Struct, frozen=True):
    """The meaning of the four numbers of a box: their names, order, and what the sides count."""

    name: str
    is_turned: bool = False
    """Whether y comes before x."""
    unit: int = 0
    """The number that stands for the whole side of the image; 0 for pixels."""

    def __str__(self) -> str:
        if not self.unit:
            return self.name
        unit = _UNITS[self.unit]
        return unit if self.name == _SIDES else f"{self.name} in {unit}"

    @property
    def code(self) -> str:
        """The code of the rule that reports boxes of this layout."""
        return "B007" if self.unit else "B006" if self.name == _CENTRE else "B005"

    def read(self, bbox: FloatArray, size: FloatArray | None) -> FloatArray:
        """Return boxes, (N, 4), as x, y, width, height in pixels of images of a size, (N, 2)."""
        numbers = bbox[:, [1, 0, 3, 2]] if self.is_turned else bbox
        first, second = numbers[:, :2], numbers[:, 2:]
        if self.name in _OF_CORNERS:
            second = second - first
        elif self.name == _CENTRE:
            first = first - second / 2
        factor = size / self.unit if self.unit and size is not None else 1.0
        return np.hstack([first * factor, second * factor])


# A layout is proved where x, y, width, height fails for a fifth of the boxes, and only one other
# layout holds for nearly all of them.
FAILING, _HOLDING = 0.2, 0.99
# Boxes without outlines have to be so many, and so many of them have to fail.
ENOUGH, FEWEST_FAILING = 5, 3
# How far areas may differ, as a share; areas of boxes in shares are so many times the boxes.
_SHARE, _LARGER = 0.01, 1.2
# Boxes in percent or thousandths reach this share of the sides of their images.
_FILLED = 0.9
_COCO, _TURNED = Layout(_SIDES), Layout("y, x, height, width", is_turned=True)
_CORNERS, _TURNED_CORNERS = Layout(_OF_CORNERS[0]), Layout(_OF_CORNERS[1], is_turned=True)
_CANDIDATES = (
    _CORNERS, _TURNED_CORNERS, Layout(_CENTRE), _TURNED,
    *(Layout(each.name, each.is_turned, unit)
      for unit in _UNITS for each in (_COCO, _CORNERS, Layout(_CENTRE), _TURNED_CORNERS)),
)  # fmt: skip


class Diagnosis(msgspec.Struct, frozen=True, eq=False):
    """The proved layout of boxes that are not in COCO's layout."""

    layout: Layout
    rows: IndexArray
    """(H,) int64. The annotations whose boxes are valid in this layout."""
    bbox: FloatArray
    """(H, 4) float64. As x, y, width, height in pixels."""
    concerned: BoolArray
    """(N,) bool. The annotations of images whose boxes are in this layout."""
    message: str
    is_certain: bool
    """Whether x is told from y, and so boxes can be converted."""


class _Evidence(msgspec.Struct, frozen=True, eq=False):
    """Boxes compared with their areas, or with their outlines or, without one, their images."""

    boxes: Boxes
    area: FloatArray | None
    """(N,) float64. The areas, if they decide."""
    by_outline: BoolArray
    """(N,) bool. Whether an outline decides."""
    judged: BoolArray
    """(N,) bool. Whether there is anything that decides."""

    def holds(self, layout: Layout, rows: IndexArray) -> BoolArray:
        """Return which of the boxes are right in a layout, (K,) bool."""
        boxes, size = self.boxes, self.boxes.size.take(rows, axis=0)
        bbox = boxes.bbox.take(rows, axis=0)
        read = bbox if layout == _COCO else layout.read(bbox, size)
        # What would be shares again is not proved, and a fix would convert it again and again.
        is_pixels = ~are_shares(read if layout.unit else bbox, size)
        fits = (read[:, 2] > 0) & (read[:, 3] > 0) & inside(read, size) & is_pixels
        if self.area is not None:
            area = self.area[rows]
            right: BoolArray = np.abs(read[:, 2:].prod(axis=1) - area) <= _SHARE * area + 0.5
            if layout.unit:
                # Areas that are smaller than boxes are those of outlines, such as ellipses.
                right &= area > _LARGER * bbox[:, 2:].prod(axis=1)
            return right if layout == _COCO else right & fits
        if boxes.bounds is None:
            return fits
        slack = _PIXELS + (size.max(axis=1) / layout.unit if layout.unit else 0)
        apart = np.abs(corners(read) - boxes.bounds.take(rows, axis=0))
        on_outline = reduce(np.maximum, apart.T) <= slack
        return np.where(self.by_outline[rows], on_outline & is_pixels, fits)

    def proved(
        self, holding: Sequence[Layout], own: IndexArray, failing: IndexArray, *, image: bool
    ) -> Layout | None:
        """Return the one of the layouts that hold for a group that alone explains what fails."""
        bbox, size, by_outline = self.boxes.bbox[own], self.boxes.size[own], self.by_outline[own]
        # Shares of the image are smaller than pixels, and lie inside wherever these do. Without
        # outlines, x and y of corners may be exchanged, and swapped sizes look like swapped boxes.
        unit = min((each.unit for each in holding), default=0)
        found = [each for each in holding if each.unit == unit]
        if unit and len(found) > 1:
            found = [each for each in found if not each.is_turned or by_outline.any()]
            # Which numbers are sides is found when they are pixels.
            found = found if len(found) == 1 else [Layout(_SIDES, unit=unit)]
        if {*found} == {_CORNERS, _TURNED_CORNERS}:
            found = [_CORNERS]
        if len(found) != 1 or (found[0] == _TURNED and not by_outline.any()):
            return None
        (layout,) = found
        is_enough = len(own) >= ENOUGH and len(failing) >= FEWEST_FAILING
        is_proof = True
        if image:
            is_exact = self.area is not None or bool(by_outline.all())
            is_plain = layout.unit <= 1 and layout.name != _CENTRE
            is_proof = is_enough and (is_exact or (is_plain and len(failing) >= ENOUGH))
        elif layout.unit == 1 or not (is_enough or by_outline.all()):
            is_proof = layout.unit == 1
        elif layout == _TURNED:
            # Outlines, or masks that go row by row, may be turned instead.
            is_proof = not inside(bbox, size).all()
        elif layout.name == _CENTRE and not unit and not self.by_outline[failing].any():
            # Only boxes that leave their images on the right and below are no slips.
            is_proof = bool((bbox[:, :2] + bbox[:, 2:] > size).any(axis=0).all())
        elif unit and self.area is None:
            read = layout.read(bbox, size)
            reach = (read[:, :2] + read[:, 2:]) / size
            is_proof = bool((np.nanmax(reach, axis=0) >= _FILLED).all())
        return layout if is_proof else None


def are_shares(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes are fractions up to 1 in images of more than a few pixels, (N,) bool."""
    # Column by column, which is faster than row by row.
    small: BoolArray = reduce(np.maximum, bbox.T) <= 1
    small[small] &= (np.abs(bbox[small] - bbox[small].round()) > _ROUNDING).any(axis=1)
    small &= ~(np.minimum(*size.T) <= 2 * _PIXELS)
    return small


def layout_of(boxes: Boxes) -> Diagnosis | None:
    """Return the layout that boxes, or those of annotators or images, are proved to have, or None.

    Areas of boxes without outlines decide, then outlines and images.
    """
    bbox, outlined = boxes.bbox, np.zeros(len(boxes.bbox), np.bool_)
    with np.errstate(all="ignore"):
        is_sized = ~np.isnan(boxes.size[:, 0] + boxes.size[:, 1])
        for area in (None,) if boxes.area is None else (boxes.area, None):
            if area is not None:
                known = boxes.sized & (area > 0)
            else:
                known = (bbox[:, 2] != 0) & (bbox[:, 3] != 0) & ~np.isnan(bbox[:, 0])
                if boxes.bounds is not None:
                    # Outlines in shares show nothing, as boxes in shares fit them.
                    outlined = reduce(np.maximum, boxes.bounds.T) > 1 + _SHARE
            evidence = _Evidence(boxes, area, outlined, known & (is_sized | outlined))
            rows = np.flatnonzero(evidence.judged)
            fails = rows[~evidence.holds(_COCO, rows)]
            for group in (np.zeros(len(bbox), np.int64), boxes.author, boxes.image):
                if len(fails) and (found := _of_groups(evidence, rows, fails, group)):
                    return found
    return None


def _of_groups(
    evidence: _Evidence, rows: IndexArray, fails: IndexArray, group: IndexArray | IntArray
) -> Diagnosis | None:
    """Return the layout that most groups of boxes are proved to have; None if there is none."""
    boxes, n = evidence.boxes, int(group.max(initial=0)) + 1
    is_image = group is boxes.image
    rows, fails = rows[group[rows] >= 0], fails[group[fails] >= 0]
    total, n_failing = (np.bincount(group[some], minlength=n) for some in (rows, fails))
    is_suspect = n_failing >= np.maximum(FAILING * total, 1)
    if is_image:
        is_suspect &= (total >= ENOUGH) & (n_failing >= FEWEST_FAILING)
    rows = rows[is_suspect[group[rows]]]
    held = {
        layout: np.bincount(group[rows[evidence.holds(layout, rows)]], minlength=n)
        for layout in (_CANDIDATES if len(rows) else ())
    }
    groups: dict[Layout, BoolArray] = {}
    for number in np.flatnonzero(is_suspect).tolist():
        own, failing = rows[group[rows] == number], fails[group[fails] == number]
        holding = [each for each in held if held[each][number] >= _HOLDING * total[number]]
        layout = evidence.proved(holding, own, failing, image=is_image)
        if layout is not None:
            groups.setdefault(layout, np.zeros(n, np.bool_))[number] = True
    if not groups:
        return None
    layout, proved = max(groups.items(), key=lambda each: int(each[1].sum()))
    if is_image and (evidence.area is not None or evidence.by_outline[rows].all()):
        # Smaller images of which all boxes fit only in this layout have it as well.
        only = np.bincount(group[fails[evidence.holds(layout, fails)]], minlength=n)
        proved |= (total > 0) & (only == total)
    n_proved, where = int(proved.sum()), ""
    if group is boxes.author:
        name = shortened(boxes.names[int(np.argmax(proved))])
        others = f"{n_proved} of {len(boxes.names)} annotators"
        where = f" by annotator {name}" if n_proved == 1 else f" by {others}"
    elif is_image:
        where = f" in {n_proved:,} of {boxes.n_images:,} images"
    return _diagnosis(evidence, layout, np.append(proved, False)[group], where)


def _diagnosis(evidence: _Evidence, layout: Layout, concerned: BoolArray, where: str) -> Diagnosis:
    judged = np.flatnonzero(concerned & evidence.judged)
    plain, held = evidence.holds(_COCO, judged), evidence.holds(layout, judged)
    read = layout.read(evidence.boxes.bbox, evidence.boxes.size)
    is_valid: BoolArray = concerned & (read[:, 2:] > 0).all(axis=1) & np.isfinite(read.sum(axis=1))
    is_valid[judged[plain & ~held]] = False
    rows, of_corners = np.flatnonzero(is_valid), layout.name in _OF_CORNERS
    is_certain = bool(evidence.by_outline[judged].any()) or not (of_corners and layout.unit)
    if of_corners and not layout.is_turned:
        other = Layout(_TURNED_CORNERS.name, is_turned=True, unit=layout.unit)
        is_certain &= bool(evidence.holds(other, judged).mean() < _HOLDING)
    message = (
        f"boxes{where} look like {layout}{'' if is_certain else ', or with y before x'}: as "
        f"{_SIDES}, {int((~plain).sum()):,} of {len(judged):,} contradict their image, outline or "
        f"area; read this way, {int((~held).sum()):,} do; expected x, y, width, height in pixels"
    )
    return Diagnosis(layout, rows, read[rows], concerned, message, is_certain)


def outlines_elsewhere(boxes: Boxes, usable: BoolArray) -> bool:
    """Return whether most of the `usable` boxes, (N,) bool, lie elsewhere than their outlines."""
    if boxes.bounds is None:
        return False
    rows = np.flatnonzero(usable & ~np.isnan(boxes.bounds[:, 0]))
    rows = rows[:: max(1, len(rows) // 2000)]
    if len(rows) < ENOUGH:
        return False
    return median(bbox_iou(corners(boxes.bbox[rows]), boxes.bounds[rows])) < 0.5


_ENOUGH_SIZES = 3


def copies_of(boxes: Boxes, usable: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Return the `usable` boxes that are equal on images of several sizes, and how many sizes."""
    rows = np.flatnonzero(usable & boxes.sized)
    first = first_equal([*boxes.bbox.take(rows, axis=0).T])
    repeated = np.bincount(first, minlength=len(rows))[first] > 1
    rows, group = rows[repeated], np.unique(first[repeated], return_inverse=True)[1]
    sizes, size = np.unique(boxes.size[rows], axis=0, return_inverse=True)
    pairs = distinct(group * len(sizes) + size.ravel())
    n_sizes = np.bincount(pairs // len(sizes))
    # If boxes are equal by chance, each further size has fewer groups of equal boxes.
    number = np.bincount(n_sizes, minlength=_ENOUGH_SIZES)[2:]
    falls = np.append((number[1:] < number[:-1]) & (number[1:] > 0), [False])
    kept = n_sizes[group] >= max(_ENOUGH_SIZES, 2 * (2 + int(np.argmin(falls))) - 1)
    return rows[kept], n_sizes[group[kept]]


FEW_REPEATS, FEW_OF_ALL = 5, 0.05
"""Fewer repeats, or a smaller share, come from copying boxes by accident."""


def first_equal(columns: Sequence[NDArray[Any]]) -> IndexArray:
    """Return the first row that equals each row in all columns, (N,); NaN is equal to nothing."""
    first: IndexArray = np.arange(len(columns[0]))
    # Rows are sorted by a hash of 64 bits; equal hashes are compared value by value.
    key = np.zeros(len(first), np.uint64)
    for values in columns:
        # Adding 0 turns -0 into 0, which is equal but has different bits.
        plain = values + 0.0 if values.dtype.kind == "f" else values.astype(np.int64)
        key = (key ^ np.ascontiguousarray(plain).view(np.uint64)) * MIX
        key ^= key >> np.uint64(32)
    ordered = np.sort(key)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return first
    rows = np.flatnonzero(twice[np.minimum(np.searchsorted(twice, key), len(twice) - 1)] == key)
    rows = rows[np.argsort(key[rows], kind="stable")]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = np.logical_or.reduce([c[rows[1:]] != c[rows[:-1]] for c in (key, *columns)])
    starts = np.flatnonzero(begins)
    first[rows] = np.repeat(rows[starts], np.diff(starts, append=len(rows)))
    return first
