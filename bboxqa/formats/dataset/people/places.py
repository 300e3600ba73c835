"""The places of files: which folders, names and splits their paths have."""

from collections import Counter
from collections.abc import Sequence
from os.path import abspath, commonpath
from pathlib import Path

from bboxqa.core.file_names import own_name
from bboxqa.formats.task_files import without_split
from bboxqa.formats.translation.heads import ARCHIVES

Place = tuple[str, ...]
"""A path below the folder that all files share, in parts and without suffix."""


def places_of(paths: Sequence[Path]) -> list[Place]:
    """Return the paths below the folder that all share, without suffixes.

    Examples
    --------
    >>> places_of([Path("in/ann/b/1.json"), Path("in/bob/b/1.json"), Path("in/bob/2.csv")])
    [('ann', 'b', '1'), ('bob', 'b', '1'), ('bob', '2')]
    """
    whole = [Path(abspath(path)) for path in paths]  # noqa: PTH100 - links keep their names
    shared = Path(commonpath([path.parent for path in whole]))
    below = [path.relative_to(shared) for path in whole]
    # A folder has no suffix.
    ends = [path.name if path.is_dir() else own_name(path) for path in whole]
    return [
        (*map(_without_archive, path.parent.parts), end)
        for path, end in zip(below, ends, strict=True)
    ]


def _without_archive(part: str) -> str:
    """Return the name of a folder, or that of an archive without its suffix."""
    return own_name(Path(part)) if part.lower().endswith(ARCHIVES) else part


def short_places(people: Sequence[Place]) -> list[Place]:
    """Return the paths of people without the folders and file names that all have.

    Examples
    --------
    >>> short_places([("in", "ann", "_annotations.coco"), ("in", "bob", "_annotations.coco")])
    [('ann',), ('bob',)]
    """
    left = list(people)
    for end in (-1, 0):
        while all(len(each) > 1 for each in left) and len({each[end] for each in left}) == 1:
            left = [each[:-1] if end else each[1:] for each in left]
    return left


def names_of_people(places: Sequence[Place]) -> list[str]:
    """Return the names of people: the first or last part of each path if only one tells all apart.

    Else, they are the paths without the folders and file names that all have. Last parts of paths
    of several lengths may be names of files.

    Examples
    --------
    >>> names_of_people([("ann",), ("bob", "all"), ("cid", "all")])
    ['ann', 'bob', 'cid']
    >>> names_of_people([("in", "ann"), ("out", "bob"), ("out", "cid")])
    ['ann', 'bob', 'cid']
    >>> names_of_people([("in", "ann"), ("out", "bob")]), names_of_people([("ann",), ("in", "bob")])
    (['in/ann', 'out/bob'], ['ann', 'in/bob'])
    """
    short = short_places(places)
    people = {*short}
    telling = [end for end in (0, -1) if len({each[end] for each in people if each}) == len(people)]
    if telling == [0] or (telling == [-1] and len({*map(len, people)}) == 1):
        return [each[telling[0]] for each in short]
    return ["/".join(each) for each in short]


def folders_and_names(places: Sequence[Place]) -> tuple[list[str], list[str]]:
    """Return the first folder of each path, "" if it has none, and what is below."""
    folders = [place[0] if len(place) > 1 else "" for place in places]
    return folders, ["/".join(place[1:]) for place in places]


def is_grid(folders: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether folders have files of the same names, several in some folder.

    Either all names are in several folders, or at least two are.

    Examples
    --------
    >>> is_grid(["ann", "ann", "bob", "bob"], ["1", "2", "1", "2"])
    True
    >>> is_grid(["ann", "bob", "bob"], ["1", "1", "2"]), is_grid(["ann", "bob"], ["1", "1"])
    (False, False)
    """
    cells = {*zip(folders, names, strict=True)}
    times = Counter(names)
    n_shared = sum(each > 1 for each in times.values())
    is_once = len(cells) == len(names) and "" not in folders
    return is_once and len({*folders}) < len(cells) and n_shared >= min(2, len(times))


def split_advice(paths: Sequence[Path]) -> str:
    """Return how to go on where files are named as splits of a data set; empty where they are not.

    Examples
    --------
    >>> split_advice([Path("instances_train2017.json"), Path("val.json")])[:54]
    'The files are named as splits of one data set (train, '
    >>> split_advice([Path("train.json"), Path("ann.json")])
    ''
    """
    splits = dict.fromkeys(without_split(place)[0] for place in places_of(paths))
    if len(splits) < len(paths) or "" in splits:
        return ""
    return (
        f"The files are named as splits of one data set ({', '.join(splits)}), which are no "
        "annotators. Agreement needs at least two: either annotations that say who drew them, or "
        "one file of each annotator, all of the same images."
    )
