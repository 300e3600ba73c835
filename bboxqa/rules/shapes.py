"""Facts about annotations: boxes, rings and masks, rotated boxes, and how far shapes overlap."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, rows
from bboxqa.core.machine import threads
from bboxqa.formats.columns import Rings
from bboxqa.formats.measured import outlines_of
from bboxqa.formats.translation.masks import runs_of
from bboxqa.geometry.boxes import bbox_iou, corners, rotated_iou
from bboxqa.geometry.polygons import FEWEST_INTRICATE, is_intricate, n_crossings
from bboxqa.model import rotated_boxes
from bboxqa.model.annotations import EDGES
from bboxqa.model.masks import (
    SegmentationKind,
    Segmentations,
    span_bounds,
    spans_of_runs,
)
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout
from bboxqa.rules.document import Document

# Rings per chunk, which take about ten megabytes as shapely polygons.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely is inexact for larger coordinates, and no image is that large.
_MAX_COORDINATE = 1e9
# Smaller areas are rounding errors.
DUST = 1e-6


class BoxFacts(msgspec.Struct, frozen=True, eq=False):
    """What is known about the boxes of a document."""

    boxes: layout.Boxes
    diagnosis: layout.Diagnosis | None
    """The layout of boxes that are not in COCO's."""
    in_other: BoolArray
    """(N,) bool. The annotations of images whose boxes are not in COCO's layout."""
    plain: BoolArray
    """(N,) bool. The annotations with a box that is in COCO's layout as far as is known."""
    lie_elsewhere: bool
    """Whether most boxes lie elsewhere than their outlines in every layout."""
    swapped: BoolArray
    """(I,) bool. The images whose boxes lie inside only if width and height are swapped."""
    in_swapped: BoolArray
    doubtful: BoolArray
    """(N,) bool. Where numbers may not be pixels of the image: no fix is computed from them."""


def box_facts(document: Document) -> BoxFacts:
    """Return what is known about the boxes of a document."""
    image, n, size = document.image, len(document.images), document.size
    bbox = document.annotations.bbox
    boxes = layout.boxes_in(document.annotations, (size, image, n), document.annotator)
    diagnosis, sized = layout.layout_of(boxes), boxes.sized
    in_other = np.zeros(len(bbox), np.bool_) if diagnosis is None else diagnosis.concerned
    outside = sized & ~layout.inside(bbox, size)
    leave, still = outside & ~in_other, sized & ~in_other & ~layout.inside(bbox, size[:, ::-1])
    n_leave, n_still = (np.bincount(image[each], minlength=n) for each in (leave, still))
    swapped: BoolArray = (n_leave > 0) & (n_still == 0)
    n_swapped, most = n_leave[swapped].sum(), 0.8 * (n_leave > 0).sum()
    swapped &= n_swapped >= layout.ENOUGH and swapped.sum() >= most
    in_swapped = np.append(swapped, False)[image]
    doubtful: BoolArray = in_other | in_swapped | layout.are_shares(bbox, size)
    sized, outside = sized & ~doubtful, outside & ~doubtful
    n_outside, n_sized = (np.bincount(image[each], minlength=n) for each in (outside, sized))
    images = (n_outside > 0) & (n_outside >= layout.FAILING * n_sized)
    if outside.sum() >= max(layout.ENOUGH, layout.FAILING * sized.sum()):
        images[:] = True
    elif images.sum() < layout.FEWEST_FAILING or n_outside[images].sum() < layout.ENOUGH:
        images[:] = False
    return BoxFacts(
        boxes=boxes, diagnosis=diagnosis, in_other=in_other, plain=document.has_box & ~in_other,
        lie_elsewhere=layout.outlines_elsewhere(boxes, ~in_other), swapped=swapped,
        in_swapped=in_swapped, doubtful=doubtful | np.append(images, False)[image],
    )  # fmt: skip


SOUND, INVALID, UNCHECKED = 0, 1, 2
"""The validity of a ring as a polygon; unchecked if checking would take minutes."""


def ring_rows(document: Document, row: int) -> IndexArray:
    """Return the indices of the rings of one annotation."""
    start, stop = np.searchsorted(document.annotations.rings.row, [row, row + 1])
    return np.arange(start, stop)


def ring_xy(rings: Rings, ring: int) -> FloatArray:
    """Return the vertices of one ring, (V, 2) float64."""
    xy: FloatArray = rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
    return xy


def ring_polygons(rings: Rings, which: IndexArray) -> Any:
    """Return rings, each with at least 3 finite points, as shapely polygons."""
    import shapely

    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    owner = np.repeat(np.arange(len(which)), np.diff(offsets))
    return shapely.polygons(shapely.linearrings(rings.xy[places], indices=owner))


