"""Standard output and standard error that never end a command."""

import io
import os
from typing import Any


class _Discarding(io.RawIOBase):
    """A stream whose text goes nowhere once its reader has ended, as `head` does.

    The command runs on to its exit code, and a batch to its last project.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw.isatty()

    def fileno(self) -> int:
        return self._raw.fileno()

    def write(self, data: Any) -> int | None:
        try:
            return self._raw.write(data)
        except OSError as error:
            # Python writes the rest when it ends, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                return len(data)
            raise


def robust(stream: Any) -> Any:
    """Return a stream for text that shows characters it cannot encode as their number.

    If it is a pipe that is closed at the other end, the text is discarded.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Discarding(raw)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
