"""Marks of annotations that a machine created first."""

from collections import Counter
from collections.abc import Iterable

MARKS = ("machine", "source", "model")
"""The keys of annotations that may hold such a mark."""

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


def count_marks(values: Iterable[tuple[object, ...]]) -> Counter[str]:
    """Return the number of annotations that a machine created first, by the key that says so.

    The key is `machine` with true, `source` with a word such as "auto" or "semi-auto", or `model`
    with the name of a model. `values` are those of `MARKS` of each annotation.

    Examples
    --------
    >>> count_marks([(None, "auto", None), (None, None, "")])
    Counter({'source': 1})
    """
    return Counter(mark for mark in map(_mark, values) if mark)


def is_machine(source: str) -> bool:
    """Return whether the value of `source` means that a machine created the annotation first."""
    return source.lower() in _MACHINES


def _mark(values: tuple[object, ...]) -> str:
    """Return the key that says that a machine created an annotation first; "" if none does."""
    machine, source, model = values
    if machine is True or machine == 1 or (isinstance(machine, str) and machine.lower() == "true"):
        return "machine"
    if isinstance(source, str) and is_machine(source):
        return "source"
    return "model" if isinstance(model, str) and model else ""
