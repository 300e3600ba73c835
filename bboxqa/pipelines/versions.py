"""Annotations of two versions of a data set: names side by side, matching, and changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    Progress,
    median,
    rows,
    run_starts,
)
from bboxqa.geometry import registry
from bboxqa.geometry.boxes import corners, overlap
from bboxqa.geometry.candidates import TOLERANCE, similarity_of_pairs
from bboxqa.model.annotations import Annotations, Dataset, joints_of
from bboxqa.model.comparison import CHANGES, CROWD_FLAGS, PLURALS
from bboxqa.model.keypoints import largest_moves
from bboxqa.model.rotated_boxes import ROUNDED_PX, corner_moves
from bboxqa.model.rotated_boxes import corners as corners_of
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.pipelines.counting import similar_pairs, units_of
from bboxqa.pipelines.joint_sigmas import refuse_estimated, with_sigmas
from bboxqa.pipelines.threshold_results import id_column
from bboxqa.rules.layout import first_equal

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
        codes = zip(self.before.tolist(), self.after.tolist(), strict=True)
        return tuple(self.before_names[b] if a < 0 else self.after_names[a] for b, a in codes)

    @property
    def places(self) -> tuple[IndexArray, IndexArray]:
        """The index here of each name of the versions before and after."""
        return (
            np.argsort(self.before, kind="stable")[(self.before < 0).sum() :],
            np.argsort(self.after, kind="stable")[(self.after < 0).sum() :],
        )

    def columns(self, noun: str) -> dict[str, Column]:
        """Return the names before and after, and their status, as columns of a table."""
        old = np.array([*self.before_names, None], object)[self.before]
        is_renamed = old != np.array([*self.after_names, None], object)[self.after]
        status = np.select([self.after < 0, self.before < 0], [2, 3], is_renamed)
        return {
            f"{noun}_before": Categorical(self.before, self.before_names),
            f"{noun}_after": Categorical(self.after, self.after_names),
            "status": Categorical(status.astype(np.int32), STATUS),
        }


def align(
    before: Sequence[str], after: Sequence[str], renamed: Iterable[tuple[int, int]] = ()
) -> Aligned:
    """Return names of two versions side by side; `renamed` are indices before and after."""
    partner = {name: index for index, name in enumerate(after)}
    partner |= {before[old]: new for old, new in renamed}
    listed = [(name, index, partner.get(name, -1)) for index, name in enumerate(before)]
    taken = {new for *_, new in listed}
    listed += [(name, -1, index) for index, name in enumerate(after) if index not in taken]
    # The order by the first of both names does not depend on which version is first.
    listed.sort(key=lambda row: row[0] if row[2] < 0 else min(row[0], after[row[2]]))
    codes = np.array([row[1:] for row in listed], np.int32).reshape(-1, 2)
    return Aligned(codes[:, 0].copy(), codes[:, 1].copy(), tuple(before), tuple(after))


Names = Mapping[str, Aligned]
"""The names of images, annotators and categories of both versions, by noun."""


def names_of(before: Dataset, after: Dataset) -> Names:
    """Return the names of both; a single annotator of each version is the same."""
    people = before.annotator_names, after.annotator_names
    return {
        "image": align(before.image_names, after.image_names),
        "annotator": align(*people, [(0, 0)] if {*map(len, people)} == {1} else []),
        "category": align(before.category_names, after.category_names),
    }


# What annotations without an id are found by: a line, a JSON pointer, or a frame of a track, whose
# number is its position in the file.
_PLACE = re.compile(r"(?s).*(:\d+|#/.*)|/.*|track .*, frame \d+")
# Ids are trusted if at least this share of the annotations with equal ids overlap.
_STABLE = 0.9

Pairs = tuple[IndexArray, IndexArray]


class MatchedVersions(FrozenArrays, frozen=True, eq=False):
    """P annotations that both versions have."""

    before: IndexArray
    after: IndexArray
    """(P,) int64. Indices into the annotations of each version."""
    shift: FloatArray
    """(P,) float64. The largest displacement of an edge, corner or joint, in pixels."""
    similarity: FloatArray
    """(P,) float64. The similarity of the two, as measured by that of the settings."""
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

    The same are, in this order: equal annotations, those with the same id that overlap, and those
    that the matcher joins at the lowest threshold.
    """
    refuse_estimated(settings)
    needs = registry.similarity(settings.similarity).needs
    both, order = _side_by_side(before, after, names)
    both = with_sigmas(both, settings)
    of, edges = both.annotations, corners(both.annotations.bbox)
    content = first_equal((of.image, of.category, *of.bbox.T))
    codes, unused = _id_codes(before, after)
    by_id: Pairs = (np.zeros(0, np.int64),) * 2
    if codes is not None:
        by_id = _pairs_by_id(of, codes[order], edges)
        unused = "" if len(by_id[0]) else "ids changed"
    first, second = (edges[side] for side in by_id)
    is_open = np.ones(len(of), np.bool_)
    found: list[Pairs] = []

    def take(pairs: Pairs, wanted: BoolArray | None = None) -> None:
        kept = is_open[pairs[0]] & is_open[pairs[1]]
        kept &= kept if wanted is None else wanted
        found.append((pairs[0][kept], pairs[1][kept]))
        is_open[np.concatenate(found[-1])] = False

    take(by_id, content[by_id[0]] == content[by_id[1]])
    take(_pairs_of_equal(content, of.annotator, is_open))
    take(by_id, overlap(first, second) > 0)
    take(_similar_pairs(both, is_open, settings, progress))
    left, right = (np.concatenate(side) for side in zip(*found, strict=True))
    sequence = np.argsort(left)
    left, right = left[sequence], right[sequence]
    if of.rotated_box is not None and needs == "rotated boxes":
        shift = corner_moves(*(corners_of(of.rotated_box[rows]) for rows in (left, right)))
    else:
        shift = np.abs(edges[left] - edges[right]).max(1, initial=0)
        if of.keypoints is not None:
            shift = np.maximum(shift, largest_moves(of.keypoints, left, right))
    similarity = similarity_of_pairs(
        both, settings.similarity, left, right, all_touched=settings.all_touched
    )
    similarity[(shift == 0) & (similarity == 0)] = 1.0
    after_rows = order[right] - len(before.annotations)
    return MatchedVersions(order[left], after_rows, shift, similarity, unused)


