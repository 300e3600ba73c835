"""The layout of boxes, where the numbers of a file prove that it is not COCO's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.geometry.kernels.boxes import bbox_iou, corners
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.boxes import Boxes, boxes_of, has_size, inside, sized_boxes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import row_max, row_min

EXPECTED_LAYOUT = "x, y, width, height in pixels"
# A layout is proved where x, y, width, height fails for a fifth of the boxes, and another layout
# holds for nearly all of them.
_FAILING, _HOLDING = 0.2, 0.99
# Boxes without outlines have to be so many, and so many of them have to fail.
_ENOUGH, _FEWEST_FAILING = 5, 3
# How far the edges of boxes and of outlines may be apart, in pixels, and areas, as a share.
_PIXELS, _SHARE = 2.0, 0.01
# Areas of boxes in shares are so many times as large as the boxes as written.
_LARGER = 1.2
# Boxes in shares of their images reach this share of their sides.
_FILLED = 0.9
_UNITS = {
    1: "parts of the image (0 to 1)",
    100: "percent of the image (0 to 100)",
    1000: "thousandths of the image (0 to 1000)",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """The meaning of the four numbers of a box.

    Attributes
    ----------
    name : str
        The meaning of each number.
    is_turned : bool
        Whether y comes before x.
    unit : int
        The number that stands for the whole side of the image; 0 for pixels.

    Examples
    --------
    >>> Layout("centre-x, centre-y, width, height").read(np.array([[30.0, 20, 8, 4]]), None)
    array([[26., 18.,  8.,  4.]])
    """

    name: str
    is_turned: bool = False
    unit: int = 0

    def __str__(self) -> str:
        if not self.unit:
            return self.name
        unit = _UNITS[self.unit]
        return unit if self.name == _SIDES else f"{self.name} in {unit}"

    @property
    def code(self) -> str:
        """The code of the rule that reports boxes of this layout."""
        return "B007" if self.unit else "B006" if self.name == CENTRE.name else "B005"

    @property
    def is_of_corners(self) -> bool:
        """Whether the last two numbers are a corner."""
        return self.name in (CORNERS.name, TURNED_CORNERS.name)

    def read(self, bbox: FloatArray, size: FloatArray | None) -> FloatArray:
        """Return boxes, (N, 4), as x, y, width, height in pixels of images of a size, (N, 2)."""
        numbers = bbox[:, [1, 0, 3, 2]] if self.is_turned else bbox
        first, second = numbers[:, :2], numbers[:, 2:]
        if self.is_of_corners:
            second = second - first
        elif self.name == CENTRE.name:
            first = first - second / 2
        factor = size / self.unit if self.unit and size is not None else 1.0
        return np.hstack([first * factor, second * factor])


_SIDES = "x, y, width, height"
COCO = Layout(_SIDES)
CORNERS = Layout("x1, y1, x2, y2")
TURNED_CORNERS = Layout("y1, x1, y2, x2", is_turned=True)
CENTRE = Layout("centre-x, centre-y, width, height")
TURNED = Layout("y, x, height, width", is_turned=True)
_CANDIDATES = (
    CORNERS, TURNED_CORNERS, CENTRE, TURNED,
    *(Layout(each.name, each.is_turned, unit)
      for unit in _UNITS for each in (COCO, CORNERS, CENTRE, TURNED_CORNERS)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The proved layout of boxes that are not in COCO's layout."""

    layout: Layout
    rows: IndexArray
    """(H,) int64. The annotations whose boxes are valid in this layout."""
    bbox: FloatArray
    """(H, 4) float64. These boxes as x, y, width, height in pixels."""
    concerned: BoolArray
    """(N,) bool. The annotations of images whose boxes are in this layout."""
    message: str
    """The message of the finding."""
    is_certain: bool
    """Whether x is told from y, and so boxes can be converted."""


