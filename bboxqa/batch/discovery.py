"""Finding projects below a folder."""

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, SPLIT, is_file, is_folder, is_split
from bboxqa.core.text import one_line
from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.heads import CLASS_NAMES, LOOKED_AT, is_coco
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.registry import format_of, formats_of, is_source, suffixes
from bboxqa.formats.sources import list_files
from bboxqa.formats.unreadable import RESULT_FILES, WRITTEN_FILES, damage_of, damaged
from bboxqa.model.settings import read_settings_file

SETTINGS_FILE = "bboxqa.toml"
"""Settings of one project, which override those of the run."""

IMAGES = "images"
"""The folder of images in a project."""
_PACKED = "other files are read; to read it as well, unpack it"
_LEADS_OUT = "is a link that leads out of the folder; --follow-symlinks follows it"
# File names by which a folder of batch results is recognised.
_RESULTS = {"history.sqlite", "projects"}
_OF_PROJECT = re.compile(rf"annotations|{SPLIT}", re.IGNORECASE)


class Project(msgspec.Struct, frozen=True):
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


class Discovered(msgspec.Struct, frozen=True):
    """Projects below a root, files without annotations, and unreadable files; all sorted."""

    projects: tuple[Project, ...]
    left_alone: tuple[str, ...]
    unreadable: tuple[Unreadable, ...]
    not_read: tuple[Unreadable, ...] = ()
    """Folders and archives in which nothing is read."""


def discover(
    root: Path, pattern: str | None = None, skip: Path | None = None, *, follow_links: bool = False
) -> Discovered:
    """Find every project below a folder.

    A project is a folder that holds COCO files, or has them in ``annotations/`` or in the splits
    ``train/``, ``valid/``, ``val/`` and ``test/``. A folder that is one source, as with YOLO, is a
    project if it lies directly below the root, as is one of masks whose settings say `mask`; deeper
    ones are the annotators of the surrounding project. Hidden files and folders, the folder `skip`
    and results of ``bboxqa`` are left out, as are files whose names do not match the glob
    `pattern`. A folder with several links to it is read once. Links that lead out of the root are
    unreadable, unless `follow_links`.
    """
    if not root.is_dir():
        if root.is_file():
            raise DatasetError(
                [f"{root}: is a file; expected a folder of projects"],
                f"To measure one export: bboxqa agree {shlex.quote(str(root))}",
            )
        raise DatasetError([f"{root}: no such folder"])
    walk = _Walk(root, skip, follow_links)
    ends = suffixes()
    found: dict[str, list[Path]] = {"sources": [], "archives": [], "others": []}
    for file in walk.sources():
        if pattern is None or file.match(pattern):
            name = file.name.lower()
            is_packed = name.endswith(ARCHIVES) and not name.endswith(ends)
            is_packed = is_packed and not file.is_dir()
            kind = "archives" if is_packed else "sources" if _is_read(file) else "others"
            found[kind].append(file)
    sources, archives, others = found.values()
    unpacked = {above for file in sources for above in file.parents}
    not_read = {file: _PACKED for file in archives if file.parent in unpacked}
    for file in (each for each in archives if each not in not_read):
        (sources if formats_of(file) else others).append(file)
    homes, folders = _by_home(root, sources), {source.parent for source in sources}
    left_alone = []
    for file in others:
        damage, is_json = damage_of(file), file.name.lower().endswith(".json")
        home = homes.get(home_of(file.relative_to(root))) if is_json and damage else None
        if home is not None:
            # Reading the project refuses it, as `agree` does.
            home.append(file)
        elif is_json and damage and "JSON" not in damage:
            walk.unreadable[file] = damage
        elif is_json or (file.parent in folders and not damage and not file.match(CLASS_NAMES)):
            left_alone.append(file)
    is_other = (each for each in others if not each.name.lower().endswith(".json"))
    walk.unreadable.update(damaged(is_other, sources))
    known = {each.relative_to(root) for each in (*left_alone, *walk.unreadable)} | homes.keys()
    not_read |= walk.folders_not_read(known, pattern)
    projects = (walk.project(home, files) for home, files in homes.items())
    return Discovered(
        tuple(sorted(projects, key=lambda each: each.name)),
        tuple(sorted(each.relative_to(root).as_posix() for each in left_alone)),
        walk.named(walk.unreadable),
        walk.named(not_read),
    )