def _side_by_side(before: Dataset, after: Dataset, names: Names) -> tuple[Dataset, IndexArray]:
    """Return all annotations as those of two annotators, "before" and "after"."""
    sides = before.annotations, after.annotations
    image, annotator, category = (
        np.concatenate([p[getattr(of, key)] for p, of in zip(aligned.places, sides, strict=True)])
        for key, aligned in names.items()
    )
    n_annotators = max(len(names["annotator"]), 1)
    side = np.repeat(np.array([0, 1], np.int32), [*map(len, sides)])
    groups, cell = np.unique(image * n_annotators + annotator, return_inverse=True)
    order = np.lexsort((side, cell))
    joined = replace(
        Annotations.join(sides), image=cell.astype(np.int32), annotator=side,
        category=category.astype(np.int32), own_id=None, times=None, track=None,
    )  # fmt: skip
    sizes = np.zeros((len(names["image"]), 2), np.int32)
    # The size after counts, if it is known.
    for place, data in zip(names["image"].places, (before, after), strict=True):
        known = data.image_size.all(1)
        sizes[place[known]] = data.image_size[known]
    categories, images = names["category"].names, groups // n_annotators
    joint_names, limbs = joints_of(categories, [before, after])
    return Dataset(
        image_names=tuple(np.array(names["image"].names, object)[images].tolist()),
        image_size=sizes[images], category_names=categories, annotator_names=("before", "after"),
        annotations=joined.take(order), assigned=np.ones((len(groups), 2), np.bool_),
        joint_names=joint_names, limbs=limbs,
    ), order  # fmt: skip


def _id_codes(before: Dataset, after: Dataset) -> tuple[IndexArray | None, str]:
    """Return codes of the ids of all annotations, in their order, or None and why not."""
    found, lacking = list[Any](), list[str]()
    for name, data in (("before", before), ("after", after)):
        own = data.annotations.own_id
        if own is None:
            found.append(data.annotations.id)
        elif own.dtype == object or (
            not data.has_text_ids and any(map(_PLACE.fullmatch, own.tolist()))
        ):
            lacking.append(name)
        else:
            found.append(own)
    if lacking:
        return None, f"the annotations {' and '.join(lacking)} have no ids"
    if not all(map(len, found)):
        return None, "not both versions have annotations"
    if {each.dtype.kind for each in found} != {"i"}:
        found = [each.astype(np.str_) for each in found]
    return np.unique(np.concatenate(found), return_inverse=True)[1], ""


