"""Annotations of two versions of a data set: names side by side, matching, and changes."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    Progress,
    TextArray,
    compact,
)
from bboxqa.core.errors import ConfigError
from bboxqa.geometry.boxes import corners, overlap
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.registry import needs_keypoints, needs_rotated_boxes
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset, join_annotations, joints_of
from bboxqa.model.comparison import CHANGES, CROWD_FLAGS
from bboxqa.model.keypoints import largest_moves
from bboxqa.model.rotated_boxes import ROUNDED_PX, corner_moves
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, FilePlaces, Table
from bboxqa.pipelines.joint_sigmas import ESTIMATED, with_sigmas
from bboxqa.pipelines.threshold_results import id_column

STATUS = ("both", "renamed", "removed", "added")
"""The possible changes of a name."""


class Aligned(FrozenArrays, frozen=True, eq=False):
    """N names of either version, in an order that does not depend on which is first."""

    before: IntArray
    after: IntArray
    """(N,) int32. Indices into the names of each version; -1 where it lacks the name."""
    before_names: tuple[str, ...]
    after_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.before)

    @property
    def names(self) -> tuple[str, ...]:
        """The names after, or before for removed ones."""
        return tuple(
            self.after_names[after] if after >= 0 else self.before_names[before]
            for before, after in zip(self.before.tolist(), self.after.tolist(), strict=True)
        )

    @property
    def places(self) -> tuple[IndexArray, IndexArray]:
        """The index here of each name of the versions before and after."""
        found = []
        for index, names in ((self.before, self.before_names), (self.after, self.after_names)):
            place = np.zeros(len(names), np.int64)
            known = np.flatnonzero(index >= 0)
            place[index[known]] = known
            found.append(place)
        return found[0], found[1]

    @property
    def status(self) -> IntArray:
        """Indices into `STATUS`, (N,)."""
        pairs = zip(self.before.tolist(), self.after.tolist(), strict=True)
        codes = [
            STATUS.index("removed" if after < 0 else "added")
            if min(before, after) < 0
            else int(self.before_names[before] != self.after_names[after])
            for before, after in pairs
        ]
        return np.array(codes, np.int32)

    def columns(self, noun: str) -> dict[str, Column]:
        """Return the names before and after, and their status, as columns of a table."""
        return {
            f"{noun}_before": Categorical(self.before, self.before_names),
            f"{noun}_after": Categorical(self.after, self.after_names),
            "status": Categorical(self.status, STATUS),
        }


def align(
    before: Sequence[str], after: Sequence[str], renamed: Iterable[tuple[int, int]] = ()
) -> Aligned:
    """Return names of two versions side by side; `renamed` are indices before and after.

    Examples
    --------
    >>> aligned = align(["cat", "dog"], ["dog", "feline"], [(0, 1)])
    >>> aligned.before, aligned.after, aligned.status
    (array([0, 1], dtype=int32), array([1, 0], dtype=int32), array([1, 0], dtype=int32))
    """
    place = {name: index for index, name in enumerate(after)}
    partner = dict(renamed)
    rows = [(index, partner.get(index, place.get(name, -1))) for index, name in enumerate(before)]
    taken = {index for _, index in rows}
    rows += [(-1, index) for index in range(len(after)) if index not in taken]

    def first_name(row: tuple[int, int]) -> str:
        return min(names[i] for names, i in zip((before, after), row, strict=True) if i >= 0)

    rows.sort(key=first_name)
    codes = np.array(rows, np.int32).reshape(-1, 2)
    return Aligned(codes[:, 0].copy(), codes[:, 1].copy(), tuple(before), tuple(after))


class Names(msgspec.Struct, frozen=True, eq=False):
    """The images, annotators and categories of both versions."""

    images: Aligned
    annotators: Aligned
    categories: Aligned


def names_of(before: Dataset, after: Dataset) -> Names:
    """Return the names of both; a single annotator of each version is the same."""
    annotators = before.annotator_names, after.annotator_names
    return Names(
        align(before.image_names, after.image_names),
        align(*annotators, [(0, 0)] if len(annotators[0]) == len(annotators[1]) == 1 else []),
        align(before.category_names, after.category_names),
    )


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


class MatchedVersions(FrozenArrays, frozen=True, eq=False):
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
    return np.asarray(np.all(equal, axis=0))


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


_UNCHANGED, _MOVED, _RENAMED, _BOTH, _CROWD_FLAG, _REMOVED, _ADDED = range(len(CHANGES))


def renamed_categories(before: Dataset, after: Dataset, matched: MatchedVersions) -> Aligned:
    """Return the categories of both; those of other names are the same if most annotations are."""
    by_name = align(before.category_names, after.category_names)
    table = np.zeros((len(before.category_names), len(after.category_names)), np.int64)
    old, new = before.annotations.category, after.annotations.category
    np.add.at(table, (old[matched.before], new[matched.after]), 1)
    most = (2 * table > table.sum(1, keepdims=True)) & (2 * table > table.sum(0))
    places = by_name.places
    is_removed, is_added = (by_name.after < 0)[places[0]], (by_name.before < 0)[places[1]]
    pairs = np.argwhere(most & is_removed[:, None] & is_added).tolist()
    return align(
        before.category_names, after.category_names, [(left, right) for left, right in pairs]
    )


def changes_of(
    before: Dataset, after: Dataset, matched: MatchedVersions, names: Names
) -> dict[str, Any]:
    """Return counts and tables of the changes of all annotations, by field of the result.

    Annotations whose edges differ by at most 0.01 px have not moved, unless outlines are compared
    and differ.
    """
    old, new, n = before.annotations, after.annotations, len(matched)
    removed = np.setdiff1d(np.arange(len(old)), matched.before)
    added = np.setdiff1d(np.arange(len(new)), matched.after)
    rows = (
        np.concatenate([matched.before, removed, np.full(len(added), -1)]),
        np.concatenate([matched.after, np.full(len(removed), -1), added]),
    )

    def places(key: str, aligned: Aligned) -> tuple[IndexArray, IndexArray]:
        first, last = (
            np.append(place[getattr(side, key)], -1)[index]
            for place, side, index in zip(aligned.places, (old, new), rows, strict=True)
        )
        return first, last

    image = np.maximum(*places("image", names.images))
    annotator = np.maximum(*places("annotator", names.annotators))
    category = places("category", names.categories)
    crowd_flag = np.zeros(len(image), np.int32)
    was, is_now = old.iscrowd[matched.before], new.iscrowd[matched.after]
    crowd_flag[:n] = np.where(was == is_now, 0, 2 - is_now)
    moved = (matched.shift > ROUNDED_PX) | ((matched.shift == 0) & matched.redrawn)
    kind = np.repeat(
        np.array([_UNCHANGED, _REMOVED, _ADDED], np.int32), [n, len(removed), len(added)]
    )
    kind[:n] = moved * _MOVED + (category[0] != category[1])[:n] * _RENAMED
    kind[(kind == _UNCHANGED) & (crowd_flag > 0)] = _CROWD_FLAG
    found = np.flatnonzero(kind != _UNCHANGED)
    found = found[np.lexsort([key[found] for key in (rows[1], rows[0], annotator, image)])]
    measured = np.minimum(found, n)
    table = Table(
        {
            "change": Categorical(kind[found], CHANGES),
            "image": Categorical(image[found].astype(np.int32), names.images.names),
            "annotator": Categorical(annotator[found].astype(np.int32), names.annotators.names),
            "id_before": id_column(before, rows[0][found]),
            "id_after": id_column(after, rows[1][found]),
            "category_before": _category(names, category[0][found], "before"),
            "category_after": _category(names, category[1][found], "after"),
            "crowd_flag": Categorical(crowd_flag[found], CROWD_FLAGS),
            "shift_px": np.append(matched.shift, np.nan)[measured],
            "similarity": np.append(matched.similarity, np.nan)[measured],
        }
    )
    number = np.bincount(kind, minlength=len(CHANGES)).tolist()
    return {
        "counts": dict(zip(CHANGES, number, strict=True)),
        "changes": table,
        **_movements(table),
        "images": _counts_by(names.images, "image", image, kind),
        "annotators": _counts_by(names.annotators, "annotator", annotator, kind),
        "categories": _category_counts(names.categories, category, kind),
        "renames": _rename_table(names, category, kind),
    }


def _category(names: Names, codes: IndexArray, which: str) -> Categorical:
    """Return categories by the names that one version has for them."""
    index = np.append(getattr(names.categories, which), -1)
    return Categorical(index[codes].astype(np.int32), getattr(names.categories, f"{which}_names"))


def _movements(changes: Table) -> dict[str, tuple[float, float]]:
    """Return the median and largest displacement of annotations, and their similarities."""
    moved = np.isin(changes["change"], ("moved", "moved_and_renamed"))
    if not moved.any():
        return dict.fromkeys(("moved_px", "moved_similarity"), (np.nan, np.nan))
    shift, similarity = changes["shift_px"][moved], changes["similarity"][moved]
    return {
        "moved_px": (float(np.median(shift)), float(shift.max())),
        "moved_similarity": (float(np.median(similarity)), float(similarity.min())),
    }


def _counts_by(aligned: Aligned, noun: str, place: IndexArray, kind: IntArray) -> Table:
    """Return the number of annotations of each of `CHANGES` by image or annotator."""
    table = np.bincount(place * len(CHANGES) + kind, minlength=len(aligned) * len(CHANGES))
    counts = table.reshape(-1, len(CHANGES))
    columns: dict[str, Column] = {
        **aligned.columns(noun),
        "n_before": counts[:, : _REMOVED + 1].sum(1),
        "n_after": counts[:, :_REMOVED].sum(1) + counts[:, _ADDED],
    }
    for code, change in enumerate(CHANGES):
        columns["n_" + change] = counts[:, code]
    return Table(columns)


def _category_counts(
    categories: Aligned, category: tuple[IndexArray, IndexArray], kind: IntArray
) -> Table:
    """Return the number of annotations of each of `CHANGES` by category.

    `n_moved` counts moves within the category; renamed annotations are counted in the category that
    they left and in the one that they joined.
    """
    left, right = category
    renamed = (kind == _RENAMED) | (kind == _BOTH)

    def number(codes: IndexArray, which: BoolArray) -> IndexArray:
        return np.bincount(codes[which], minlength=len(categories))

    return Table(
        {
            **categories.columns("category"),
            "n_before": number(left, left >= 0),
            "n_after": number(right, right >= 0),
            "n_unchanged": number(left, kind == _UNCHANGED),
            "n_moved": number(left, kind == _MOVED),
            "n_renamed_from": number(left, renamed),
            "n_renamed_to": number(right, renamed),
            "n_crowd_flag_changed": number(left, kind == _CROWD_FLAG),
            "n_removed": number(left, kind == _REMOVED),
            "n_added": number(right, kind == _ADDED),
        }
    )


def _rename_table(names: Names, category: tuple[IndexArray, IndexArray], kind: IntArray) -> Table:
    """Return the number of annotations of each change of category, the most frequent first."""
    renamed = (kind == _RENAMED) | (kind == _BOTH)
    pairs = np.stack(category)[:, renamed]
    (left, right), number = np.unique(pairs, axis=1, return_counts=True)
    order = np.argsort(-number, kind="stable")
    return Table(
        {
            "category_before": _category(names, left[order], "before"),
            "category_after": _category(names, right[order], "after"),
            "n_annotations": number[order],
        }
    )
