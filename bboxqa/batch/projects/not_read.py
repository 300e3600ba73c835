"""Folders below a root in which nothing is read, which would otherwise be missing silently."""

from collections.abc import Collection, Iterator
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.sources import list_files


def folders_not_read(
    root: Path, known: Collection[str], skip: Path | None, pattern: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the folders below a root in which nothing is read, each with the reason.

    Parameters
    ----------
    root : Path
    known : collection of str
        The paths below the root of projects, and of files that are named otherwise. Their folders
        are left out, as is what is inside of a project.
    skip : Path or None
        A folder to leave out: that of the results.
    pattern : str or None
        A glob that the names of files have to match.
    """
    if "." in known:
        return
    around = {above.as_posix() for path in known for above in Path(path).parents}
    skipped = None if skip is None else skip.resolve()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        for each in _entries(folder):
            path = each.relative_to(root).as_posix()
            if path in known or each.resolve() == skipped:
                continue
            if path in around:
                waiting.append(each)
            elif reason := _reason(each, pattern):
                yield path, reason


def _entries(folder: Path) -> list[Path]:
    """Return the folders in a folder, and links that lead nowhere."""
    try:
        inside = [each for each in folder.iterdir() if each.name[0] != "."]
        return sorted(each for each in inside if each.is_dir() or not each.exists())
    except OSError:
        # Finding the projects reports the error.
        return []


def _reason(folder: Path, pattern: str | None) -> str:
    if not folder.is_dir():
        return "is a link that leads nowhere"
    try:
        list_files([folder], pattern)
    except DatasetError as error:
        return one_line(error.problems[0].removeprefix(f"{folder}: ").replace(f"{folder}/", ""))
    except OSError as error:
        return str(error.strerror)
    return ""
