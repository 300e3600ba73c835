"""Label files that are read many at once, where all of them are plain."""

from collections.abc import Callable, Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.translation.members import Member
from bboxqa.formats.translation.translated import Lines, Record

LabelFile = tuple[Member, Record, bytes]
"""A file, the record of its image, and its content."""

_TOGETHER = 1 << 20
"""Bytes of files that are read together."""
_PARTS, _FEW = 16, 8


class LabelBatches:
    """Hands on label files in their order, many at once.

    Parameters
    ----------
    plain : callable
        Adds the labels of files, and returns True; returns False if any of them is not plain.
    careful : callable
        Adds the labels of one file.
    """

    def __init__(
        self, plain: Callable[[Sequence[LabelFile]], bool], careful: Callable[[LabelFile], None]
    ) -> None:
        self._plain = plain
        self._careful = careful
        self._taken: list[LabelFile] = []
        self._n_bytes = 0

    def take(self, file: LabelFile) -> None:
        """Take a file."""
        self._taken.append(file)
        self._n_bytes += len(file[2])
        if self._n_bytes > _TOGETHER:
            self.end()

    def end(self) -> None:
        """Hand on the files that were taken."""
        taken, self._taken, self._n_bytes = self._taken, [], 0
        self._add(taken)

    def _add(self, files: Sequence[LabelFile]) -> None:
        """Add files, in parts where some of them are not plain."""
        if not files or self._plain(files):
            return
        if len(files) <= _FEW:
            for file in files:
                self._careful(file)
            return
        step = -(-len(files) // _PARTS)
        for start in range(0, len(files), step):
            self._add(files[start : start + step])


def lines_of(files: Sequence[LabelFile], n_labels: IndexArray, first: IndexArray) -> Lines:
    """Return where labels stand that follow each other in their files.

    Parameters
    ----------
    files : sequence of LabelFile
    n_labels : (F,) int64
        How many each has.
    first : (F,) int64
        The line of the first label of each.
    """
    before = np.cumsum(n_labels) - n_labels
    line = np.arange(int(n_labels.sum())) + np.repeat(first - before, n_labels)
    member = np.repeat(np.arange(len(files)), n_labels)
    return Lines([each.name for each, _, _ in files], member, line)
