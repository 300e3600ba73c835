"""Projects inside of others or beside them, which are measured on their own."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.projects.store import Stored
from bboxqa.batch.rows import MEASURED, NOT_MEASURED, Row
from bboxqa.core.text import first_few, one_line

_SHOWN = 3


def remarks_on(projects: Sequence[Project]) -> Callable[[Row], Row]:
    """Return a function that adds to the row of a project how `agree` measures it with others."""
    inside = projects_inside([project.name for project in projects])
    around = folders_of_people(projects)

    def remark(row: Row) -> Row:
        row = with_projects_inside(row, inside.get(row.project, ()))
        return _with_folder_around(row, around.get(row.project))

    return remark


def folders_of_people(projects: Iterable[Project]) -> dict[str, str]:
    """Return, by project, the folder around it and others with files of the same names.

    In street/ann/train.json and street/bob/train.json, ann and bob may be people.
    """
    beside: dict[Path, list[Project]] = defaultdict(list)
    for project in projects:
        beside[project.folder.parent].append(project)
    found = {}
    for several in beside.values():
        files = [{each.relative_to(one.folder) for each in one.files} for one in several]
        times = Counter(file for inside in files for file in inside)
        for one, inside in zip(several, files, strict=True):
            if one.name != "." and any(times[file] > 1 for file in inside):
                found[one.name] = str(PurePosixPath(one.name).parent)
    return found


def folders_among(project: Project) -> list[Path]:
    """Return the sources of a project that are folders."""
    if isinstance(project, Stored):
        files = {content.name for content in project.contents}
        return [each for each in project.files if each.as_posix() not in files]
    return [each for each in project.files if each.is_dir()]


def _with_folder_around(row: Row, folder: str | None) -> Row:
    """Return the row of a project that is not measured with what may measure it."""
    if folder is None or row.status != NOT_MEASURED:
        return row
    beside = "if this project and those beside it are by one person each, about the same images"
    note = f"{beside}: run bboxqa agree on {_called(folder)}"
    return replace(row, message="; ".join(filter(None, [row.message, note])))


def _called(folder: str) -> str:
    return "the folder of all projects" if folder == "." else f"the folder {one_line(folder)}"


def projects_inside(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the projects in deeper folders, by the project next around them.

    Examples
    --------
    >>> projects_inside(["park", "street", "street/ann", "street/ann/x", "."])
    {'.': ['park', 'street'], 'street': ['street/ann'], 'street/ann': ['street/ann/x']}
    """
    known = dict.fromkeys(sorted(names))
    found: dict[str, list[str]] = {}
    for name in known:
        around = (each.as_posix() for each in PurePosixPath(name).parents)
        if (home := next((each for each in around if each in known), None)) is not None:
            found.setdefault(home, []).append(name)
    return found


def with_projects_inside(row: Row, names: Sequence[str]) -> Row:
    """Return the row of a measured project with a message that names the projects inside."""
    if not names or row.status != MEASURED:
        return row
    are = "is a project of its own" if len(names) == 1 else "are projects of their own"
    apart = f"{first_few(names, _SHOWN, one_line)} {are}, measured apart"
    note = f"{apart}; bboxqa agree measures the folder as a whole"
    return replace(row, message="; ".join(filter(None, [row.message, note])))
