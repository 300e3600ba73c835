"""Shapes of annotations: rings and masks, rotated boxes, and how far shapes overlap."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, rows
from bboxqa.core.machine import threads
from bboxqa.formats.columns import Rings
from bboxqa.formats.measured import outlines_of
from bboxqa.geometry.boxes import bbox_iou, corners, from_corners, rotated_iou
from bboxqa.geometry.polygons import FEWEST_INTRICATE, is_intricate, n_crossings
from bboxqa.model import rotated_boxes
from bboxqa.model.masks import SegmentationKind, Segmentations, decode_counts, run_bounds
from bboxqa.rules.document import Document
from bboxqa.rules.layout import first_equal, in_swapped_images, plain_boxes

# Rings per chunk, which take about ten megabytes as shapely polygons.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely is inexact for larger coordinates, and no image is that large.
_MAX_COORDINATE = 1e9
# Cutting out more rings takes long.
_MOST_RINGS = 1000
# Smaller areas are rounding errors.
DUST = 1e-6


class RingState(IntEnum):
    """The validity of a ring as a polygon; unchecked if checking would take minutes."""

    SOUND = 0
    INVALID = 1
    UNCHECKED = 2


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
    """Return the `RingState` of each ring, (R,) uint8; sound for rings of fewer than 3 points."""
    rings = document.annotations.rings
    state = np.full(len(rings.row), RingState.SOUND, np.uint8)
    if not len(state):
        return state
    import shapely

    rest = usable(rings, np.arange(len(state)))
    large = rest[np.diff(rings.offsets)[rest] >= FEWEST_INTRICATE].tolist()
    intricate = [ring for ring in large if is_intricate([ring_xy(rings, ring)])]
    for ring in intricate:
        crosses = n_crossings(ring_xy(rings, ring), 0) > 0
        state[ring] = RingState.INVALID if crosses else RingState.UNCHECKED
    rest = np.setdiff1d(rest, intricate, assume_unique=True)

    def check(start: int) -> None:
        chunk = rest[start : start + _CHUNK]
        state[chunk[~shapely.is_valid(ring_polygons(rings, chunk))]] = RingState.INVALID

    # Shapely releases the GIL.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        list(pool.map(check, range(0, len(rest), _CHUNK)))
    return state


def overlapping_rings(document: Document) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the annotations whose sound rings share area, the area covered, and that shared."""
    rings, none = document.annotations.rings, np.zeros(0)
    several = document.has_rings & (np.bincount(rings.row, minlength=len(document.annotations)) > 1)
    several[rings.row[document.once(ring_states) != RingState.SOUND]] = False
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


def even_odd_area(document: Document, row: int) -> float:
    """Return the area of rings that cut each other out, by the even-odd rule; NaN of many."""
    import shapely

    parts = ring_polygons(document.annotations.rings, ring_rows(document, row))
    if len(parts) > _MOST_RINGS:
        return float("nan")
    while len(parts) > 1:
        pairs = np.append(parts, [shapely.Polygon()] * (len(parts) % 2)).reshape(-1, 2)
        parts = shapely.symmetric_difference(*pairs.T)
    return float(parts[0].area)


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
    """Return the rings of an annotation as polygons, each clipped to the image."""
    import shapely

    rings = document.annotations.rings
    polygons = ring_polygons(rings, usable(rings, ring_rows(document, row)))
    return shapely.clip_by_rect(polygons, 0, 0, *document.size[row].tolist())


def visible_areas(document: Document, suspects: IndexArray) -> FloatArray:
    """Return the areas of outlines, clipped to the image for the suspects, as pycocotools does."""
    outline = document.outline_area.copy()
    bounds, size = document.outline_bounds[suspects], document.size[suspects]
    swapped = in_swapped_images(document)[suspects]
    beyond = (bounds[:, :2] < 0).any(axis=1) | (bounds[:, 2:] > size).any(axis=1)
    beyond &= document.has_rings[suspects] & ~swapped & ~np.isnan(size).any(axis=1)
    for row in suspects[beyond].tolist():
        outline[row] = sum(each.area for each in _visible(document, row))
    return outline


