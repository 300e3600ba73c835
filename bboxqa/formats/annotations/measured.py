"""Making the annotations that agreement measures from the columns of a document."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, TextArray, rows
from bboxqa.core.text import alike, count
from bboxqa.formats.annotations.columns import Authors, Columns, RotatedColumns
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.rotated import (
    BoxNumbers,
    box_numbers,
    has_more_numbers,
    rotated_columns,
    rotated_notes,
)
from bboxqa.formats.document.annotation_columns import AnnotationColumns, Form, Kind
from bboxqa.formats.document.raw_values import FARTHEST
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.keypoints import Keypoints
from bboxqa.model.shapes.rotated_boxes import FiveNumbers

MOST_VISIBLE = 2
"""The visibility of a joint that is labelled and can be seen."""
_LONGEST_ID = 100
_ABSENT = (Kind.MISSING, Kind.NULL)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The annotations of a document that can be measured, and what is to be said of the others."""

    columns: Columns
    rows: IndexArray
    """(M,) int64. The rows of these annotations in the document."""
    bad: IndexArray
    """Rows with values that falsify a result."""
    has_more_numbers: bool
    """Whether boxes may have five or eight numbers."""
    notes: tuple[str, ...]


def measured(
    columns: AnnotationColumns,
    options: ReadOptions,
    *,
    said: FiveNumbers | None = None,
    boxes_are_outlines: bool = False,
) -> Measured:
    """Return the annotations of a document as agreement needs them.

    Parameters
    ----------
    columns : AnnotationColumns
    options : ReadOptions
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
    found = Columns(
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


def taken(columns: Columns, kept: IndexArray) -> Columns:
    """Return some of the annotations."""
    outlines, keypoints, rotated = columns.segmentation, columns.keypoints, columns.rotated
    return Columns(
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


def author_problems(columns: AnnotationColumns) -> Iterator[str]:
    """Yield problems with the names of annotators that would become equal."""
    for texts in columns.annotator_texts.values():
        yield from (f"annotators {problem}" for problem in alike(sorted(texts)))


def _authors(columns: AnnotationColumns, key: str) -> Authors:
    code, names = columns.annotator[key], columns.annotator_names
    used = np.unique(code[code >= 0])
    own_names = tuple(names[each] for each in used.tolist())
    own_code = np.full(len(names) + 1, -1, np.int32)
    own_code[used] = np.arange(len(used))
    composed = columns.composed_names & {*own_names} if columns.composed_names else frozenset()
    return Authors(own_code[code], own_names, frozenset(composed))


def _text_ids(columns: AnnotationColumns) -> TextArray | None:
    if not columns.text_ids:
        return None
    texts = [text[:_LONGEST_ID] for text in columns.text_ids.values()]
    found = columns.id.astype(f"U{max(20, *map(len, texts))}")
    found[list(columns.text_ids)] = texts
    return found


def _boxes(
    columns: AnnotationColumns, numbers: BoxNumbers | None, keypoints: Keypoints | None
) -> FloatArray:
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


def _left_out(columns: AnnotationColumns, options: ReadOptions) -> BoolArray:
    """Return the annotations with key points but no box, unless all are such, or are compared."""
    found = np.zeros(len(columns), np.bool_)
    if not options.keypoints and len(columns.point_rows) < len(columns):
        found[list(columns.point_rows)] = True
    return found


def _bad(columns: AnnotationColumns, options: ReadOptions, bbox: FloatArray) -> BoolArray:
    """Return which annotations have a value that falsifies a result."""
    bad = (columns.record != Kind.DICT) | np.isnan(bbox[:, 0])
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


def _bad_rings(columns: AnnotationColumns) -> IndexArray:
    rings = columns.rings
    bad = rings.n_numbers % 2 == 1
    if not np.isfinite(rings.xy).all():
        of_vertices = np.repeat(np.arange(len(rings.row)), np.diff(rings.offsets))
        bad[of_vertices[~np.isfinite(rings.xy).all(axis=1)]] = True
    return rings.row[bad]


def _outlines(columns: AnnotationColumns, bbox: FloatArray | None) -> Segmentations:
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


def _keypoints(columns: AnnotationColumns) -> Keypoints:
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
    columns: AnnotationColumns, options: ReadOptions, found: Columns, numbers: BoxNumbers | None
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


def turned_note(columns: AnnotationColumns) -> Iterator[str]:
    """Yield a note on boxes whose attribute `rotation` is not compared."""
    n = sum(abs(angle) < FARTHEST and angle % 360 != 0 for angle in columns.angles.values())
    if n:
        has, its = ("has", "its bbox is") if n == 1 else ("have", "their bbox is")
        yield (
            f"{count(n, 'annotation')} {has} an attribute 'rotation': {its} compared without it; "
            "--similarity obb compares rotated boxes"
        )
