"""Looking up matchers, similarities and other parts by name."""

from collections.abc import Mapping
from typing import TypeVar

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name

_Part = TypeVar("_Part")


def lookup(kind: str, parts: Mapping[str, _Part], name: str) -> _Part:
    """Return the part of this name, or raise ConfigError; `kind` names the parts in the message.

    Examples
    --------
    >>> lookup("matcher", {"hungarian": 2, "greedy": 1}, "greedy")
    1
    """
    if name not in parts:
        raise ConfigError(f"{kind} {unknown_name(name, tuple(parts))}")
    return parts[name]
