"""After whom files are named, before anything in them is known."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from bboxqa.core.types import AnyPath
from bboxqa.formats.dataset.people.parts_of_people import split_people
from bboxqa.formats.dataset.people.places import (
    folders_and_names,
    is_grid,
    places_of,
    short_names,
)
from bboxqa.formats.named_sources import names_of
from bboxqa.formats.task_files import splits_among


def named_after(
    files: Sequence[Path], given: Iterable[AnyPath] = ()
) -> tuple[list[set[str]], set[str]]:
    """Return after whom each file may be named, and the names that are those of splits.

    Of files of the same names in several folders, folders or names may be people.

    Examples
    --------
    >>> files = [Path(f"in/{who}/{split}.json") for who in "ab" for split in ("train", "val")]
    >>> named_after(files)[0]
    [{'a'}, {'a'}, {'b'}, {'b'}]
    """
    names = names_of(files, given)
    splits = splits_among(names)
    places = places_of(files) if files else []
    split = split_people(places)
    folders, below = folders_and_names(places)
    if split is not None:
        found = [{name} for name in short_names(split[0])]
    elif is_grid(folders, below):
        found = [{*each} for each in zip(folders, below, strict=True)]
    else:
        found = [{name} for name in names]
    return [each - splits - {""} for each in found], splits
