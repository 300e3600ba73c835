"""B: boxes without area, beyond their images, of odd shapes or in other layouts, and areas."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, distinct, sum_by
from bboxqa.geometry.boxes import corners, from_corners
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout, shapes
from bboxqa.rules.base import Checked, Rows, record_edit, rule, summary
from bboxqa.rules.document import Document, following

_AT, _AREA = "annotations/bbox", "annotations/area"
# In pixels. Less than this is rounding by the exporter; sides of YOLO are rounded to six decimals.
_ROUNDING, _OF_SIDE = 1e-3, 1e-6
_SIDES = ("left of", "above", "right of", "below")
_INSIDE = "a box inside the image"
_ENOUGH = 5
# If a larger share of areas is wrong, boxes or outlines may be wrong instead.
_RARE = 0.1
# So many areas that differ by one factor, within this tolerance, are of coordinates that differ.
_NEAR = 0.04


@rule(
    "B001 error, unsafe fix: box without area",
    breaks="""Losses may become NaN, and the IoU of the object with everything is 0. In labels of
        YOLO, Ultralytics ignores the whole image if a side is negative.""",
    explanation="""The width or the height of a box is 0 or negative. The unsafe fix writes the
        bounds of the outline, or makes negative sides positive; an annotation with a side of 0 and
        no outline is removed.""",
    bad={"annotations": [{"bbox": [10, 10, 0, 20]}]},
    good={"annotations": [{"bbox": [10, 10, 2, 2], "area": 4}]},
    requires=("R008",),
)
def _no_area(document: Document, _settings: ValidateSettings) -> Checked:
    rotations, box = document.annotations.rotations, document.once(shapes.rotations).written
    facts = document.once(shapes.box_facts)
    wrong: BoolArray = np.any(box[:, 2:4] <= 0, axis=1)
    wrong[rotations.row[rotations.n_numbers == 8]] = False
    if facts.diagnosis is not None:
        wrong[facts.diagnosis.rows] = False

    def says(row: int) -> str:
        side = 0 if box[row, 2] <= 0 else 1
        return f"bbox {('width', 'height')[side]} is {box[row, 2 + side]:g}"

    def edits(row: int) -> tuple[Edit, ...]:
        x, y, width, height = document.annotations.bbox[row].tolist()
        if np.isnan(x) or facts.doubtful[row]:
            return ()
        # The bounds of the outline, a flip, or removal.
        new = from_corners(document.outline_bounds[[row]])[0].tolist()
        if not min(new[2:]) > 0:
            if width == 0 or height == 0:
                return record_edit("annotations", row)
            new = [min(x, x + width), min(y, y + height), abs(width), abs(height)]
        return record_edit("annotations", row, "bbox", value=shapes.rounded_values(new))

    yield Rows(wrong, says, _AT, "more than 0", edits=edits)


def _beyond(document: Document, settings: ValidateSettings) -> Checked:
    """B002 to B004: boxes beyond their images, and beyond an edge by more or by less."""
    facts, bbox, size = document.once(shapes.box_facts), document.annotations.bbox, document.size
    beyond = layout.overshoot(bbox, size)
    kept = facts.plain & ~facts.in_swapped
    kept &= (beyond > _ROUNDING).any(axis=1)
    if facts.lie_elsewhere:
        # P007 reports these boxes, whose outlines lie inside of their images.
        outline = layout.overshoot(from_corners(document.outline_bounds), size)
        kept &= ~(outline <= _ROUNDING).all(axis=1)
    beyond[~kept] = np.nan
    off = beyond >= np.tile(bbox[:, 2:], 2)
    is_far = np.any(beyond > settings.overshoot_px, axis=1)
    is_off = np.asarray(off.any(axis=1))
    crosses: BoolArray = np.isfinite(beyond).any(axis=1) & ~is_off
    # O006 checks the corners of rotated boxes.
    crosses[document.once(shapes.rotations).cornered] = False

    def lies(row: int) -> str:
        return f"bbox lies {_SIDES[off[row].argmax()]} {shapes.image_text(size[row])}"

    def extends(row: int) -> str:
        return f"bbox extends {shapes.beyond_text(beyond[row])} of {shapes.image_text(size[row])}"

    yield Rows(is_off, lies, _AT, _INSIDE, code="B002")
    edits = partial(_clipped, document, settings)
    for where, code in ((crosses & is_far, "B003"), (crosses & ~is_far, "B004")):
        yield Rows(where, extends, _AT, _INSIDE, edits=edits, code=code)


def _clipped(document: Document, settings: ValidateSettings, row: int) -> tuple[Edit, ...]:
    """Return the edits that clip a box, and its area where that is the area of the box."""
    bbox, size = document.annotations.bbox[row].tolist(), document.size[row]
    if np.isnan(size).any() or document.once(shapes.box_facts).doubtful[row]:
        return ()
    clipped = np.clip(corners(np.array([bbox])), 0, np.tile(size, 2))
    box, bounds = shapes.rounded_values(from_corners(clipped)[0]), document.outline_bounds[row]
    before, after = np.abs(corners(np.array([bbox, box])) - bounds).max(axis=1)
    # If the outline is not clipped, a clipped box would no longer be its bounds.
    if shapes.becomes_degenerate(bbox, box, settings) or after > max(before, settings.bounds_px):
        return ()
    edits: tuple[Edit, ...] = record_edit("annotations", row, "bbox", value=box)
    area = document.annotations.area[row]
    if np.isnan(before) and abs(area - bbox[2] * bbox[3]) <= 1e-3 * area + _ROUNDING:
        new = shapes.rounded_number(box[2] * box[3])
        edits += record_edit("annotations", row, "area", value=new)
    return edits


def _shapes(document: Document, settings: ValidateSettings) -> Checked:
    """B008 to B010: boxes that are very small, very long, or as large as their image."""
    sides, plain = document.annotations.bbox[:, 2:], document.once(shapes.box_facts).plain
    least, long = settings.min_side_px, settings.max_aspect_ratio
    shortest, most = np.minimum(*sides.T), settings.max_image_share
    is_translated = document.reading.origin is not None
    rounded = sides + _OF_SIDE * np.nan_to_num(document.size) if is_translated else sides
    share = document.box_area / document.size.prod(axis=1)

    def is_small(row: int) -> str:
        side = int(sides[row].argmin())
        return f"bbox {('width', 'height')[side]} is {shapes.figure(sides[row, side])} px"

    def is_long(row: int) -> str:
        width, height = sides[row].tolist()
        ratio = shapes.figure(max(width, height) / min(width, height), 3)
        return f"bbox of {shapes.figure(width)} x {shapes.figure(height)} px is {ratio} : 1"

    def is_large(row: int) -> str:
        return f"bbox covers {share[row]:.1%} of {shapes.image_text(document.size[row])}"

    for code, where, says, expected in (
        ("B008", np.minimum(*rounded.T) < least, is_small, f"at least {least:g} px"),
        ("B009", np.maximum(*sides.T) > long * shortest, is_long, f"at most {long:g} : 1"),
        ("B010", share >= most, is_large, f"less than {most:.1%}"),
    ):
        yield Rows(plain & where, says, _AT, expected, code=code)


# What an area is compared with is in doubt, or is reported already.
_OF_AREAS = (
    "F004", "S006", "S010", "S012", "S015", "B001", "B014", "R001", "R002", "R008", "O004",
)  # fmt: skip


@rule(
    "B011 warning, safe fix: area differs from the area of the outline",
    breaks="AP_S, AP_M and AP_L of COCOeval describe other objects.",
    explanation="""The area is 0 or negative, or differs by more than `area_tolerance` from the area
        of the outline inside its image, or of the box without an outline. The fix computes areas of
        0 and less, of 1 if all are 1, those of the box beside an outline, and others if at most a
        tenth are wrong, unless areas differ by one factor, or boxes or sizes are in doubt (B003 to
        B007, B012).""",
    bad={"annotations": [{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 600}]},
    good={"annotations": [{"segmentation": [[10, 10, 30, 10, 10, 40]], "area": 310}]},
    requires=_OF_AREAS,
)
def _areas(document: Document, settings: ValidateSettings) -> Checked:
    given, of_box, outline = document.annotations.area, document.box_area, document.outline_area
    facts, tolerance = document.once(shapes.box_facts), settings.area_tolerance
    bare, outlined = facts.plain & ~document.outlined, outline > 0
    suspects = outlined & (np.abs(given - outline) > tolerance * outline + 1)
    joined, filled, _ = document.once(shapes.overlapping_rings)
    outline = shapes.visible_areas(document, np.flatnonzero(suspects))
    expected = np.where(outlined, outline, np.where(bare, of_box, np.nan))
    wrong = (expected > 0) & (np.abs(given - expected) > tolerance * expected + 1)
    wrong &= ~(suspects & _explained(document, outline))
    expected[joined] = filled
    smaller = wrong & bare & (given < of_box) & (given > 0)
    # Areas below those of most boxes are of outlines that were left out; equal ones, of nothing.
    n_smaller, n_different = int(smaller.sum()), len(distinct(given[smaller]))
    if _ENOUGH <= n_smaller < 2 * max(_ENOUGH, n_different) and 2 * n_smaller > bare.sum():
        wrong &= ~smaller
    wrong |= given <= 0
    # An area of 1 is a placeholder, as 0 is, if it is that of all. Any other may be right, unless
    # it is that of the box of an outline, or nearly all areas fit.
    is_unset = (given <= 0) | ((given == 1) & (given[~np.isnan(given)] == 1).all())
    is_of_box = np.abs(given - of_box) <= 1e-3 * of_box + 0.5
    fixable = is_unset | (outlined & is_of_box)
    fixable |= wrong.sum() <= _RARE * ((expected > 0) & (given > 0)).sum()
    fixable &= ~facts.doubtful & (expected > 0) & np.isfinite(expected)
    fixable[joined] = False
    # Sides rather than areas may be wrong, of corners, and of boxes beyond their image.
    bbox = document.annotations.bbox
    of_corners = np.abs(bbox[:, 2:] - bbox[:, :2]).prod(axis=1)
    doubtful = (of_corners > 1) & (np.abs(given - of_corners) <= 1e-3 * of_corners + 0.5)
    doubtful |= np.any(layout.overshoot(bbox, document.size) > _ROUNDING, axis=1)
    ratio = np.where(wrong & ~is_unset & ~is_of_box, given / expected, 0)
    fixable &= ~((bare & doubtful) | _scaled(document.image, ratio))

    def says(row: int) -> str:
        of = f"{expected[row]:.6g}, the area of its {'outline' if outlined[row] else 'box'}"
        return f"area is {given[row]:.6g}; expected {of if expected[row] > 0 else 'more than 0'}"

    def new(row: int) -> int | float | None:
        return shapes.rounded_number(expected[row]) if fixable[row] else None

    unlike = outlined & (np.abs(of_box - expected) > tolerance * expected + 1)
    habit, n_unlike = wrong & unlike & is_of_box, int((unlike & (wrong | ~is_of_box)).sum())
    habit &= 2 * habit.sum() > n_unlike
    what = "area is width x height of the box in {share} whose outlines have another area; "
    what, found = f"{what}expected the area of the outline", lambda row: float(given[row])
    yield Rows(habit, says, _AREA, found=found, new=new, summary=what, total=n_unlike)
    yield Rows(wrong & ~habit, says, _AREA, found=found, new=new)


def _scaled(image: IndexArray, ratio: FloatArray) -> BoolArray:
    """Return the wrong areas that differ by one factor, in an image or in most of the file."""
    # Either areas or coordinates are scaled. The ratio is 0 for other areas.
    known = np.isfinite(ratio) & (ratio > 0)
    middle = np.median(ratio[known]) if known.any() else 1.0
    near: BoolArray = known & (np.abs(ratio / middle - 1) <= _NEAR)
    near &= near.sum() >= max(_ENOUGH, known.sum() / 2)
    rows = np.flatnonzero(known & (image >= 0))
    low = np.full(image.max(initial=0) + 1, np.inf)
    high = np.zeros(len(low))
    np.minimum.at(low, image[rows], ratio[rows])
    np.maximum.at(high, image[rows], ratio[rows])
    alike = (high <= low * (1 + _NEAR)) & (np.bincount(image[rows], minlength=len(low)) > 1)
    near[rows] |= alike[image[rows]]
    return near


def _explained(document: Document, outline: FloatArray) -> BoolArray:
    """Return which areas, (N,), are right although the shoelace formula gives another value."""
    # The number of pixels differs from the area of a polygon by up to half its perimeter. Rings
    # may overlap; holes explain nothing, as COCO fills them. For a ring that crosses itself, the
    # formula gives no area.
    rings, given = document.annotations.rings, document.annotations.area
    edges = following(rings.xy, rings.offsets) - rings.xy
    owner = np.repeat(rings.row, np.diff(rings.offsets))
    slack = sum_by(owner, np.hypot(*edges.T), len(given)) / 2 + 1
    joined, filled, _ = document.once(shapes.overlapping_rings)
    lowest = outline.copy()
    lowest[joined] = np.fmin(filled, outline[joined])
    explained: BoolArray = (given >= lowest - slack) & (given <= outline + slack) & (slack > 1)
    unsound = rings.row[document.once(shapes.ring_states) != shapes.SOUND]
    explained[unsound] |= given[unsound] > 0
    return explained


# If at least this share of boxes are copies, hardly any was drawn on its image.
_NEARLY_ALL = 0.9


def _of_many(document: Document, _settings: ValidateSettings) -> Checked:
    """B005 to B007, B012 and B014: boxes in another layout, on swapped sizes, or copied."""
    facts, bbox, size = document.once(shapes.box_facts), document.annotations.bbox, document.size
    if (found := facts.diagnosis) is not None:
        edits = partial(_converted, document, found) if found.is_certain else None
        yield summary(found.message, _AT, found.rows, edits=edits, code=found.layout.code)
    rows, boxes = np.flatnonzero(facts.swapped), facts.in_swapped & document.has_box
    n_cured = layout.inside(bbox[boxes], size[boxes][:, ::-1]).sum()
    what = f"width and height look swapped in {len(rows):,} of {len(facts.swapped):,} images: "
    what += f"boxes extend beyond them, but {n_cured:,} of {boxes.sum():,} lie inside after a swap"
    ids = {"image": document.images.get(int(rows[0]), "id")} if len(rows) == 1 else {}
    expected = "the size of the image as it is shown"
    yield summary(what, "images", rows, expected=expected, ids=ids, code="B012")
    rows, n_sizes = layout.copies_of(facts.boxes, ~facts.in_other)
    sizes = dict(zip(rows.tolist(), n_sizes.tolist(), strict=True))
    is_off = (layout.overshoot(bbox[rows], size[rows]) >= np.tile(bbox[rows, 2:], 2)).any()
    is_wrong = is_off or len(rows) >= _NEARLY_ALL * document.has_box.sum()
    yield Rows(
        rows,
        lambda row: f"bbox has the same four numbers as others on images of {sizes[row]:,} sizes",
        _AT, "boxes drawn on each image", total=len(rows), few=0,
        summary=f"{len(rows):,} boxes have the same four numbers as others on images of more sizes",
        severity=Severity.ERROR if is_wrong else None, code="B014",
    )  # fmt: skip


def _converted(document: Document, found: layout.Diagnosis, row: int) -> Iterator[Edit]:
    """Yield the edits that convert a box, and area and outline in the same shares, to pixels."""
    box = found.bbox[np.searchsorted(found.rows, row)]
    yield from record_edit("annotations", row, "bbox", value=shapes.rounded_values(box))
    unit, rings, size = found.layout.unit, document.annotations.rings, document.size[row]
    area = document.annotations.area[row]
    if unit == 1 and 0 < area <= 1:
        pixels = shapes.rounded_number(float(area * size.prod()))
        yield from record_edit("annotations", row, "area", value=pixels)
    written = corners(found.layout.read(document.annotations.bbox[[row]], None))[0]
    if unit and np.abs(written - document.outline_bounds[row]).max() <= unit / 100:
        for ring in shapes.ring_rows(document, row).tolist():
            xy = shapes.rounded_values((shapes.ring_xy(rings, ring) * size / unit).ravel())
            place = int(rings.place[ring])
            yield from record_edit("annotations", row, "segmentation", place, value=xy)


def _box(*numbers: float) -> dict[str, object]:
    return {"bbox": list(numbers), "area": 200}


_CORNERS = ((60, 50), (50, 60), (70, 30), (20, 60), (75, 65))
_CENTRES = ((88, 50), (50, 74), (90, 30), (20, 60), (85, 75))
_TALL = [
    _box(10, 82, 20, 10), _box(50, 85, 20, 10), _box(40, 88, 20, 10), _box(20, 60, 20, 10),
    _box(5, 86, 20, 10), _box(30, 84, 20, 10),
]  # fmt: skip
_IMAGES = [{"width": w, "height": h} for w, h in ((100, 80), (120, 80), (100, 120))]

RULES = (
    rule(
        "B002 error: box outside its image",
        breaks="Training learns an object that does not exist, and evaluation counts it as missed.",
        explanation="""No part of the box lies inside its image: it belongs to another image, or the
            size of the image is wrong. Look at the image, then move the box or delete it.""",
        bad={"annotations": [{"bbox": [120, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        requires=("F004", "S015", "B014", "T003"),
    )(_beyond),
    rule(
        "B003 warning, unsafe fix: box extends beyond its image",
        breaks="Albumentations stops with ValueError; other tools silently clip the box.",
        explanation="""The box extends beyond its image by more than `overshoot_px`. The unsafe fix
            clips it if enough of it is left and its outline lies inside, but not if a fifth of the
            boxes of the file or of some images extend far beyond, as all are then in doubt.""",
        bad={"annotations": [{"bbox": [85, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        requires=("F004", "S015", "B002", "B014", "P006", "T003"),
    )(_beyond),
    rule(
        "B004 info, unsafe fix: box extends beyond its image by a pixel or less",
        breaks="Strict checks stop at a fraction of a pixel (Albumentations raises ValueError).",
        explanation="""The box extends beyond its image by at most `overshoot_px`, by rounding,
            resizing or counting pixels from 1. The unsafe fix clips the box and its area, but not
            where a fifth of the boxes extend further.""",
        bad={"annotations": [{"bbox": [80.5, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80.00001, 10, 20, 30]}]},
        requires=("F004", "S015", "B002", "B014", "P006", "T003"),
    )(_beyond),
    rule(
        "B005 error: boxes look like x1, y1, x2, y2, or numbers in another order",
        breaks="Boxes are read far too large, and AP falls to about 0 without an error.",
        explanation="""COCO's boxes are x, y, width, height. As such, a fifth of the boxes of the
            file, or of an image of five or more, contradict their outline, image or area; in
            another order, 99 % are right. The unsafe fix converts the boxes, unless y before x
            holds as well; look at an image first.""",
        bad={"annotations": [_box(x, y, x + 20, y + 10) for x, y in _CORNERS]},
        good={"annotations": [_box(x, y, 20, 10) for x, y in _CORNERS]},
        fix="unsafe",
    )(_of_many),
    rule(
        "B006 error: boxes look like centre-x, centre-y, width, height",
        breaks="Boxes are read shifted by half their size, and IoU is at most 1/7.",
        explanation="""COCO's boxes start with their top left corner. As such, a fifth of the boxes
            of the file, or of an image of five or more, contradict their outline or image; with
            centres, as in YOLO, 99 % are right. The unsafe fix converts the boxes.""",
        bad={"annotations": [_box(x, y, 20, 10) for x, y in _CENTRES]},
        good={"annotations": [_box(x - 10, y - 5, 20, 10) for x, y in _CENTRES]},
        fix="unsafe",
    )(_of_many),
    rule(
        "B007 error: boxes look normalised to 0 to 1, 100 or 1000",
        breaks="All boxes lie in the corner of their image, and nothing is learned or found.",
        explanation="""COCO's boxes are in pixels. These are shares of the image of 0 to 1, 100 or
            1000, as outlines, areas and sizes prove. The unsafe fix multiplies boxes, and outlines
            in the same unit, by the size of their image.""",
        bad={"annotations": [{"bbox": [0.1, 0.2, 0.4, 0.5]}]},
        good={"annotations": [{"bbox": [0.5, 1, 40, 40]}]},
        fix="unsafe",
    )(_of_many),
    rule(
        "B008 warning: box of less than two pixels",
        breaks="The box vanishes when the image is scaled down, and detectors miss it.",
        explanation="""A side of the box is shorter than `min_side_px`, usually by a click instead
            of a drag. Delete or redraw it; if objects are that small, lower `min_side_px`.""",
        bad={"annotations": [{"bbox": [10, 10, 1, 15]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 15]}]},
        requires=("B014",),
    )(_shapes),
    rule(
        "B009 warning: box is very long and thin",
        breaks="No anchor has such a shape, and one pixel changes the IoU considerably.",
        explanation="""The longer side is more than `max_aspect_ratio` times the shorter side. Often
            a corner was misplaced, but poles and lines do have this shape.""",
        bad={"annotations": [{"bbox": [10, 10, 63, 3]}]},
        good={"annotations": [{"bbox": [10, 10, 60, 3]}]},
        requires=("F004", "S015", "B008", "B014"),
    )(_shapes),
    rule(
        "B010 info: box covers the whole image",
        breaks="The detector learns to predict whole images.",
        explanation="""The box covers at least `max_image_share` of its image, as in close-ups, and
            in image labels that were converted to boxes.""",
        bad={"annotations": [{"bbox": [0, 0, 100, 80]}]},
        good={"annotations": [{"bbox": [0, 0, 98, 80]}]},
        requires=("F004", "S015", "B014"),
    )(_shapes),
    rule(
        "B012 warning: width and height of images look swapped",
        breaks="Tools that clip boxes cut objects off, and masks have the wrong shape.",
        explanation="""At least five boxes extend beyond their images, and all boxes of these images
            lie inside after width and height are swapped. Compare with the images (M004), and swap
            the two numbers.""",
        bad={"annotations": _TALL},
        good={"images": [{"width": 80, "height": 100}], "annotations": _TALL},
        requires=("B014",),
    )(_of_many),
    rule(
        "B014 warning: same box on images of several sizes",
        breaks="Training and evaluation take background for objects.",
        explanation="""Boxes with the same four numbers are on images of at least 3 sizes, more in
            large files: annotations of one image were copied to others. It is an error if nine
            tenths of the boxes are such copies, or one lies outside its image. Ignore B014 for
            pages or screens with a constant layout.""",
        bad={"images": _IMAGES, "annotations": [{"image_id": number} for number in (1, 2, 3)]},
        good={
            "images": _IMAGES,
            "annotations": [
                {"image_id": number, "bbox": [10, 9 + number, 20, 30]} for number in (1, 2, 3)
            ],
        },
    )(_of_many),
)
