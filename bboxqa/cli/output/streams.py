"""Standard output and standard error without errors that would end a command."""

import io
import os
from typing import Any


class _Discarding(io.RawIOBase):
    """A stream that discards text after its reader has ended, as `head` does.

    The command continues to its exit code, and a batch to its last project.
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
            # Python flushes the rest at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                return len(data)
            raise


def robust(stream: Any) -> Any:
    """Return a text stream that escapes characters that it cannot encode.

    If it is a pipe that is closed at the other end, text is discarded.
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
