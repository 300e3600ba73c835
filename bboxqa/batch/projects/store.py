"""Projects in a store, whose files are fetched through fsspec by the machine that runs them."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bboxqa.batch.projects.discovery import Project, Unreadable
from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.text import clean

# Keys under which stores list properties that change with the content of a file.
_STAMPS = ("size", "ETag", "etag", "md5", "md5Hash", "mtime", "LastModified", "last_modified")
_STAMPS_OF_OTHERS = ("updated", "created", "generation")
# Keys that identify a version better than its time.
_VERSIONS = {"ETag", "etag", "md5", "md5Hash", "generation"}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<rest>.*)")
_ASKED_EACH = 20
_LEAST_SECONDS, _SLOWEST = 60, 20_000
"""The time that a request may take at least, and the bytes per second of a slow line."""
AT_A_TIME = 256
"""Number of files that are requested in parallel."""


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
    for start in range(0, len(wanted), AT_A_TIME):
        part = wanted[start : start + AT_A_TIME]
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
