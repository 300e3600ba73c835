"""How files belong together by their names: parts of one person's work, or those of several."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bboxqa.formats.dataset.people.parts_of_people import split_people
from bboxqa.formats.dataset.people.places import Place, places_of
from bboxqa.formats.task_files import without_split
from bboxqa.rules.facts.document import Document
from bboxqa.rules.images.earlier_images import names_of


@dataclass(frozen=True, slots=True)
class FileRelations:
    """Of which split each file is, and who made it; nothing if names do not say so."""

    splits: Sequence[str] = ()
    """The split of each file; "" for none."""
    people: Sequence[Place] = ()
    are_numbered_anew: bool = False
    """Whether somebody has images of the same names in two splits."""

    def are_of_one_split(self, one: int, other: int) -> bool:
        """Return whether two files are of one split, by different people."""
        return self._are_of_people(one, other) and self.splits[one] == self.splits[other]

    def are_splits(self, one: int, other: int) -> bool:
        """Return whether two files are named as different splits."""
        split, another = self.splits[one], self.splits[other]
        return bool(split and another) and split != another

    def have_other_names(self, one: int, other: int) -> bool:
        """Return whether equal names of images in two files mean nothing.

        As in `agree`: with ann/train/1.jpg and ann/val/1.jpg, bob/val/1.jpg is not ann/train/1.jpg.
        """
        is_apart = self._are_of_people(one, other) and self.splits[one] != self.splits[other]
        return is_apart and self.are_numbered_anew

    def _are_of_people(self, one: int, other: int) -> bool:
        return bool(self.people) and self.people[one] != self.people[other]


def relations_of(documents: Sequence[Document]) -> FileRelations:
    """Return how files belong together, by names such as ann/train.json and bob/train.json."""
    places = places_of([Path(each.name) for each in documents])
    found = split_people(places)
    if found is None or not any(found[0]):
        return FileRelations([without_split(each)[0] for each in places])
    people, splits = found
    times: Counter[tuple[Place, str]] = Counter()
    for person, document in zip(people, documents, strict=True):
        times.update((person, name) for name in {*names_of(document)} - {""})
    return FileRelations(splits, people, max(times.values(), default=0) > 1)
