"""Tables of changes of annotations: kept, moved, renamed, removed and added."""

from dataclasses import dataclass
from math import nan

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, frozen_arrays
from bboxqa.model.annotations import Dataset
from bboxqa.model.comparison import CHANGES, CROWD_FLAGS
from bboxqa.model.shapes.rotated_boxes import ROUNDED_PX
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.pipelines.threshold_results import id_column
from bboxqa.pipelines.versions.matched import MatchedVersions
from bboxqa.pipelines.versions.names import Aligned

_UNCHANGED, _MOVED, _RENAMED, _BOTH, _CROWD_FLAG, _REMOVED, _ADDED = range(len(CHANGES))


@frozen_arrays
class Changes:
    """Changes of N annotations: those in both versions, those removed, and those added."""

    kind: IntArray
    """(N,) int32. Indices into `CHANGES`."""
    before: IndexArray
    after: IndexArray
    """(N,) int64. Indices into the annotations of each version; -1 where it does not have the
    annotation."""
    image: IndexArray
    annotator: IndexArray
    """(N,) int64. Indices into the images and annotators of both versions."""
    category_before: IndexArray
    category_after: IndexArray
    """(N,) int64. Indices into the categories of both versions; -1 where a version does not have
    the annotation."""
    crowd_flag: IntArray
    """(N,) int32. Indices into `CROWD_FLAGS`."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The images, annotators and categories of both versions."""

    images: Aligned
    annotators: Aligned
    categories: Aligned


def changes_of(before: Dataset, after: Dataset, matched: MatchedVersions, names: Names) -> Changes:
    """Return the changes of all annotations.

    Annotations whose edges differ by at most 0.01 px have not moved, unless outlines are compared
    and differ.
    """
    old, new = before.annotations, after.annotations
    removed = _others(matched.before, len(old))
    added = _others(matched.after, len(new))
    sizes = len(matched), len(removed), len(added)
    first = np.concatenate([matched.before, removed, np.full(len(added), -1)])
    last = np.concatenate([matched.after, np.full(len(removed), -1), added])
    left = _at(names.categories.place_before[old.category], first)
    right = _at(names.categories.place_after[new.category], last)
    images, annotators = names.images, names.annotators
    crowd_flag = np.zeros(sum(sizes), np.int32)
    was, is_now = old.iscrowd[matched.before], new.iscrowd[matched.after]
    crowd_flag[: len(matched)] = np.where(was == is_now, 0, 2 - is_now)
    moved = (matched.shift > ROUNDED_PX) | ((matched.shift == 0) & matched.redrawn)
    kind = np.repeat(np.array([_UNCHANGED, _REMOVED, _ADDED], np.int32), sizes)
    kind[: len(matched)] = moved * _MOVED + (left != right)[: len(matched)] * _RENAMED
    kind[(kind == _UNCHANGED) & (crowd_flag > 0)] = _CROWD_FLAG
    return Changes(
        kind=kind,
        before=first,
        after=last,
        image=np.maximum(
            _at(images.place_before[old.image], first), _at(images.place_after[new.image], last)
        ),
        annotator=np.maximum(
            _at(annotators.place_before[old.annotator], first),
            _at(annotators.place_after[new.annotator], last),
        ),
        category_before=left,
        category_after=right,
        crowd_flag=crowd_flag,
    )


def _at(values: IndexArray, rows: IndexArray) -> IndexArray:
    """Return the values at `rows`; -1 where these are."""
    return np.append(values, -1)[rows]


def _others(rows: IndexArray, size: int) -> IndexArray:
    """Return the numbers below `size` that are not among `rows`."""
    is_other = np.ones(size, np.bool_)
    is_other[rows] = False
    return np.flatnonzero(is_other)


def movements(
    matched: MatchedVersions, changes: Changes
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the median and largest displacement of annotations, and their similarities."""
    kind = changes.kind[: len(matched)]
    moved = (kind == _MOVED) | (kind == _BOTH)
    if not moved.any():
        return (nan, nan), (nan, nan)
    shift, similarity = matched.shift[moved], matched.similarity[moved]
    return (
        (float(np.median(shift)), float(shift.max())),
        (float(np.median(similarity)), float(similarity.min())),
    )


def change_table(
    before: Dataset, after: Dataset, matched: MatchedVersions, changes: Changes, names: Names
) -> Table:
    """Return a row for each annotation that is not unchanged, by image and annotator."""
    found = np.flatnonzero(changes.kind != _UNCHANGED)
    keys = (changes.after, changes.before, changes.annotator, changes.image)
    found = found[np.lexsort([key[found] for key in keys])]
    measured = np.append(np.arange(len(matched)), -1)[np.minimum(found, len(matched))]
    names_of = names.categories.names
    return Table(
        {
            "change": Categorical(changes.kind[found], CHANGES),
            "image": Categorical(changes.image[found].astype(np.int32), names.images.names),
            "annotator": Categorical(
                changes.annotator[found].astype(np.int32), names.annotators.names
            ),
            "id_before": id_column(before, changes.before[found]),
            "id_after": id_column(after, changes.after[found]),
            "category_before": _category(names, changes.category_before[found], "before"),
            "category_after": Categorical(changes.category_after[found].astype(np.int32), names_of),
            "crowd_flag": Categorical(changes.crowd_flag[found], CROWD_FLAGS),
            "shift_px": np.append(matched.shift, np.nan)[measured],
            "similarity": np.append(matched.similarity, np.nan)[measured],
        }
    )


def _category(names: Names, codes: IndexArray, which: str) -> Categorical:
    """Return categories by the names that one version has for them."""
    index = np.append(getattr(names.categories, which), -1)
    return Categorical(index[codes].astype(np.int32), getattr(names.categories, f"{which}_names"))


def counts_by(aligned: Aligned, noun: str, place: IndexArray, kind: IntArray) -> Table:
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


def category_counts(categories: Aligned, changes: Changes) -> Table:
    """Return the number of annotations of each of `CHANGES` by category.

    `n_moved` counts moves within the category; renamed annotations are counted in the category that
    they left and in the one that they joined.
    """
    size = len(categories)
    left, right, kind = changes.category_before, changes.category_after, changes.kind
    renamed = (left != right) & (left >= 0) & (right >= 0)

    def number(codes: IndexArray, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> IndexArray:
        return np.bincount(codes[which], minlength=size)

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


def rename_table(names: Names, changes: Changes) -> Table:
    """Return the number of annotations of each change of category, the most frequent first."""
    size = len(names.categories)
    renamed = (changes.kind == _RENAMED) | (changes.kind == _BOTH)
    key, number = np.unique(
        changes.category_before[renamed] * size + changes.category_after[renamed],
        return_counts=True,
    )
    order = np.argsort(-number, kind="stable")
    left, right = np.divmod(key[order], max(size, 1))
    return Table(
        {
            "category_before": _category(names, left, "before"),
            "category_after": _category(names, right, "after"),
            "n_annotations": number[order],
        }
    )
