"""Caching results that several callers need, for as long as their source exists or is read."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

_Source = TypeVar("_Source")
_Result = TypeVar("_Result")
_KEPT: ContextVar[dict[object, dict[Hashable, Any]] | None] = ContextVar("kept", default=None)


def remembered(function: Callable[[_Source], _Result]) -> Callable[[_Source], _Result]:
    """Cache the result of a function for each object it is called with.

    The object must not change, and its class must allow weak references and compare by identity.
    The result must not refer to the object, or neither would be freed.

    Examples
    --------
    >>> class Boxes:
    ...     sides = 3, 4
    >>> @remembered
    ... def area(boxes):
    ...     print("computing")
    ...     return boxes.sides[0] * boxes.sides[1]
    >>> boxes = Boxes()
    >>> area(boxes), area(boxes)
    computing
    (12, 12)
    """
    known: WeakKeyDictionary[_Source, _Result] = WeakKeyDictionary()

    @wraps(function)
    def result_of(source: _Source) -> _Result:
        if source not in known:
            known[source] = function(source)
        return known[source]

    return result_of


@contextmanager
def results_kept() -> Iterator[None]:
    """Keep what functions with `once` return, as long as nothing writes to the files they read.

    Reading a data set asks about a folder more than ten times.
    """
    before = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(before)


def once(
    key: Callable[[Any], Hashable],
) -> Callable[[Callable[[_Source], _Result]], Callable[[_Source], _Result]]:
    """Call a function once for all arguments with the same key within `results_kept`.

    Examples
    --------
    >>> @once(str.lower)
    ... def length_of(name):
    ...     print("looking")
    ...     return len(name)
    >>> with results_kept():
    ...     length_of("a.txt"), length_of("A.txt")
    looking
    (5, 5)
    """

    def keeping(function: Callable[[_Source], _Result]) -> Callable[[_Source], _Result]:
        @wraps(function)
        def result_of(source: _Source) -> _Result:
            if (kept := _KEPT.get()) is None:
                return function(source)
            known = kept.setdefault(function, {})
            if (at := key(source)) not in known:
                known[at] = function(source)
            found: _Result = known[at]
            return found

        return result_of

    return keeping
