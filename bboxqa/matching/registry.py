"""The registry of matchers: to add one, write a function and add a line here."""

from bboxqa.core.plugins import lookup
from bboxqa.matching.linkage import average, complete, greedy
from bboxqa.matching.matchers import Matcher, auto, hungarian, recursive
from bboxqa.model.units import PairBytes

MATCHERS: dict[str, Matcher] = {
    "auto": Matcher(auto, PairBytes(80, 160)),
    "hungarian": Matcher(hungarian, PairBytes(60, 260), most_annotators=2),
    "recursive": Matcher(recursive, PairBytes(60, 260), by_order=True),
    "greedy": Matcher(greedy, PairBytes(80, 160)),
    "average": Matcher(average),
    "complete": Matcher(complete),
}


def names() -> tuple[str, ...]:
    """Return the names of all matchers.

    Examples
    --------
    >>> names()[:2]
    ('auto', 'hungarian')
    """
    return tuple(MATCHERS)


def matcher(name: str) -> Matcher:
    """Return the matcher of this name.

    Raises ConfigError if there is no such matcher.
    """
    return lookup("matcher", MATCHERS, name)