def visible_bounds(document: Document, rows: IndexArray) -> FloatArray:
    """Return left, top, right and bottom of outlines inside their images, (K, 4); NaN for none."""
    import shapely

    found = [shapely.geometrycollections(_visible(document, row)) for row in rows.tolist()]
    return np.array(shapely.bounds(found), np.float64).reshape(-1, 4)


def runs_of(document: Document, row: int) -> IndexArray:
    """Return the run lengths of a mask that can be read."""
    counts = document.record(row)["segmentation"]["counts"]
    return decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)


def row_major_masks(document: Document, tolerance: float) -> IndexArray:
    """Return the annotations whose mask fits its box, up to a tolerance, only if read row by row.

    Most masks span the full width when they are read in the wrong order, so such a box proves
    nothing.
    """
    rles, box = document.annotations.rles, corners(document.annotations.bbox)
    off = (np.abs(box - document.outline_bounds) > tolerance).any(axis=1)
    off &= plain_boxes(document)
    found = []
    for mask in np.flatnonzero(off[rles.row]).tolist():
        row, (height, width) = int(rles.row[mask]), rles.size[mask].tolist()
        if height != width and box[row, 0] <= tolerance and box[row, 2] >= width - tolerance:
            continue
        top, left, bottom, right = run_bounds(runs_of(document, row), width)
        if (np.abs(box[row] - [left, top, right, bottom]) <= tolerance).all():
            found.append(row)
    return np.array(found, np.int64)


class OrientedBoxes(msgspec.Struct, frozen=True, eq=False):
    """The rotated boxes of a file."""

    row: IndexArray
    """(Q,) int64. The annotation of each box, ascending."""
    corners: FloatArray
    """(Q, 4, 2) float64. Corners in pixels; NaN for five numbers, which are ambiguous."""
    is_written: BoolArray
    """(Q,) bool. Whether the file has these corners rather than an angle."""
    cornered: IndexArray
    """(K,) int64. The annotations of boxes whose corners are known."""


def is_rotated_file(document: Document) -> bool:
    """Return whether the file has rotated boxes: at least half with five or eight numbers."""
    columns = document.annotations
    n_longer = np.count_nonzero(columns.rotations.n_numbers)
    return bool(n_longer > 0 and n_longer >= np.count_nonzero(np.isfinite(columns.bbox[:, 0])))


def oriented_boxes(document: Document) -> OrientedBoxes:
    """Return the rotated boxes: those with an angle, five or eight numbers, or labels of DOTA."""
    columns, origin = document.annotations, document.reading.origin
    rings, turns = columns.rings, columns.rotations
    is_dota = origin is not None and origin.title == "DOTA labels"
    # Most files have no rotated boxes.
    corners = np.full((len(columns) * (is_dota or len(turns.row) > 0), 4, 2), np.nan)
    # Of outlines beside an angle, rings of four points are the box; ellipses have more.
    quads = np.flatnonzero((rings.n_numbers == 8) & (np.bincount(rings.row)[rings.row] == 1))
    if not is_dota:
        quads = quads[np.isin(rings.row[quads], turns.row)]
    corners[rings.row[quads]] = rings.xy[rings.offsets[quads][:, None] + np.arange(4)]
    listed = ~np.isin(turns.row, np.setdiff1d(rings.row, rings.row[quads]))
    if origin is None and not is_rotated_file(document):
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
    is_written = is_dota | np.isin(row, turns.row[eight])
    cornered = row[np.isfinite(corners[row, 0, 0])]
    return OrientedBoxes(row, corners[row], is_written, cornered)


# The bounds of thin boxes overlap less than the boxes themselves.
_OF_BOUNDS = 0.75
_FULL_TURN = 2 * np.pi


