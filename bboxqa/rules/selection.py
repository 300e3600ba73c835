"""Selecting rules by prefixes of their codes."""

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import PurePath

from bboxqa.model.settings import ValidateSettings


def prefixes(codes: Iterable[str]) -> list[str]:
    """Return prefixes of codes, normalised for comparison."""
    return [code.strip().upper() for code in codes]


@lru_cache(4096)
def is_selected(code: str, selected: tuple[str, ...], ignored: tuple[str, ...]) -> bool:
    """Return whether the longest prefix of a code is a selected one rather than an ignored one.

    Examples
    --------
    >>> is_selected("B001", ("B",), ("B001",)), is_selected("B002", (), ("B001",))
    (False, True)
    """
    return _longest(prefixes(selected) or [""], code) > _longest(prefixes(ignored), code)


def ignored_codes(settings: ValidateSettings, name: str) -> list[str]:
    """Return the codes that the settings ignore in a file."""
    ignored = list(settings.ignore)
    # Codes ignored in a file are also ignored in its fixed copy.
    names = {name, PurePath(name).name}
    names |= {each.replace(".fixed.", ".") for each in names}
    for pattern, codes in settings.per_file_ignores.items():
        if any(fnmatch(each, pattern) for each in names):
            ignored += codes
    return ignored


def _longest(given: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in given if code.startswith(prefix)), default=-1)
