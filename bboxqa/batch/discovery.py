"""Projects: found below a folder or in a store, and fetched by the machine that runs them."""

import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.file_names import SPLIT, is_split
from bboxqa.core.text import clean, one_line
from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.heads import CLASS_NAMES, HEAD, has_lists
from bboxqa.formats.member import ARCHIVES, is_picture
from bboxqa.formats.opening import SENT_LISTS, damaged, ends_of_file, results_among
from bboxqa.formats.registry import format_of, formats_of, is_source, suffixes
from bboxqa.formats.scanner import begins_with_results
from bboxqa.formats.source import SourcePath
from bboxqa.formats.sources import list_files
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


class Content(msgspec.Struct, frozen=True):
    """A file of a store: its path below the root, its size in bytes, and its version."""

    name: str
    size: int
    stamps: tuple[tuple[str, str], ...]


class Project(msgspec.Struct, frozen=True):
    """One folder with annotations."""

    name: str
    """Path below the root, with ``/``; ``.`` for the root itself."""
    folder: Path
    files: tuple[Path, ...]
    """Files of annotations, and folders that are one source each; sorted."""
    images: Path | None
    settings: Path | None
    size: int
    """Total size of the files in bytes, without images."""
    url: str = ""
    """The root of the store that holds the project, whose paths are relative to it; else ""."""
    contents: tuple[Content, ...] = ()
    pictures: tuple[Content, ...] = ()
    """In a store, all files but those in the folder of images, and those in it."""

    def to_fetch(self, *, images: bool) -> tuple[Content, ...]:
        """Return the files of a store that a run needs."""
        wanted = (*self.contents, *self.pictures) if images else self.contents
        return tuple(dict.fromkeys(wanted))


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

    A project is a folder that holds sources, also in ``annotations/`` or in splits. A folder that
    is one source, as with YOLO, is a project directly below the root; a deeper one is an annotator.
    """
    if not root.is_dir():
        what = "is a file; expected a folder of projects" if root.is_file() else "no such folder"
        typed = f"To measure one export: bboxqa agree {shlex.quote(str(root))}"
        raise DatasetError([f"{root}: {what}"], typed * root.is_file())
    walk, ends = _Walk(root, skip, follow_links), suffixes()
    sources, archives, others = list[Path](), list[Path](), list[Path]()
    for file in walk.sources():
        name = file.name.lower()
        is_archive = file.is_file() and name.endswith(ARCHIVES) and not name.endswith(ends)
        if pattern is None or file.match(pattern):
            (archives if is_archive else sources if _is_read(file) else others).append(file)
    unpacked = {above for file in sources for above in file.parents}
    not_read = {file: _PACKED for file in archives if file.parent in unpacked}
    for file in (each for each in archives if each not in not_read):
        (sources if formats_of(file) else others).append(file)
    homes, folders, left_alone = _by_home(root, sources), {each.parent for each in sources}, []
    broken = dict(damaged(others, sources))
    for file in others:
        damage, is_json = broken.get(file, ""), file.name.lower().endswith(".json")
        home = homes.get(home_of(file.relative_to(root))) if is_json and damage else None
        if home is not None:
            # Reading the project refuses it, as `agree` does.
            home.append(file)
        elif damage and not (is_json and "JSON" in damage):
            walk.unreadable[file] = damage
        elif is_json or (file.parent in folders and not file.match(CLASS_NAMES)):
            left_alone.append(file)
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
        ends, root = (*suffixes(), *ARCHIVES), SourcePath(self.root)
        seen = set() if self.skip is None else {realpath(self.skip)}
        waiting, links = [root], list[SourcePath]()
        while waiting or links:
            folder = (waiting or links).pop()
            if (place := realpath(folder)) in seen:
                continue
            seen.add(place)
            inside = folder.names
            if inside.problem:
                self.unreadable[folder] = inside.problem
                continue
            is_home = root in (folder, folder.parent)
            if folder != root and _RESULTS.issubset((*inside.files, *inside.folders)):
                continue
            if is_source(folder) or (is_home and _has_masks(folder)):
                yield folder
                continue
            self.folders.append(folder)
            for path in filter(self.is_followed, folder.folders):
                (links if path.name in inside.links else waiting).append(path)
            # What was sent back is refused, as `agree` does.
            left_out = results_among(inside.files).difference(SENT_LISTS)
            # A name without a suffix may be that of a folder that is gone.
            named = (e for e in inside.files if e.lower().endswith(ends)
                     or ("." not in e and not (folder / e).exists()))  # fmt: skip
            read = (folder / each for each in named if each not in left_out)
            yield from filter(self.is_followed, read)

    def is_followed(self, path: Path) -> bool:
        """Return whether a path is read; a link that leads out of the root is unreadable."""
        if self.follow_links or not path.is_symlink():
            return True
        # Path.resolve fails for a link to itself.
        if Path(realpath(path)).is_relative_to(realpath(self.root)):
            return True
        self.unreadable[path] = _LEADS_OUT
        return False

    def project(self, below: Path, files: list[Path]) -> Project:
        """Return the project of a folder below the root."""
        folder = self.root / below
        images, settings = folder / IMAGES, folder / SETTINGS_FILE
        inside = (each for source in files for each in files_of(source))
        return Project(
            name=below.as_posix(),
            folder=folder,
            files=tuple(sorted(map(Path, files))),
            images=images if images.is_dir() and self.is_followed(images) else None,
            settings=settings if settings.is_file() else None,
            size=sum(e.stat().st_size for e in inside if not is_picture(e.name) and e.exists()),
        )

    def named(self, reasons: Mapping[Path, str]) -> tuple[Unreadable, ...]:
        """Return paths below the root with their reasons, sorted."""
        found = (Unreadable(p.relative_to(self.root).as_posix(), why) for p, why in reasons.items())
        return tuple(sorted(found, key=str))

    def folders_not_read(self, known: Collection[Path], pattern: str | None) -> dict[Path, str]:
        """Return the uppermost folders in which nothing is read, with the reason."""
        above = {Path(), *(each for path in known for each in path.parents)}
        found, read = {}, {*above, *known}
        for folder in self.folders if Path() not in known else ():
            path = folder.relative_to(self.root)
            if path.parent in above and path not in read:
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


def _is_read(file: Path) -> bool:
    """Return whether a source is COCO JSON, or in another format that is read."""
    if file.is_dir() or format_of(file) is not COCO:
        return True
    (head, end), name = ends_of_file(file), file.name.lower()
    is_known = has_lists(head) or has_lists(end) or begins_with_results(head)
    return is_known and name.endswith(".json") and not name.endswith(".fixed.json")


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
    """Return the folder of the project that a file belongs to; both are below the root."""
    folder = file.parent
    while folder not in projects and _OF_PROJECT.fullmatch(folder.name):
        folder = folder.parent
    return folder


def files_of(source: Path) -> list[Path]:
    """Return a file itself, or the files of a folder, sorted; hidden ones are left out."""
    if not source.is_dir():
        return [source]
    return sorted(Path(each.shown) for each in SourcePath(source).readable_members)


# Keys under which stores list properties that change with the content of a file.
_STAMPS = ("size", "ETag", "etag", "md5", "md5Hash", "mtime", "LastModified", "last_modified",
           "updated", "created", "generation")  # fmt: skip
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<rest>.*)")
# Files that are requested in parallel, and label files per folder that discovery reads.
_AT_A_TIME, _LABELS_READ = 256, 20
_LARGEST_ARCHIVE = 1 << 30


def is_url(root: str) -> bool:
    """Return whether a root is a URL, and not a path."""
    return _URL.fullmatch(root) is not None


@contextmanager
def fetched(project: Project, scratch: Path, *, images: bool) -> Iterator[tuple[Project, Path]]:
    """Fetch the files of a project into a temporary folder inside `scratch`."""
    # The local root has the last name of the URL, as in a local run.
    folder = Path(tempfile.mkdtemp(prefix=".bboxqa-", dir=scratch)).resolve()
    root = folder / (re.sub(r"[^\w.-]", "_", project.url.rpartition("/")[2]).strip(".") or "root")
    wanted = project.to_fetch(images=images)
    targets = {content: root / content.name for content in wanted}
    try:
        system, base = system_of(project.url)
        root.mkdir(parents=True)
        for content, target in targets.items():
            if not _is_path(content.name) or not target.resolve().is_relative_to(root):
                raise OutputError(f"{content.name}: leads out of its folder")
        try:
            for target in targets.values():
                target.parent.mkdir(parents=True, exist_ok=True)
            system.get([f"{base}/{e.name}" for e in wanted], [*map(str, targets.values())])
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            raise OutputError(f"could not be fetched: {error_text(error)}") from None
        for content, target in targets.items():
            if not target.is_file() or target.stat().st_size != content.size:
                raise OutputError(f"{content.name}: has changed since it was found")
        pictures = root / project.images if images and project.images else None
        settings = root / project.settings if project.settings else None
        found = tuple(root / file for file in project.files), pictures, settings
        yield Project(project.name, root / project.folder, *found, project.size), root
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    contents: dict[str, Content] = {}
    unreadable: list[Unreadable] = []
    for path, info in sorted(listed.items()):
        name = path[len(base) :].removeprefix("/")
        if info.get("type") != "file" or not name or name.endswith("/"):
            continue
        if not _is_path(name):
            unreadable.append(Unreadable(name, "cannot be the name of a file"))
        elif not any(part.startswith(".") for part in name.split("/")):
            stamps = tuple((key, str(info[key])) for key in _STAMPS if key in info)
            contents[name] = Content(name, int(info.get("size") or 0), stamps)
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


def _stored(url: str, contents: dict[str, Content], root: Path, found: Project) -> Project:
    """Return a project that was found in the mirror of a store."""
    folder = found.folder.relative_to(root)
    below = "" if folder == Path() else f"{folder.as_posix()}/"
    files = tuple(file.relative_to(root) for file in found.files)
    # Folders of labels need the images beside them, for their sizes, and the names of classes;
    # settings may name another file, with the sizes of images.
    is_whole = any(file.as_posix() not in contents for file in files)
    used = [
        content for name, content in contents.items()
        if Path(name) in files or (
            name.startswith(below) and (is_whole or (found.settings and not is_picture(name))))
    ]  # fmt: skip
    pictures = [each for name, each in contents.items() if name.startswith(f"{below}{IMAGES}/")]
    settings = folder / SETTINGS_FILE if found.settings else None
    images = folder / IMAGES if pictures else None
    return Project(
        found.name, folder, files, images, settings, found.size, url, tuple(used), tuple(pictures)
    )


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
        if is_picture(path.name) or not content.size or is_skipped:
            continue
        whole = is_archive or content.size <= 2 * HEAD
        parts.append((content, 0, content.size if whole else HEAD))
        parts += [] if whole else [(content, content.size - HEAD, content.size)]
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
