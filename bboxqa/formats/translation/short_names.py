"""Shortening image paths to names that are still unique."""

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the last part of each path, or the whole path if several share the last part.

    Examples
    --------
    >>> short_names(["day/1.png", "night/1.png", "night/2.png"])
    {'day/1.png': 'day/1.png', 'night/1.png': 'night/1.png', 'night/2.png': '2.png'}
    """
    known = {path: path.replace("\\", "/").lstrip("/") for path in paths}
    last = {path: PurePosixPath(plain).name or plain for path, plain in known.items()}
    times = Counter(last.values())
    return {path: last[path] if times[last[path]] == 1 else known[path] for path in known}
