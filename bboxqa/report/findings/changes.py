"""The changes by fixes, as a diff of values and as a summary."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from bboxqa.core.text import clean, count

_WIDTH = 100


class _Change(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def pointer(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


def change_lines(name: str, changes: Sequence[_Change]) -> Iterator[str]:
    """Yield the changes of a file as a diff of values."""
    if changes:
        yield f"--- {clean(name)}"
        yield f"+++ {clean(name)}, fixed"
    for change in changes:
        yield f"@@ {change.code} {clean(change.pointer) or '(the whole file)'}"
        for sign, text in (("-", change.before), ("+", change.after)):
            if text:
                yield f"{sign} {_shortened(text)}"


def change_summary(changes: Sequence[_Change]) -> str:
    """Return the number of changes, in all and by rule.

    Examples
    --------
    >>> change_summary([])
    '0 changes'
    """
    by_code = Counter(change.code for change in changes)
    named = ", ".join(f"{code} {number:,}" for code, number in sorted(by_code.items()))
    return count(len(changes), "change") + (f" ({named})" if named else "")


def _shortened(text: str) -> str:
    shown = clean(" ".join(text.split()))
    return shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + "…"
