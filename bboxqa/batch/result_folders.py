"""Folders of results: complete before they appear under their names."""

import os
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from bboxqa.core.files import filled_folder

__all__ = ["FAILURE", "RECORD", "filled", "folder_of", "note_failure"]

RECORD = "record.json"
"""Written last: a folder with it is complete."""

FAILURE = "failed.txt"
"""Why the last run of a project failed; beside it can be the results of an earlier one."""

filled = partial(filled_folder, last=RECORD)
"""Yields a hidden folder to fill, which then replaces the results of a project as a whole."""

# Longer names of folders are refused by file systems.
_LONGEST_NAME = 200


def folder_of(out: Path, project: str) -> Path:
    """Return the folder of a project's results; no name leads out of it, and no two share one.

    Examples
    --------
    >>> folder_of(Path("out"), "team a/boxes").as_posix()
    'out/projects/team a%2Fboxes'
    """
    name = quote(os.fsencode(project), safe=" ") if project != "." else "%2E"
    name = name.replace("..", "%2E%2E")
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME] + blake2b(name.encode(), digest_size=8).hexdigest()
    return out / "projects" / name


def note_failure(out: Path, project: str, text: str) -> None:
    """Write why a project failed, and leave what else is known of it.

    Parameters
    ----------
    out : Path
        The folder of the run.
    project : str
    text : str
        Not written where the disk takes nothing: the failure is told all the same.
    """
    folder = folder_of(out, project)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FAILURE).write_text(text, "utf-8", "backslashreplace")
