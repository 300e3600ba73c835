"""Matchers by name; a new one is a function and one line here."""

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.matching.matchers import Matcher, greedy, hungarian, recursive

MATCHERS: dict[str, Matcher] = {
    "hungarian": Matcher(hungarian, most_annotators=2),
    "recursive": Matcher(recursive, by_order=True),
    "greedy": Matcher(greedy),
}


def names() -> tuple[str, ...]:
    """Return the names of all matchers.

    Examples
    --------
    >>> names()
    ('hungarian', 'recursive', 'greedy')
    """
    return tuple(MATCHERS)


def matcher(name: str) -> Matcher:
    """Return the matcher of a name.

    Raises
    ------
    ConfigError
        If there is no such matcher.
    """
    if name not in MATCHERS:
        raise ConfigError(f"matcher {unknown_name(name, names())}")
    return MATCHERS[name]
