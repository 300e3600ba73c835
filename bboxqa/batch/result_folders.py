"""Folders of results: complete before they appear under their names."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

__all__ = ["FAILURE", "RECORD", "filled", "folder_of", "note_failure"]

RECORD = "record.json"
"""Written last: a folder with it is complete."""

FAILURE = "failed.txt"
"""Why the last run of a project failed; beside it can be the results of an earlier one."""

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


@contextmanager
def filled(target: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill; it takes the place of the target when all went well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".bboxqa-", dir=target.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        _swap(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _swap(scratch: Path, target: Path) -> None:
    """Put a complete folder in the place of an old one."""
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=".bboxqa-", dir=target.parent))
        # A record that is gone first makes a half that is left of the folder incomplete.
        (target / RECORD).unlink(missing_ok=True)
        target.rename(old / "old")
        scratch.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        scratch.rename(target)