def usable(rings: Rings, which: IndexArray) -> IndexArray:
    """Return those of some rings that can be converted to polygons."""
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    near = (np.abs(rings.xy[places]) < _MAX_COORDINATE).all(axis=1)
    n_near = np.concatenate([[0], np.cumsum(near)])
    size = np.diff(offsets)
    result: IndexArray = which[(size >= 3) & (np.diff(n_near[offsets]) == size)]
    return result


def ring_states(document: Document) -> ByteArray:
    """Return whether each ring is `SOUND`, (R,) uint8; sound for rings of fewer than 3 points."""
    rings = document.annotations.rings
    state = np.full(len(rings.row), SOUND, np.uint8)
    if not len(state):
        return state
    import shapely

    rest = usable(rings, np.arange(len(state)))
    large = rest[np.diff(rings.offsets)[rest] >= FEWEST_INTRICATE].tolist()
    intricate = [ring for ring in large if is_intricate([ring_xy(rings, ring)])]
    for ring in intricate:
        crosses = n_crossings(ring_xy(rings, ring), 0) > 0
        state[ring] = INVALID if crosses else UNCHECKED
    rest = np.setdiff1d(rest, intricate, assume_unique=True)

    def check(start: int) -> None:
        chunk = rest[start : start + _CHUNK]
        state[chunk[~shapely.is_valid(ring_polygons(rings, chunk))]] = INVALID

    # Shapely releases the GIL.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        list(pool.map(check, range(0, len(rest), _CHUNK)))
    return state


