"""The folder of a run: the results of projects inside it, and the root that it belongs to."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from bboxqa.batch.history import FILE as HISTORY
from bboxqa.batch.history import put_aside
from bboxqa.batch.store import is_url
from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder, unfinished, write_atomically
from bboxqa.core.pseudonyms import identity_of_key
from bboxqa.core.text import one_line

LOCK = ".lock"
"""A file in every folder of a run."""

WRITTEN = ("projects.csv", "summary.json", "index.html")
"""Files that a run writes apart from the folders of its projects, in this order."""

REPORT = "report.html"
FINDINGS = "findings.html"
"""The pages of a project."""

RECORD = "record.json"
"""Written last: a folder with it is complete."""

FAILURE = "failed.txt"
"""Why the last run of a project failed; results of an earlier run may be beside it."""

filled = partial(filled_folder, last=RECORD)
"""Yields a hidden folder to fill, which replaces the results of a project as a whole."""

ROOT = ".root.json"
"""In every folder of a run: the real path or URL of its root, and the identity of its key."""

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


def refuse_foreign(out: Path) -> None:
    """Refuse a folder with files that do not come from a run, as a run could replace them.

    Raises OutputError if the folder is not empty and no run has begun in it.
    """
    try:
        names = [path.name for path in out.iterdir()] if out.is_dir() else []
    except OSError as error:
        raise OutputError(f"{out}: cannot be read: {error.strerror}") from None
    # A run that was killed at once leaves only its lock. Earlier versions noted no root.
    begun = all(name == LOCK or fnmatchcase(name, unfinished(ROOT)) for name in names)
    if not begun and not {ROOT, HISTORY} & {*names}:
        raise OutputError(
            f"{out}: is not empty, and holds no results of bboxqa batch; name another folder with "
            "--out, or add --force"
        )


def claim(out: Path, root: str | Path, pseudonyms: Path | None = None, *, force: bool) -> None:
    """Note the root, and the key of pseudonyms, in their folder of results.

    Results of another key, or with names, cannot be mixed with those of this one: OutputError is
    raised. So it is if the folder belongs to another root, unless `force` takes the folder over and
    puts the history of the other root aside.
    """
    place = str(root).rstrip("/") if is_url(str(root)) else os.path.realpath(root)
    identity = "" if pseudonyms is None else identity_of_key(pseudonyms)
    is_old = (out / ROOT).exists() or (out / HISTORY).exists()
    before = {"root": place, "key": "" if is_old else identity} | _noted(out)
    if before["key"] != identity:
        other = "made with another key of pseudonyms" if before["key"] else "that name annotators"
        if not identity:
            other = "made with --pseudonyms"
        raise OutputError(f"{out}: holds results {other}; name another folder with --out")
    if before["root"] != place:
        if not force:
            raise OutputError(
                f"{out}: holds the results of {one_line(before['root'])}; name another folder with "
                "--out, or replace the results with --force"
            )
        put_aside(out)
    write_atomically(out / ROOT, json.dumps({"root": place, "key": identity}).encode())


def _noted(out: Path) -> dict[str, str]:
    """Return the root and the key of pseudonyms of a folder of results; empty without a note."""
    with suppress(OSError, ValueError):
        found = json.loads((out / ROOT).read_bytes())
        if isinstance(found, list) and found:
            # Earlier versions listed the names of the root, its real path second.
            key = out / ".pseudonyms.json"
            kept = json.loads(key.read_bytes()) if key.exists() else ""
            found = {"root": found[:2][-1], "key": kept}
        if isinstance(found, dict) and all(isinstance(each, str) for each in found.values()):
            return found
    return {}