class _Places:
    """Boxes compared with their outlines or, without one, with their images."""

    says = (
        "as x, y, width, height, {failing} of {judged} are not in their image or on their outline; "
        "read this way, {held} are"
    )

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        bounds = boxes.bounds
        self.by_outline = np.zeros(len(boxes), np.bool_)
        if bounds is not None:
            self.by_outline = ~np.isnan(bounds[:, 0])
        self.judged: BoolArray = (boxes.bbox[:, 2] != 0) & (boxes.bbox[:, 3] != 0)
        self.judged &= ~np.isnan(boxes.bbox[:, 0]) & (has_size(boxes) | self.by_outline)

    def holds(self, layout: Layout, rows: IndexArray) -> BoolArray:
        """Return which of the boxes fit in a layout, (K,) bool."""
        boxes = self._boxes
        size = boxes.size[rows]
        read = layout.read(boxes.bbox[rows], size)
        fits = (row_min(read[:, 2:]) > 0) & inside(read, size)
        if not layout.unit:
            fits &= ~self._is_share(rows)
        if boxes.bounds is not None:
            by_outline = self.by_outline[rows]
            apart = np.abs(corners(read) - boxes.bounds[rows])
            slack = _PIXELS + (size.max(axis=1) / layout.unit if layout.unit else 0)
            on_outline = row_max(apart) <= slack
            if layout.unit == 1:
                # Outlines may be in shares as well.
                written = corners(layout.read(boxes.bbox[rows], None))
                is_share = row_max(boxes.bounds[rows]) <= 1 + _SHARE
                on_outline |= is_share & (row_max(np.abs(written - boxes.bounds[rows])) <= _SHARE)
            elif not layout.unit:
                on_outline &= ~self._is_share(rows)
            fits = np.where(by_outline, on_outline, fits)
        return fits

    def _is_share(self, rows: IndexArray) -> BoolArray:
        return _are_shares(self._boxes.bbox[rows], self._boxes.size[rows])


class _Areas:
    """Boxes without outlines compared with their areas."""

    says = (
        "read this way, {held} of {judged} have the area that is written, as x, y, width, height "
        "{failing} have not"
    )

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._area = np.full(len(boxes), np.nan) if boxes.area is None else boxes.area
        self.by_outline = np.zeros(len(boxes), np.bool_)
        self.judged: BoolArray = (self._area > 0) & boxes.has_box & has_size(boxes)

    def holds(self, layout: Layout, rows: IndexArray) -> BoolArray:
        """Return which of the boxes have their area in a layout, (K,) bool."""
        boxes = self._boxes
        area, size = self._area[rows], boxes.size[rows]
        read = layout.read(boxes.bbox[rows], size)
        fits: BoolArray = np.abs(read[:, 2:].prod(axis=1) - area) <= _SHARE * area + 0.5
        if layout.unit:
            # Areas that are smaller than boxes are those of outlines, such as ellipses.
            fits &= area > _LARGER * boxes.bbox[rows, 2:].prod(axis=1)
        return fits if layout == COCO else fits & (row_min(read[:, 2:]) > 0) & inside(read, size)


