"""Tables of changes of annotations: kept, moved, renamed, removed and added."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray
from bboxqa.model.annotations import Dataset
from bboxqa.model.comparison import CHANGES, CROWD_FLAGS
from bboxqa.model.shapes.rotated_boxes import ROUNDED_PX
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.pipelines.threshold_results import id_column
from bboxqa.pipelines.versions.matched import MatchedVersions
from bboxqa.pipelines.versions.names import Aligned, Names, align

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
