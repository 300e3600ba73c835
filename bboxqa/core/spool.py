"""Arrays that grow: in memory up to a limit, then in a temporary file."""

import mmap
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from errno import EMFILE, ENFILE
from functools import cache
from math import ceil
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import OutputError
from bboxqa.core.memory import is_mapped, release_pages

# Bytes copied at a time.
_CHUNK = 1 << 20
# Vertices get a quarter of the memory, and the few dozen columns of a file share another quarter.
# The rest is for work such as sorting, which grows with the file and stays in memory.
_SHARES = 4
_COLUMNS = 64
_FILES = 1 << 16
# Bytes that each annotation needs in memory even so, and bytes that the program needs.
_OF_ANNOTATION = 200
_OF_PROGRAM = 500_000_000
_MEMORY = "raise --memory"
_Scalar = TypeVar("_Scalar", bound=np.generic)


@cache
def _allow_files() -> None:
    """Raise the limit of open files as far as allowed, since each column is one file."""
    with suppress(ImportError, OSError, ValueError):
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

        soft, hard = getrlimit(RLIMIT_NOFILE)
        most = _FILES if hard == RLIM_INFINITY else min(hard, _FILES)
        if soft != RLIM_INFINITY and soft < most:
            setrlimit(RLIMIT_NOFILE, (most, hard))


