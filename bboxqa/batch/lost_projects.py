"""Projects of earlier runs that cannot be run now, or no longer exist."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from bboxqa.batch.history import Regression, names_of_last_run
from bboxqa.batch.nested_projects import folders_among
from bboxqa.batch.projects.discovery import Discovered, Project, discover
from bboxqa.batch.projects.homes import home_of, home_of_person
from bboxqa.batch.projects.store import is_url
from bboxqa.batch.rows import FAILED, Row
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean
from bboxqa.formats.registry import suffixes
from bboxqa.formats.translation.heads import ARCHIVES


def unusable_projects(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return failed rows of projects whose files have no annotations, or cannot be read."""
    projects = {clean(project.name): project for project in found.projects}
    folders = {Path(project.name) for project in found.projects}
    rows: dict[str, list[str]] = {}
    for file in found.left_alone:
        name = home_of(Path(file), folders).as_posix()
        if clean(name) in before and clean(name) not in projects:
            rows[name] = [f"{file}: no longer has annotations that are read"]
    for unreadable in found.unreadable:
        path = Path(unreadable.path)
        is_json = path.suffix.lower() == ".json"
        # An unreadable folder is that of a project, or a part of one.
        is_file = path.name.lower().endswith((*suffixes(), *ARCHIVES))
        home = home_of(path if is_file else path / "_", folders)
        name = _of_annotator(home, projects, folders) or home.as_posix()
        project = projects.get(clean(name))
        if project is not None and project.name != name:
            # Another project with the same shown name has the place in the results.
            continue
        # A name that leads out of a store is not an export; the content of a folder is unknown.
        is_export = is_json and ".." not in path.parts
        if is_export or clean(name) in before or project is not None:
            rows.setdefault(name, []).append(str(unreadable))
    return [
        Row(name, FAILED, 0, passed=False, message=_and_more(problems))
        for name, problems in rows.items()
    ]


def _of_annotator(
    home: Path, projects: Mapping[str, Project], folders: Collection[Path]
) -> str | None:
    """Return the project around a folder, if the folders of its annotators are beside it."""
    around = projects.get(clean(home_of_person(home, folders).as_posix()))
    if clean(home.as_posix()) in projects or around is None or around.folder == home:
        return None
    return around.name if folders_among(around) else None


def _and_more(problems: Sequence[str]) -> str:
    """Return the first problem, and the number of the others."""
    return problems[0] + (f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else "")


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
