"""Annotations of Label Studio that do not say who completed them."""

from collections import Counter
from collections.abc import Iterator, Mapping

from bboxqa.core.text import count
from bboxqa.formats.translation.translated import UNNAMED


class Unnamed:
    """The unnamed annotations of a file; those of one task are numbered."""

    def __init__(self) -> None:
        self._pointers: list[tuple[str, str]] = []
        self._times: Counter[str] = Counter()

    def add(self, label: str, pointer: str) -> str:
        """Add an annotation of the task with a label; return the name of its annotator."""
        self._pointers.append((label, pointer))
        self._times[label] += 1
        number = self._times[label]
        return f"(not named {number})" if number > 1 else UNNAMED

    def tally(self) -> Mapping[str, int]:
        """Return how many annotations there are, and how many have a number."""
        n_unnamed = len(self._pointers)
        return {"unnamed": n_unnamed, "numbered": n_unnamed - len(self._times)}

    def problems(self, *, others: bool) -> Iterator[tuple[str, str]]:
        """Yield the problem and the place of each annotation; of all at once without `others`.

        `others` says whether any annotation of the file says who completed it.
        """
        if others:
            for label, pointer in self._pointers:
                yield f"{label}: an annotation does not say who completed it", pointer
        elif self._pointers:
            n_unnamed = count(len(self._pointers), "annotation")
            yield (
                f"no annotation of the file says who completed it ({n_unnamed})",
                (self._pointers[0][1]),
            )