def overlapping_rings(document: Document) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the annotations whose sound rings share area, the area covered, and that shared."""
    rings, none = document.annotations.rings, np.zeros(0)
    several = document.has_rings & (np.bincount(rings.row, minlength=len(document.annotations)) > 1)
    several[rings.row[document.once(ring_states) != SOUND]] = False
    which = usable(rings, np.flatnonzero(several[rings.row]))
    if not len(which):
        return none.astype(np.int64), none, none
    import shapely

    rows, owner = np.unique(rings.row[which], return_inverse=True)
    together = shapely.multipolygons(ring_polygons(rings, which), indices=owner)
    # Rings that meet nowhere are valid together, which is fast to check.
    meet = ~shapely.is_valid(together)
    unions = [shapely.union_all(shapely.get_parts(each)) for each in together[meet].tolist()]
    filled = np.array(shapely.area(unions), np.float64)
    shared = shapely.area(together[meet]) - filled
    kept = shared > DUST
    return rows[meet][kept], filled[kept], shared[kept]


def invalid_reason(rings: Rings, ring: int) -> str:
    """Return why a ring is an invalid polygon, and where, in words."""
    import shapely

    if is_intricate([ring_xy(rings, ring)]):
        return "crosses itself"
    reason = str(shapely.is_valid_reason(ring_polygons(rings, np.array([ring]))[0]))
    what, _, where = reason.rstrip("]").partition("[")
    near = ", ".join(f"{float(number):.6g}" for number in where.split()[:2])
    words = {"Self-intersection": "crosses itself", "Ring Self-intersection": "touches itself"}
    return words.get(what, "has too few points") + (f" at ({near})" if near else "")


def _visible(document: Document, row: int) -> Any:
    """Return the rings of an annotation, each clipped to the image, in one collection."""
    import shapely

    rings = document.annotations.rings
    polygons = ring_polygons(rings, usable(rings, ring_rows(document, row)))
    clipped = shapely.clip_by_rect(polygons, 0, 0, *document.size[row].tolist())
    return shapely.geometrycollections(clipped)


def visible_areas(document: Document, suspects: IndexArray) -> FloatArray:
    """Return the areas of outlines, clipped to the image for the suspects, as pycocotools does."""
    outline = document.outline_area.copy()
    bounds, size = document.outline_bounds[suspects], document.size[suspects]
    swapped = document.once(box_facts).in_swapped[suspects]
    beyond = (bounds[:, :2] < 0).any(axis=1) | (bounds[:, 2:] > size).any(axis=1)
    beyond &= document.has_rings[suspects] & ~swapped & ~np.isnan(size).any(axis=1)
    for row in suspects[beyond].tolist():
        outline[row] = _visible(document, row).area
    return outline


def visible_bounds(document: Document, rows: IndexArray) -> FloatArray:
    """Return left, top, right and bottom of outlines inside their images, (K, 4); NaN for none."""
    found = [_visible(document, row).bounds for row in rows.tolist()]
    return np.array(found, np.float64).reshape(-1, 4)


def row_major_masks(document: Document, tolerance: float) -> IndexArray:
    """Return the annotations whose mask fits its box only if it is read row by row."""
    rles, box = document.annotations.rles, corners(document.annotations.bbox)
    off = (np.abs(box - document.outline_bounds) > tolerance).any(axis=1)
    off &= document.once(box_facts).plain
    found = []
    for mask in np.flatnonzero(off[rles.row]).tolist():
        row, (height, width) = int(rles.row[mask]), rles.size[mask].tolist()
        # Most masks in the wrong order span the full width, so such a box proves nothing.
        if height != width and box[row, 0] <= tolerance and box[row, 2] >= width - tolerance:
            continue
        spans = spans_of_runs(runs_of(document.record(row))[0])
        top, left, bottom, right = span_bounds(spans, width)
        if (np.abs(box[row] - [left, top, right, bottom]) <= tolerance).all():
            found.append(row)
    return np.array(found, np.int64)


class Rotations(msgspec.Struct, frozen=True, eq=False):
    """The rotated boxes of a file."""

    is_most: bool
    """Whether at least half of the boxes have five or eight numbers, which COCO does not define."""
    row: IndexArray
    corners: FloatArray
    """(Q, 4, 2) float64. Corners in pixels; NaN for five numbers, which are ambiguous."""
    is_written: BoolArray
    cornered: IndexArray
    """(K,) int64. The annotations of boxes whose corners are known."""
    written: FloatArray
    """(N, 4) float64. The numbers of all boxes as written; (N, 8) if any has five or eight."""
    turned: tuple[IndexArray, FloatArray]
    """(R,) and (R, 5). Annotations, and their boxes in the form of five numbers, in degrees."""


_FULL_TURN = 2 * np.pi


def rotations(document: Document) -> Rotations:
    """Return the rotated boxes: those with an angle, five or eight numbers, or labels of DOTA."""
    columns, origin = document.annotations, document.reading.origin
    rings, turns = columns.rings, columns.rotations
    n_longer = np.count_nonzero(turns.n_numbers)
    is_most = bool(0 < n_longer >= np.count_nonzero(np.isfinite(columns.bbox[:, 0])))
    is_dota = origin is not None and origin.title == "DOTA labels"
    corners = np.full((len(columns), 4, 2), np.nan)
    # Of outlines beside an angle, rings of four points are the box; ellipses have more.
    quads = np.flatnonzero((rings.n_numbers == 8) & (np.bincount(rings.row)[rings.row] == 1))
    if not is_dota:
        quads = quads[np.isin(rings.row[quads], turns.row)]
    corners[rings.row[quads]] = rings.xy[rings.offsets[quads][:, None] + np.arange(4)]
    listed = ~np.isin(turns.row, np.setdiff1d(rings.row, rings.row[quads]))
    if origin is None and not is_most:
        listed &= np.isfinite(turns.angle)
    eight = listed & (turns.n_numbers == 8)
    corners[turns.row[eight]] = turns.values[eight].reshape(-1, 4, 2)
    # Boxes with an angle and no outline are turned.
    angled = listed & (turns.n_numbers != 5) & np.isfinite(turns.angle)
    angled &= np.isnan(corners[turns.row, 0, 0]) & document.has_box[turns.row]
    angled &= ~np.isin(turns.row, columns.rles.row)
    boxes = rotated_boxes.upright(columns.bbox[turns.row[angled]])
    boxes[:, 4] = turns.angle[angled]
    corners[turns.row[angled]] = rotated_boxes.corners(boxes)
    row = np.union1d(rings.row[quads], turns.row[listed])
    is_written, known = is_dota | np.isin(row, turns.row[eight]), np.isfinite(corners[row, 0, 0])
    cornered = row[known]
    fives = np.flatnonzero((turns.n_numbers == 5) & ~np.isin(turns.row, cornered))
    numbers = turns.values[fives, :5].copy()
    if np.abs(numbers[:, 4]).max(initial=0) <= _FULL_TURN:
        numbers[:, 4] = np.degrees(numbers[:, 4])
    of_corners, _ = rotated_boxes.from_corners(corners[cornered])
    turned = np.concatenate([cornered, turns.row[fives]]), np.concatenate([of_corners, numbers])
    written, longer = columns.bbox, turns.n_numbers > 0
    if n_longer:
        written = np.hstack([written, np.zeros((len(written), 4))])
        written[turns.row[longer]] = turns.values[longer]
        written[:, 4:] = np.nan_to_num(written[:, 4:])
    return Rotations(is_most, row, corners[row], is_written, cornered, written, turned)


def box_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of pairs of annotations, (P,), using rotated boxes where there are any."""
    (rows, turned), bbox = document.once(rotations).turned, document.annotations.bbox
    iou: FloatArray = bbox_iou(corners(bbox[left]), corners(bbox[right]))
    some = np.flatnonzero(np.isin(left, rows) | np.isin(right, rows))
    if len(some):
        boxes = rotated_boxes.upright(bbox)
        boxes[rows] = turned
        iou[some] = rotated_iou(boxes[left[some]], boxes[right[some]])
    return iou


