"""Marks of annotations that a machine created first."""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from bboxqa.formats.annotations.records import Annotation

MARKS = ("machine", "source", "model")
"""The keys of annotations that may hold such a mark."""

_VALUES = attrgetter(*MARKS)
_UNMARKED = {(None, None, None)}
_MACHINES = frozenset(
    (
        "auto",
        "automatic",
        "machine",
        "model",
        "prediction",
        "predicted",
        "semi-auto",
        "pre-annotation",
    )
)


def count_marks(records: Sequence[Annotation]) -> Counter[str]:
    """Return the number of annotations that a machine created first, by the key that says so.

    The key is `machine` with true, `source` with a word such as "auto" or "semi-auto", or `model`
    with the name of a model.

    Examples
    --------
    >>> box = (0, 0, 1, 1)
    >>> count_marks([Annotation(1, 1, 1, box, source="auto"), Annotation(2, 1, 1, box, model="")])
    Counter({'source': 1})
    """
    if _are_unmarked(records):
        return Counter()
    found = (mark for mark in map(_mark, map(_VALUES, records)) if mark)
    return Counter(found)


def _are_unmarked(records: Sequence[Annotation]) -> bool:
    """Return whether it is plain at once that no record has a mark, as in nearly all files."""
    try:
        return set(map(_VALUES, records)) <= _UNMARKED
    except TypeError:
        # A list or an object is no mark, but is not hashable: the records are examined one by one.
        return False


def is_machine(source: str) -> bool:
    """Return whether the value of `source` means that a machine created the annotation first."""
    return source.lower() in _MACHINES


def _mark(values: tuple[object, object, object]) -> str:
    """Return the key that says that a machine created an annotation first; "" if none does."""
    machine, source, model = values
    if machine is True or machine == 1 or (isinstance(machine, str) and machine.lower() == "true"):
        return "machine"
    if isinstance(source, str) and is_machine(source):
        return "source"
    return "model" if isinstance(model, str) and model else ""