def _pairs_of_equal(codes: IndexArray, side: IntArray, kept: BoolArray | None = None) -> Pairs:
    """Return annotations before and after with one code: the first of each, and so on."""
    some = np.arange(len(codes)) if kept is None else np.flatnonzero(kept)
    some = some[np.lexsort((side[some], codes[some]))]
    starts = run_starts(codes[some])
    n = np.diff(starts, append=len(some))
    n_before = np.add.reduceat(np.append(1 - side[some], 0), starts)
    n_pairs = np.minimum(n_before, n - n_before)
    first, _ = rows(starts, starts + n_pairs)
    return some[first], some[first + np.repeat(n_before, n_pairs)]


def _pairs_by_id(of: Annotations, codes: IndexArray, edges: FloatArray) -> Pairs:
    """Return the pairs with an id that each version has once in the image, unless ids changed."""
    cells = of.image.astype(np.int64) * (int(codes.max()) + 1) + codes
    _, cell, n = np.unique(cells, return_inverse=True, return_counts=True)
    left, right = _pairs_of_equal(cell, of.annotator)
    once = n[cell[left]] == 2
    left, right = left[once], right[once]
    overlapping = overlap(edges[left], edges[right]) > 0
    overlapping |= (edges[left] == edges[right]).all(1)
    is_stable = overlapping.sum() >= _STABLE * len(overlapping)
    return (left, right) if is_stable else (left[:0], right[:0])


def _similar_pairs(
    both: Dataset, is_open: BoolArray, settings: AgreeSettings, progress: Progress | None
) -> Pairs:
    """Return the pairs that the matcher forms of some of the annotations."""
    chosen, threshold = np.flatnonzero(is_open), min(settings.iou_threshold)
    part = replace(both, annotations=both.annotations.take(chosen))
    pairs, _ = similar_pairs(part, settings, threshold, progress, "matching")
    units = units_of(part.annotations, pairs, settings, threshold)
    left, right = _pairs_of_equal(units.unit, part.annotations.annotator)
    return chosen[left], chosen[right]


def renamed_categories(before: Dataset, after: Dataset, matched: MatchedVersions) -> Aligned:
    """Return the categories of both; those of other names are the same if most annotations are."""
    names = before.category_names, after.category_names
    table = np.zeros(tuple(map(len, names)), np.int64)
    old, new = before.annotations.category, after.annotations.category
    np.add.at(table, (old[matched.before], new[matched.after]), 1)
    most = (2 * table > table.sum(1, keepdims=True)) & (2 * table > table.sum(0))
    is_removed, is_added = np.isin(names[0], names[1]), np.isin(names[1], names[0])
    pairs = np.argwhere(most & ~is_removed[:, None] & ~is_added).tolist()
    return align(*names, [(left, right) for left, right in pairs])


_UNCHANGED, _MOVED, _RENAMED, _BOTH, _CROWD_FLAG, _REMOVED, _ADDED = range(len(CHANGES))


