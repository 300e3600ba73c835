"""Projects in a store: found through fsspec, and fetched by the machine that runs them."""

import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bboxqa.batch.discovery import (
    SETTINGS_FILE,
    Discovered,
    Project,
    Unreadable,
    discover,
    is_image,
)
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.text import clean
from bboxqa.formats.coco.heads import LOOKED_AT
from bboxqa.formats.member import ARCHIVES
from bboxqa.model.settings_files import read_reading_settings

# Keys under which stores list properties that change with the content of a file.
_STAMPS = ("size", "ETag", "etag", "md5", "md5Hash", "mtime", "LastModified", "last_modified")
_STAMPS_OF_OTHERS = ("updated", "created", "generation")
# Keys that identify a version better than its time.
_VERSIONS = {"ETag", "etag", "md5", "md5Hash", "generation"}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<rest>.*)")
_ASKED_EACH = 20
_LEAST_SECONDS, _SLOWEST = 60, 20_000
"""The time that a request may take at least, and the bytes per second of a slow line."""
_AT_A_TIME = 256
"""Number of files that are requested in parallel."""
_LABELS_READ = 20
"""The number of label files per folder that discovery reads."""
_LARGEST_ARCHIVE = 1 << 30
_IMAGES = "images"


@dataclass(frozen=True, slots=True)
class Content:
    """A file of a store: its path below the root, its size in bytes, and its version.

    `stamps` holds the key and value of each property that changes with the content.
    """

    name: str
    size: int
    stamps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Stored(Project):
    """A project in a store; its paths are relative to the root, which is `url`.

    `contents` are its files of annotations and settings, with the pictures beside folders of
    labels; `pictures` are the files of its images.
    """

    url: str = ""
    contents: tuple[Content, ...] = ()
    pictures: tuple[Content, ...] = field(default=(), repr=False)


def contents_of(listed: dict[str, Any], base: str) -> tuple[dict[str, Content], list[Unreadable]]:
    """Return the files of a listing that are not hidden, sorted by name, and unusable names.

    `listed` maps the path of each file to its properties; `base` is the path of the root.

    Examples
    --------
    >>> listed = {"bucket/a/x.json": {"type": "file", "size": 3, "ETag": "9e1"}}
    >>> contents_of(listed, "bucket")[0]["a/x.json"].stamps
    (('size', '3'), ('ETag', '9e1'))
    """
    contents: dict[str, Content] = {}
    unreadable: list[Unreadable] = []
    for path, info in listed.items():
        name = path[len(base) :].removeprefix("/")
        if info.get("type") != "file" or not name or name.endswith("/"):
            continue
        if not _is_path(name):
            unreadable.append(Unreadable(name, "cannot be the name of a file"))
        elif not any(part.startswith(".") for part in name.split("/")):
            stamps = _stamps(info, _STAMPS)
            if len(stamps) < 2:
                stamps |= _stamps(info, _STAMPS_OF_OTHERS)
            contents[name] = Content(name, int(info.get("size") or 0), tuple(stamps.items()))
    return dict(sorted(contents.items())), unreadable


