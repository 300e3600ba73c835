"""Finding projects below a folder: who keeps what where."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bboxqa.core.errors import DatasetError

__all__ = ["LOOKED_AT", "SETTINGS_FILE", "Discovered", "Project", "discover", "home_of", "is_coco"]

SETTINGS_FILE = "bboxqa.toml"
"""Settings of one project, over those of the run."""

LOOKED_AT = 1 << 16
"""Bytes at either end of a file, looked at to tell whether it is COCO: its lists stand there."""

_LISTS = re.compile(rb'"(?:images|annotations)"\s*:\s*\[|"categories"\s*:\s*\[\s*(?:\{|\]|$)')
# Folders that belong to the project above: CVAT writes annotations/, Roboflow one a split.
SPLITS = frozenset({"train", "valid", "val", "test"})
_PARTS = SPLITS | {"annotations"}
_IMAGES = "images"
RESULT_FILES = frozenset({"manifest.json", "summary.json"})
"""What `agree` writes: where both are, neither is COCO."""
# What a folder of results of a batch holds.
_RESULTS = {"history.sqlite", "projects"}


@dataclass(frozen=True, slots=True)
class Project:
    """One folder with COCO files.

    Attributes
    ----------
    name : str
        Its path below the root, with ``/``; ``.`` for the root itself.
    folder : Path
    files : tuple of Path
        Its COCO files, sorted.
    images : Path or None
        The folder of its images, if there is one.
    settings : Path or None
        Its own settings, if there are any.
    size : int
        Bytes of its COCO files.
    """

    name: str
    folder: Path
    files: tuple[Path, ...]
    images: Path | None
    settings: Path | None
    size: int


@dataclass(frozen=True, slots=True)
class Discovered:
    """What was found below a root.

    Attributes
    ----------
    projects : tuple of Project
        Sorted by name.
    left_alone : tuple of str
        Json files that are not COCO, below the root.
    unreadable : tuple of str
        Files and folders that could not be read, and empty files, each with the reason.
    """

    projects: tuple[Project, ...]
    left_alone: tuple[str, ...]
    unreadable: tuple[str, ...]


def discover(root: Path, pattern: str | None = None, skip: Path | None = None) -> Discovered:
    """Find every project below a folder.

    A project is a folder that holds COCO files, or has them in ``annotations/`` or in the splits
    ``train/``, ``valid/``, ``val/`` and ``test/``. Hidden files and folders and results of
    ``bboxqa`` are left out. A folder that links lead to twice is looked at once.

    Parameters
    ----------
    root : Path
    pattern : str, optional
        A glob that the names of COCO files have to match.
    skip : Path, optional
        A folder to leave out: that of the results.

    Returns
    -------
    Discovered

    Raises
    ------
    DatasetError
        If the root is not a folder.
    """
    if not root.is_dir():
        what = "is a file; expected a folder" if root.is_file() else "no such folder"
        raise DatasetError([f"{root}: {what}"])
    found: dict[Path, list[Path]] = {}
    left_alone: list[str] = []
    unreadable: list[str] = []
    for file in _json_files(root, skip, unreadable):
        if pattern is not None and not file.match(pattern):
            continue
        try:
            if file.stat().st_size == 0:
                unreadable.append(f"{_below(root, file)}: is empty")
                continue
            coco = _is_coco(file)
        except OSError as error:
            unreadable.append(f"{_below(root, file)}: {error.strerror}")
            continue
        if coco:
            found.setdefault(home_of(root, file), []).append(file)
        else:
            left_alone.append(_below(root, file))
    projects = []
    for folder, files in found.items():
        try:
            projects.append(_project(root, folder, sorted(files)))
        except OSError as error:
            # It was there a moment ago.
            unreadable.append(f"{_below(root, folder)}: {error.strerror}")
    return Discovered(
        tuple(sorted(projects, key=lambda project: project.name)),
        tuple(sorted(left_alone)),
        tuple(sorted(unreadable)),
    )


def _json_files(root: Path, skip: Path | None, unreadable: list[str]) -> Iterator[Path]:
    """Yield json files below a folder, each real folder once, under its own name if it has one."""
    seen: set[tuple[int, int]] = set()
    skipped = None if skip is None else skip.resolve()
    waiting, links = [root], list[Path]()
    while waiting or links:
        folder = (waiting or links).pop()
        try:
            status = folder.stat()
            identity = status.st_dev, status.st_ino
            if identity in seen or (skipped is not None and folder.resolve() == skipped):
                continue
            seen.add(identity)
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
            names = {entry.name for entry in inside}
            if folder != root and names >= _RESULTS:
                continue
            written = RESULT_FILES if names >= RESULT_FILES else frozenset()
        except OSError as error:
            unreadable.append(f"{_below(root, folder)}: {error.strerror}")
            continue
        for entry in inside:
            if entry.name.startswith(".") or entry.name in written:
                continue
            try:
                if entry.is_dir():
                    (links if entry.is_symlink() else waiting).append(Path(entry.path))
                elif entry.name.lower().endswith(".json"):
                    if entry.is_file():
                        yield Path(entry.path)
                    else:
                        below = _below(root, Path(entry.path))
                        unreadable.append(f"{below}: is no file, or a link that leads nowhere")
            except OSError as error:
                unreadable.append(f"{_below(root, Path(entry.path))}: {error.strerror}")


def _is_coco(file: Path) -> bool:
    """Return whether a file is COCO json."""
    with file.open("rb") as stream:
        if is_coco(file.name, stream.read(LOOKED_AT)):
            return True
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - LOOKED_AT))
        return is_coco(file.name, stream.read(LOOKED_AT))


def is_coco(name: str, end: bytes) -> bool:
    """Return whether a file has a list of images, annotations or categories near one of its ends.

    A file that was cut off is one too, or one in UTF-16: what is wrong with it is a finding.
    """
    return not name.endswith(".fixed.json") and _LISTS.search(end.replace(b"\0", b"")) is not None


def home_of(root: Path, file: Path) -> Path:
    """Return the folder of the project that a file belongs to."""
    folder = file.parent
    while folder != root and folder.name.lower() in _PARTS:
        folder = folder.parent
    return folder


def _project(root: Path, folder: Path, files: list[Path]) -> Project:
    images, settings = folder / _IMAGES, folder / SETTINGS_FILE
    return Project(
        name=_below(root, folder),
        folder=folder,
        files=tuple(files),
        images=images if images.is_dir() else None,
        settings=settings if settings.is_file() else None,
        size=sum(file.stat().st_size for file in files),
    )


def _below(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
