"""Matching of the annotations of two versions of a data set: by id, if equal, and if similar."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    TextArray,
    compact,
    frozen_arrays,
)
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import in_natural_order
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.kernels.boxes import corners, overlap
from bboxqa.geometry.similarities.registry import (
    needs_keypoints,
    needs_outlines,
    needs_rotated_boxes,
)
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import (
    Annotations,
    Dataset,
    join_columns,
    join_outlines,
    joints_of,
    select_annotations,
)
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.keypoints import join_keypoints, largest_moves
from bboxqa.model.shapes.rotated_boxes import corner_moves
from bboxqa.model.units import CandidatePairs
from bboxqa.pipelines.joint_sigmas import ESTIMATED, with_sigmas
from bboxqa.pipelines.versions.names import Aligned, align

COUNTED = "ids that count up without gaps may be positions"
"""Why ids are not used that may be assigned anew by each export."""
CHANGED = "ids changed"
"""Why ids are not used that equal annotations do not share."""

# What annotations without an id are found by: a line, a JSON pointer, or a frame of a track, whose
# number is its position in the file.
_PLACE = re.compile(r"(?s).*(:\d+|#/.*)|/.*|track .*, frame \d+")
# Longer numbers do not fit into 64 bits.
_MOST_DIGITS = 18
# Ids are trusted if at least this share of the annotations with equal ids overlap, and of those
# that are equal in both versions have equal ids.
_STABLE = 0.9
# The least share of equal annotations that shows that ids are no positions.
_MOST = 0.5
# Annotations with equal ids are also the same if they are left over and no edge moved by more than
# this, in longest sides: small boxes do not overlap after a small move.
_NEAR = 2.0
# Annotations that are at least so similar are nearly equal.
_NEARLY = 0.9

Pairs = tuple[IndexArray, IndexArray]
_NO_ROWS: IndexArray = np.zeros(0, np.int64)


@frozen_arrays
class MatchedVersions:
    """P annotations that both versions have."""

    before: IndexArray
    after: IndexArray
    """(P,) int64. Indices into the annotations of each version."""
    shift: FloatArray
    """(P,) float64. The largest displacement of an edge of the box, in pixels."""
    similarity: FloatArray
    """(P,) float64. The similarity of the two, as measured by that of the settings."""
    redrawn: BoolArray
    """(P,) bool. Whether the outline differs, if outlines are compared."""
    unused_ids: str
    """Why ids were not used; empty if they were."""

    def __len__(self) -> int:
        return len(self.before)


def match_versions(
    before: Dataset,
    after: Dataset,
    images: Aligned,
    annotators: Aligned,
    settings: AgreeSettings,
    progress: Progress | None = None,
) -> MatchedVersions:
    """Find the annotations that both versions have.

    Two annotations with the same id are the same if they have the same annotator and image, and
    overlap. Ids are used if the files give them, and nearly all annotations that are equal or
    overlap keep them; all equal ones if the ids merely count annotations. Of the others, equal
    annotations are the same, and the rest is matched by similarity, or by boxes if key points are
    compared and none are labelled. Of what is left, annotations with the same id that are near each
    other are the same, if ids are used. The lowest threshold counts.
    """
    both, order = _side_by_side(before, after, images, annotators)
    if settings.sigmas == ESTIMATED and needs_keypoints(settings.similarity):
        raise ConfigError(
            "two versions are compared with the same sigmas; give as numbers those that "
            "`bboxqa agree --sigmas estimated` prints"
        )
    both = with_sigmas(both, settings)
    annotations = both.annotations
    edges = corners(annotations.bbox)
    codes, unused = _id_codes(before, after)
    by_id = _IdPairs(unused=unused)
    if codes is not None:
        by_id = _pairs_by_id(annotations, codes[order], edges, unused)
    pairs = _with_similar(both, by_id.sure, settings, progress)
    left, right = _joined(pairs, _unused(by_id.near, pairs, len(annotations)))
    shift = _moves(annotations, edges, left, right, settings.similarity)
    similarity = np.ones(len(left))
    are_boxes = not _has_shapes(settings.similarity)
    changed = np.flatnonzero(shift) if are_boxes else np.arange(len(left))
    similarity[changed] = similarity_of_pairs(
        both,
        settings.similarity,
        left[changed],
        right[changed],
        all_touched=settings.all_touched,
    )
    return MatchedVersions(
        before=order[left],
        after=order[right] - len(before.annotations),
        shift=shift,
        similarity=similarity,
        redrawn=_redrawn(annotations, left, right, similarity),
        unused_ids=by_id.unused,
    )


def _moves(
    annotations: Annotations,
    edges: FloatArray,
    left: IndexArray,
    right: IndexArray,
    similarity: str,
) -> FloatArray:
    """Return the largest displacement of an edge, corner or joint of each pair, (P,)."""
    boxes = annotations.rotated_box
    if boxes is not None and needs_rotated_boxes(similarity):
        return corner_moves(boxes[left], boxes[right])
    moved: FloatArray = np.abs(edges[left] - edges[right]).max(1, initial=0)
    if annotations.keypoints is not None:
        moved = np.maximum(moved, largest_moves(annotations.keypoints, left, right))
    return moved


def _unused(pairs: Pairs, used: Pairs, n: int) -> Pairs:
    """Return the pairs of which neither annotation is in the pairs that are used."""
    is_used = np.zeros(n, np.bool_)
    is_used[np.concatenate(used)] = True
    kept = ~(is_used[pairs[0]] | is_used[pairs[1]])
    return pairs[0][kept], pairs[1][kept]


def _with_similar(
    both: Dataset, pairs: Pairs, settings: AgreeSettings, progress: Progress | None
) -> Pairs:
    """Return pairs, and those of what is left that are equal or similar enough."""
    annotations, name = both.annotations, settings.similarity
    if not _has_shapes(name):
        # Equal boxes need not be compared with all that overlap.
        pairs = _joined(pairs, _equal_pairs(annotations, _open_rows(annotations, *pairs)))
    more = _similar_pairs(both, _open_rows(annotations, *pairs), settings, progress)
    pairs = _joined(pairs, more)
    if needs_keypoints(name):
        # Annotations without labelled key points are similar to none.
        rest = _open_rows(annotations, *pairs)
        more = _similar_pairs(both, rest, settings, progress, unlabelled=True)
        pairs = _joined(pairs, more)
    if _has_shapes(name):
        # Shapes without common area, or without area, are similar to none even in one box.
        pairs = _joined(pairs, _equal_pairs(annotations, _open_rows(annotations, *pairs)))
    return pairs


def _has_shapes(similarity: str) -> bool:
    """Return whether a similarity compares shapes that can differ where their bounds are equal."""
    return (
        needs_outlines(similarity) or needs_keypoints(similarity) or needs_rotated_boxes(similarity)
    )


def _redrawn(
    annotations: Annotations, left: IndexArray, right: IndexArray, similarity: FloatArray
) -> BoolArray:
    """Return which shapes were redrawn, (P,) bool."""
    redrawn: BoolArray = similarity < 1 - TOLERANCE
    for place in np.flatnonzero(similarity == 0).tolist():
        first, last = (_shape(annotations, int(side[place])) for side in (left, right))
        redrawn[place] = first != last
    return redrawn


def _shape(annotations: Annotations, row: int) -> tuple[Any, ...]:
    """Return the outline and the key points of an annotation as a value that can be compared."""
    outlines, points = annotations.segmentation, annotations.keypoints
    found: tuple[Any, ...] = ()
    if outlines is not None:
        rings = [ring.tolist() for ring in outlines.rings(row)]
        found += (int(outlines.kind[row]), rings, outlines.rle(row))
    if points is not None:
        part = slice(int(points.start[row]), int(points.stop[row]))
        found += (points.xy[part].tobytes(), points.visibility[part].tobytes())
    return found


def _joined(pairs: Pairs, more: Pairs) -> Pairs:
    """Return both pairs, by `left`."""
    left, right = (np.concatenate(each) for each in zip(pairs, more, strict=True))
    order = np.argsort(left)
    return left[order], right[order]


def _side_by_side(
    before: Dataset, after: Dataset, images: Aligned, annotators: Aligned
) -> tuple[Dataset, IndexArray]:
    """Return all annotations as those of two annotators, "before" and "after"."""
    old, new = before.annotations, after.annotations
    categories = align(before.category_names, after.category_names)
    n_annotators = len(annotators)
    group = np.concatenate(
        [
            images.place_before[old.image] * n_annotators + annotators.place_before[old.annotator],
            images.place_after[new.image] * n_annotators + annotators.place_after[new.annotator],
        ]
    )
    side = np.repeat(np.array([0, 1], np.int32), [len(old), len(new)])
    order = np.argsort(group * 2 + side, kind="stable")
    groups, image = compact(group, len(images) * n_annotators)
    category = [categories.place_before[old.category], categories.place_after[new.category]]
    names = images.names
    place = groups // max(n_annotators, 1)
    every = [np.arange(len(old)), np.arange(len(new))]
    outlines = joints = None
    if old.segmentation is not None and new.segmentation is not None:
        outlines = join_outlines([old.segmentation, new.segmentation], every)
    if old.keypoints is not None and new.keypoints is not None:
        joints = join_keypoints([old.keypoints, new.keypoints], every)
    joined = Annotations(
        id=np.concatenate([old.id, new.id]),
        image=image.astype(np.int32),
        annotator=side,
        category=np.concatenate(category).astype(np.int32),
        bbox=np.concatenate([old.bbox, new.bbox]),
        iscrowd=np.concatenate([old.iscrowd, new.iscrowd]),
        segmentation=outlines,
        keypoints=joints,
        rotated_box=join_columns([old.rotated_box, new.rotated_box]),
    )
    named = joints_of(categories.names, [before, after])
    both = Dataset(
        image_names=tuple(names[index] for index in place.tolist()),
        image_size=_sizes(before, after, images)[place],
        category_names=categories.names,
        annotator_names=("before", "after"),
        annotations=select_annotations(joined, order),
        assigned=np.ones((len(groups), 2), np.bool_),
        joint_names=named.names,
        limbs=named.limbs,
    )
    return both, order


def _sizes(before: Dataset, after: Dataset, images: Aligned) -> IntArray:
    """Return the size of each image, of the version after if it is known there."""
    sizes = np.zeros((len(images), 2), np.int32)
    for data, index in ((before, images.before), (after, images.after)):
        known = np.flatnonzero(index >= 0)
        known = known[data.image_size[index[known]].all(1)]
        sizes[known] = data.image_size[index[known]]
    return sizes


def _id_codes(before: Dataset, after: Dataset) -> tuple[IndexArray | None, str]:
    """Return codes of the ids of all annotations, in their order, and what speaks against them."""
    given = given_ids(before), given_ids(after)
    lacking = [name for name, ids in zip(("before", "after"), given, strict=True) if ids is None]
    if lacking:
        return None, f"the annotations {' and '.join(lacking)} have no ids"
    old, new = (np.zeros(0, np.int64) if ids is None else ids for ids in given)
    if not (len(old) and len(new)):
        return None, "not both versions have annotations"
    counted = count_up(old, before.annotations.annotator)
    doubt = COUNTED if counted and count_up(new, after.annotations.annotator) else ""
    if old.dtype.kind == new.dtype.kind == "i":
        return np.concatenate([old, new]).astype(np.int64), doubt
    texts = np.concatenate([ids.astype(np.str_) for ids in (old, new)])
    names, place = np.unique(texts, return_inverse=True)
    rank = {name: code for code, name in enumerate(in_natural_order(names.tolist()))}
    codes: IndexArray = np.array([rank[name] for name in names.tolist()], np.int64)[place]
    return codes, doubt


def given_ids(data: Dataset) -> IndexArray | TextArray | None:
    """Return the ids that the file or its tool gives annotations, (N,); None if it gives none."""
    own = data.annotations.own_id
    if own is None:
        return data.annotations.id
    if isinstance(own, FilePlaces):
        return None
    if not data.has_text_ids and any(map(_PLACE.fullmatch, own.tolist())):
        return None
    return own


def count_up(ids: IndexArray | TextArray, annotator: IntArray) -> bool:
    """Return whether ids are all numbers from 0 or 1 to the last one.

    If ids occur twice, as in one file per annotator, those of each annotator must be.

    Examples
    --------
    >>> one = np.zeros(3, np.int32)
    >>> count_up(np.array([2, 1, 3]), one), count_up(np.array(["0", "1", "3"]), one)
    (True, False)
    >>> count_up(np.array([1, 1, 2]), np.array([0, 1, 1], np.int32))
    True
    """
    if ids.dtype.kind == "U":
        texts = ids.astype(np.str_)
        if (
            not np.char.isdecimal(texts).all()
            or np.char.str_len(texts).max(initial=0) > _MOST_DIGITS
        ):
            return False
        ids = ids.astype(np.int64)
    if len(np.unique(ids)) == len(ids):
        annotator = np.zeros(len(ids), np.int32)
    order = np.lexsort((ids, annotator))
    first = np.diff(annotator[order], prepend=-1) != 0
    step = np.diff(ids[order], prepend=0)
    return bool(np.isin(ids[order][first], (0, 1)).all() and (step[~first] <= 1).all())


@dataclass(frozen=True, slots=True, eq=False)
class _IdPairs:
    """Pairs of annotations with the same id."""

    sure: Pairs = (_NO_ROWS, _NO_ROWS)
    """Those that overlap or are equal."""
    near: Pairs = (_NO_ROWS, _NO_ROWS)
    """Those that are near: they are the same annotation if both are left over."""
    unused: str = ""
    """Why ids are not used; empty if they are."""


def _pairs_by_id(
    annotations: Annotations, codes: IndexArray, edges: FloatArray, doubt: str = ""
) -> _IdPairs:
    """Return the pairs with equal ids, if ids stayed the same."""
    left, right = _same_id(annotations, codes)
    first, second = edges[left], edges[right]
    is_equal = np.logical_and.reduce(
        [each[left] == each[right] for each in _content_of(annotations)]
    )
    overlapping = (overlap(first, second) > 0) | (first == second).all(1)
    old, new = _with_another_id(annotations, codes, left[is_equal], right[is_equal])
    n_equal = int(is_equal.sum())
    is_kept = n_equal >= _STABLE * (n_equal + len(old))
    if not (len(left) and is_kept and overlapping.mean() >= _STABLE):
        return _IdPairs(unused=doubt or CHANGED)
    if doubt and (len(old) or n_equal < _MOST * len(left)):
        return _IdPairs(unused=doubt)
    first_moved = np.full(int(annotations.image.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_moved, annotations.image[old], np.minimum(codes[old], codes[new]))
    kept = codes[left] < first_moved[annotations.image[left]]
    longest = np.maximum(*(annotations.bbox[each, 2:].max(1) for each in (left, right)))
    near = kept & ~overlapping & (np.abs(first - second).max(1) <= _NEAR * longest)
    sure = is_equal | (kept & overlapping)
    return _IdPairs((left[sure], right[sure]), (left[near], right[near]))


def _same_id(annotations: Annotations, codes: IndexArray) -> Pairs:
    """Return the pairs of annotations with an id that occurs once per version in the image."""
    order = np.lexsort((codes, annotations.image))
    new: BoolArray = np.diff(codes[order], prepend=0) != 0
    new |= np.diff(annotations.image[order], prepend=-1) != 0
    starts = np.flatnonzero(new)
    twice = starts[np.diff(np.append(starts, len(order))) == 2]
    left, right = order[twice], order[twice + 1]
    apart = annotations.annotator[left] < annotations.annotator[right]
    return left[apart], right[apart]


def _with_another_id(
    annotations: Annotations, codes: IndexArray, left: IndexArray, right: IndexArray
) -> Pairs:
    """Return the pairs of equal annotations with ids that differ, without those of given pairs."""
    old, new = _equal_pairs(annotations, _open_rows(annotations, left, right))
    before, after = (codes[annotations.annotator == side] for side in (0, 1))
    in_use: BoolArray = np.isin(codes[old], after) | np.isin(codes[new], before)
    moved_on = in_use & (codes[old] != codes[new])
    return old[moved_on], new[moved_on]


def _content_of(annotations: Annotations) -> list[FloatArray]:
    """Return the columns in which equal annotations are equal, each (N,) float64."""
    columns = [*annotations.bbox.T, annotations.category, annotations.image]
    return [column.astype(np.float64, copy=False) for column in columns]


def _open_rows(annotations: Annotations, left: IndexArray, right: IndexArray) -> IndexArray:
    """Return the unmatched annotations in images where both versions have some."""
    is_open: BoolArray = np.ones(len(annotations), np.bool_)
    is_open[left] = is_open[right] = False
    image = annotations.image
    size = int(image.max(initial=-1)) + 1
    present = [
        np.bincount(image[is_open & (annotations.annotator == side)], minlength=size) > 0
        for side in (0, 1)
    ]
    return np.flatnonzero(is_open & (present[0] & present[1])[image])


def _equal_pairs(annotations: Annotations, rows: IndexArray) -> Pairs:
    """Return the pairs among `rows` with one image, box and category, those of low ids first."""
    if not len(rows):
        return rows, rows
    content = np.stack([column[rows] for column in _content_of(annotations)])
    # Rows of equal content stay in order: those before come first.
    order = np.lexsort(content)
    is_new = np.append(True, (np.diff(content[:, order]) != 0).any(0))
    starts = np.flatnonzero(is_new)
    side = annotations.annotator[rows[order]]
    n_before = np.add.reduceat(1 - side, starts)
    run = np.cumsum(is_new) - 1
    first = np.flatnonzero(side == 0)
    partner = first + n_before[run[first]]
    inside = partner < np.append(starts, len(rows))[run[first] + 1]
    return rows[order[first[inside]]], rows[order[partner[inside]]]


def _similar_pairs(
    both: Dataset,
    rows: IndexArray,
    settings: AgreeSettings,
    progress: Progress | None,
    *,
    unlabelled: bool = False,
) -> Pairs:
    """Return the pairs that the matcher forms of some of the annotations."""
    if not len(rows):
        return rows, rows
    part = replace(both, annotations=select_annotations(both.annotations, rows))
    threshold = min(settings.iou_threshold)
    pairs, _ = candidate_pairs(
        part,
        "bbox" if unlabelled else settings.similarity,
        threshold,
        all_touched=settings.all_touched,
        progress=None if progress is None else lambda *done: progress("matching", *done),
    )
    keypoints = part.annotations.keypoints
    if unlabelled and keypoints is not None:
        _, n_labelled = keypoints.packed().labelled()
        pairs = pairs.take((n_labelled[pairs.left] == 0) | (n_labelled[pairs.right] == 0))
    near = _chosen(part.annotations, pairs.take(pairs.similarity >= _NEARLY), settings)
    taken = np.zeros(len(rows), np.bool_)
    taken[np.concatenate(near)] = True
    rest = pairs.take(~(taken[pairs.left] | taken[pairs.right]))
    left, right = map(
        np.concatenate, zip(near, _chosen(part.annotations, rest, settings), strict=True)
    )
    return rows[left], rows[right]


def _chosen(annotations: Annotations, pairs: CandidatePairs, settings: AgreeSettings) -> Pairs:
    """Return the pairs that the matcher chooses among candidates."""
    units = match(
        annotations,
        pairs,
        settings.matcher,
        min(settings.iou_threshold),
        category_lenient=settings.category_lenient,
    )
    order = np.argsort(units.unit, kind="stable")
    first = np.flatnonzero(np.diff(units.unit[order]) == 0)
    return order[first], order[first + 1]