def _stamps(info: dict[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """Return the properties that a store lists under some keys."""
    return {key: str(info[key]) for key in keys if key in info}


def is_url(root: str) -> bool:
    """Return whether a root is a URL, and not a path.

    Examples
    --------
    >>> is_url("s3://bucket/prefix"), is_url("C:/projects")
    (True, False)
    """
    return _URL.fullmatch(root) is not None


@contextmanager
def fetched(project: Stored, scratch: Path, *, images: bool) -> Iterator[tuple[Project, Path]]:
    """Fetch the files of a project into a temporary folder inside `scratch`.

    Yields the project with paths in that folder, and the path that replaces the URL.
    """
    # The local root has the last name of the URL, as in a local run.
    folder = Path(tempfile.mkdtemp(prefix=".bboxqa-", dir=scratch)).resolve()
    root = folder / (re.sub(r"[^\w.-]", "_", project.url.rpartition("/")[2]).strip(".") or "root")
    try:
        _fetch(project, contents_to_fetch(project, images=images), root)
        local = Project(
            name=project.name,
            folder=root / project.folder,
            files=tuple(root / file for file in project.files),
            images=root / project.images if images and project.images else None,
            settings=root / project.settings if project.settings else None,
            size=project.size,
        )
        yield local, root
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def contents_to_fetch(project: Stored, *, images: bool) -> tuple[Content, ...]:
    """Return the files that a run needs."""
    wanted = (*project.contents, *project.pictures) if images else project.contents
    return tuple(dict.fromkeys(wanted))


def _fetch(project: Stored, wanted: Sequence[Content], root: Path) -> None:
    system, base = system_of(project.url)
    root.mkdir(parents=True)
    size, free = sum(content.size for content in wanted), shutil.disk_usage(root).free
    if size > free:
        raise OutputError(f"project takes {size:,} bytes; the disk has room for {free:,}")
    for start in range(0, len(wanted), _AT_A_TIME):
        part = wanted[start : start + _AT_A_TIME]
        targets = [_inside(root, content.name) for content in part]
        try:
            for target in targets:
                target.parent.mkdir(parents=True, exist_ok=True)
            names = [f"{base}/{content.name}" for content in part]
            _get(system, names, [*map(str, targets)], _seconds_for(part))
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            raise OutputError(f"could not be fetched: {error_text(error)}") from None
    for content in wanted:
        target = _inside(root, content.name)
        if not target.is_file() or target.stat().st_size != content.size:
            raise OutputError(f"{content.name}: has changed since it was found")
    _check_unchanged(system, base, project.contents)


def _seconds_for(contents: Sequence[Content]) -> float:
    """Return the time after which a request hangs, as even a slow line would have ended it."""
    return _LEAST_SECONDS + sum(content.size for content in contents) / _SLOWEST


def _get(system: Any, names: list[str], targets: list[str], seconds: float) -> None:
    """Fetch files; ask a second time if no answer comes, since requests may get lost."""
    if not system.async_impl:
        system.get(names, targets)
        return
    for _ in range(2):
        with suppress(TimeoutError):
            system.get(names, targets, timeout=seconds)
            return
    raise TimeoutError(f"no answer within {seconds:,.0f} s, twice")


def _check_unchanged(system: Any, base: str, contents: Sequence[Content]) -> None:
    """Refuse files that changed since they were listed, even if their size is the same."""
    try:
        system.invalidate_cache()
        infos = _infos(system, base, contents)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        raise OutputError(f"could not be fetched: {error_text(error)}") from None
    for content, info in zip(contents, infos, strict=True):
        if not _is_same(content, _stamps(info, (*_STAMPS, *_STAMPS_OF_OTHERS))):
            raise OutputError(f"{content.name}: has changed since it was found")


def _infos(system: Any, base: str, contents: Sequence[Content]) -> list[dict[str, Any]]:
    """Return the present properties of files; many files are listed at once."""
    names = [f"{base}/{content.name}" for content in contents]
    if len(names) <= _ASKED_EACH:
        return [system.info(name) for name in names]
    above = os.path.commonpath([content.name for content in contents])
    found = system.find(f"{base}/{above}".rstrip("/"), detail=True)
    return [found.get(name) or system.info(name) for name in names]


def _is_same(content: Content, now: dict[str, str]) -> bool:
    """Return whether the properties of a file are the listed ones."""
    before = dict(content.stamps)
    shared = before.keys() & now.keys()
    # Listings may round times to milliseconds, and leave out quotation marks of tags.
    compared = shared & _VERSIONS or shared
    return all(before[key].strip('"') == now[key].strip('"') for key in compared)


def _inside(root: Path, name: str) -> Path:
    """Return the path of a file; refuse a name that leads out of the folder."""
    target = root / name
    if not _is_path(name) or not target.resolve().is_relative_to(root):
        raise OutputError(f"{name}: leads out of its folder")
    return target


def _is_path(name: str) -> bool:
    """Return whether a name is a valid path below a folder on any system."""
    parts = name.split("/")
    return not any(part in {"", ".", ".."} for part in parts) and not re.search(r"[\\:\0]", name)


def error_text(error: Exception) -> str:
    """Return the text of an error without queries of URLs, which may hold a signature."""
    text = clean(re.sub(r"\?\S+", "?…", str(error))).replace("\n", " ")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def system_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    match = _URL.fullmatch(url)
    rest = "" if match is None else match["rest"]
    if "::" in url or "?" in rest or ":" in rest.partition("/")[0].rpartition("@")[0]:
        raise ConfigError(
            "ROOT has a password, query or chain; expected a plain URL: credentials go into the "
            "variables or files that the library of the store reads"
        )
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ConfigError(
            f"{url}: files that are not local need fsspec: pip install 'bboxqa[dask]'"
        ) from None
    try:
        system, base = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"{url}: {error_text(error)}") from None
    return system, str(base).rstrip("/")


def find_projects(
    root: str | Path, pattern: str | None, skip: Path | None, *, follow_links: bool = False
) -> Discovered:
    """Find every project below a folder or a URL; see `discover`."""
    if isinstance(root, str) and is_url(root):
        return _discover_stored(root.rstrip("/"), pattern)
    return discover(Path(root), pattern, skip, follow_links=follow_links)


def _discover_stored(url: str, pattern: str | None) -> Discovered:
    system, base = system_of(url)
    try:
        system.invalidate_cache()
        listed = system.find(base, detail=True)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        problem = f"{url}: cannot be listed: {error_text(error)}"
        raise DatasetError([problem], _advice_for(url)) from None
    contents, unreadable = contents_of(listed, base)
    if not contents:
        raise DatasetError([f"{url}: no such folder, or it is empty"], _advice_for(url))
    with tempfile.TemporaryDirectory(prefix=".bboxqa-") as temporary:
        # Names of projects and settings may depend on the name of the root.
        root = Path(temporary).resolve() / "root"
        root.mkdir()
        unreadable += _mirror(system, base, contents.values(), root)
        found = discover(root, pattern)
        projects = tuple(_stored(url, contents, root, each) for each in found.projects)
    everything = tuple(sorted((*unreadable, *found.unreadable), key=str))
    return Discovered(projects, found.left_alone, everything, found.not_read)


def _advice_for(url: str) -> str:
    """Return advice for URLs of web pages, which seldom list files."""
    is_web = url.lower().startswith(("http:", "https:"))
    return "Web pages seldom list files: download the projects first." if is_web else ""


def _stored(url: str, contents: dict[str, Content], root: Path, found: Project) -> Stored:
    """Return a project that was found in the mirror of a store."""
    folder = found.folder.relative_to(root)
    files = tuple(file.relative_to(root) for file in found.files)
    below = "" if folder == Path() else f"{folder.as_posix()}/"
    pictures = tuple(
        content for name, content in contents.items() if name.startswith(f"{below}{_IMAGES}/")
    )
    used = [contents[file.as_posix()] for file in files if file.as_posix() in contents]
    size = sum(content.size for content in used)
    if len(used) < len(files):
        # Folders of labels need the images beside them, for their sizes, and the names of classes.
        used = [content for name, content in contents.items() if name.startswith(below)]
        inside = tuple(f"{file.as_posix()}/" for file in files)
        size = sum(
            content.size
            for content in used
            if (content.name.startswith(inside) and not is_image(Path(content.name)))
            or Path(content.name) in files
        )
    settings = contents.get(f"{below}{SETTINGS_FILE}")
    if found.settings is not None:
        used += _file_of_sizes(found.settings, below, contents)
    return Stored(
        name=found.name,
        folder=folder,
        files=files,
        images=folder / _IMAGES if pictures else None,
        settings=Path(settings.name) if settings else None,
        size=size,
        url=url,
        contents=tuple(dict.fromkeys((*used, *((settings,) if settings else ())))),
        pictures=pictures,
    )


def _file_of_sizes(settings: Path, below: str, contents: dict[str, Content]) -> list[Content]:
    """Return the file of image sizes that the settings of a project name, if it is there."""
    try:
        name = read_reading_settings(str(settings)).get("image_size")
    except ConfigError:
        # The run of the project reports the error.
        return []
    found = contents.get(posixpath.normpath(f"{below}{name}")) if isinstance(name, str) else None
    return [] if found is None else [found]


def _mirror(system: Any, base: str, contents: Iterable[Content], folder: Path) -> list[Unreadable]:
    """Write the parts of a store's files that discovery reads below a folder."""
    unreadable: list[Unreadable] = []
    parts: list[tuple[Content, int, int]] = []
    n_labels: dict[str, int] = {}
    for content in contents:
        path = folder / content.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if is_image(path) or not content.size:
            continue
        is_archive = content.name.lower().endswith(ARCHIVES)
        if is_archive and content.size > _LARGEST_ARCHIVE:
            reason = f"is an archive of {content.size:,} bytes; expected at most 1 GiB in a store"
            unreadable.append(Unreadable(content.name, reason))
            path.unlink()
            continue
        if content.name.lower().endswith(".txt"):
            above = content.name.rpartition("/")[0]
            n_labels[above] = n_labels.get(above, 0) + 1
            if n_labels[above] > _LABELS_READ:
                continue
        whole = is_archive or content.size <= 2 * LOOKED_AT
        parts.append((content, 0, content.size if whole else LOOKED_AT))
        parts += [] if whole else [(content, content.size - LOOKED_AT, content.size)]
    return [*unreadable, *_written(system, base, parts, folder)]


def _written(
    system: Any, base: str, parts: Sequence[tuple[Content, int, int]], folder: Path
) -> list[Unreadable]:
    """Write parts of files; the gaps between them are sparse."""
    failed: dict[str, str] = {}
    for start in range(0, len(parts), _AT_A_TIME):
        some = parts[start : start + _AT_A_TIME]
        names = [f"{base}/{content.name}" for content, _, _ in some]
        begins, ends = [part[1] for part in some], [part[2] for part in some]
        found = system.cat_ranges(names, begins, ends, on_error="return")
        for (content, begin, _), data in zip(some, found, strict=True):
            path = folder / content.name
            if isinstance(data, Exception):
                failed[content.name] = error_text(data)
                path.unlink(missing_ok=True)
            elif content.name not in failed:
                with path.open("r+b") as file:
                    file.truncate(content.size)
                    file.seek(begin)
                    file.write(bytes(data))
    return [Unreadable(name, reason) for name, reason in failed.items()]
