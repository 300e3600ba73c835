"""Matchers by name; a new one is a function and one line here."""

from bboxqa.core.registry import lookup
from bboxqa.matching.linkage import average, complete, greedy
from bboxqa.matching.matchers import Matcher, auto, hungarian, recursive

MATCHERS: dict[str, Matcher] = {
    "auto": Matcher(auto, pair_bytes=80),
    "hungarian": Matcher(hungarian, most_annotators=2, pair_bytes=60),
    "recursive": Matcher(recursive, by_order=True, pair_bytes=60),
    "greedy": Matcher(greedy, pair_bytes=80),
    "average": Matcher(average, pair_bytes=100),
    "complete": Matcher(complete, pair_bytes=100),
}


def names() -> tuple[str, ...]:
    """Return the names of all matchers.

    Examples
    --------
    >>> names()
    ('auto', 'hungarian', 'recursive', 'greedy', 'average', 'complete')
    """
    return tuple(MATCHERS)


def matcher(name: str) -> Matcher:
    """Return the matcher of a name.

    Raises ConfigError if there is no such matcher.
    """
    return lookup("matcher", MATCHERS, name)
