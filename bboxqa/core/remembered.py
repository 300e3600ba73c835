"""Results that several callers need, kept as long as what they were made of."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

_Source = TypeVar("_Source")
_Result = TypeVar("_Result")


def remembered(function: Callable[[_Source], _Result]) -> Callable[[_Source], _Result]:
    """Make a function return the same result again for the same object.

    The object must not change, and its class must allow weak references and compare by identity.
    The result must not refer to the object, or neither would ever be freed.

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
