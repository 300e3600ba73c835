"""Notes on folders of labels of the same images, which may be by several people or not.

Notes that are `hidden` do not say their names.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.commands import typed_names, typed_paths
from bboxqa.formats.folders.clips import share_pictures
from bboxqa.formats.folders.source_folders import (
    folders_in_parts,
    people_among,
    whole_source,
)
from bboxqa.formats.registry import format_of, is_source, is_source_of
from bboxqa.formats.task_files import is_split
from bboxqa.formats.translation.label_folders import files_below, is_of_labels, may_have_labels

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
    taken = f"{_folders(first, parts, hidden=hidden)} are read as one annotator"
    return [_note(taken, len(found) - 1, _typed(first, parts), hidden=hidden)]


def of_same_images(sources: Iterable[Path], *, hidden: bool = False) -> list[str]:
    """Return a note on sources that hold several folders with labels of the same images, if any.

    In labels, labels_bob and images, only labels are part of a data set of YOLO.
    """
    beside = ((each, _of_same_images(each)) for each in sources if each.is_dir())
    found = [(source, folders) for source, folders in beside if folders]
    if not found:
        return []
    source, folders = found[0]
    taken = f"{_folders(source, [folders], hidden=hidden)} do not count as annotators"
    return [_note(taken, len(found) - 1, typed_paths(folders), hidden=hidden)]


def _of_same_images(source: Path) -> list[Path]:
    """Return the folders in a source with labels of the same images; empty if there are none."""
    inside = [each for each in folders_in(source) if not is_split(each.name)]
    if len(inside) < 2 or not any(is_of_labels(each.name) for each in inside):
        return []
    found = format_of(source)
    labels = {
        each: {file.relative_to(each) for file in files_below(each) if may_have_labels(file.name)}
        for each in inside
        if is_source_of(found, each)
    }
    shared = [
        each
        for each, names in labels.items()
        if any(other != each and names & labels[other] for other in labels)
    ]
    return shared if any(is_of_labels(each.name) for each in shared) else []


def _note(taken: str, n_more: int, typed: str, *, hidden: bool) -> str:
    """Return a note on how folders are taken, and what takes them as those of people."""
    more = f", and so in {count(n_more, 'other folder')}" if n_more else ""
    typed = "FOLDER FOLDER …" if hidden else typed
    return f"{taken}{more}; if each is by another: bboxqa agree {typed}"


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
