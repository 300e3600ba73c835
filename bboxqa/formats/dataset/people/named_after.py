"""After whom files are named, before anything in them is known."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bboxqa.core.types import AnyPath
from bboxqa.formats.dataset.people.parts_of_people import split_people
from bboxqa.formats.dataset.people.places import (
    folders_and_names,
    is_grid,
    names_of_people,
    places_of,
    short_places,
)
from bboxqa.formats.named_sources import names_of
from bboxqa.formats.task_files import names_nobody, splits_among


def named_after(
    files: Sequence[Path], given: Iterable[AnyPath] = ()
) -> tuple[list[set[str]], set[str]]:
    """Return after whom each file may be named, and the names that are those of splits.

    Where several files are in a folder, folders or names may be people. So may be each part of a
    name such as day1/ann.

    Examples
    --------
    >>> files = [Path(f"in/{who}/{split}.json") for who in "ab" for split in ("train", "val")]
    >>> named_after(files)[0]
    [{'a'}, {'a'}, {'b'}, {'b'}]
    >>> parts = named_after([Path("in/a/1.json"), Path("in/a/2.json"), Path("in/b.json")])[0]
    >>> [sorted(each) for each in parts]
    [['1', 'a'], ['2', 'a'], ['b']]
    >>> files = [Path(f"in/{who}.json") for who in ("day1/ann", "day1/bob", "day2/ann")]
    >>> sorted(named_after(files)[0][0])
    ['ann', 'day1', 'day1/ann']
    """
    names = names_of(files, given)
    splits = splits_among(names)
    places = places_of(files) if files else []
    split = split_people(places)
    if split is not None:
        places = short_places(split[0])
        names = names_of_people(places)
    folders, below = folders_and_names([*dict.fromkeys(places)])
    is_of_parts = is_grid(folders, below)
    of_parts = names_of_people([place[1:] for place in places]) if is_of_parts else names
    tops = Counter(place[0] for place in {*places} if place)
    found = []
    for name, place, person in zip(names, places, of_parts, strict=True):
        if is_of_parts:
            found.append({place[0], person})
        else:
            found.append({name, *(top for top in place[:1] if tops[top] > 1)})
    return [(each | _parts_of(each)) - splits - {""} for each in found], splits


def _parts_of(names: Iterable[str]) -> set[str]:
    parts = {part for name in names for part in name.split("/")}
    return {part for part in parts if not names_nobody(part)}
