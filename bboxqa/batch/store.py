"""Projects in a store: found through fsspec, and fetched by the machine that runs them."""

import posixpath
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.batch.discovery import (
    IMAGES,
    SETTINGS_FILE,
    Discovered,
    Project,
    Unreadable,
    discover,
    is_image,
)
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.text import clean
from bboxqa.formats.heads import LOOKED_AT
from bboxqa.formats.member import ARCHIVES
from bboxqa.model.settings import read_settings_file

# Keys under which stores list properties that change with the content of a file.
_STAMPS = ("size", "ETag", "etag", "md5", "md5Hash", "mtime", "LastModified", "last_modified")
_STAMPS_OF_OTHERS = ("updated", "created", "generation")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<rest>.*)")
_AT_A_TIME = 256
"""Number of files that are requested in parallel."""
_LABELS_READ = 20
"""The number of label files per folder that discovery reads."""
_LARGEST_ARCHIVE = 1 << 30


class Content(msgspec.Struct, frozen=True):
    """A file of a store: its path below the root, its size in bytes, and its version.

    `stamps` holds the key and value of each property that changes with the content.
    """

    name: str
    size: int
    stamps: tuple[tuple[str, str], ...]


class Stored(Project, frozen=True):
    """A project in a store; its paths are relative to the root, which is `url`.

    `contents` are its files of annotations and settings, with the pictures beside folders of
    labels; `pictures` are the files of its images.
    """

    url: str = ""
    contents: tuple[Content, ...] = ()
    pictures: tuple[Content, ...] = ()


def is_url(root: str) -> bool:
    """Return whether a root is a URL, and not a path.

    Examples
    --------
    >>> is_url("s3://bucket/prefix"), is_url("C:/projects")
    (True, False)
    """
    return _URL.fullmatch(root) is not None


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
            stamps = [(key, str(info[key])) for key in _STAMPS if key in info]
            if len(stamps) < 2:
                stamps += [(key, str(info[key])) for key in _STAMPS_OF_OTHERS if key in info]
            contents[name] = Content(name, int(info.get("size") or 0), tuple(stamps))
    return dict(sorted(contents.items())), unreadable


def contents_to_fetch(project: Stored, *, images: bool) -> tuple[Content, ...]:
    """Return the files that a run needs."""
    wanted = (*project.contents, *project.pictures) if images else project.contents
    return tuple(dict.fromkeys(wanted))


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


