"""Matching of the annotations of two versions of a data set: by id, if equal, and if similar."""

import re
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, TextArray, compact, frozen_arrays
from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.kernels.boxes import corners, overlap
from bboxqa.geometry.similarities.registry import needs_keypoints, needs_rotated_boxes
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset, join_annotations, joints_of
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.keypoints import largest_moves
from bboxqa.model.shapes.rotated_boxes import corner_moves
from bboxqa.pipelines.joint_sigmas import ESTIMATED, with_sigmas
from bboxqa.pipelines.versions.names import Names

# What annotations without an id are found by: a line, a JSON pointer, or a frame of a track, whose
# number is its position in the file.
_PLACE = re.compile(r"(?s).*(:\d+|#/.*)|/.*|track .*, frame \d+")
# Ids are trusted if at least this share of the annotations with equal ids overlap, and of those
# that are equal in both versions have equal ids.
_STABLE = 0.9
# Annotations with equal ids are also the same if they are left over and no edge moved by more than
# this, in longest sides: small boxes do not overlap after a small move.
_NEAR = 2.0

Pairs = tuple[IndexArray, IndexArray]


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
    names: Names,
    settings: AgreeSettings,
    progress: Progress | None = None,
) -> MatchedVersions:
    """Find the annotations that both versions have.

    The same are, in this order: equal annotations, those with the same id that overlap, those that
    the matcher joins at the lowest threshold, and those with the same id that are near. Ids are
    used if the files give them, and nearly all annotations that are equal or overlap keep them.
    """
    if settings.sigmas == ESTIMATED and needs_keypoints(settings.similarity):
        raise ConfigError(
            "two versions are compared with the same sigmas; give as numbers those that "
            "`bboxqa agree --sigmas estimated` prints"
        )
    both, order = _side_by_side(before, after, names)
    both = with_sigmas(both, settings)
    annotations, edges = both.annotations, corners(both.annotations.bbox)
    codes, unused = _id_codes(before, after)
    by_id: Pairs = (np.zeros(0, np.int64),) * 2
    if codes is not None:
        by_id = _pairs_by_id(annotations, codes[order], edges)
        unused = "" if len(by_id[0]) else "ids changed"
    first, second = (edges[side] for side in by_id)
    longest = np.maximum(*(annotations.bbox[side, 2:].max(1, initial=0) for side in by_id))
    is_near = np.abs(first - second).max(1, initial=0) <= _NEAR * longest
    open_rows = np.ones(len(annotations), np.bool_)
    found: list[Pairs] = []

    def take(pairs: Pairs) -> None:
        kept = open_rows[pairs[0]] & open_rows[pairs[1]]
        found.append((pairs[0][kept], pairs[1][kept]))
        open_rows[np.concatenate(found[-1])] = False

    take(_where(by_id, _are_equal(annotations, by_id)))
    take(_equal_pairs(annotations, _open_rows(annotations, open_rows)))
    take(_where(by_id, overlap(first, second) > 0))
    take(_similar_pairs(both, _open_rows(annotations, open_rows), settings, progress))
    take(_where(by_id, is_near))
    left, right = (np.concatenate(side) for side in zip(*found, strict=True))
    sequence = np.argsort(left)
    left, right = left[sequence], right[sequence]
    shift = _moves(annotations, edges, left, right, settings.similarity)
    similarity = similarity_of_pairs(
        both, settings.similarity, left, right, all_touched=settings.all_touched
    )
    similarity[(shift == 0) & (similarity == 0)] = 1.0
    return MatchedVersions(
        before=order[left],
        after=order[right] - len(before.annotations),
        shift=shift,
        similarity=similarity,
        redrawn=similarity < 1 - TOLERANCE,
        unused_ids=unused,
    )


def _where(pairs: Pairs, kept: BoolArray) -> Pairs:
    return pairs[0][kept], pairs[1][kept]


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


def _side_by_side(before: Dataset, after: Dataset, names: Names) -> tuple[Dataset, IndexArray]:
    """Return all annotations as those of two annotators, "before" and "after"."""
    old, new = before.annotations, after.annotations
    images, annotators, categories = names.images, names.annotators, names.categories
    n_annotators, sides = len(annotators), ((0, old), (1, new))
    group = np.concatenate(
        [
            images.places[place][part.image] * n_annotators
            + annotators.places[place][part.annotator]
            for place, part in sides
        ]
    )
    side = np.repeat(np.array([0, 1], np.int32), [len(old), len(new)])
    order = np.argsort(group * 2 + side, kind="stable")
    groups, image = compact(group, len(images) * n_annotators)
    category = [categories.places[place][part.category] for place, part in sides]
    place = groups // max(n_annotators, 1)
    joined = replace(
        join_annotations([old, new]),
        image=image.astype(np.int32),
        annotator=side,
        category=np.concatenate(category).astype(np.int32),
    )
    sizes = np.zeros((len(images), 2), np.int32)
    # The size after counts, if it is known.
    for data, index in ((before, images.before), (after, images.after)):
        known = np.flatnonzero(index >= 0)
        known = known[data.image_size[index[known]].all(1)]
        sizes[known] = data.image_size[index[known]]
    image_names, named = images.names, joints_of(categories.names, [before, after])
    both = Dataset(
        image_names=tuple(image_names[index] for index in place.tolist()),
        image_size=sizes[place],
        category_names=categories.names,
        annotator_names=("before", "after"),
        annotations=joined.take(order),
        assigned=np.ones((len(groups), 2), np.bool_),
        joint_names=named.names,
        limbs=named.limbs,
    )
    return both, order