def _are_shares(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes are fractions up to 1 in images of more than a few pixels, (N,) bool."""
    small: BoolArray = row_max(bbox) <= 1
    small[small] &= (bbox[small] % 1 != 0).any(axis=1)
    return small & ~(row_min(size) <= 2 * _PIXELS)


def diagnose(document: Document) -> Diagnosis | None:
    """Return the layout of a document's boxes; see `layout_of`."""
    return layout_of(document.once(boxes_of))


def layout_of(boxes: Boxes) -> Diagnosis | None:
    """Return the layout that boxes are proved to have; None for COCO's, and where none is proved.

    Areas of boxes without outlines decide, then outlines and images. A layout is that of all boxes,
    of those of some annotators, or of those images of five or more boxes where it is proved.
    """
    with np.errstate(all="ignore"):
        found = (found for kind in (_Areas, _Places) for found in _proved(boxes, kind(boxes)))
        return next(found, None)


def _proved(boxes: Boxes, evidence: _Places | _Areas) -> Iterator[Diagnosis]:
    rows = np.flatnonzero(evidence.judged)
    failing = np.zeros(len(boxes), np.bool_)
    failing[rows] = ~evidence.holds(COCO, rows)
    if not failing.any():
        return
    if (layout := _of_rows(boxes, evidence, rows, failing)) is not None:
        yield _diagnosis(boxes, evidence, layout, np.ones(len(boxes), np.bool_), "")
        return
    of_author: dict[Layout, list[int]] = {}
    for code in range(len(boxes.names) if len(boxes.names) > 1 else 0):
        own = _of_rows(boxes, evidence, rows[boxes.author[rows] == code], failing)
        if own is not None:
            of_author.setdefault(own, []).append(code)
    for layout, codes in of_author.items():
        who = f"annotator {shortened(boxes.names[codes[0]])}"
        who = who if len(codes) == 1 else f"{len(codes)} of {len(boxes.names)} annotators"
        yield _diagnosis(boxes, evidence, layout, np.isin(boxes.author, codes), f" by {who}")
    for layout, images in _by_image(boxes, evidence, rows, failing):
        where = f" in {int(images.sum()):,} of {boxes.n_images:,} images"
        concerned = np.append(images, False)[boxes.image]
        yield _diagnosis(boxes, evidence, layout, concerned, where)


def _of_rows(
    boxes: Boxes, evidence: _Places | _Areas, rows: IndexArray, fails: BoolArray
) -> Layout | None:
    """Return the layout that some of the boxes are proved to have; None for none."""
    failing = fails[rows]
    if not len(rows) or failing.sum() < _FAILING * len(rows):
        return None
    holding = [each for each in _CANDIDATES if evidence.holds(each, rows).mean() >= _HOLDING]
    layout = _only(holding, is_exact=bool(evidence.by_outline.any()))
    if layout is None or layout.unit == 1:
        return layout
    if layout == TURNED and inside(boxes.bbox[rows], boxes.size[rows]).all():
        # Outlines, or masks that go row by row, may be turned instead.
        return None
    is_enough = failing.sum() >= _FEWEST_FAILING and len(rows) >= _ENOUGH
    if not (is_enough or evidence.by_outline[rows].all()):
        return None
    if layout == CENTRE and not _leave_two_edges(boxes, rows[failing], evidence):
        return None
    is_proof = not layout.unit or isinstance(evidence, _Areas) or _fills(boxes, layout, rows)
    return layout if is_proof else None


def _only(layouts: Sequence[Layout], *, is_exact: bool) -> Layout | None:
    """Return the layout that is proved, of those that hold; None if several differ.

    Shares of the image are smaller than pixels, and lie inside wherever these do. Without outlines,
    x and y of corners may be exchanged, and swapped sizes of images look like swapped boxes.
    """
    unit = min((each.unit for each in layouts), default=0)
    found = [each for each in layouts if each.unit == unit]
    if unit and len(found) > 1:
        found = [each for each in found if not each.is_turned or is_exact]
        # Which numbers are sides is found when they are pixels.
        return found[0] if len(found) == 1 else Layout(_SIDES, unit=unit)
    if {*found} == {CORNERS, TURNED_CORNERS}:
        return CORNERS
    if len(found) != 1 or (found[0] == TURNED and not is_exact):
        return None
    return found[0]


def _leave_two_edges(boxes: Boxes, rows: IndexArray, evidence: _Places | _Areas) -> bool:
    """Return whether boxes extend beyond the right and the lower edge, unless outlines decide."""
    beyond = boxes.bbox[rows, :2] + boxes.bbox[rows, 2:] > boxes.size[rows]
    return bool(evidence.by_outline[rows].any() or beyond.any(axis=0).all())


def _fills(boxes: Boxes, layout: Layout, rows: IndexArray) -> bool:
    """Return whether boxes in shares reach the right and the lower edge of images."""
    read, size = layout.read(boxes.bbox[rows], boxes.size[rows]), boxes.size[rows]
    reach = (read[:, :2] + read[:, 2:]) / size
    return bool((np.nanmax(reach, axis=0) >= _FILLED).all())


def _by_image(
    boxes: Boxes, evidence: _Places | _Areas, rows: IndexArray, fails: BoolArray
) -> Iterator[tuple[Layout, BoolArray]]:
    """Yield the layout that is proved in most of the suspect images, and these images."""
    rows = rows[boxes.image[rows] >= 0]
    image, n, failing = boxes.image[rows], boxes.n_images, fails[rows]
    total, n_failing = (np.bincount(some, minlength=n) for some in (image, image[failing]))
    is_exact = isinstance(evidence, _Areas) or bool(evidence.by_outline[rows].all())
    least = _FEWEST_FAILING if is_exact else _ENOUGH
    is_suspect = (total >= _ENOUGH) & (n_failing >= np.maximum(least, _FAILING * total))
    if not is_suspect.any():
        return
    wins = {
        layout: np.bincount(image[evidence.holds(layout, rows)], minlength=n) >= _HOLDING * total
        for layout in _CANDIDATES
    }
    images_of: dict[Layout, BoolArray] = {}
    for number in np.flatnonzero(is_suspect).tolist():
        layout = _only([each for each in wins if wins[each][number]], is_exact=is_exact)
        if layout is not None and (is_exact or (layout.unit <= 1 and layout != CENTRE)):
            images_of.setdefault(layout, np.zeros(n, np.bool_))[number] = True
    if images_of:
        layout, images = max(images_of.items(), key=lambda each: int(each[1].sum()))
        if is_exact:
            # Smaller images of which all boxes fit only in this layout have it as well.
            only = failing & evidence.holds(layout, rows)
            images |= (total > 0) & (np.bincount(image[only], minlength=n) == total)
        yield layout, images


def _diagnosis(
    boxes: Boxes, evidence: _Places | _Areas, layout: Layout, concerned: BoolArray, where: str
) -> Diagnosis:
    judged = np.flatnonzero(concerned & evidence.judged)
    plain, held = evidence.holds(COCO, judged), evidence.holds(layout, judged)
    read = layout.read(boxes.bbox, boxes.size)
    is_valid: BoolArray = concerned & (row_min(read[:, 2:]) > 0) & np.isfinite(read.sum(axis=1))
    is_valid[judged[plain & ~held]] = False
    rows = np.flatnonzero(is_valid)
    is_certain = True
    if layout.is_of_corners:
        other = Layout(TURNED_CORNERS.name, is_turned=True, unit=layout.unit)
        is_certain = layout.is_turned or evidence.holds(other, judged).mean() < _HOLDING
        is_certain = is_certain and (not layout.unit or bool(evidence.by_outline[judged].any()))
    says = evidence.says.format(
        failing=f"{int((~plain).sum()):,}", judged=f"{len(judged):,}", held=f"{int(held.sum()):,}"
    )
    doubt = "" if is_certain else ", or with y before x"
    message = f"boxes{where} look like {layout}{doubt}: {says}; expected {EXPECTED_LAYOUT}"
    return Diagnosis(layout, rows, read[rows], concerned, message, is_certain)


def in_other_layout(document: Document) -> BoolArray:
    """Return the annotations of images whose boxes are not in COCO's layout, (N,) bool."""
    found = document.once(diagnose)
    return np.zeros(len(document.annotations), np.bool_) if found is None else found.concerned


def lie_elsewhere(document: Document) -> bool:
    """Return whether most boxes lie elsewhere than their outlines in every known layout."""
    bounds = document.outline_bounds
    rows = np.flatnonzero(~document.once(in_other_layout) & ~np.isnan(bounds[:, 0]))
    rows = rows[:: max(1, len(rows) // 2000)]
    if len(rows) < _ENOUGH:
        return False
    iou = bbox_iou(corners(document.annotations.bbox[rows]), bounds[rows])
    return bool(np.median(iou) < 0.5)


def swapped_images(document: Document) -> BoolArray:
    """Return the images whose boxes lie inside only if width and height are swapped, (I,) bool.

    At least five boxes must show it, and nearly all images that boxes extend beyond.
    """
    image, n = document.image, len(document.images)
    bbox, size = document.annotations.bbox, document.size
    leave = document.has_box & ~document.once(in_other_layout) & has_size(document)
    sized = leave.copy()
    with np.errstate(all="ignore"):
        leave &= ~inside(bbox, size)
        if leave.sum() < _ENOUGH:
            return np.zeros(n, np.bool_)
        still = sized & ~inside(bbox, size[:, ::-1])
    n_leave, n_still = (np.bincount(image[each], minlength=n) for each in (leave, still))
    cured: BoolArray = (n_leave > 0) & (n_still == 0)
    is_proof = n_leave[cured].sum() >= _ENOUGH and cured.sum() >= 0.8 * (n_leave > 0).sum()
    return cured if is_proof else np.zeros(n, np.bool_)


def doubtful_boxes(document: Document) -> BoolArray:
    """Return the annotations whose numbers may not be pixels of their image, (N,) bool.

    Fixes neither compute numbers from them nor adapt numbers to them: boxes have another layout,
    sizes of images are swapped, or a fifth of the boxes and outlines extend beyond their images.
    """
    image, n = document.image, len(document.images)
    bounds, size = document.outline_bounds, document.size
    doubtful: BoolArray = (
        document.once(in_other_layout) | np.append(document.once(swapped_images), False)[image]
    )
    doubtful |= _are_shares(document.annotations.bbox, size)
    sized = (document.has_box | ~np.isnan(bounds[:, 0])) & has_size(document) & ~doubtful
    with np.errstate(all="ignore"):
        outside: BoolArray = document.has_box & ~inside(document.annotations.bbox, size)
        outline = np.hstack([bounds[:, :2], bounds[:, 2:] - bounds[:, :2]])
        outside |= ~np.isnan(bounds[:, 0]) & ~inside(outline, size)
    outside &= sized
    if outside.sum() < _ENOUGH:
        return doubtful
    if outside.sum() >= _FAILING * sized.sum():
        return np.ones(len(bounds), np.bool_)
    n_outside, n_sized = (np.bincount(image[each], minlength=n) for each in (outside, sized))
    images = (n_outside > 0) & (n_outside >= _FAILING * n_sized)
    if images.sum() >= _FEWEST_FAILING and n_outside[images].sum() >= _ENOUGH:
        doubtful |= np.append(images, False)[image]
    return doubtful


ENOUGH_SIZES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Boxes, grouped by their numbers."""

    rows: IndexArray
    """(H,) int64. The annotations, sorted."""
    group: IndexArray
    """(H,) int64. The group of equal boxes of each annotation."""
    n_sizes: IndexArray
    """(G,) int64. The number of distinct image sizes in each group."""


def copies_in(document: Document) -> Copies | None:
    """Return the boxes of a document that are equal on images of several sizes; None for none."""
    return copies_of(document.once(boxes_of), ~document.once(in_other_layout))


def copies_of(boxes: Boxes, usable: BoolArray) -> Copies | None:
    """Return the `usable` boxes, (N,) bool, that are equal on images of several sizes."""
    rows = np.flatnonzero(usable & sized_boxes(boxes))
    bbox = boxes.bbox[rows]
    first = first_equal(len(rows), [side.__getitem__ for side in bbox.T])
    repeated = np.bincount(first, minlength=len(rows))[first] > 1
    rows, group = rows[repeated], np.unique(first[repeated], return_inverse=True)[1]
    sizes, size = np.unique(boxes.size[rows], axis=0, return_inverse=True)
    if len(sizes) < ENOUGH_SIZES:
        return None
    pairs = np.unique(group * len(sizes) + size.ravel())
    n_sizes = np.bincount(pairs // len(sizes))
    chosen = n_sizes[group] >= _not_by_chance(n_sizes)
    if not chosen.any():
        return None
    kept, place = np.unique(group[chosen], return_inverse=True)
    return Copies(rows[chosen], place, n_sizes[kept])


def _not_by_chance(n_sizes: IndexArray) -> int:
    """Return the number of image sizes on which boxes are hardly equal by chance.

    If boxes are equal by chance, each further size has fewer groups of equal boxes.

    Examples
    --------
    >>> _not_by_chance(np.array([3, 4, 4, 5])), _not_by_chance(np.array([2, 2, 2, 2, 3, 3, 4]))
    (3, 7)
    """
    number = np.bincount(n_sizes, minlength=ENOUGH_SIZES)[2:]
    falls = np.append((number[1:] < number[:-1]) & (number[1:] > 0), [False])
    return max(ENOUGH_SIZES, 2 * (2 + int(np.argmin(falls))) - 1)
