"""Bytes that grow: in memory up to a limit, and from then on in a file without a name."""

import mmap
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray

from bboxqa.arrays import FloatArray, let_go
from bboxqa.errors import OutputError

__all__ = ["Spool", "one_after_other"]

# Points that are copied at a time.
_CHUNK = 1 << 20
_Scalar = TypeVar("_Scalar", bound=np.generic)


class Spool:
    """Collects bytes for one array.

    Parameters
    ----------
    limit : int, optional
        Bytes that may be held in memory; without one, all of them.

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
        # Grows in place: a list of parts would be there twice while it is joined.
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._written = 0

    def add(self, data: bytes | memoryview) -> None:
        """Take in bytes.

        Raises
        ------
        OutputError
            If there is no room for the file.
        """
        self._held += data
        if self._limit is not None and len(self._held) > self._limit:
            self._spill()

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="bboxqa-")  # noqa: SIM115
            self._file.write(self._held)
            self._file.flush()
        except OSError as error:
            place = tempfile.gettempdir()
            raise OutputError(
                f"{place}: no room for the outlines: {error.strerror}; set TMPDIR to a folder on a "
                "larger disk, or allow more with --memory"
            ) from None
        self._written += len(self._held)
        self._held = bytearray()

    def done(self, dtype: np.dtype[_Scalar]) -> NDArray[_Scalar]:
        """Return what was taken in, as a flat array; of a file, it is mapped and read-only."""
        if self._file is None:
            return np.frombuffer(self._held, dtype)
        self._spill()
        mapped = mmap.mmap(self._file.fileno(), self._written, access=mmap.ACCESS_READ)
        self._file.close()
        with suppress(AttributeError, OSError):
            # Neighbours in the file are neighbours in an image only by chance.
            mapped.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(mapped, dtype)


def one_after_other(parts: Sequence[FloatArray], limit: int | None) -> FloatArray:
    """Return points of several arrays as one, in a file if they are more than the limit.

    Parameters
    ----------
    parts : sequence of (V, 2) float64
    limit : int, optional
        Bytes that may be held in memory.

    Returns
    -------
    (sum of V, 2) float64

    Examples
    --------
    >>> one_after_other([np.zeros((1, 2)), np.ones((1, 2))], 0).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if limit is None:
        return np.concatenate(parts)
    spool = Spool(limit)
    for xy in parts:
        for start in range(0, len(xy), _CHUNK):
            spool.add(np.ascontiguousarray(xy[start : start + _CHUNK]).tobytes())
            let_go(xy)
    return spool.done(np.dtype(np.float64)).reshape(-1, 2)
