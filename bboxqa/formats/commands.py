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


def typed_names(named: Sequence[tuple[str, object]], most: int = _MOST) -> str:
    """Return options that name the annotators of the first paths, with "…" if there are more.

    Examples
    --------
    >>> typed_names([("ann", "in/1.json"), ("bob", "in/2.json")], 1)
    '--annotator ann=in/1.json …'
    """
    options = (f"--annotator {typed_paths([f'{name}={path}'])}" for name, path in named[:most])
    return " ".join(options) + " …" * (len(named) > most)
