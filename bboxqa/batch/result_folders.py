"""The folder of a run, and the folders of results inside it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder, unfinished

LOCK = ".lock"
"""A file in every folder of a run."""

WRITTEN = ("projects.csv", "summary.json", "index.html")
"""Files that a run writes apart from the folders of its projects, in this order."""

RECORD = "record.json"
"""Written last: a folder with it is complete."""

FAILURE = "failed.txt"
"""Why the last run of a project failed; results of an earlier run may be beside it."""

filled = partial(filled_folder, last=RECORD)
"""Yields a hidden folder to fill, which replaces the results of a project as a whole."""

# File systems refuse names of more than 255 bytes, and a suffix is added.
_LONGEST_NAME = 200


def folder_of(out: Path, project: str) -> Path:
    """Return the folder of a project's results, which is unique to the project.

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
    """Write the reason of a failure to the project's folder; do nothing if the disk is full."""
    folder = folder_of(out, project)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FAILURE).write_text(text, "utf-8", "backslashreplace")


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other runs out of a folder; the lock ends with the process that holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(out / LOCK, timeout=0)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise OutputError(
            f"{out}: another run is at work here; wait for it, or choose another --out"
        ) from None
    except FileExistsError:
        raise OutputError(f"{out}: is a file; name a folder with --out") from None
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def remove_unfinished(out: Path) -> None:
    """Remove folders and files that killed runs left incomplete."""
    for rest in (out / "projects").glob(".bboxqa-*"):
        shutil.rmtree(rest, ignore_errors=True)
    # Only files of this command, since another command may be writing into the same folder.
    for name in WRITTEN:
        for rest in out.glob(unfinished(name)):
            with suppress(OSError):
                rest.unlink(missing_ok=True)
