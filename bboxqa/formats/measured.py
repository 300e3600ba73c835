"""Making the annotations that agreement measures from the columns of a document."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, TextArray, rows
from bboxqa.core.text import alike, count
from bboxqa.formats.columns import Columns, Form, Kind
from bboxqa.formats.raw_values import FARTHEST
from bboxqa.formats.records import Authors, BoxForm, FileColumns, ReadSettings, RotatedColumns
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.keypoints import Keypoints
from bboxqa.model.shapes.rotated_boxes import (
    FiveNumbers,
    corners,
    from_corners,
    turned_to,
    upright,
)

_FORMS: tuple[FiveNumbers, ...] = get_args(FiveNumbers)
_FIVE, _EIGHT = 5, 8
# Corners this close to the corners of an outline, in pixels or as a share of the longer side, are
# the same corners.
_ROUNDED, _SHARE = 1.0, 0.01


@dataclass(frozen=True, slots=True, eq=False)
class BoxNumbers:
    """The boxes of N annotations that are written with five or eight numbers."""

    five: IndexArray
    """(A,) int64. The annotations with five numbers."""
    boxes: FloatArray
    """(A, 5) float64. Their rotated boxes."""
    eight: IndexArray
    """(B,) int64. The annotations with the eight numbers of four corners."""
    points: FloatArray
    """(B, 4, 2) float64. Their corners."""
    notes: tuple[str, ...]
    """How five numbers are read, and why."""

    def bounds(self) -> tuple[IndexArray, FloatArray]:
        """Return the annotations, and their boxes as x, y, width and height."""
        low = self.points.min(1)
        of_eight = np.concatenate([low, self.points.max(1) - low], axis=1)
        of_five = bounding_boxes(self.boxes)
        # Negative sides are kept, so that the boxes are refused.
        wrong = (self.boxes[:, 2:4] < 0).any(1)
        of_five[wrong, 2:] = self.boxes[wrong, 2:4]
        return np.concatenate([self.five, self.eight]), np.concatenate([of_five, of_eight])


def has_more_numbers(columns: Columns) -> bool:
    """Return whether most boxes of a file have five or eight numbers."""
    return 2 * int((columns.rotations.n_numbers > 0).sum()) > len(columns)


def box_numbers(columns: Columns, said: FiveNumbers | None) -> BoxNumbers:
    """Return the boxes of five and eight numbers; `said` is the layout that the user chose."""
    of = columns.rotations
    are_five, are_eight = of.n_numbers == _FIVE, of.n_numbers == _EIGHT
    five, values = of.row[are_five], of.values[are_five, :_FIVE]
    eight, points = of.row[are_eight], of.values[are_eight].reshape(-1, 4, 2)
    if not len(five):
        unused = () if said is None else ("no box has five numbers: --rotated has no effect",)
        return BoxNumbers(five, values, eight, points, unused)
    form, why = (said, "as asked for") if said is not None else _meaning(columns, five, values)
    notes = [f"{count(len(five), 'box', 'boxes')} of five numbers taken as {form}, {why}"]
    if n_four := len(columns) - len(of.row[of.n_numbers > 0]):
        boxes = count(n_four, "box", "boxes")
        notes.append(f"{boxes} of four numbers beside them taken as x, y, width, height, upright")
    return BoxNumbers(five, rotated_of(values, form), eight, points, tuple(notes))


def _meaning(columns: Columns, rows: IndexArray, values: FloatArray) -> tuple[FiveNumbers, str]:
    """Return the layout of five numbers, and the reason for it."""
    of_outlines, points = quadrilaterals(columns)
    known = np.isin(of_outlines, rows)
    given = values[np.searchsorted(rows, of_outlines[known])]
    n_outlines = int(known.sum())
    fits = {form: int(_fit(rotated_of(given, form), points[known]).sum()) for form in _FORMS}
    best = max(fits.values())
    if 2 * best > n_outlines:
        form = next(form for form in _FORMS if fits[form] == best)
        return form, f"as {best:,} of {count(n_outlines, 'outline')} beside them show"
    other = "; if they are not: --rotated"
    largest = float(np.abs(values[:, 4]).max())
    if not largest:
        return "cxcywh-ccw-degrees", f"and all angles are 0{other}"
    if largest <= 2 * np.pi:
        return "cxcywh-cw-radians", f"as no angle is above {largest:.4g}, as mmrotate writes{other}"
    return "cxcywh-ccw-degrees", f"as angles reach {largest:.4g}, as detectron2 writes{other}"


def _fit(boxes: FloatArray, points: FloatArray) -> BoolArray:
    """Return which boxes have the same corners as their outline, in any order."""
    apart = np.abs(corners(boxes)[:, :, None] - points[:, None]).max(3).min(2).max(1, initial=0)
    fits: BoolArray = apart <= np.maximum(_ROUNDED, _SHARE * boxes[:, 2:4].max(1, initial=0))
    return fits


def rotated_of(values: FloatArray, form: FiveNumbers) -> FloatArray:
    """Return rotated boxes, (N, 5), from boxes of five numbers in a layout.

    Examples
    --------
    >>> rotated_of(np.array([[10.0, 20, 4, 2, 30]]), "xywh-ccw-degrees").round(9).tolist()
    [[12.0, 21.0, 4.0, 2.0, 330.0]]
    """
    origin, direction, unit = form.split("-")
    boxes = values.copy()
    if origin == "xywh":
        boxes[:, :2] += boxes[:, 2:4] / 2
    angle = np.rad2deg(values[:, 4]) if unit == "radians" else values[:, 4]
    boxes[:, 4] = np.mod(angle if direction == "cw" else -angle, 360)
    boxes[boxes[:, 4] >= 360, 4] = 0
    return boxes


def quadrilaterals(columns: Columns) -> tuple[IndexArray, FloatArray]:
    """Return the annotations whose outline has four corners, and these, (K, 4, 2).

    The outline is one ring, which may be closed by a fifth point.
    """
    rings = columns.rings
    n_rings = np.bincount(rings.row, minlength=len(columns))
    first, n_points = rings.offsets[:-1], np.diff(rings.offsets)
    alone = (n_rings[rings.row] == 1) & (rings.n_numbers % 2 == 0)
    closed = np.flatnonzero(alone & (n_points == _FIVE))
    is_closed = (rings.xy[first[closed]] == rings.xy[first[closed] + 4]).all(1)
    found = np.sort(np.concatenate([np.flatnonzero(alone & (n_points == 4)), closed[is_closed]]))
    return rings.row[found], rings.xy[first[found][:, None] + np.arange(4)]


def rotated_columns(
    columns: Columns, bbox: FloatArray, numbers: BoxNumbers | None
) -> RotatedColumns:
    """Return the rotated boxes of annotations with (N, 4) boxes.

    An outline takes precedence over an angle, also if it is upright.
    """
    n = len(columns)
    box, form = upright(bbox), np.zeros(n, np.uint8)
    has_outline = np.zeros(n, np.bool_)
    has_outline[columns.rings.row] = has_outline[columns.rles.row] = True
    form[has_outline] = BoxForm.OTHER
    _put_corners(box, form, *quadrilaterals(columns))
    if numbers is not None:
        _put_corners(box, form, numbers.eight, numbers.points)
    said = np.full(n, np.nan)
    said[list(columns.angles)] = list(columns.angles.values())
    known = np.abs(said) < FARTHEST
    is_turned = (
        known
        & (form == BoxForm.UPRIGHT)
        & (np.mod(np.where(known, said, 0), 360) != 0)
        & ~has_outline
    )
    box[is_turned, 4], form[is_turned] = np.mod(said[is_turned], 360), BoxForm.ANGLE
    named = np.flatnonzero(known & (form == BoxForm.RECTANGLE))
    box[named] = turned_to(box[named], said[named])
    if numbers is not None:
        box[numbers.five], form[numbers.five] = numbers.boxes, BoxForm.ANGLE
    return RotatedColumns(box, form)


def _put_corners(box: FloatArray, form: ByteArray, rows: IndexArray, points: FloatArray) -> None:
    box[rows], is_rectangle = from_corners(points)
    form[rows] = np.where(is_rectangle, BoxForm.RECTANGLE, BoxForm.QUADRILATERAL)


def bounding_boxes(boxes: FloatArray) -> FloatArray:
    """Return the bounds of rotated boxes as x, y, width and height, (N, 4)."""
    points = corners(boxes)
    low = points.min(1)
    return np.concatenate([low, points.max(1) - low], axis=1)


def rotated_notes(form: ByteArray) -> Iterator[str]:
    """Yield notes on shapes that comparing rotated boxes simplifies."""
    number = np.bincount(form, minlength=len(BoxForm)).tolist()
    yield from outline_notes(number[BoxForm.QUADRILATERAL], number[BoxForm.OTHER])


def outline_notes(n_quadrilaterals: int, n_others: int) -> Iterator[str]:
    """Yield notes on how outlines other than rotated boxes are compared."""
    if some := n_quadrilaterals:
        is_ = "is not a rectangle: it is" if some == 1 else "are not rectangles: each is"
        yield (
            f"{count(some, 'outline')} with four corners {is_} compared by the smallest rectangle "
            "around it"
        )
    if some := n_others:
        is_ = "is" if some == 1 else "are"
        yield (
            f"{count(some, 'other outline')} {is_} compared by the upright box; --similarity "
            "polygon compares outlines"
        )


MOST_VISIBLE = 2
"""The visibility of a joint that is labelled and can be seen."""
_LONGEST_ID = 100
_ABSENT = (Kind.MISSING, Kind.NULL)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The annotations of a document that can be measured, and what is to be said of the others."""

    columns: FileColumns
    rows: IndexArray
    """(M,) int64. The rows of these annotations in the document."""
    bad: IndexArray
    """Rows with values that falsify a result."""
    has_more_numbers: bool
    """Whether boxes may have five or eight numbers."""
    notes: tuple[str, ...]


