"""Projects in folders of other projects, which are measured on their own."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from bboxqa.batch.rows import MEASURED, Row
from bboxqa.core.text import first_few, one_line

_SHOWN = 3


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
    are = "which is a project of its own" if len(names) == 1 else "which are projects of their own"
    without = f"without {first_few(names, _SHOWN, one_line)}, {are}"
    note = f"{without}; bboxqa agree measures the folder as a whole"
    return replace(row, message="; ".join(filter(None, [row.message, note])))