def _id_codes(before: Dataset, after: Dataset) -> tuple[IndexArray | None, str]:
    """Return codes of the ids of all annotations, in their order, or None and why not."""
    old, new = _given_ids(before), _given_ids(after)
    if old is None or new is None:
        lacking = [name for name, ids in (("before", old), ("after", new)) if ids is None]
        return None, f"the annotations {' and '.join(lacking)} have no ids"
    if not (len(old) and len(new)):
        return None, "not both versions have annotations"
    if not old.dtype.kind == new.dtype.kind == "i":
        old, new = old.astype(np.str_), new.astype(np.str_)
    codes: IndexArray = np.unique(np.concatenate([old, new]), return_inverse=True)[1]
    return codes, ""


def _given_ids(data: Dataset) -> IndexArray | TextArray | None:
    """Return the ids that the file or its tool gives annotations, (N,); None if it gives none."""
    own = data.annotations.own_id
    if own is None:
        return data.annotations.id
    if isinstance(own, FilePlaces):
        return None
    if not data.has_text_ids and any(map(_PLACE.fullmatch, own.tolist())):
        return None
    return own


def _pairs_by_id(annotations: Annotations, codes: IndexArray, edges: FloatArray) -> Pairs:
    """Return the pairs with equal ids, or none where ids changed."""
    pairs = _same_id(annotations, codes)
    is_equal = _are_equal(annotations, pairs)
    first, second = (edges[side] for side in pairs)
    overlapping = (overlap(first, second) > 0) | (first == second).all(1)
    is_open = np.ones(len(annotations), np.bool_)
    is_open[np.concatenate(_where(pairs, is_equal))] = False
    old, new = _equal_pairs(annotations, _open_rows(annotations, is_open))
    # An id that the other version does not have tells nothing.
    before, after = (codes[annotations.annotator == side] for side in (0, 1))
    in_use = np.isin(codes[old], after) | np.isin(codes[new], before)
    n_other, n_equal = (in_use & (codes[old] != codes[new])).sum(), is_equal.sum()
    is_stable = overlapping.sum() >= _STABLE * len(overlapping)
    is_stable &= n_equal >= _STABLE * (n_equal + n_other)
    return pairs if is_stable else (old[:0], new[:0])


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


def _content_of(annotations: Annotations) -> list[FloatArray]:
    """Return the columns in which equal annotations are equal, each (N,) float64."""
    columns = [*annotations.bbox.T, annotations.category, annotations.image]
    return [column.astype(np.float64, copy=False) for column in columns]


def _are_equal(annotations: Annotations, pairs: Pairs) -> BoolArray:
    left, right = pairs
    equal = [each[left] == each[right] for each in _content_of(annotations)]
    result: BoolArray = np.all(equal, axis=0)
    return result


def _open_rows(annotations: Annotations, is_open: BoolArray) -> IndexArray:
    """Return the unmatched annotations in images where both versions have some."""
    image, side = annotations.image, annotations.annotator
    present = [np.isin(image, image[is_open & (side == each)]) for each in (0, 1)]
    return np.flatnonzero(is_open & present[0] & present[1])


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
    both: Dataset, rows: IndexArray, settings: AgreeSettings, progress: Progress | None
) -> Pairs:
    """Return the pairs that the matcher forms of some of the annotations."""
    if not len(rows):
        return rows, rows
    part = replace(both, annotations=both.annotations.take(rows))
    threshold = min(settings.iou_threshold)
    pairs, _ = candidate_pairs(
        part,
        settings.similarity,
        threshold,
        all_touched=settings.all_touched,
        progress=None if progress is None else lambda *done: progress("matching", *done),
    )
    units = match(
        part.annotations,
        pairs,
        settings.matcher,
        threshold,
        category_lenient=settings.category_lenient,
    )
    order = np.argsort(units.unit, kind="stable")
    first = np.flatnonzero(np.diff(units.unit[order]) == 0)
    return rows[order[first]], rows[order[first + 1]]