def changes_of(
    before: Dataset, after: Dataset, matched: MatchedVersions, names: Names
) -> dict[str, Any]:
    """Return counts and tables of the changes of all annotations, by field of the result."""
    old, new, n = before.annotations, after.annotations, len(matched)
    removed = np.setdiff1d(np.arange(len(old)), matched.before)
    added = np.setdiff1d(np.arange(len(new)), matched.after)
    # The annotation before and after of each change; -1 for none.
    both = (
        np.concatenate([matched.before, removed, np.full(len(added), -1)]),
        np.concatenate([matched.after, np.full(len(removed), -1), added]),
    )
    places = {
        key: [np.append(place[getattr(side, key)], -1)[rows] for place, side, rows in
              zip(aligned.places, (old, new), both, strict=True)]
        for key, aligned in names.items()
    }  # fmt: skip
    image, annotator = (np.maximum(*places[key]) for key in ("image", "annotator"))
    left, right = places["category"]
    crowd_flag = np.zeros(len(image), np.int32)
    was, is_now = old.iscrowd[matched.before], new.iscrowd[matched.after]
    crowd_flag[:n] = np.where(was == is_now, 0, 2 - is_now)
    redrawn = (matched.shift == 0) & (matched.similarity < 1 - TOLERANCE)
    of_sides = np.array([_UNCHANGED, _REMOVED, _ADDED], np.int32)
    kind = np.repeat(of_sides, [n, len(removed), len(added)])
    kind[:n] = ((matched.shift > ROUNDED_PX) | redrawn) * _MOVED + (left != right)[:n] * _RENAMED
    kind[(kind == _UNCHANGED) & (crowd_flag > 0)] = _CROWD_FLAG
    found = np.flatnonzero(kind != _UNCHANGED)
    found = found[np.lexsort([key[found] for key in (both[1], both[0], annotator, image)])]
    measured = np.minimum(found, n)
    table = Table({
        "change": Categorical(kind[found], CHANGES),
        "image": Categorical(image[found].astype(np.int32), names["image"].names),
        "annotator": Categorical(annotator[found].astype(np.int32), names["annotator"].names),
        "id_before": id_column(before, both[0][found]),
        "id_after": id_column(after, both[1][found]),
        **_categories(names["category"], left[found], right[found]),
        "crowd_flag": Categorical(crowd_flag[found], CROWD_FLAGS),
        "shift_px": np.append(matched.shift, np.nan)[measured],
        "similarity": np.append(matched.similarity, np.nan)[measured],
    })  # fmt: skip
    moved = np.isin(table["change"], ("moved", "moved_and_renamed"))
    shift, similar = table["shift_px"][moved], table["similarity"][moved]
    number = np.bincount(kind, minlength=len(CHANGES))
    return {
        "counts": dict(zip(CHANGES, number.tolist(), strict=True)),
        "changes": table,
        "moved_px": (median(shift), float(shift.max()) if len(shift) else nan),
        "moved_similarity": (median(similar), float(similar.min()) if len(similar) else nan),
        "renames": _rename_table(names["category"], left, right, kind),
        **{PLURALS[noun]: _count_table(names[noun], noun, of, kind) for noun, of in places.items()},
    }  # fmt: skip


def _rename_table(
    categories: Aligned, left: IndexArray, right: IndexArray, kind: IntArray
) -> Table:
    """Return the number of annotations of each change of category, the most frequent first."""
    renamed = np.isin(kind, (_RENAMED, _BOTH))
    pairs, number = np.unique(np.stack([left[renamed], right[renamed]]), axis=1, return_counts=True)
    order = np.argsort(-number, kind="stable")
    return Table({**_categories(categories, *pairs[:, order]), "n_annotations": number[order]})


def _categories(aligned: Aligned, left: IndexArray, right: IndexArray) -> dict[str, Column]:
    """Return categories by the names that each version has for them."""
    old, new = np.append(aligned.before, -1)[left], np.append(aligned.after, -1)[right]
    return {
        "category_before": Categorical(old.astype(np.int32), aligned.before_names),
        "category_after": Categorical(new.astype(np.int32), aligned.after_names),
    }


def _count_table(aligned: Aligned, noun: str, places: list[IndexArray], kind: IntArray) -> Table:
    """Return the number of annotations of each of `CHANGES` by image, annotator or category."""
    n = len(CHANGES)
    old, new = (
        np.bincount((place * n + kind)[place >= 0], minlength=len(aligned) * n).reshape(-1, n)
        for place in places
    )
    columns = {**aligned.columns(noun), "n_before": old.sum(1), "n_after": new.sum(1)}
    if noun != "category":
        counts = np.maximum(old, new)
        return Table(columns | {f"n_{change}": counts[:, k] for k, change in enumerate(CHANGES)})
    return Table(columns | {
        "n_unchanged": old[:, _UNCHANGED],
        "n_moved": old[:, _MOVED],
        "n_renamed_from": old[:, _RENAMED] + old[:, _BOTH],
        "n_renamed_to": new[:, _RENAMED] + new[:, _BOTH],
        "n_crowd_flag_changed": old[:, _CROWD_FLAG],
        "n_removed": old[:, _REMOVED],
        "n_added": new[:, _ADDED],
    })  # fmt: skip