class _Walk(msgspec.Struct):
    """A walk over the folders below a root, each once, by its own name rather than by a link."""

    root: Path
    skip: Path | None
    follow_links: bool
    folders: list[Path] = msgspec.field(default_factory=list)
    """The folders that were listed."""
    unreadable: dict[Path, str] = msgspec.field(default_factory=dict)

    def sources(self) -> Iterator[Path]:
        """Yield files with the suffix of a format or an archive, and folders as sources."""
        seen: set[tuple[int, int]] = set()
        ends = (*suffixes(), *ARCHIVES)
        skipped = None if self.skip is None else self.skip.resolve()
        waiting, links = [self.root], list[Path]()
        while waiting or links:
            folder = (waiting or links).pop()
            try:
                status = folder.stat()
                identity = status.st_dev, status.st_ino
                if identity in seen or folder.resolve() == skipped:
                    continue
                seen.add(identity)
                inside = _entries(folder, is_root=folder == self.root)
                is_home = folder in (self.root, self.root / folder.name)
                if inside and (is_source(folder) or (is_home and _has_masks(folder))):
                    yield folder
                    continue
            except OSError as error:
                self.unreadable[folder] = str(error.strerror)
                continue
            self.folders.append(folder)
            for entry in inside:
                path, is_read = Path(entry.path), entry.name.lower().endswith(ends)
                if problem := self._problem(entry, path, is_read=is_read):
                    self.unreadable[path] = problem
                elif is_folder(entry):
                    (links if entry.is_symlink() else waiting).append(path)
                elif is_read:
                    yield path

    def _problem(self, entry: os.DirEntry[str], path: Path, *, is_read: bool) -> str:
        """Return why a path that may have annotations is not followed; "" if it is, or has none."""
        if entry.is_symlink() and (is_read or not path.suffix) and not path.exists():
            return "is a link that leads nowhere"
        if (is_read or is_folder(entry)) and not self.is_followed(path):
            return _LEADS_OUT
        return "is not a file" if is_read and not (is_folder(entry) or is_file(entry)) else ""

    def is_followed(self, path: Path) -> bool:
        """Return whether a path is no link that leads out of the root, or such links are taken."""
        if self.follow_links or not path.is_symlink():
            return True
        return path.resolve().is_relative_to(self.root.resolve())

    def project(self, below: Path, files: list[Path]) -> Project:
        """Return the project of a folder below the root."""
        folder = self.root / below
        images, settings = folder / IMAGES, folder / SETTINGS_FILE
        return Project(
            name=below.as_posix(),
            folder=folder,
            files=tuple(sorted(files)),
            images=images if images.is_dir() and self.is_followed(images) else None,
            settings=settings if settings.is_file() else None,
            size=sum(
                file.stat().st_size
                for source in files
                for file in files_of(source)
                if not is_image(file) and file.exists()
            ),
        )

    def named(self, reasons: Mapping[Path, str]) -> tuple[Unreadable, ...]:
        """Return paths below the root with their reasons, sorted."""
        found = (
            Unreadable(path.relative_to(self.root).as_posix(), reasons[path]) for path in reasons
        )
        return tuple(sorted(found, key=str))

    def folders_not_read(self, known: Collection[Path], pattern: str | None) -> dict[Path, str]:
        """Return the uppermost folders in which nothing is read, with the reason."""
        if Path() in known:
            return {}
        above = {Path(), *(each for path in known for each in path.parents)}
        found = {}
        for folder in self.folders:
            path = folder.relative_to(self.root)
            if path.parent in above and path not in above and path not in known:
                try:
                    list_files([folder], pattern)
                except DatasetError as error:
                    reason = error.problems[0].removeprefix(f"{folder}: ")
                    found[folder] = one_line(reason.replace(f"{folder}/", ""))
        return found


def _has_masks(folder: Path) -> bool:
    """Return whether the settings of a project say what the values of its masks stand for."""
    try:
        settings = folder / SETTINGS_FILE
        return settings.is_file() and "mask" in read_settings_file(str(settings)).reading
    except ConfigError:
        return False


def _entries(folder: Path, *, is_root: bool) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted, without hidden files and earlier results."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    names = {entry.name for entry in inside}
    if not is_root and names >= _RESULTS:
        return []
    written = WRITTEN_FILES if names >= RESULT_FILES else frozenset()
    return [each for each in inside if each.name[0] != "." and each.name not in written]


def _is_read(file: Path) -> bool:
    """Return whether a source is COCO JSON, or in another format that is read."""
    if file.name.lower().endswith(".json") and file.is_file():
        try:
            with file.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                for start in (0, max(0, size - LOOKED_AT)):
                    stream.seek(start)
                    if is_coco(file.name, stream.read(LOOKED_AT)):
                        return True
        except OSError:
            return False
    return file.is_dir() or format_of(file) is not COCO


def _by_home(root: Path, sources: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return sources by the folder of their project, which is below the root."""
    found: dict[Path, list[Path]] = {}
    of_folders: set[Path] = set()
    for source in sources:
        below = source.relative_to(root)
        home = home_of(below)
        if source.is_dir():
            home = below
            if len(below.parts) > 1 or _OF_PROJECT.fullmatch(below.name):
                home = home.parent
                while home.name.lower() in ("labels", "annotations") or is_split(home.name):
                    home = home.parent
                of_folders.add(home)
        found.setdefault(home, []).append(source)
    for home in [each for each in found if each not in of_folders and each.parent in of_folders]:
        found[home.parent] += found.pop(home)
    return found


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
