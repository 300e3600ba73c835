"""Finding projects in a store, through fsspec."""

import posixpath
import tempfile
from pathlib import Path

from bboxqa.batch.projects.discovery import (
    SETTINGS_FILE,
    Discovered,
    Project,
    discover,
)
from bboxqa.batch.projects.mirror import mirror
from bboxqa.batch.projects.source_files import is_image
from bboxqa.batch.projects.store import (
    Content,
    Stored,
    contents_of,
    error_text,
    is_url,
    system_of,
)
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.model.settings_files import read_reading_settings

_IMAGES = "images"
_HERE = Path()


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
        unreadable += mirror(system, base, contents.values(), root)
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
    below = "" if folder == _HERE else f"{folder.as_posix()}/"
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
