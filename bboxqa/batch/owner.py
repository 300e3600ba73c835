"""The root that a folder of results belongs to."""

import json
import os
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from bboxqa.batch.history import FILE as HISTORY
from bboxqa.batch.history import put_aside
from bboxqa.batch.projects.store import is_url
from bboxqa.batch.result_folders import LOCK
from bboxqa.core.errors import OutputError
from bboxqa.core.files import unfinished, write_atomically
from bboxqa.core.pseudonyms import identity_of_key
from bboxqa.core.text import one_line

FILE = ".root.json"
"""In every folder of a run: the names of its root."""

KEY = ".pseudonyms.json"
"""In folders of runs with a key of pseudonyms: its identity."""


def refuse_foreign(out: Path) -> None:
    """Refuse a folder with files that do not come from a run, as a run could replace them.

    Raises OutputError if the folder is not empty and no run has begun in it.
    """
    try:
        names = [path.name for path in out.iterdir()] if out.is_dir() else []
    except OSError as error:
        raise OutputError(f"{out}: cannot be read: {error.strerror}") from None
    # A run that was killed at once leaves only its lock. Earlier versions noted no root.
    begun = all(
        name in (LOCK, KEY) or any(fnmatchcase(name, unfinished(each)) for each in (FILE, KEY))
        for name in names
    )
    if not begun and not {FILE, HISTORY} & set(names):
        raise OutputError(
            f"{out}: is not empty, and holds no results of bboxqa batch; name another folder with "
            "--out, or add --force"
        )


def claim(out: Path, root: str | Path, pseudonyms: Path | None = None, *, force: bool) -> None:
    """Note the root in its folder of results; refuse a folder with the results of another root.

    So does the key of pseudonyms, as results of another one, or with names, cannot be mixed.

    With `force` the folder is taken over, and the history of the other root is put aside. Raises
    OutputError if the folder belongs to another root and `force` is false, or to another key.
    """
    _claim_for_key(out, pseudonyms)
    names, before = _names(out, str(root)), _noted(out)
    if before and not set(before) & set(names):
        if not force:
            raise OutputError(
                f"{out}: holds the results of {one_line(before[0])}; name another folder with "
                "--out, or replace the results with --force"
            )
        put_aside(out)
        before = []
    if not before:
        write_atomically(out / FILE, json.dumps(names).encode())


def _claim_for_key(out: Path, pseudonyms: Path | None) -> None:
    """Note the key of pseudonyms; refuse a folder with results of another one, or of none."""
    identity = "" if pseudonyms is None else identity_of_key(pseudonyms)
    noted = ""
    with suppress(OSError, ValueError):
        noted = str(json.loads((out / KEY).read_bytes()))
    if identity == noted:
        return
    if (out / FILE).exists() or (out / HISTORY).exists():
        other = "made with another key of pseudonyms" if noted else "that name annotators"
        if not identity:
            other = "made with --pseudonyms"
        raise OutputError(f"{out}: holds results {other}; name another folder with --out")
    if identity:
        write_atomically(out / KEY, json.dumps(identity).encode())
    else:
        (out / KEY).unlink()


def _names(out: Path, root: str) -> list[str]:
    """Return names of a root; roots with a common name are the same.

    A link keeps its name if its target changes, and a folder that is moved together with its
    results keeps its path relative to them.
    """
    if is_url(root):
        return [root.rstrip("/")]
    real = os.path.realpath(root)
    names = [os.path.abspath(root), real]  # noqa: PTH100 - links keep their name
    with suppress(ValueError):
        # Another drive has no relative path.
        names.append(f"./{os.path.relpath(real, os.path.realpath(out))}")
    return names


def _noted(out: Path) -> list[str]:
    """Return the names of the root that the folder belongs to; empty if it belongs to none."""
    with suppress(OSError, ValueError):
        names = json.loads((out / FILE).read_bytes())
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    return []
