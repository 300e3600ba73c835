"""Names of two versions side by side: of images, annotators and categories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, eq=False)
class Names:
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
