"""Replacing the names of annotators in data sets, paths and errors by pseudonyms."""

from collections.abc import Callable, Sequence
from os.path import abspath, commonpath
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.file_names import is_split, person_in
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.formats.label_folders import INSIDE
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.table import FilePlaces


def people_in_paths(files: Sequence[Path]) -> set[str]:
    """Return after whom files may be named: the parts of their paths below a common folder.

    A file that is alone has any name, but an e-mail address is that of a person.

    Examples
    --------
    >>> sorted(people_in_paths([Path("in/ann/train.json"), Path("in/bob/train.json")]))
    ['ann', 'bob']
    """
    whole = [Path(abspath(each)) for each in files]  # noqa: PTH100 - links keep their names
    shared = commonpath([each.parent for each in whole]) if whole else ""
    parts = {part for each in whole for part in each.parent.relative_to(shared).parts}
    parts |= {person_in(each) for each in whole}
    return {
        part
        for part in parts
        if "@" in part or (len(files) > 1 and not is_split(part) and not INSIDE.fullmatch(part))
    }


def without_people(data: Dataset, key: Path) -> Dataset:
    """Return a data set with pseudonyms in its notes, the names of its files and its places."""
    hide = hider(pseudonyms_of(key, ()))
    sources = tuple(
        replace(each, name=hide(each.name), annotator=hide(each.annotator)) for each in data.sources
    )
    repeats = data.repeats
    if repeats is not None:
        sessions = repeats.sessions
        sessions = replace(sessions, annotations=_with_places(sessions.annotations, hide))
        repeats = replace(repeats, sessions=sessions)
    return replace(
        data,
        annotations=_with_places(data.annotations, hide),
        repeats=repeats,
        sources=sources,
        notes=hide(data.notes),
        left_out=hide(data.left_out),
        headlines=hide(data.headlines),
        attribution=hide(data.attribution),
        is_pseudonymous=True,
    )


def _with_places(annotations: Annotations, hide: Callable[[Any], Any]) -> Annotations:
    own = annotations.own_id
    if own is None:
        return annotations
    if isinstance(own, FilePlaces):
        return replace(annotations, own_id=replace(own, files=hide(own.files)))
    return replace(annotations, own_id=np.array(hide(own.tolist()), np.str_))