def _fetch(project: Stored, wanted: Sequence[Content], root: Path) -> None:
    system, base = system_of(project.url)
    root.mkdir(parents=True)
    size, free = sum(content.size for content in wanted), shutil.disk_usage(root).free
    if size > free:
        raise OutputError(f"project takes {size:,} bytes; the disk has room for {free:,}")
    targets = [_inside(root, content.name) for content in wanted]
    names = [f"{base}/{content.name}" for content in wanted]
    try:
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
        for start in range(0, len(wanted), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            system.get(names[part], [*map(str, targets[part])])
        system.invalidate_cache()
        listed = system.find(f"{base}/{project.folder.as_posix()}".removesuffix("/."), detail=True)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        raise OutputError(f"could not be fetched: {error_text(error)}") from None
    now, _ = contents_of(listed, base)
    for content, target in zip(wanted, targets, strict=True):
        is_whole = target.is_file() and target.stat().st_size == content.size
        if not is_whole or now.get(content.name, content) != content:
            raise OutputError(f"{content.name}: has changed since it was found")


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
    if not isinstance(root, str) or not is_url(root):
        return discover(Path(root), pattern, skip, follow_links=follow_links)
    url = root.rstrip("/")
    system, base = system_of(url)
    try:
        system.invalidate_cache()
        listed = system.find(base, detail=True)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        raise DatasetError([f"{url}: cannot be listed: {error_text(error)}"]) from None
    contents, unreadable = contents_of(listed, base)
    if not contents:
        raise DatasetError([f"{url}: no such folder, or it is empty"])
    with tempfile.TemporaryDirectory(prefix=".bboxqa-") as temporary:
        # Names of projects and settings may depend on the name of the root.
        mirror = Path(temporary).resolve() / "root"
        mirror.mkdir()
        unreadable += _mirror(system, base, contents.values(), mirror)
        found = discover(mirror, pattern)
        projects = tuple(_stored(url, contents, mirror, each) for each in found.projects)
    everything = tuple(sorted((*unreadable, *found.unreadable), key=str))
    return Discovered(projects, found.left_alone, everything, found.not_read)


def _stored(url: str, contents: dict[str, Content], root: Path, found: Project) -> Stored:
    """Return a project that was found in the mirror of a store."""
    folder = found.folder.relative_to(root)
    files = tuple(file.relative_to(root) for file in found.files)
    below = "" if folder == Path() else f"{folder.as_posix()}/"
    inside = tuple(f"{file.as_posix()}/" for file in files)
    of_files = [
        content
        for name, content in contents.items()
        if Path(name) in files or (name.startswith(inside) and not is_image(Path(name)))
    ]
    used = of_files
    if any(file.as_posix() not in contents for file in files):
        # Folders of labels need the images beside them, for their sizes, and the names of classes.
        used = [content for name, content in contents.items() if name.startswith(below)]
    pictures = [
        content for name, content in contents.items() if name.startswith(f"{below}{IMAGES}/")
    ]
    settings = contents.get(f"{below}{SETTINGS_FILE}")
    if settings is not None and found.settings is not None:
        used = [*used, settings, *_file_of_sizes(found.settings, below, contents)]
    return Stored(
        name=found.name,
        folder=folder,
        files=files,
        images=folder / IMAGES if pictures else None,
        settings=Path(settings.name) if settings else None,
        size=sum(content.size for content in of_files),
        url=url,
        contents=tuple(dict.fromkeys(used)),
        pictures=tuple(pictures),
    )


def _file_of_sizes(settings: Path, below: str, contents: dict[str, Content]) -> list[Content]:
    """Return the file of image sizes that the settings of a project name, if it is there."""
    try:
        name = read_settings_file(str(settings)).reading.get("image_size")
    except ConfigError:
        # The run of the project reports the error.
        return []
    found = contents.get(posixpath.normpath(f"{below}{name}")) if isinstance(name, str) else None
    return [] if found is None else [found]


def _mirror(system: Any, base: str, contents: Iterable[Content], folder: Path) -> list[Unreadable]:
    """Write the parts of a store's files that discovery reads below a folder, the rest sparse."""
    failed: dict[str, str] = {}
    parts: list[tuple[Content, int, int]] = []
    n_labels: Counter[Path] = Counter()
    for content in contents:
        path = folder / content.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        is_archive = content.name.lower().endswith(ARCHIVES)
        if is_archive and content.size > _LARGEST_ARCHIVE:
            failed[content.name] = (
                f"is an archive of {content.size:,} bytes; expected at most 1 GiB in a store"
            )
            continue
        n_labels[path.parent] += content.name.lower().endswith(".txt")
        is_skipped = path.suffix.lower() == ".txt" and n_labels[path.parent] > _LABELS_READ
        if is_image(path) or not content.size or is_skipped:
            continue
        whole = is_archive or content.size <= 2 * LOOKED_AT
        parts.append((content, 0, content.size if whole else LOOKED_AT))
        parts += [] if whole else [(content, content.size - LOOKED_AT, content.size)]
    for start in range(0, len(parts), _AT_A_TIME):
        some, begins, ends = zip(*parts[start : start + _AT_A_TIME], strict=True)
        names = [f"{base}/{content.name}" for content in some]
        found = system.cat_ranges(names, [*begins], [*ends], on_error="return")
        for content, begin, data in zip(some, begins, found, strict=True):
            if isinstance(data, Exception):
                failed[content.name] = error_text(data)
                continue
            with (folder / content.name).open("r+b") as file:
                file.truncate(content.size)
                file.seek(begin)
                file.write(bytes(data))
    for name in failed:
        (folder / name).unlink(missing_ok=True)
    return [Unreadable(name, reason) for name, reason in failed.items()]
