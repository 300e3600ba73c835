"""Finding projects below a folder."""

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import NamedTuple, TypeVar

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, SPLIT, is_split
from bboxqa.core.text import clean, one_line
from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.heads import CLASS_NAMES, LOOKED_AT, is_coco
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.registry import format_of, is_source, suffixes
from bboxqa.formats.sources import list_files
from bboxqa.formats.unreadable import RESULT_FILES, WRITTEN_FILES, damage_of, damaged, foreign_kind

_File = TypeVar("_File")

SETTINGS_FILE = "bboxqa.toml"
"""Settings of one project, which override those of the run."""

IMAGES = "images"
"""The folder of images in a project."""
_PACKED = "other files are read; to read it as well, unpack it"
_LEADS_OUT = "is a link that leads out of the folder; --follow-symlinks follows it"
_LINKED = "a link to a folder that is read under another name"
_LEADS_NOWHERE = "is a link that leads nowhere"
# File names by which a folder of batch results is recognised.
_RESULTS = {"history.sqlite", "projects"}
_OF_PROJECT = re.compile(rf"annotations|{SPLIT}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Project:
    """One folder with annotations."""

    name: str
    """Path below the root, with ``/``; ``.`` for the root itself."""
    folder: Path
    files: tuple[Path, ...]
    """Files of annotations, and folders that are one source each; sorted."""
    images: Path | None
    """Folder of the images, if it exists."""
    settings: Path | None
    """Settings of the project, if they exist."""
    size: int
    """Total size of the files in bytes, without images."""


class Unreadable(NamedTuple):
    """A file or folder below the root that could not be read, or an empty file."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Discovered:
    """Projects below a root, files without annotations, and unreadable files; all sorted."""

    projects: tuple[Project, ...]
    left_alone: tuple[str, ...]
    unreadable: tuple[Unreadable, ...]
    not_read: tuple[Unreadable, ...] = ()
    """Folders and archives in which nothing is read."""


def discover(
    root: Path,
    pattern: str | None = None,
    skip: Path | None = None,
    *,
    follow_links: bool = False,
) -> Discovered:
    """Find every project below a folder.

    A project is a folder that holds COCO files, or has them in ``annotations/`` or in the splits
    ``train/``, ``valid/``, ``val/`` and ``test/``. A folder that is one source, as with YOLO, is a
    project if it lies directly below the root; deeper ones are the annotators of the surrounding
    project. Hidden files and folders, the folder `skip` and results of ``bboxqa`` are left out, as
    are files whose names do not match the glob `pattern`. A folder with several links to it is read
    once. Links that lead out of the root are unreadable, unless `follow_links`.
    """
    if not root.is_dir():
        if root.is_file():
            problem = f"{root}: is a file; expected a folder of projects"
            raise DatasetError([problem], _advice_for(root))
        raise DatasetError([f"{root}: no such folder"])
    unreadable: list[Unreadable] = []
    real = os.path.realpath(root)

    def is_followed(path: Path) -> bool:
        leads_to = Path(os.path.realpath(path)) if path.is_symlink() else path
        return follow_links or leads_to is path or leads_to.is_relative_to(real)

    linked: list[Path] = []
    sources = _sources(root, skip, unreadable, linked, is_followed)
    archives: list[Path] = []
    files = (
        (_below(root, file) + "/" * file.is_dir(), file, found)
        for file, found in _looked_at(sources, pattern, _is_read, archives)
    )
    found = sort_files(files, unreadable, partial(_project, root, is_followed), damage_of)
    named = [*found.left_alone, *(each.path for each in found.unreadable)]
    known = {*(project.name for project in found.projects), *named}
    not_read = [
        *starmap(Unreadable, _folders_not_read(root, known, skip, pattern)),
        *(Unreadable(_below(root, each), _PACKED) for each in archives),
        *(Unreadable(_below(root, each), _LINKED) for each in linked),
    ]
    return replace(found, not_read=tuple(sorted(not_read)))


def _advice_for(file: Path) -> str:
    """Return advice for a file that was named in place of a folder."""
    if foreign_kind(file) == "archive":
        return "Unpack it, and name the folder."
    if file.suffix.lower() != ".json":
        return "Name the folder above the projects."
    return f"To measure one export: bboxqa agree {shlex.quote(str(file))}"


def sort_files(
    files: Iterable[tuple[str, _File, bool | str]],
    unreadable: list[Unreadable],
    project: Callable[[Path, list[_File]], Project],
    is_damaged: Callable[[_File], object],
) -> Discovered:
    """Return sources by project.

    `files` yields a path below the root, the file, and whether it is COCO or why it cannot be
    read; it may append to `unreadable`. The path of a folder that is one source ends with ``/``.
    `project` is called as project(folder, files), with a folder below the root. JSON that
    `is_damaged` belongs to the project whose folder it is in.
    """
    sources: list[tuple[str, _File]] = []
    others: list[tuple[str, _File, str]] = []
    for path, file, coco in files:
        if isinstance(coco, str) or not coco:
            others.append((path, file, coco or ""))
        else:
            sources.append((path, file))
    found = _by_home(sources)
    left_alone = []
    for path, file, reason in others:
        home = found.get(_home_of_source(path)) if path.lower().endswith(".json") else None
        if home is not None and is_damaged(file):
            # Reading the project refuses it, as `agree` does.
            home.append(file)
        elif reason:
            unreadable.append(Unreadable(path, reason))
        else:
            left_alone.append(path)
    projects = []
    for folder, inside in found.items():
        try:
            projects.append(project(folder, inside))
        except OSError as error:
            # The file was removed after the folder was listed.
            unreadable.append(Unreadable(folder.as_posix(), str(error.strerror)))
    # Results and history identify a project by its shown name, with escaped characters.
    shown: dict[str, Project] = {}
    for one in sorted(projects, key=lambda each: (clean(each.name) != each.name, each.name)):
        if shown.setdefault(clean(one.name), one) is not one:
            reason = "has the name of another project but for escaped characters; rename one"
            unreadable.append(Unreadable(one.name, reason))
    return Discovered(
        tuple(sorted(shown.values(), key=lambda project: project.name)),
        tuple(sorted(left_alone)),
        tuple(sorted(unreadable, key=str)),
    )


def _by_home(sources: Iterable[tuple[str, _File]]) -> dict[Path, list[_File]]:
    """Return sources by the folder of their project."""
    found: dict[Path, list[_File]] = {}
    of_folders: set[Path] = set()
    for path, file in sources:
        around = _home_of_source(path)
        found.setdefault(around, []).append(file)
        if path.endswith("/") and around != Path(path):
            of_folders.add(around)
    for home in [each for each in found if each not in of_folders and each.parent in of_folders]:
        found[home.parent] += found.pop(home)
    return found


def _entries(folder: Path, *, is_root: bool) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted, without hidden files and earlier results."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    names = {entry.name for entry in inside}
    if not is_root and names >= _RESULTS:
        return []
    written = WRITTEN_FILES if names >= RESULT_FILES else frozenset()
    return [each for each in inside if each.name[0] != "." and each.name not in written]


def _sources(
    root: Path,
    skip: Path | None,
    unreadable: list[Unreadable],
    linked: list[Path],
    is_followed: Callable[[Path], bool],
) -> Iterator[Path]:
    """Yield files below a folder with the suffix of a format or an archive, and folders as sources.

    A folder with links to it is read once, by its own name: other links to it are `linked`.
    """
    seen: set[tuple[int, int]] = set()
    ends = (*suffixes(), *ARCHIVES)
    skipped = None if skip is None else skip.resolve()
    waiting, links = [root], list[Path]()
    while waiting or links:
        folder = (waiting or links).pop()
        try:
            status = folder.stat()
            identity = status.st_dev, status.st_ino
            if identity in seen or (skipped is not None and folder.resolve() == skipped):
                linked += [folder] * (folder.is_symlink() and is_source(folder))
                continue
            seen.add(identity)
            inside = _entries(folder, is_root=folder == root)
            if inside and is_source(folder):
                yield folder
                continue
        except OSError as error:
            unreadable.append(Unreadable(_below(root, folder), str(error.strerror)))
            continue
        for entry in inside:
            try:
                is_folder, is_read = entry.is_dir(), entry.name.lower().endswith(ends)
                is_lost = is_read and entry.is_symlink() and not Path(entry.path).exists()
                if is_lost or ((is_folder or is_read) and not is_followed(Path(entry.path))):
                    reason = _LEADS_NOWHERE if is_lost else _LEADS_OUT
                    unreadable.append(Unreadable(_below(root, Path(entry.path)), reason))
                elif is_folder:
                    (links if entry.is_symlink() else waiting).append(Path(entry.path))
                elif is_read:
                    if entry.is_file():
                        yield Path(entry.path)
                    else:
                        path = _below(root, Path(entry.path))
                        unreadable.append(Unreadable(path, "is not a file"))
            except OSError as error:
                path = _below(root, Path(entry.path))
                unreadable.append(Unreadable(path, str(error.strerror)))


def _is_read(file: Path) -> bool | str:
    """Return whether a file is COCO JSON or in another format that is read, or why it cannot be."""
    if not file.name.lower().endswith(".json"):
        return format_of(file) is not COCO
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            if size == 0:
                return "is empty"
            for start in (0, max(0, size - LOOKED_AT)):
                stream.seek(start)
                if is_coco(file.name, stream.read(LOOKED_AT)):
                    return True
    except OSError as error:
        return str(error.strerror)
    return format_of(file) is not COCO


def _project(
    root: Path, is_followed: Callable[[Path], bool], below: Path, files: list[Path]
) -> Project:
    folder = root / below
    images, settings = folder / IMAGES, folder / SETTINGS_FILE
    return Project(
        name=below.as_posix(),
        folder=folder,
        files=tuple(sorted(files)),
        images=images if images.is_dir() and is_followed(images) else None,
        settings=settings if settings.is_file() else None,
        size=sum(
            file.stat().st_size
            for source in files
            for file in files_of(source)
            if not is_image(file)
        ),
    )


def _below(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def home_of(file: Path, projects: Collection[Path] = ()) -> Path:
    """Return the folder of the project that a file belongs to; both are below the root.

    CVAT writes `annotations` in a project, and Roboflow the folders of splits. Folders in
    `projects` are projects, whatever their names.

    Examples
    --------
    >>> home_of(Path("fruits/train/annotations/a.json")).as_posix()
    'fruits'
    >>> home_of(Path("training/annotations/a.json"), [Path("training")]).as_posix()
    'training'
    """
    folder = file.parent
    while folder not in projects and _OF_PROJECT.fullmatch(folder.name):
        folder = folder.parent
    return folder


def _home_of_source(path: str) -> Path:
    """Return the folder of the project of a source, whose path ends with ``/`` if it is a folder.

    Examples
    --------
    >>> [_home_of_source(path).as_posix() for path in ("a/", "a/ann/", "a/train/", "a/x.json")]
    ['a', 'a', 'a', 'a']
    >>> _home_of_source("a/labels/train2017/ann/").as_posix()
    'a'
    """
    below = Path(path)
    if not path.endswith("/"):
        return home_of(below)
    if len(below.parts) <= 1 and not _OF_PROJECT.fullmatch(below.name):
        return below
    return _home_of_person(below)


def _home_of_person(folder: Path) -> Path:
    """Return the folder of the project of an annotator's folder, which is below the root.

    Examples
    --------
    >>> _home_of_person(Path("fruits/labels/train/ann")).as_posix()
    'fruits'
    """
    around = folder.parent
    while _is_around_people(around):
        around = around.parent
    return around


def _is_around_people(folder: Path) -> bool:
    """Return whether the folders of people may be in a folder, by its name: labels, or a split."""
    return folder.name.lower() in ("labels", "annotations") or is_split(folder.name)


def _looked_at(
    files: Iterable[Path],
    pattern: str | None,
    is_read: Callable[[Path], bool | str],
    left_out: list[Path],
) -> Iterator[tuple[Path, bool | str]]:
    """Yield sources, and whether each can be read or why it cannot; archives are last."""
    ends = suffixes()
    archives = []
    sources, others = [], []
    unpacked: set[Path] = set()
    for file in (each for each in files if pattern is None or each.match(pattern)):
        name = file.name.lower()
        if file.is_dir():
            found: bool | str = True
        elif name.endswith(ARCHIVES) and not name.endswith(ends):
            archives.append(file)
            continue
        else:
            found = is_read(file)
        if found:
            unpacked.update(file.parents)
            sources.append(file)
        if found or name.endswith(".json"):
            yield file, found
        else:
            others.append(file)
    left_out += (each for each in archives if each.parent in unpacked)
    for file in (each for each in archives if each.parent not in unpacked):
        if format_of(file) is COCO:
            others.append(file)
        else:
            yield file, True
    yield from damaged(others, sources)
    folders = {source.parent for source in sources}
    for file in others:
        if file.parent in folders and not file.match(CLASS_NAMES) and not damage_of(file):
            yield file, False


def _folders_not_read(
    root: Path, known: Collection[str], skip: Path | None, pattern: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the folders below a root in which nothing is read, each with the reason."""
    if "." in known:
        return
    around = {above.as_posix() for path in known for above in Path(path).parents}
    skipped = None if skip is None else skip.resolve()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        for each in _folders_in(folder):
            path = each.relative_to(root).as_posix()
            if path in known or each.resolve() == skipped:
                continue
            if path in around:
                waiting.append(each)
            elif reason := _reason_of(each, pattern):
                yield path, reason


def _folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder, and links that lead nowhere."""
    try:
        inside = [each for each in folder.iterdir() if each.name[0] != "."]
        return sorted(each for each in inside if each.is_dir() or not each.exists())
    except OSError:
        # Finding the projects reports the error.
        return []


def _reason_of(folder: Path, pattern: str | None) -> str:
    if not folder.is_dir():
        return "is a link that leads nowhere"
    try:
        list_files([folder], pattern)
    except DatasetError as error:
        return one_line(error.problems[0].removeprefix(f"{folder}: ").replace(f"{folder}/", ""))
    except OSError as error:
        return str(error.strerror)
    return ""


def files_of(source: Path) -> list[Path]:
    """Return a file itself, or the files of a folder, sorted; hidden ones are left out."""
    if not source.is_dir():
        return [source]
    found = []
    for folder, inside, names in os.walk(source):
        inside[:] = [name for name in inside if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return sorted(found)


def is_image(file: Path) -> bool:
    """Return whether a file of a source is an image, which is large and no annotation."""
    return file.suffix.lower() in IMAGE_SUFFIXES
