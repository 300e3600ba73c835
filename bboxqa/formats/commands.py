"""Paths and options as they are typed after the name of a command."""

import shlex
from collections.abc import Sequence

from bboxqa.core.text import clean

_MOST = 20


def typed_paths(paths: Sequence[object], most: int = _MOST) -> str:
    """Return the first paths as they are typed, with "…" if there are more.

    Examples
    --------
    >>> typed_paths(["ann", "in 2"]), typed_paths(["ann", "bob", "cid"], 2)
    ("ann 'in 2'", 'ann bob …')
    """
    return shlex.join(clean(str(each)) for each in paths[:most]) + " …" * (len(paths) > most)
