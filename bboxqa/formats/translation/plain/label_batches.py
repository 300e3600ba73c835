"""Reading label files in batches if all files of a batch are plain."""

from collections.abc import Callable, Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import Lines, Record

LabelFile = tuple[Member, Record, bytes]
"""A file, the record of its image, and its content."""

_TOGETHER = 1 << 18
"""Number of bytes per batch: few enough that its arrays stay in the processor's cache."""
_PARTS, _FEW = 16, 8


class LabelBatches:
    """Passes label files on in their order, in batches.

    Parameters
    ----------
    plain : callable
        Adds the labels of files and returns True, or returns False if any file is not plain.
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
        """Pass the remaining files on."""
        taken, self._taken, self._n_bytes = self._taken, [], 0
        self._add(taken)

    def _add(self, files: Sequence[LabelFile]) -> None:
        """Add files, split into smaller batches if some are not plain."""
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
    """Return the locations of labels on consecutive lines of their files.

    Parameters
    ----------
    files : sequence of LabelFile
    n_labels : (F,) int64
        The number of labels in each file.
    first : (F,) int64
        The line of the first label in each file.
    """
    before = np.cumsum(n_labels) - n_labels
    line = np.arange(int(n_labels.sum())) + np.repeat(first - before, n_labels)
    member = np.repeat(np.arange(len(files)), n_labels)
    return Lines([each.name for each, _, _ in files], member, line)
