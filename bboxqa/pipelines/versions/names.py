"""Names of two versions side by side: of images, annotators and categories."""

from collections.abc import Iterable, Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, frozen_arrays
from bboxqa.model.annotations import Dataset
from bboxqa.model.table import Categorical, Column

STATUS = ("both", "renamed", "removed", "added")
"""The possible changes of a name."""


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


def align_annotators(before: Dataset, after: Dataset) -> Aligned:
    """Return the annotators of both versions; a single annotator of each is the same."""
    names = before.annotator_names, after.annotator_names
    return align(*names, [(0, 0)] if len(names[0]) == len(names[1]) == 1 else [])


def align_categories(before: Dataset, after: Dataset, names: tuple[IntArray, IntArray]) -> Aligned:
    """Return the categories of both, by name; others are the same if most annotations agree.

    `names` are the categories before and after of the annotations that both versions have.
    """
    by_name = align(before.category_names, after.category_names)
    n_left, n_right = len(before.category_names), len(after.category_names)
    table = np.zeros((n_left, n_right), np.int64)
    np.add.at(table, names, 1)
    most = (2 * table > table.sum(1, keepdims=True)) & (2 * table > table.sum(0))
    is_removed = (by_name.after < 0)[by_name.place_before]
    is_added = (by_name.before < 0)[by_name.place_after]
    pairs = np.argwhere(most & is_removed[:, None] & is_added)
    return align(
        before.category_names,
        after.category_names,
        [(left, right) for left, right in pairs.tolist()],
    )