def measured(
    columns: Columns,
    options: ReadSettings,
    *,
    said: FiveNumbers | None = None,
    boxes_are_outlines: bool = False,
) -> Measured:
    """Return the annotations of a document as agreement needs them.

    Parameters
    ----------
    columns : Columns
    options : ReadSettings
        What is compared.
    said : str, optional
        The layout of boxes of five numbers, if the user chose it.
    boxes_are_outlines : bool
        Whether a box without an outline has that of its four sides.
    """
    numbers = box_numbers(columns, said) if has_more_numbers(columns) else None
    keypoints = _keypoints(columns) if options.keypoints else None
    bbox = _boxes(columns, numbers, keypoints)
    left_out = _left_out(columns, options)
    bad = _bad(columns, options, bbox) & ~left_out
    outlines = None
    if options.outlines:
        outlines = _outlines(columns, bbox if boxes_are_outlines else None)
    rotated = rotated_columns(columns, bbox, numbers) if options.rotated else None
    crowd = columns.iscrowd == 1
    crowd[list(columns.single_crowds)] = False
    found = FileColumns(
        columns.id, columns.image_id, columns.category_id, bbox, crowd,
        {key: _authors(columns, key) for key in options.keys}, outlines, Counter(columns.marks),
        keypoints, _text_ids(columns), rotated,
    )  # fmt: skip
    notes = (*_number_notes(numbers, said), *_notes(columns, options, found, numbers))
    if left_out.any():
        notes += (_without_box_note(int(left_out.sum())),)
    kept = np.flatnonzero(~left_out)
    if left_out.any():
        found = taken(found, kept)
    return Measured(found, kept, np.flatnonzero(bad), numbers is not None, notes)


