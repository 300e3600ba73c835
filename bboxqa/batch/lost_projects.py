"""Projects of earlier runs that cannot be run now, or no longer exist."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bboxqa.batch.history import Regression, names_of_last_run
from bboxqa.batch.projects.discovery import Discovered, discover, home_of
from bboxqa.batch.projects.store import is_url
from bboxqa.batch.rows import FAILED, Row
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean


def unusable_projects(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return failed rows of projects whose files have no annotations, or cannot be read."""
    names = {clean(project.name): project.name for project in found.projects}
    rows: dict[str, Row] = {}
    for file in found.left_alone:
        name = home_of(Path(file)).as_posix()
        if clean(name) in before and clean(name) not in names:
            message = f"{file}: no longer has annotations that are read"
            rows[name] = Row(name, FAILED, 0, passed=False, message=message)
    for unreadable in found.unreadable:
        path = Path(unreadable.path)
        is_json = path.suffix.lower() == ".json"
        # An unreadable folder is that of a project, or a part of one.
        name = home_of(path if is_json else path / "_").as_posix()
        # A name that leads out of a store is not an export; the content of a folder is unknown.
        if names.get(clean(name), name) != name:
            # Another project with the same shown name has the place in the results.
            continue
        is_export = is_json and ".." not in path.parts
        if is_export or clean(name) in before or clean(name) in names:
            rows[name] = Row(name, FAILED, 0, passed=False, message=str(unreadable))
    return list(rows.values())


def missing_projects(
    root: str | Path, out: Path, rows: Sequence[Row], pattern: str | None
) -> Iterator[Regression]:
    """Yield projects of the last run whose folder or files no longer exist."""
    if is_url(str(root)):
        return
    here = {clean(row.project) for row in rows}
    for name in names_of_last_run(out):
        # Names with escaped characters are not the names of folders.
        what = None if name in here or "\\" in name else _loss(Path(root) / name, pattern)
        if what is not None:
            yield Regression(name, what)


def _loss(folder: Path, pattern: str | None) -> str | None:
    """Return the loss of a project; None if there is none, or its folder cannot be read."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return "project folder no longer exists"
    except OSError:
        return None
    if pattern is not None:
        return None
    try:
        found = discover(folder, follow_links=True)
    except DatasetError:
        return None
    is_empty = not found.projects and not found.unreadable
    return "project folder no longer holds annotations that are read" if is_empty else None
