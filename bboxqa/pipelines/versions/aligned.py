"""Names of two versions side by side: of images, annotators and categories."""

from collections.abc import Iterable, Sequence

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen_arrays,
    run_starts,
)
from bboxqa.formats.dataset.image_names import join_name
from bboxqa.model.annotations import Dataset
from bboxqa.model.table import Categorical, Column

STATUS = ("both", "renamed", "removed", "added")
"""The possible changes of a name."""
# Formats such as YOLO round boxes, by less than a hundredth of a pixel: few pass a border between
# steps of a tenth, as the borders are no numbers that people or tools write.
_STEPS, _BORDER = 10, 0.137


@frozen_arrays
class Aligned:
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
    def place_before(self) -> IndexArray:
        """The index here of each name of the version before, (len(before_names),)."""
        return _places(self.before, len(self.before_names))

    @property
    def place_after(self) -> IndexArray:
        """The index here of each name of the version after, (len(after_names),)."""
        return _places(self.after, len(self.after_names))

    @property
    def status(self) -> IntArray:
        """Indices into `STATUS`, (N,)."""
        renamed = [
            before >= 0 and after >= 0 and self.before_names[before] != self.after_names[after]
            for before, after in zip(self.before.tolist(), self.after.tolist(), strict=True)
        ]
        codes = np.array(renamed, np.int32)
        codes[self.after < 0] = STATUS.index("removed")
        codes[self.before < 0] = STATUS.index("added")
        return codes

    def columns(self, noun: str) -> dict[str, Column]:
        """Return the names before and after, and their status, as columns of a table."""
        return {
            f"{noun}_before": Categorical(self.before, self.before_names),
            f"{noun}_after": Categorical(self.after, self.after_names),
            "status": Categorical(self.status, STATUS),
        }


def _places(index: IntArray, size: int) -> IndexArray:
    places = np.zeros(size, np.int64)
    known = np.flatnonzero(index >= 0)
    places[index[known]] = known
    return places


