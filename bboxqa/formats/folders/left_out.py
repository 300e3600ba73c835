"""Notes on files and folders that are left out.

They may be named after people: notes that are `hidden` do not say their names.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in, own_name
from bboxqa.core.text import count, first_few, one_line, such_as
from bboxqa.core.types import AnyPath
from bboxqa.formats.archive_contents import NOT_READ
from bboxqa.formats.coco.strict import COCO, is_surely_coco
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.content_kinds import CLASS_NAMES, TABLES
from bboxqa.formats.damaged import files_beside, named_beside
from bboxqa.formats.dota.dota import DOTA
from bboxqa.formats.folders.source_folders import labels_beside_coco, sources_deeper
from bboxqa.formats.foreign import foreign_kind
from bboxqa.formats.own_files import is_result
from bboxqa.formats.registry import format_of, is_of_one_image, suffixes, title_of
from bboxqa.formats.translation.archives.tars import is_packed_tar
from bboxqa.formats.translation.heads import ARCHIVES, is_archive
from bboxqa.formats.translation.label_folders import is_label_name, is_of_labels
from bboxqa.formats.translation.member import SMALL, Member
from bboxqa.formats.translation.members import head_of, members_of
from bboxqa.formats.unread import SETTINGS, unread_kind
from bboxqa.formats.yolo.yolo import YOLO

_SHOWN = 3
_LABELS = "labels beside it are left out; to read the labels"
# The number of files beside labels that are looked at.
_LOOKED_AT = 50
# The most folders in one without labels.
_FOLDERS = 20
_ANNOTATIONS = (".json", ".xml", *TABLES)


def passed_over(paths: Sequence[AnyPath], *, hidden: bool = False) -> list[str]:
    """Return a note on the folders of annotations that are too deep for `list_files`, if any.

    The folders directly below a folder are those of annotators. Several sources in one of them may
    be by several people.
    """
    deeper = [
        source for path in map(Path, paths) if path.is_dir() for source in sources_deeper(path)
    ]
    if not deeper:
        return []
    some = count(len(deeper), "folder")
    such = "" if hidden else such_as(len(deeper), one_line(str(deeper[0])))
    note = f"{some} of annotations left out, as others are directly below the folder given{such}"
    return [f"{note}: name the folders that are to be read"]


def beside_labels(sources: Iterable[Path], *, hidden: bool = False) -> list[str]:
    """Return a note on files of other formats in a folder that is one source, if there are any.

    Files of one image each are reported by the readers of folders.
    """
    found = {each: files for each in sources if each.is_dir() if (files := _of_others(each))}
    if not found:
        return []
    folder, files = next(iter(found.items()))
    some = f"{count(len(files), 'file')} of other formats"
    shown = _names(files, hidden=hidden)
    more = f", and more in {count(len(found) - 1, 'other folder')}" if len(found) > 1 else ""
    read = f"{one_line(str(folder))} is read as {title_of(format_of(folder))}"
    return [f"{read}: {some} left out{shown}{more}; to read such a file, name it"]


def of_no_format(
    paths: Sequence[AnyPath],
    sources: Sequence[Path],
    pattern: str | None = None,
    *,
    hidden: bool = False,
) -> list[str]:
    """Return a note on XML files and tables in given folders that no format recognises, if any."""
    listed = {*sources}
    others = [
        file
        for folder in map(Path, paths)
        if folder.is_dir()
        for file in files_beside(folder, listed, pattern)
        if not file.match(CLASS_NAMES) and not _has_format(file)
    ]
    if not others:
        return []
    some, shown = count(len(others), "file"), _names(others, hidden=hidden)
    return [f"{some} left out: no annotations in a known format{shown}"]


def archives_beside(
    paths: Sequence[AnyPath],
    sources: Sequence[Path],
    pattern: str | None = None,
    *,
    hidden: bool = False,
    is_named: bool = False,
) -> list[str]:
    """Return a note on archives in given folders that have annotations of their own, if any.

    Beside other annotations, archives are left out, since these were often unpacked from them. Of
    an annotator who is named, a single folder or archive can be given (`is_named`).
    """
    # Several files in an archive are sources below its path.
    listed = {each for source in sources for each in (source, *source.parents)}
    found = [
        (folder, file)
        for folder in map(Path, paths)
        if folder.is_dir()
        for file in named_beside(folder, {*sources}, pattern, ARCHIVES)
        if file not in listed and not is_unpacked(file)
    ]
    if not found:
        return []
    shown = _names([each for _, each in found], hidden=hidden)
    note = f"{count(len(found), 'archive')} left out{shown}, as other files are read"
    if is_named:
        return [f"{note}; to read such an archive as well, unpack it"]
    typed = "" if hidden else f": {typed_paths(found[0])}"
    return [f"{note}; to read such an archive as well, name it{typed}"]


def is_unpacked(archive: Path) -> bool:
    """Return whether files of annotations in an archive are beside it, or there are none."""
    try:
        # Listing a tar in gzip unpacks all of it, which takes long if it has images.
        is_large = archive.stat().st_size > SMALL and is_packed_tar(archive)
        is_read = not is_large and is_archive(head_of(archive))
        inside = members_of(archive) if is_read else []
        found = format_of(archive) if inside else COCO
    except (DatasetError, OSError):
        return False
    # Of packed files, COCO is the format of those that none recognises.
    if found is COCO:
        return True
    own = own_name(archive)
    # A single packed file is without a name, as in ann.json.gz and ann.gz.
    named = [(each.name or archive.stem, each) for each in inside]
    ours = [
        (name, each)
        for name, each in named
        if name == own
        or name.lower().endswith(_ANNOTATIONS)
        or (found in (YOLO, DOTA) and is_label_name(name))
    ]
    places = (archive.parent, archive.parent / own)
    return all(
        any(_is_same(each, place / name, content=number < _LOOKED_AT) for place in places)
        for number, (name, each) in enumerate(ours)
    )


def _is_same(member: Member, file: Path, *, content: bool) -> bool:
    """Return whether a file has the size of one in an archive, and the same content if small."""
    try:
        size = file.stat().st_size
        # Of a single packed file, the size is not known.
        if member.name and member.most != size:
            return False
        return not content or size > SMALL or member.read() == file.read_bytes()
    except (DatasetError, OSError):
        return False


def beside_others(
    paths: Sequence[AnyPath], sources: Sequence[Path], *, hidden: bool = False
) -> list[str]:
    """Return notes on labels beside COCO JSON, and on files beside folders of annotators."""
    listed = {*sources}
    folders = [each for each in map(Path, paths) if each.is_dir() and each not in listed]
    inside = (
        each.parent.parent if each.parent.name.lower() == "annotations" else each.parent
        for each in sources
        if any(above in each.parents for above in folders)
    )
    notes = []
    for place in islice(dict.fromkeys((*folders, *inside)), _LOOKED_AT):
        labels = [each for each in labels_beside_coco(place) if each not in listed]
        read = one_line(str(place))
        # A single file of one image may be by a person, and is read.
        is_read = any(each.parent == place and is_of_one_image(each) for each in listed)
        if labels == [place] and not is_read:
            notes.append(f"{read}: COCO JSON is read, and {_LABELS}, move the COCO JSON elsewhere")
        elif labels and labels != [place]:
            some = f"{count(len(labels), 'folder')}{_names(labels, hidden=hidden)}"
            notes.append(f"{read}: COCO JSON is read, and {_LABELS} in {some}, name each folder")
    for folder in folders:
        if any(each.is_dir() and folder in each.parents for each in sources) and (
            files := [each for each in _of_annotations(folder) if each not in listed]
        ):
            shown = _names(files, hidden=hidden)
            some = f"{count(len(files), 'file')} of annotations left out{shown}"
            read = one_line(str(folder))
            notes.append(f"{read}: folders are read, and {some}; to read both, name each")
    return notes


def without_labels(
    paths: Sequence[AnyPath], sources: Sequence[Path], *, hidden: bool = False
) -> list[str]:
    """Return a note on folders without labels beside those of annotators, if there are any."""
    read = {above for each in sources if each.is_dir() for above in (each, *each.parents)}
    found = [
        each
        for folder in map(Path, paths)
        if folder in read and folder not in sources
        for each in folders_in(folder)
        # Programs begin their folders with an underscore, such as __pycache__.
        if each not in read and each.name[0] != "_" and not folder_problem(each)
        if _lacks_labels(each)
    ]
    if not found:
        return []
    some = f"{count(len(found), 'folder')} without labels left out{_names(found, hidden=hidden)}"
    empty = "if an annotator found nothing there, each image needs an empty label file"
    return [f"{some}: {empty}"]


def _lacks_labels(folder: Path) -> bool:
    """Return whether a folder may be of a person, and has no labels: empty, or with an empty one.

    A folder of pictures is none.
    """
    inside = [*islice(os.walk(folder), _FOLDERS)]
    files = [name for _, _, names in inside for name in names]
    if not files:
        return len(inside) < _FOLDERS
    # Folders of pictures may have many, whose names need not be looked at.
    is_of_person = any(is_of_labels(Path(each).name) for each, _, _ in inside[1:])
    return is_of_person and all(Path(name).suffix.lower() in IMAGE_SUFFIXES for name in files)


def _names(paths: Sequence[Path], *, hidden: bool) -> str:
    """Return the first names in parentheses, unless they are hidden."""
    return "" if hidden else f" ({first_few(paths, _SHOWN, lambda each: one_line(each.name))})"


def _of_annotations(folder: Path) -> list[Path]:
    """Return the files directly in a folder that have a known format, of the first ones."""
    ends = suffixes()
    names = (each for each in sorted(os.listdir(folder)) if each[0] != ".")  # noqa: PTH208
    named = (folder / each for each in names if each.lower().endswith(ends))
    files = (each for each in named if each.is_file() and not is_result(each))
    return [each for each in islice(files, _LOOKED_AT) if _has_format(each)]


def _has_format(file: Path) -> bool:
    return is_surely_coco(file) or format_of(file) is not COCO


def _of_others(folder: Path) -> list[Path]:
    """Return files of other formats directly in the folder of a source."""
    own, ends = format_of(folder), suffixes()
    # A folder may have many files, of which few are looked at.
    inside = (folder / name for name in sorted(os.listdir(folder)))  # noqa: PTH208
    files = islice((each for each in inside if each.is_file()), _LOOKED_AT)
    named = (each for each in files if each.suffix.lower() in ends and not is_of_one_image(each))
    return [
        each
        for each in named
        if format_of(each) not in (COCO, own) or foreign_kind(each) in NOT_READ
    ]


def without_settings(
    files: list[Path], given: Sequence[AnyPath], *, hidden: bool = False
) -> tuple[list[Path], list[str]]:
    """Return the files without JSON files unrelated to annotations, and a note on these.

    JSON files that were given by name, or that have no other files next to them, are kept.
    """
    named = {*map(Path, given)}
    others = [
        file
        for file in files
        if file not in named and unread_kind(file) in (SETTINGS, "Hugging Face")
    ]
    if not others or len(others) == len(files):
        return files, []
    some = count(len(others), "JSON file")
    such = "" if hidden else such_as(len(others), one_line(str(others[0])))
    note = f"{some} left out: no annotations{such}"
    left_out = {*others}
    return [file for file in files if file not in left_out], [note]
