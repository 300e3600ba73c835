"""Notes on a reference."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.dataset.category_names import variant_remark
from bboxqa.model.annotations import Dataset

_NAMED = 3


def empty_notes(both: Dataset, name: str) -> Iterator[str]:
    """Yield a note if the reference has no annotations."""
    if not (both.annotations.annotator == len(both.annotator_names) - 1).any():
        yield (
            f"the reference {one_line(name)} has no annotation in "
            f"{count(len(both.image_names), 'image')}: all that annotators drew there counts as "
            "extra, and recall, class and place are undefined; if it should have some, check its "
            "file or its name"
        )


def asked_notes(team: Dataset) -> Iterator[str]:
    """Yield the number of images with one annotator, which do not count for alpha."""
    n_annotators = team.assigned.sum(1)
    alone = int((n_annotators == 1).sum())
    if alone and (n_annotators > 1).any():
        yield (
            f"{count(alone, 'image')} with one annotator: they have no part in alpha, but can be "
            "compared with the reference"
        )


def variants(team: Dataset, reference: Dataset) -> tuple[str, ...]:
    """Return categories of a reference that differ from the team's only by case or blanks."""
    sides = _used_categories(team), _used_categories(reference)
    users = {name: {int(name not in sides[0])} for side in sides for name in side}
    return tuple(filter(None, [variant_remark(users)]))


def _used_categories(data: Dataset) -> tuple[str, ...]:
    used = np.unique(data.annotations.category).tolist()
    return tuple(dict.fromkeys(data.category_names[each] for each in used))


def category_notes(team: Dataset, reference: Dataset, name: str) -> Iterator[str]:
    """Yield the categories that the reference uses and no annotator has."""
    names = _used_categories(reference)
    lacking = [one_line(each) for each in names if each not in team.category_names]
    if lacking:
        yield (
            f"{name} uses categories that no annotator has: {first_few(lacking, _NAMED)}. "
            "Their objects can be found but not named alike; --map OLD=NEW renames a category"
        )
