"""Reading label files in batches, all files of a batch at a time if they are plain."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.types import Steps
from bboxqa.formats.document import Record
from bboxqa.formats.member import Member
from bboxqa.formats.translation.collector import Lines

LabelFile = tuple[Member, Record, bytes]
"""A file, the record of its image, and its content."""

_TOGETHER = 1 << 18
"""Number of bytes per batch: few enough that its arrays stay in the processor's cache."""
_PARTS, _FEW = 16, 8
_NUMBERS = b"0123456789+-.eE \t\n"


def label_batches(
    labels: Mapping[str, Member], progress: Steps | None
) -> Iterator[list[tuple[str, Member, bytes]]]:
    """Yield batches of label files with the places of their images and their contents.

    `labels` are the files by place. `progress` is called with the number of files that were read,
    and of all.
    """
    batch: list[tuple[str, Member, bytes]] = []
    n_bytes = 0
    for n_read, (place, member) in enumerate(labels.items(), 1):
        data = member.text()
        batch.append((place, member, data))
        n_bytes += len(data)
        if n_bytes > _TOGETHER or n_read == len(labels):
            yield batch
            if progress is not None:
                progress(n_read, len(labels))
            batch, n_bytes = [], 0


def add_files(
    files: Sequence[LabelFile],
    plain: Callable[[Sequence[LabelFile]], bool],
    careful: Callable[[LabelFile], None],
) -> None:
    """Add the labels of files, split into smaller batches if some are not plain.

    `plain` adds the labels of files and returns True, or returns False if any file is not plain;
    `careful` adds those of one file.
    """
    if not files or plain(files):
        return
    if len(files) <= _FEW:
        for file in files:
            careful(file)
        return
    step = -(-len(files) // _PARTS)
    for start in range(0, len(files), step):
        add_files(files[start : start + step], plain, careful)


def rows_of(texts: Sequence[bytes], n_columns: int) -> tuple[IndexArray, FloatArray] | None:
    r"""Return the number of lines of each text, and their numbers (N, C); None for other lines.

    Examples
    --------
    >>> n_lines, rows = rows_of([b"0 .5 .5\n1 .1 .1", b""], 3)
    >>> n_lines.tolist(), rows.tolist()
    ([2, 0], [[0.0, 0.5, 0.5], [1.0, 0.1, 0.1]])
    >>> rows_of([b"0 .5"], 3) is None
    True
    """
    stripped = [text.replace(b"\r\n", b"\n").rstrip() for text in texts]
    n_lines = np.array([text.count(b"\n") + 1 if text else 0 for text in stripped], np.int64)
    whole = b"\n".join(filter(None, stripped))
    if whole.translate(None, _NUMBERS):
        return None
    if not whole:
        return n_lines, np.zeros((0, n_columns))
    try:
        rows = np.loadtxt(whole.decode().split("\n"), np.float64, comments=None, ndmin=2)
    except ValueError:
        return None
    return (n_lines, rows) if rows.shape == (n_lines.sum(), n_columns) else None


def lines_of(files: Sequence[LabelFile], n_labels: IndexArray, first: IndexArray) -> Lines:
    """Return the locations of labels on consecutive lines of their files.

    `n_labels` is the number of labels in each file, `first` the line of its first label.
    """
    before = np.cumsum(n_labels) - n_labels
    line = np.arange(int(n_labels.sum())) + np.repeat(first - before, n_labels)
    member = np.repeat(np.arange(len(files)), n_labels)
    return Lines([each.name for each, _, _ in files], member, line)
