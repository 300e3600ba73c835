"""Notes on folders of labels in the splits of a data set, which may be by several people or not.

Notes that are `hidden` do not say their names.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.commands import typed_names, typed_paths
from bboxqa.formats.folders.clips import share_pictures
from bboxqa.formats.folders.source_folders import (
    folders_in_parts,
    people_among,
    whole_source,
)
from bboxqa.formats.registry import is_source

# The most names that a note shows.
_SHOWN = 3
# The most folders that are looked at.
_LOOKED_AT = 20


def of_several(
    paths: Iterable[AnyPath], sources: Collection[Path], *, hidden: bool = False
) -> list[str]:
    """Return a note on given folders in which `sources` are those of people, in splits.

    They may be folders of images by one person as well, such as clips, unless they share pictures.
    """
    notes = []
    for path in map(Path, paths):
        whole = whole_source(path) if path.is_dir() else None
        parts = folders_in_parts(whole) if whole is not None else []
        people = people_among(parts)
        if whole is None or not people or not {*people} <= {*sources} or share_pictures(people):
            continue
        typed = "--annotator NAME=FOLDER" if hidden else typed_names([("NAME", whole)])
        notes.append(
            f"{_folders(whole, parts, hidden=hidden)} count as one annotator "
            "each; if they are clips or other parts of one annotator's work, name that annotator "
            f"in convert, or beside others in agree: {typed}"
        )
    return notes


def of_one(sources: Iterable[Path], *, hidden: bool = False) -> list[str]:
    """Return a note on sources with folders of labels that are read as one annotator's."""
    of_folders = ((each, folders_in_parts(each)) for each in sources if each.is_dir())
    found = [(source, parts) for source, parts in of_folders if parts]
    if not found:
        return []
    first, parts = found[0]
    typed = "FOLDER FOLDER …" if hidden else _typed(first, parts)
    more = f", and so in {count(len(found) - 1, 'other folder')}" if len(found) > 1 else ""
    read = f"{_folders(first, parts, hidden=hidden)} are read as one annotator"
    return [f"{read}{more}; if each is by another: bboxqa agree {typed}"]


def _typed(source: Path, parts: Sequence[Sequence[Path]]) -> str:
    """Return what reads the folders in a source as those of people."""
    if people_among(parts):
        # A source that is given alone is that of all people inside.
        return typed_paths([source])
    folders = [folder for part in parts for folder in part]
    if all(map(is_source, folders[:_LOOKED_AT])):
        return typed_paths(folders)
    return typed_names([(each.name, each) for each in folders])


def _folders(source: Path, parts: Sequence[Sequence[Path]], *, hidden: bool) -> str:
    """Return the beginning of a note on folders in a source, with the names of some in one part."""
    part = max(parts, key=len)
    shown = first_few(part, _SHOWN, lambda each: one_line(each.relative_to(source).as_posix()))
    called = f"{one_line(str(source))}: folders with labels of images of the same names"
    return called if hidden else f"{called} ({shown})"
