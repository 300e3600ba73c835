"""Opening files that may be pipes to which nobody writes."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import BinaryIO

# Seconds in which a process begins to write.
_PATIENCE = 5.0


def open_input(path: Path) -> BinaryIO:
    """Open a file or a pipe for reading.

    Raises OSError if the file cannot be opened, and TimeoutError, which is one, if nobody opens a
    pipe to write to it.
    """
    if not path.is_fifo():
        return path.open("rb")
    opened: list[BinaryIO] = []
    failed: list[OSError] = []

    def open_file() -> None:
        try:
            opened.append(path.open("rb"))
        except OSError as error:
            failed.append(error)

    # Opening waits for a writer.
    thread = Thread(target=open_file, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if failed:
        raise failed[0]
    if opened:
        return opened[0]
    # A writer of our own ends the waiting, if the pipe can be written.
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        thread.join()
    for file in opened:
        file.close()
    raise TimeoutError(errno.ETIMEDOUT, "a pipe to which nobody writes", str(path))