# Pairs of edges that are compared, which takes a few seconds; other pairs are compared by boxes.
_MOST_EDGE_PAIRS = 1 << 26


def with_equals(rows: IndexArray, columns: Sequence[Any]) -> IndexArray:
    """Return the rows that equal another row in all columns, in ascending order."""
    first = layout.first_equal([each[rows] for each in columns])
    repeats = first != np.arange(len(first))
    result: IndexArray = rows[np.union1d(first[repeats], np.flatnonzero(repeats))]
    return result


def equal_boxes(document: Document) -> tuple[IndexArray, IndexArray]:
    """Return the annotations whose box equals another of their image, (K,), and outlines.

    The latter, (N,), number the distinct outlines among these; 0 elsewhere.
    """
    boxes, n = document.once(rotations).written[:, :4], len(document.annotations)
    numbers = np.zeros(n, int)
    boxes = np.where(np.isfinite(boxes), boxes, document.outline_bounds)
    sound = np.flatnonzero(document.is_object & np.isfinite(boxes).all(axis=1))
    rows = with_equals(sound, [*boxes.T, document.annotations.image_id])
    if np.isfinite(document.outline_bounds[rows]).any():
        from bboxqa.geometry.outline_similarities import distinct_outlines

        found = document.once(_outlines).take(rows)
        numbers[rows] = 1 + distinct_outlines(found, np.zeros(len(rows), np.int32))[1]
    return rows, numbers


def _outlines(document: Document) -> Segmentations:
    return outlines_of(document.annotations)


def outline_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of the outlines of pairs, (P,); NaN without two polygons or two masks."""
    result = np.full(len(left), np.nan)
    known = np.asarray(np.isfinite(document.outline_bounds).all(axis=1))
    pairs = np.flatnonzero(known[left] & known[right])
    if not len(pairs):
        return result
    from bboxqa.geometry import polygons, rasters

    rows, place = np.unique(np.stack([left[pairs], right[pairs]]), return_inverse=True)
    first, second = place.reshape(2, -1)
    outlines = document.once(_outlines).take(rows).packed()
    drawn = polygons.polygon_outlines(outlines)
    exact = np.flatnonzero((drawn.area[first] > 0) & (drawn.area[second] > 0))
    work = np.cumsum(polygons.edge_pairs(drawn, first[exact], second[exact]))
    exact = exact[work <= _MOST_EDGE_PAIRS]
    result[pairs[exact]] = polygons.polygon_iou(drawn, first[exact], second[exact])
    is_mask = outlines.kind == SegmentationKind.RLE
    sizes = np.equal(outlines.size[first], outlines.size[second]).all(axis=1)
    masks = np.flatnonzero(is_mask[first] & is_mask[second] & sizes)
    some = masks[np.argsort(first[masks], kind="stable")]
    rles = [outlines.rle(row) if is_mask[row] else {} for row in range(len(rows))]
    result[pairs[some]] = rasters.mask_iou(rles, first[some], second[some])
    return result


# Floats represent every integer up to this one exactly.
_WHOLE = 2.0**53


def beyond_text(beyond: FloatArray) -> str:
    """Return by how much, and which edge, a box extends farthest beyond, for a message."""
    edge = int(np.nanargmax(beyond))
    return f"{figure(beyond[edge])} px beyond the {EDGES[edge]} edge"


def image_text(size: FloatArray) -> str:
    """Return "its image", with its size if that is known."""
    width, height = size
    return "its image" + ("" if np.isnan(width + height) else f" ({width:g} x {height:g})")


def becomes_degenerate(
    before: Sequence[float], after: Sequence[float], settings: ValidateSettings
) -> bool:
    """Return whether a change makes a box empty, too small or too elongated."""

    def bad(box: Sequence[float]) -> tuple[bool, bool, bool]:
        short, long = sorted(box[2:])
        empty = not short > 0
        return empty, short < settings.min_side_px, long > settings.max_aspect_ratio * short

    return any(new and not old for old, new in zip(bad(before), bad(after), strict=True))


def figure(value: float, digits: int = 4) -> str:
    """Format a number with a few digits, without exponents for ordinary numbers."""
    return f"{value:,.0f}" if 1000 <= value < _WHOLE else f"{value:.{digits}g}"


def rounded_number(value: float) -> int | float:
    """Return a coordinate rounded to six decimals, as an int if it is integral."""
    value = float(value)
    rounded = round(value, 6) or value
    return int(rounded) if rounded.is_integer() and abs(rounded) < _WHOLE else rounded


def rounded_values(values: Sequence[float] | FloatArray) -> list[int | float]:
    """Return rounded coordinates; see `rounded_number`."""
    return [rounded_number(value) for value in values]