def taken(columns: FileColumns, kept: IndexArray) -> FileColumns:
    """Return some of the annotations."""
    outlines, keypoints, rotated = columns.segmentation, columns.keypoints, columns.rotated
    return FileColumns(
        columns.id[kept],
        columns.image_id[kept],
        columns.category_id[kept],
        columns.bbox[kept],
        columns.iscrowd[kept],
        {
            key: Authors(each.code[kept], each.names, each.composed)
            for key, each in columns.authors.items()
        },
        None if outlines is None else outlines.take(kept),
        columns.marks,
        None if keypoints is None else keypoints.take(kept),
        None if columns.text_ids is None else columns.text_ids[kept],
        None if rotated is None else RotatedColumns(rotated.box[kept], rotated.form[kept]),
    )


def author_problems(columns: Columns) -> Iterator[str]:
    """Yield problems with the names of annotators that would become equal."""
    for texts in columns.annotator_texts.values():
        yield from (f"annotators {problem}" for problem in alike(sorted(texts)))


def _authors(columns: Columns, key: str) -> Authors:
    code, names = columns.annotator[key], columns.annotator_names
    used = np.unique(code[code >= 0])
    own_names = tuple(names[each] for each in used.tolist())
    own_code = np.full(len(names) + 1, -1, np.int32)
    own_code[used] = np.arange(len(used))
    composed = columns.composed_names & {*own_names} if columns.composed_names else frozenset()
    return Authors(own_code[code], own_names, frozenset(composed))