def turned_boxes(document: Document) -> tuple[IndexArray, FloatArray]:
    """Return the annotations that are rotated boxes, (R,), and their numbers, (R, 5).

    Angles of boxes of five numbers are in radians if none is above a whole turn.
    """
    boxes, rotations = document.once(oriented_boxes), document.annotations.rotations
    known = np.isfinite(boxes.corners[:, 0, 0])
    fives = np.flatnonzero((rotations.n_numbers == 5) & ~np.isin(rotations.row, boxes.row[known]))
    numbers = rotations.values[fives, :5].copy()
    if np.abs(numbers[:, 4]).max(initial=0) <= _FULL_TURN:
        numbers[:, 4] = np.degrees(numbers[:, 4])
    cornered, _ = rotated_boxes.from_corners(boxes.corners[known])
    rows = np.concatenate([boxes.row[known], rotations.row[fives]])
    return rows, np.concatenate([cornered, numbers])


def compared_boxes(document: Document, threshold: float) -> tuple[FloatArray, float]:
    """Return (N, 4) boxes or bounds, and their least IoU where `box_iou` reaches a threshold."""
    (rows, turned), bbox = document.once(turned_boxes), document.annotations.bbox.copy()
    bbox[rows] = from_corners(rotated_boxes.bounds(turned))
    return bbox, _OF_BOUNDS * threshold if len(rows) else threshold


def box_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of pairs of annotations, (P,), using rotated boxes where there are any."""
    (rows, turned), bbox = document.once(turned_boxes), document.annotations.bbox
    iou: FloatArray = bbox_iou(corners(bbox[left]), corners(bbox[right]))
    some = np.flatnonzero(np.isin(left, rows) | np.isin(right, rows))
    if len(some):
        boxes = rotated_boxes.upright(bbox)
        boxes[rows] = turned
        iou[some] = rotated_iou(boxes[left[some]], boxes[right[some]])
    return iou


def written_numbers(document: Document) -> FloatArray:
    """Return the numbers of boxes as written, (N, 4), or (N, 8) if any box has five or eight."""
    rotations, bbox = document.annotations.rotations, document.annotations.bbox
    longer = rotations.n_numbers > 0
    if not longer.any():
        return bbox
    result = np.hstack([bbox, np.zeros((len(bbox), 4))])
    result[rotations.row[longer]] = rotations.values[longer]
    result[:, 4:] = np.nan_to_num(result[:, 4:])
    return result


# Pairs of edges that are compared, which takes a few seconds; other pairs are compared by boxes.
_MOST_EDGE_PAIRS = 1 << 26


def in_equal_boxes(document: Document) -> IndexArray:
    """Return the rows of annotations whose box equals that of another one of their image."""
    boxes = document.once(written_numbers)[:, :4]
    if (document.is_object & ~np.isfinite(boxes).all(axis=1)).any():
        boxes = np.where(np.isfinite(boxes), boxes, document.outline_bounds)
    rows = np.flatnonzero(document.is_object & np.isfinite(boxes).all(axis=1))
    return with_equals(rows, [*boxes.T, document.annotations.image_id])


def with_equals(rows: IndexArray, columns: Sequence[Any]) -> IndexArray:
    """Return the rows that equal another row in all columns, in ascending order."""
    first = first_equal([each[rows] for each in columns])
    repeats = first != np.arange(len(first))
    result: IndexArray = rows[np.union1d(first[repeats], np.flatnonzero(repeats))]
    return result


def _outlines(document: Document) -> Segmentations:
    return outlines_of(document.annotations)


def outline_numbers(document: Document) -> IndexArray:
    """Return a number for each distinct outline among equal boxes, (N,) int64; 0 elsewhere."""
    numbers, rows = np.zeros(len(document.annotations), np.int64), document.once(in_equal_boxes)
    if np.isfinite(document.outline_bounds[rows]).any():
        from bboxqa.geometry.outline_similarities import distinct_outlines

        found = document.once(_outlines).take(rows)
        numbers[rows] = 1 + distinct_outlines(found, np.zeros(len(rows), np.int32))[1]
    return numbers


def outline_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of the outlines of pairs, (P,); NaN without two polygons or two masks."""
    result = np.full(len(left), np.nan)
    known = ~np.isnan(document.outline_bounds[:, 0])
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
