"""Replacing the names of annotators in a data set by pseudonyms."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os.path import abspath, commonpath
from pathlib import Path

import numpy as np

from bboxqa.core.file_names import IMAGE_SUFFIXES, is_split, own_name, split_in
from bboxqa.core.pseudonyms import pseudonyms_of, spellings, without_examples, without_names
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.label_folders import INSIDE
from bboxqa.formats.sources import names_of
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.file_places import FilePlaces

# The file in a place such as a.xml:4 or a.json#/shapes/2.
_PLACE = re.compile(r"\A[^#]+(?=#/|:\d+\Z)")
# Names of annotators that do not stand for people.
_NOBODY = re.compile(r"\(not named(?: \d+)?\)|ground truth")


def people_among(names: Iterable[str]) -> list[str]:
    """Return the names of annotators that stand for people.

    Examples
    --------
    >>> people_among(["ann", "(not named)", "(not named 2)", "ground truth"])
    ['ann']
    """
    return [name for name in names if not _NOBODY.fullmatch(name)]


def with_pseudonyms(
    attribution: Attribution, key: Path, others: Iterable[str] = (), kept: Iterable[str] = ()
) -> tuple[Attribution, dict[str, str]]:
    """Return the attribution with pseudonyms, and the pseudonym of each name in the key.

    So have `others` after whom files are named. Models and splits, whose names are `kept`, have
    none.
    """
    kept = {*kept}
    known = pseudonyms_of(key, {*people_among(attribution.names), *others} - kept)
    # A file may be named after somebody else in the key.
    given = {name: known[name] for name in people_among(known) if name not in kept}

    def named(name: str) -> str:
        return given.get(name, name)

    asked = [
        [None if names is None else tuple(map(named, names)) for names in of_file]
        for of_file in attribution.asked
    ]
    renamed = replace(attribution, names=tuple(map(named, attribution.names)), asked=asked)
    return renamed, given


def without_people(data: Dataset, given: Mapping[str, str]) -> Dataset:
    """Return a data set with pseudonyms in its notes and file names as well."""
    given = spellings(given)
    sources = tuple(
        replace(
            each,
            name=file_without_names(each.name, given),
            annotator=None if each.annotator is None else given.get(each.annotator, each.annotator),
        )
        for each in data.sources
    )
    repeats = data.repeats
    if repeats is not None:
        sessions = repeats.sessions
        sessions = replace(sessions, annotations=_unplaced(sessions.annotations, given))
        repeats = replace(repeats, sessions=sessions)
    return replace(
        data,
        annotations=_unplaced(data.annotations, given),
        repeats=repeats,
        sources=sources,
        notes=tuple(without_examples(without_names(data.notes, given))),
        left_out=tuple(without_names(data.left_out, given)),
        headlines=tuple(without_names(data.headlines, given)),
        attribution=without_names(data.attribution, given),
        is_pseudonymous=True,
    )


def without_later_people(data: Dataset, key: Path, path: Path) -> Dataset:
    """Return a data set with pseudonyms of those who came into the key after it was read.

    Its file or folder `path` may name nobody, and be named after an e-mail address.
    """
    name = path.name if path.is_dir() else own_name(path)
    known = pseudonyms_of(key, [name] if "@" in name else [])
    # A pseudonym that the data set has may be the name of another person.
    given = {*known.values()}
    return without_people(data, {name: known[name] for name in known if name not in given})


def _unplaced(annotations: Annotations, given: Mapping[str, str]) -> Annotations:
    """Return annotations with pseudonyms in the places that they are found by."""
    own = annotations.own_id
    if own is None:
        return annotations
    if isinstance(own, FilePlaces):
        files = tuple(file_without_names(name, given) for name in own.files)
        return replace(annotations, own_id=replace(own, files=files))
    texts = [
        _PLACE.sub(lambda found: file_without_names(found[0], given), each) for each in own.tolist()
    ]
    return replace(annotations, own_id=np.array(texts, np.str_))


def file_without_names(name: str, given: Mapping[str, str]) -> str:
    """Return the name of a file with pseudonyms, as files may be named after annotators.

    Examples
    --------
    >>> file_without_names("in/day1/ann.json", {"ann": "p1", "day1": "p2", "day1/ann": "p3"})
    'in/p3.json'
    """
    # The folder and the file together may be an annotator.
    path = Path(without_names(name, {each: given[each] for each in given if "/" in each}))
    named = (_part_without_name(part, given) for part in path.parts)
    shown: str = without_names(str(Path(*named)), given)
    return shown


def _part_without_name(part: str, given: Mapping[str, str]) -> str:
    """Return the name of a file or folder with the pseudonym of the person in it, if there is one.

    Examples
    --------
    >>> [_part_without_name(part, {"al": "p1"}) for part in ("al.json", "val_al.xml", "al_1.xml")]
    ['p1.json', 'val_p1.xml', 'al_1.xml']
    """
    for whole in (part, own_name(Path(part))):
        split = split_in(whole)
        for person in (whole, *([] if split is None else split[:1])):
            # In val_al, "al" is first in the name of the split.
            place = re.search(rf"(?<![^\W_]){re.escape(person)}(?![^\W_])", part)
            if person in given and place:
                return f"{part[: place.start()]}{given[person]}{part[place.end() :]}"
    return part


def named_after(files: Sequence[Path]) -> list[set[str]]:
    """Return after whom each file may be named: the parts by which its path differs.

    Examples
    --------
    >>> [sorted(each) for each in named_after([Path("in/day1/ann.json"), Path("in/day2/ann.json")])]
    [['day1'], ['day2']]
    """
    whole = [Path(abspath(each)) for each in files]  # noqa: PTH100 - links keep their names
    shared = commonpath([each.parent for each in whole]) if whole else ""
    tops = [own_name(Path(each.relative_to(shared).parts[0])) for each in whole]
    named = zip(names_of(files), tops, strict=True)
    return [
        {part for part in (name, top, *name.split("/")) if not _names_nobody(part)}
        for name, top in named
    ]


def people_in_names(files: Sequence[Path]) -> set[str]:
    """Return after whom files may be named."""
    return set().union(*named_after(files))


def _names_nobody(part: str) -> bool:
    return not part or is_split(part) or INSIDE.fullmatch(part) is not None


def without_entries(text: str, folders: Iterable[Path]) -> str:
    """Return a text without the names of what is inside folders, which may be those of people.

    Names of images stay, and so do those of folders that data sets have, such as labels.
    """
    entries = (
        each
        for folder in folders
        for each in folder.rglob("*")
        if each.name in text and each.suffix.lower() not in IMAGE_SUFFIXES
    )
    hidden = {
        each.name: "FOLDER" if each.is_dir() else without_own_name(each).name
        for each in entries
        if not INSIDE.fullmatch(each.name)
    }
    shown: str = without_names(text, spellings(hidden))
    return shown


def without_own_name(file: Path) -> Path:
    """Return the path of a file without its own name.

    Examples
    --------
    >>> without_own_name(Path("p/ann.json.gz")).as_posix()
    'p/FILE.json.gz'
    """
    return file.with_name(f"FILE{file.name.removeprefix(own_name(file))}")