def _text_ids(columns: Columns) -> TextArray | None:
    if not columns.text_ids:
        return None
    texts = [text[:_LONGEST_ID] for text in columns.text_ids.values()]
    found = columns.id.astype(f"U{max(20, *map(len, texts))}")
    found[list(columns.text_ids)] = texts
    return found


def _boxes(columns: Columns, numbers: BoxNumbers | None, keypoints: Keypoints | None) -> FloatArray:
    """Return all boxes; NaN where there is none."""
    bbox = columns.bbox
    if numbers is not None:
        bbox = bbox.copy()
        changed, bounds = numbers.bounds()
        bbox[changed] = bounds
    if keypoints is not None and columns.point_rows:
        bbox = bbox.copy()
        places = np.array(sorted(columns.point_rows))
        bbox[places] = keypoints.take(places).extent()
    return bbox


def _left_out(columns: Columns, options: ReadSettings) -> BoolArray:
    """Return the annotations with key points but no box, unless all are such, or are compared."""
    found = np.zeros(len(columns), np.bool_)
    if not options.keypoints and len(columns.point_rows) < len(columns):
        found[list(columns.point_rows)] = True
    return found


def _bad(columns: Columns, options: ReadSettings, bbox: FloatArray) -> BoolArray:
    """Return which annotations have a value that falsifies a result."""
    bad: BoolArray = (columns.record != Kind.DICT) | np.isnan(bbox[:, 0])
    for valid in columns.valid.values():
        bad |= ~valid
    bad |= (columns.iscrowd < 0) & ~np.isin(columns.kind["iscrowd"], _ABSENT)
    if options.outlines or options.rotated:
        bad |= ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY, Form.RINGS, Form.RLE))
        bad |= (columns.form == Form.EMPTY) & (columns.kind["segmentation"] == Kind.TEXT)
        bad[_bad_rings(columns)] = True
        rles = columns.rles
        bad[rles.row[(rles.problem > 0) | (rles.total != rles.size.prod(axis=1))]] = True
    if options.keypoints:
        points = columns.keypoints
        bad[points.row[(points.n_numbers < 0) | (points.n_numbers % 3 > 0)]] = True
        of_points = np.repeat(points.row[points.in_threes], points.n_numbers[points.in_threes] // 3)
        bad[of_points[~np.isfinite(points.points).all(axis=1)]] = True
    if options.rotated:
        bad[[row for row, angle in columns.angles.items() if abs(angle) >= FARTHEST]] = True
    turned = columns.rotations
    bad[turned.row[(turned.n_numbers == 5) & (np.abs(turned.values[:, 4]) > FARTHEST)]] = True
    return bad


def _bad_rings(columns: Columns) -> IndexArray:
    rings = columns.rings
    bad: BoolArray = rings.n_numbers % 2 == 1
    if not np.isfinite(rings.xy).all():
        of_vertices = np.repeat(np.arange(len(rings.row)), np.diff(rings.offsets))
        bad[of_vertices[~np.isfinite(rings.xy).all(axis=1)]] = True
    found: IndexArray = rings.row[bad]
    return found


def _outlines(columns: Columns, bbox: FloatArray | None) -> Segmentations:
    """Return the outlines; that of a box is its sides, if boxes are given."""
    n = len(columns)
    rings, rles = columns.rings, columns.rles
    kind = np.full(n, SegmentationKind.NONE, np.uint8)
    kind[columns.form == Form.RINGS] = SegmentationKind.POLYGON
    kind[rles.row] = SegmentationKind.RLE
    xy, offsets, ring_row = rings.xy, rings.offsets, rings.row
    if bbox is not None and (without := np.flatnonzero(kind == SegmentationKind.NONE)).size:
        kind[without] = SegmentationKind.POLYGON
        x, y, width, height = bbox[without].T
        sides = np.stack([x, y, x + width, y, x + width, y + height, x, y + height], 1)
        xy = np.concatenate([xy, sides.reshape(-1, 2)])
        offsets = np.concatenate([offsets, offsets[-1] + 4 * np.arange(1, len(without) + 1)])
        ring_row = np.concatenate([ring_row, without])
        order = np.argsort(ring_row, kind="stable")
        vertices, offsets = rows(offsets[:-1][order], offsets[1:][order])
        xy, ring_row = xy[vertices], ring_row[order]
    n_rings = np.bincount(ring_row, minlength=n)
    part_stop = np.cumsum(n_rings)
    n_bytes, size = np.zeros(n, np.int64), np.zeros((n, 2), np.int32)
    n_bytes[rles.row] = [len(text) for text in rles.counts]
    sound = n_bytes[rles.row] > 0
    size[rles.row[sound]] = rles.size[sound]
    counts_stop = np.cumsum(n_bytes)
    return Segmentations(
        kind=kind,
        xy=xy,
        ring_offsets=offsets,
        part_start=part_stop - n_rings,
        part_stop=part_stop,
        counts=np.frombuffer(b"".join(rles.counts), np.uint8),
        counts_start=counts_stop - n_bytes,
        counts_stop=counts_stop,
        size=size,
    )


def _keypoints(columns: Columns) -> Keypoints:
    found = columns.keypoints
    n_joints = np.zeros(len(columns), np.int64)
    n_joints[found.row[found.in_threes]] = found.n_numbers[found.in_threes] // 3
    stop = np.cumsum(n_joints)
    visibility = np.nan_to_num(found.points[:, 2])
    return Keypoints(
        xy=found.points[:, :2],
        # Models write scores in place of visibility.
        visibility=np.clip(np.ceil(visibility), 0, MOST_VISIBLE).astype(np.uint8),
        start=stop - n_joints,
        stop=stop,
        area=columns.area,
    )


def _number_notes(numbers: BoxNumbers | None, said: FiveNumbers | None) -> Iterator[str]:
    if numbers is not None:
        yield from numbers.notes
    elif said is not None:
        yield "no box has five numbers: --rotated has no effect"


def _notes(
    columns: Columns, options: ReadSettings, found: FileColumns, numbers: BoxNumbers | None
) -> Iterator[str]:
    """Yield notes on what is compared in a simpler form than in the file."""
    if numbers is not None and not (options.rotated or options.outlines):
        some = len(numbers.five) + len(numbers.eight)
        boxes = f"{count(some, 'box', 'boxes')} of five or eight numbers"
        are = f"{'is' if some == 1 else 'are'} compared by the upright bounds"
        yield f"{boxes} {are}; --similarity obb compares rotated boxes"
    if found.keypoints is not None:
        visibility = columns.keypoints.points[:, 2]
        if n := int(((visibility < 0) | (visibility > MOST_VISIBLE)).sum()):
            have = "has" if n == 1 else "have"
            yield (
                f"{count(n, 'key point')} {have} a visibility below 0 or above 2: taken as not "
                "labelled and as visible; bboxqa validate finds them (K002)"
            )
    if found.rotated is not None and not options.outlines:
        yield from rotated_notes(found.rotated.form)
    if n := len(columns.single_crowds):
        counted = "counts as a single object" if n == 1 else "count as single objects"
        yield (
            f"{count(n, 'annotation')} with iscrowd 1 {counted}: CVAT writes 1 for every mask and "
            "ellipse"
        )


def _without_box_note(n: int) -> str:
    is_ = "is" if n == 1 else "are"
    some = f"{count(n, 'annotation')} with key points and no box"
    return f"{some} {is_} not compared; --similarity keypoints compares key points"


def turned_note(columns: Columns) -> Iterator[str]:
    """Yield a note on boxes whose attribute `rotation` is not compared."""
    n = sum(abs(angle) < FARTHEST and angle % 360 != 0 for angle in columns.angles.values())
    if n:
        has, its = ("has", "its bbox is") if n == 1 else ("have", "their bbox is")
        yield (
            f"{count(n, 'annotation')} {has} an attribute 'rotation': {its} compared without it; "
            "--similarity obb compares rotated boxes"
        )
