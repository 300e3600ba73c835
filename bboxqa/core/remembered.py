"""Caching results that several callers need, for as long as their source exists."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

_Source = TypeVar("_Source")
_Result = TypeVar("_Result")


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
