"""Opening files that may be pipes to which nobody writes."""

import errno
import os
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
    # Opening waits for a writer.
    thread = Thread(target=lambda: opened.append(path.open("rb")), daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if opened:
        return opened[0]
    # A writer of our own ends the waiting.
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    thread.join()
    opened[0].close()
    raise TimeoutError(errno.ETIMEDOUT, "a pipe to which nobody writes", str(path))