def align(
    before: Sequence[str], after: Sequence[str], renamed: Iterable[tuple[int, int]] = ()
) -> Aligned:
    """Return names of two versions side by side.

    Parameters
    ----------
    before, after : sequence of str
        Distinct names.
    renamed : iterable of (int, int)
        Pairs of indices, before and after, of renamed items.

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


def align_annotators(before: Dataset, after: Dataset) -> Aligned:
    """Return the annotators of both versions; a single annotator of each is the same."""
    names = before.annotator_names, after.annotator_names
    return align(*names, [(0, 0)] if len(names[0]) == len(names[1]) == 1 else [])


def align_images(before: Dataset, after: Dataset, annotators: Aligned) -> Aligned:
    """Return the images of both versions by name; others are the same if most of their boxes are.

    Only boxes that occur once in those images identify them. Images without annotations are the
    same if their names differ by folder and suffix only, and their sizes are known and equal.
    """
    by_name = align(before.image_names, after.image_names)
    removed = (by_name.after < 0)[by_name.place_before]
    added = (by_name.before < 0)[by_name.place_after]
    renamed = _same_boxes(before, after, removed, added, annotators)
    renamed += _same_stems(
        (before, empty_images(before, np.flatnonzero(removed))),
        (after, empty_images(after, np.flatnonzero(added))),
    )
    return align(before.image_names, after.image_names, renamed)


def empty_images(data: Dataset, images: IndexArray | IntArray) -> list[int]:
    """Return those of the images that have no annotations."""
    number = np.bincount(data.annotations.image, minlength=len(data.image_names))
    found: list[int] = images[number[images] == 0].tolist()
    return found


def _same_stems(*versions: tuple[Dataset, list[int]]) -> list[tuple[int, int]]:
    """Return pairs of images of two versions with the same unique stem and size."""
    found: list[dict[tuple[str, int, int], list[int]]] = [{}, {}]
    for places, (data, images) in zip(found, versions, strict=True):
        for image in images:
            width, height = data.image_size[image].tolist()
            if not (width and height):
                # Without a size, the name would be the only evidence.
                continue
            key = (join_name(data.image_names[image], "stem"), width, height)
            places.setdefault(key, []).append(image)
    left, right = found
    return [
        (left[key][0], right[key][0])
        for key in left.keys() & right.keys()
        if len(left[key]) == len(right[key]) == 1
    ]


def _same_boxes(
    before: Dataset, after: Dataset, removed: BoolArray, added: BoolArray, annotators: Aligned
) -> list[tuple[int, int]]:
    """Return the pairs of a removed and an added image that have most of their boxes in common."""
    left = np.flatnonzero(removed[before.annotations.image])
    right = np.flatnonzero(added[after.annotations.image])
    if not (len(left) and len(right)):
        return []
    keys = np.concatenate(
        [
            _content(before, left, annotators.place_before),
            _content(after, right, annotators.place_after),
        ]
    )
    pairs = _distinctive(keys, len(left))
    images = (before.annotations.image[left[pairs[0]]], after.annotations.image[right[pairs[1]]])
    totals = [np.bincount(data.annotations.image) for data in (before, after)]
    return _by_majority(images, totals)


def _content(data: Dataset, rows: IndexArray, annotator: IndexArray) -> FloatArray:
    """Return box in tenths of pixels, annotator and image size of annotations, (N, 7) float64."""
    annotations = data.annotations
    return np.column_stack(
        [
            np.floor(annotations.bbox[rows] * _STEPS + _BORDER),
            annotator[annotations.annotator[rows]],
            data.image_size[annotations.image[rows]],
        ]
    ).astype(np.float64)


def _distinctive(keys: FloatArray, n_before: int) -> tuple[IndexArray, IndexArray]:
    """Return the rows, numbered within each version, of keys that occur once in each version."""
    order = np.lexsort(keys.T)
    new: BoolArray = np.append(True, (np.diff(keys[order], axis=0) != 0).any(1))
    starts = np.flatnonzero(new)
    twice = starts[np.diff(np.append(starts, len(keys))) == 2]
    first, second = order[twice], order[twice + 1]
    low, high = np.minimum(first, second), np.maximum(first, second)
    apart = (low < n_before) & (high >= n_before)
    return low[apart], high[apart] - n_before


def _by_majority(
    names: tuple[IntArray, IntArray], totals: Sequence[IndexArray]
) -> list[tuple[int, int]]:
    """Return the pairs of names that more than half of the annotations of both have in common.

    Parameters
    ----------
    names : two (P,) int32
        The name before and after of each of P annotations.
    totals : two (N,) int64
        How many annotations each name has.
    """
    left, right = names
    order = np.lexsort((right, left))
    key = left[order].astype(np.int64) * len(totals[1]) + right[order]
    starts = run_starts(key)
    number = np.diff(np.append(starts, len(key)))
    left, right = left[order][starts], right[order][starts]
    most = (2 * number > totals[0][left]) & (2 * number > totals[1][right])
    return list(zip(left[most].tolist(), right[most].tolist(), strict=True))


def align_categories(
    before: Dataset, after: Dataset, names: tuple[IntArray, IntArray] | None = None
) -> Aligned:
    """Return the categories of both, by name; others are the same if most annotations agree.

    Parameters
    ----------
    names : two (P,) int32, optional
        The categories before and after of the annotations that both versions have.
    """
    by_name = align(before.category_names, after.category_names)
    if names is None:
        return by_name
    removed = (by_name.after < 0)[by_name.place_before]
    added = (by_name.before < 0)[by_name.place_after]
    totals = [
        np.bincount(codes, minlength=size)
        for codes, size in zip(names, (len(removed), len(added)), strict=True)
    ]
    left, right = names
    gone = np.flatnonzero(removed[left] & added[right])
    pairs = _by_majority((left[gone], right[gone]), totals)
    return align(before.category_names, after.category_names, pairs)
