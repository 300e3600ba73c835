"""The root that a folder of results belongs to."""

import json
import os
from contextlib import suppress
from pathlib import Path

from bboxqa.batch.history import put_aside
from bboxqa.batch.projects.store import is_url
from bboxqa.core.errors import OutputError
from bboxqa.core.files import write_atomically
from bboxqa.core.text import one_line

FILE = ".root.json"
"""In every folder of a run: the names of its root."""


def claim(out: Path, root: str | Path, *, force: bool) -> None:
    """Note the root in its folder of results; refuse a folder with the results of another root.

    With `force` the folder changes hands, and the history of the other root is put aside. Raises
    OutputError if the folder belongs to another root, and `force` is false.
    """
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


def _names(out: Path, root: str) -> list[str]:
    """Return names of a root; roots that share one are the same.

    A link keeps its name when it leads elsewhere, and a folder that is moved together with its
    results keeps its place relative to them.
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