class Spool:
    """Collects the bytes of one array, and moves them to a file if they exceed `limit`.

    Examples
    --------
    >>> spool = Spool(8)
    >>> for number in (1.0, 2.0, 3.0):
    ...     spool.add(np.array([number]).tobytes())
    >>> spool.done(np.dtype(np.float64)).tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        # A bytearray grows in place; joining a list of parts would need twice the memory.
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._written = 0

    def add(self, data: bytes | memoryview) -> None:
        """Add bytes.

        Raises OutputError if there is no room for the file.
        """
        self._held += data
        if self._limit is not None and len(self._held) > self._limit:
            self._spill()

    def _spill(self) -> None:
        try:
            if self._file is None:
                _allow_files()
                self._file = tempfile.TemporaryFile(prefix="bboxqa-")  # noqa: SIM115
            self._file.write(self._held)
            self._file.flush()
        except OSError as error:
            raise no_room(error, _MEMORY) from None
        self._written += len(self._held)
        self._held = bytearray()

    def done(self, dtype: np.dtype[_Scalar], *, scattered: bool = False) -> NDArray[_Scalar]:
        """Return the bytes as a flat array; if in a file, it is memory-mapped and read-only.

        `scattered` says that rows will be read in random order.
        """
        if self._file is None:
            return np.frombuffer(self._held, dtype)
        self._spill()
        try:
            mapped = mmap.mmap(self._file.fileno(), self._written, access=mmap.ACCESS_READ)
        except OSError as error:
            raise no_room(error, _MEMORY) from None
        self._file.close()
        with suppress(AttributeError, OSError):
            if scattered:
                mapped.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(mapped, dtype)


def no_room(error: OSError, otherwise: str) -> OutputError:
    """Return the error for a temporary file that cannot be created or written.

    `otherwise` is the advice besides a larger disk, such as "raise --memory".
    """
    if error.errno in (EMFILE, ENFILE):
        return OutputError(
            f"too many open temporary files; allow more with `ulimit -n`, or {otherwise}"
        )
    try:
        place = tempfile.gettempdir()
    except OSError:
        place = "no folder for temporary files"
    return OutputError(
        f"{place}: no room for temporary files: {error.strerror}; set TMPDIR to a folder on "
        f"a larger disk, or {otherwise}"
    )


def vertex_limit(memory: int | None) -> int | None:
    """Return the bytes that vertices, or run lengths, may take in memory."""
    return None if memory is None else memory // _SHARES


def column_limit(memory: int | None) -> int | None:
    """Return the bytes that any other column may take in memory."""
    return None if memory is None else memory // (_SHARES * _COLUMNS)


def check_memory(
    name: str,
    n_annotations: int,
    memory: int | None,
    bytes_each: int = _OF_ANNOTATION,
    otherwise: str = "divide the file",
) -> None:
    """Refuse a number of annotations that needs more memory than allowed.

    Raises OutputError if the annotations need more. Limits below 500 MB count as 500 MB, which the
    program itself needs. In the message, `name` is the file, the first of several files, or the
    task, and `otherwise` is the advice besides more memory.

    Examples
    --------
    >>> check_memory("a.json", 10_000_000, 2_000_000_000)
    >>> check_memory("a.json", 20_000_000, 2_000_000_000)
    Traceback (most recent call last):
    bboxqa.core.errors.OutputError: a.json: 20,000,000 annotations need 4.00 GB of memory; ...
    """
    needed = bytes_each * n_annotations
    if memory is not None and needed > max(memory, _OF_PROGRAM):
        raise OutputError(
            f"{name}: {n_annotations:,} annotations need {ceil(needed / 1e7) / 100:.2f} GB of "
            f"memory; allow as much with --memory, or {otherwise}"
        )


class SpooledColumn:
    """Collects the numbers of one column, and moves them to a file if they exceed `limit`.

    `width` is the number of values per row; 0 for a flat array.

    Examples
    --------
    >>> column = SpooledColumn(np.int64)
    >>> column.add([1, 2])
    >>> column.add(np.array([3]))
    >>> column.done().tolist()
    [1, 2, 3]
    """

    def __init__(self, dtype: type, width: int = 0, limit: int | None = None) -> None:
        self._shape = (-1, width) if width else (-1,)
        self._dtype = dtype
        self._data = Spool(limit)

    def add(self, values: Iterable[Any] | NDArray[Any]) -> None:
        """Add rows."""
        array = values if isinstance(values, np.ndarray) else np.array(list(values))
        self._data.add(np.ascontiguousarray(array, self._dtype).data)

    def done(self, *, scattered: bool = False) -> NDArray[Any]:
        """Return the column; see `Spool.done`."""
        return self._data.done(np.dtype(self._dtype), scattered=scattered).reshape(self._shape)


def spilled(
    array: NDArray[_Scalar], limit: int | None, rows: IndexArray | None = None
) -> NDArray[_Scalar]:
    """Return an array, or some of its rows, mapped from a file if they exceed `limit`.

    Examples
    --------
    >>> spilled(np.arange(4).reshape(2, 2), 8).tolist()
    [[0, 1], [2, 3]]
    >>> spilled(np.arange(4), None, np.array([3, 0])).tolist()
    [3, 0]
    """
    n_rows = len(array) if rows is None else len(rows)
    of_row = array.nbytes // max(len(array), 1)
    if limit is None or n_rows * of_row <= limit:
        return array if rows is None else array[rows]
    spool = Spool(limit)
    step = max(1, _CHUNK // of_row)
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        spool.add(np.ascontiguousarray(array[part if rows is None else rows[part]]).tobytes())
    return spool.done(array.dtype).reshape(n_rows, *array.shape[1:])


def take_rows(array: NDArray[_Scalar], rows: IndexArray) -> NDArray[_Scalar]:
    """Return some rows of an array, mapped from a file if the array is."""
    return spilled(array, _CHUNK if is_mapped(array) else None, rows)


def concatenate(
    parts: Iterable[NDArray[_Scalar]], limit: int | None, *, scattered: bool = False
) -> NDArray[_Scalar]:
    """Concatenate arrays along the first axis, into a mapped file if they exceed `limit`.

    There is at least one array, and all have one type. Each is released before the next is
    requested. `scattered` says that rows of the result will be read in random order.

    Examples
    --------
    >>> concatenate([np.zeros((1, 2)), np.ones((1, 2))], 0).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if limit is None:
        return np.concatenate(list(parts))
    spool = Spool(limit)
    for part in parts:
        step = max(1, _CHUNK // max(part[:1].nbytes, 1))
        for start in range(0, len(part), step):
            spool.add(np.ascontiguousarray(part[start : start + step]).tobytes())
            release_pages(part)
    return spool.done(part.dtype, scattered=scattered).reshape(-1, *part.shape[1:])
