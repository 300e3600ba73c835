"""Making the annotations that agreement measures from the columns of a document."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, distinct, rows
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import alike, count
from bboxqa.formats.columns import FARTHEST, Columns, Form, Kind
from bboxqa.formats.records import Authors, FileColumns, ReadSettings
from bboxqa.model.keypoints import Keypoints
from bboxqa.model.masks import SegmentationKind, Segmentations
from bboxqa.model.rotated_boxes import FiveNumbers, corners, from_corners, turned_to, upright

_FIVE, _EIGHT = 5, 8
_TURNED = "with a rotated box compared by the upright bounds (else: --similarity obb)"
_ANGLED = "with an attribute 'rotation' compared by bbox, without it (else: --similarity obb)"
_SINGLE_CROWDS = "with iscrowd 1 taken as single objects: CVAT writes 1 for every mask and ellipse"
_IGNORED = "with ignore 1 taken as crowd; bboxqa validate: S017"


class BoxForm(IntEnum):
    """How an annotation describes its rotated box."""

    UPRIGHT = 0
    """A box only."""
    RECTANGLE = 1
    """Four corners of a rectangle."""
    QUADRILATERAL = 2
    """Four corners of another shape."""
    OTHER = 3
    """A box with another outline or a mask."""
    ANGLE = 4
    """A box, and the angle in degrees by which it is rotated about its centre."""


_Turned = tuple[IndexArray, FloatArray, FloatArray, ByteArray]


def _turned_boxes(columns: Columns, said: FiveNumbers | None) -> _Turned:
    """Return the rows, bounds, boxes and forms of boxes of eight numbers, and of five if said."""
    of = columns.rotations
    five = np.flatnonzero((of.n_numbers == _FIVE) & (said is not None))
    eight = np.flatnonzero(of.n_numbers == _EIGHT)
    boxes = of.values[five, :_FIVE] if said is None else rotated_of(of.values[five, :_FIVE], said)
    points = of.values[eight].reshape(-1, 4, 2)
    around, is_rectangle = from_corners(points)
    form = np.where(is_rectangle, BoxForm.RECTANGLE, BoxForm.QUADRILATERAL)
    form = np.append(np.full(len(five), BoxForm.ANGLE), form).astype(np.uint8)
    rotated = np.concatenate([boxes, around])
    points = np.concatenate([corners(boxes), points])
    low = points.min(1)
    sides = points.max(1) - low
    # Negative sides are kept, so that the boxes are refused.
    wrong = (rotated[:, 2:4] < 0).any(1)
    sides[wrong] = rotated[wrong, 2:4]
    return of.row[np.concatenate([five, eight])], np.hstack([low, sides]), rotated, form


def rotated_of(values: FloatArray, form: FiveNumbers) -> FloatArray:
    """Return rotated boxes, (N, 5), from boxes of five numbers in a layout."""
    origin, direction, unit = form.split("-")
    boxes = values.copy()
    if origin == "xywh":
        boxes[:, :2] += boxes[:, 2:4] / 2
    angle = np.rad2deg(values[:, 4]) if unit == "radians" else values[:, 4]
    boxes[:, 4] = np.mod(angle if direction == "cw" else -angle, 360)
    boxes[boxes[:, 4] >= 360, 4] = 0
    return boxes


def _rotated_boxes(
    columns: Columns, bbox: FloatArray, turned: _Turned | None
) -> tuple[FloatArray, ByteArray]:
    """Return rotated boxes, (N, 5), and their forms, (N,); outlines precede an angle."""
    n = len(columns)
    box, form = upright(bbox), np.zeros(n, np.uint8)
    form[columns.rings.row] = form[columns.rles.row] = BoxForm.OTHER
    # Outlines of one ring of four corners, which may be closed by a fifth point.
    rings = columns.rings
    n_rings, first, n_points = np.bincount(rings.row), rings.offsets[:-1], np.diff(rings.offsets)
    alone = (n_rings[rings.row] == 1) & (rings.n_numbers % 2 == 0)
    closed = np.flatnonzero(alone & (n_points == _FIVE))
    is_closed = (rings.xy[first[closed]] == rings.xy[first[closed] + 4]).all(1)
    found = np.sort(np.concatenate([np.flatnonzero(alone & (n_points == 4)), closed[is_closed]]))
    quads = rings.row[found]
    box[quads], is_rectangle = from_corners(rings.xy[first[found][:, None] + np.arange(4)])
    form[quads] = np.where(is_rectangle, BoxForm.RECTANGLE, BoxForm.QUADRILATERAL)
    if turned is not None:
        row, _, box[row], form[row] = turned
    said = np.where(np.abs(columns.angle) < FARTHEST, columns.angle, np.nan)
    angled = np.flatnonzero((form == BoxForm.UPRIGHT) & (np.nan_to_num(said) % 360 != 0))
    box[angled, 4], form[angled] = said[angled] % 360, BoxForm.ANGLE
    named = np.flatnonzero(~np.isnan(said) & (form == BoxForm.RECTANGLE))
    box[named] = turned_to(box[named], said[named])
    return box, form


MOST_VISIBLE = 2
"""The visibility of a joint that is labelled and can be seen."""
_LONGEST_ID = 100
_ABSENT = (Kind.MISSING, Kind.NULL)


def measured(
    path: Path,
    columns: Columns,
    options: ReadSettings,
    problems: Sequence[str] = (),
    *,
    records: str = "annotations",
    boxes_are_outlines: bool = False,
) -> tuple[FileColumns, tuple[str, ...]]:
    """Return the annotations of a document as agreement needs them, and notes on the others.

    With `boxes_are_outlines`, a box without an outline has that of its four sides.
    """
    has_more = 2 * int((columns.rotations.n_numbers > 0).sum()) > len(columns)
    turned = _turned_boxes(columns, options.choices.rotated) if has_more else None
    keypoints = _keypoints(columns) if options.keypoints else None
    bbox, only = columns.bbox.copy(), np.flatnonzero(columns.has_only_points)
    if turned is not None:
        bbox[turned[0]] = turned[1]
    if keypoints is not None and len(only):
        bbox[only] = keypoints.take(only).extent()
    left_out = np.zeros(len(columns), np.bool_)
    # Annotations with key points but no box, unless all are such, or are compared.
    if not options.keypoints and not columns.has_only_points.all():
        left_out = columns.has_only_points
    wrong = {key: rows & ~left_out for key, rows in _wrong(columns, options, bbox).items()}
    if problems := [*problems, *_problems(str(path), columns, wrong, records)]:
        raise DatasetError(problems, files=[path] * len(problems))
    sides = bbox if boxes_are_outlines else None
    outlines = outlines_of(columns, sides) if options.outlines else None
    rotated, form = None, np.zeros(0, np.uint8)
    if options.rotated:
        rotated, form = _rotated_boxes(columns, bbox, turned)
    text_ids = None
    if columns.text_ids:
        texts = [text[:_LONGEST_ID] for text in columns.text_ids.values()]
        text_ids = columns.id.astype(f"U{max(20, *map(len, texts))}")
        text_ids[list(columns.text_ids)] = texts
    crowd = (columns.iscrowd == 1) & ~columns.is_single_crowd | columns.is_ignored
    found = FileColumns(
        columns.id, columns.image_id, columns.category_id, bbox, crowd,
        {key: _authors(columns, key) for key in options.keys}, outlines, Counter(columns.marks),
        keypoints, text_ids, rotated, columns.score if options.scores else None,
    )  # fmt: skip
    are_angles = not (boxes_are_outlines or has_more)
    n_turned = 0 if turned is None else len(turned[0])
    notes = [*_notes(columns, options, form, n_turned, are_angles=are_angles)]
    if n_left := int(left_out.sum()):
        some = f"{count(n_left, 'annotation')} with key points and no box"
        notes.append(f"{some} not compared; --similarity keypoints compares key points")
        found = found.take(~left_out)
    return found, tuple(notes)


def _authors(columns: Columns, key: str) -> Authors:
    code, names = columns.annotator[key], columns.annotator_names
    used = distinct(code[code >= 0])
    own_names = tuple(names[each] for each in used.tolist())
    own_code = np.full(len(names) + 1, -1, np.int32)
    own_code[used] = np.arange(len(used))
    return Authors(own_code[code], own_names, frozenset(columns.composed_names & {*own_names}))


def _wrong(columns: Columns, options: ReadSettings, bbox: FloatArray) -> dict[str, BoolArray]:
    """Return by key which annotations have a value that falsifies a result."""
    none = np.zeros(len(columns), np.bool_)
    wrong: dict[str, BoolArray] = {"": columns.record != Kind.DICT}
    wrong |= {key: ~valid for key, valid in columns.valid.items()}
    wrong["bbox"] = np.isnan(bbox[:, 0])
    turned = columns.rotations
    far = (turned.n_numbers == _FIVE) & (np.abs(turned.values[:, 4]) > FARTHEST)
    wrong["bbox"][turned.row[far]] = True
    wrong["iscrowd"] = (columns.iscrowd < 0) & ~np.isin(columns.kind["iscrowd"], _ABSENT)
    if options.outlines or options.rotated:
        known = (Form.ABSENT, Form.EMPTY, Form.RINGS, Form.RLE)
        bad = ~np.isin(columns.form, known)
        bad |= (columns.form == Form.EMPTY) & (columns.kind["segmentation"] == Kind.TEXT)
        rings, rles = columns.rings, columns.rles
        bad[rings.row[rings.n_numbers % 2 == 1]] = True
        if not np.isfinite(rings.xy).all():
            of_vertices = np.repeat(rings.row, np.diff(rings.offsets))
            bad[of_vertices[~np.isfinite(rings.xy).all(axis=1)]] = True
        bad[rles.row[(rles.problem > 0) | (rles.total != rles.size.prod(axis=1))]] = True
        wrong["segmentation"] = bad
    if options.keypoints:
        points, bad = columns.keypoints, none.copy()
        bad[points.row[(points.n_numbers < 0) | (points.n_numbers % 3 > 0)]] = True
        bad[points.row[points.owner[~np.isfinite(points.points).all(axis=1)]]] = True
        wrong["keypoints"] = bad
    if options.rotated:
        wrong["attributes.rotation"] = np.abs(columns.angle) >= FARTHEST
    return wrong


def _problems(
    name: str, columns: Columns, wrong: Mapping[str, BoolArray], records: str
) -> Iterator[str]:
    """Yield problems with annotations of a file, and with the names of their annotators."""
    for key, is_wrong in wrong.items():
        rows = np.flatnonzero(is_wrong & ~wrong[""] if key else is_wrong)
        if len(rows):
            row = int(rows[0])
            own = f" (id {columns.text_ids.get(row, columns.id[row])})"
            has_id = columns.valid["id"][row] and records == "annotations"
            place = f"segment {row + 1}" if columns.are_segments else f"{records}[{row}]"
            label = f"{place}{own * bool(has_id)}{more_rows(rows)}"
            expected = "; expected 4 finite numbers (what five are: --rotated FORM)"
            said = f"{key or 'the record'} is missing or cannot be used{expected * (key == 'bbox')}"
            yield f"{name}: {label}: {said}"
    for texts in columns.annotator_texts.values():
        yield from (f"{name}: annotators {problem}" for problem in alike(sorted(texts)))


def more_rows(rows: IndexArray) -> str:
    """Return how many rows have the problem of the first as well."""
    return f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""


def outlines_of(columns: Columns, bbox: FloatArray | None = None) -> Segmentations:
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
        xy, ring_row = xy.take(vertices, axis=0), ring_row[order]
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


def _notes(
    columns: Columns, options: ReadSettings, form: ByteArray, n_turned: int, *, are_angles: bool
) -> Iterator[str]:
    """Yield notes on what is compared in a simpler form than in the file."""
    n_angles = 0
    if options.rotated or options.outlines:
        n_turned = 0
    else:
        turns = np.abs(columns.angle) < FARTHEST
        turns &= np.mod(columns.angle, 360, where=turns, out=np.zeros(len(turns))) != 0
        n_angles = int(turns.sum()) * are_angles
    n_quadrilaterals = n_others = 0
    if not options.outlines:
        of_form = np.bincount(form, minlength=len(BoxForm)).tolist()
        n_quadrilaterals, n_others = of_form[BoxForm.QUADRILATERAL], of_form[BoxForm.OTHER]
    for n, what, said in (
        (n_angles * (not options.keypoints), "annotation", _ANGLED),
        (n_turned, "annotation", _TURNED),
        (n_quadrilaterals, "outline", "with four corners compared by the rectangle around it"),
        (n_others, "other outline", "compared by the upright box (else: --similarity polygon)"),
        (int(columns.is_single_crowd.sum()), "annotation", _SINGLE_CROWDS),
        (int(columns.is_ignored.sum()), "annotation", _IGNORED),
    ):
        if n:
            yield f"{count(n, what)} {said}"
