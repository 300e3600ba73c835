"""Writing files so that a killed run leaves no half of one."""

import secrets
from pathlib import Path

from bboxqa.errors import OutputError

__all__ = ["write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside its place, then move it there.

    Parameters
    ----------
    path : Path
        Where the file goes; its folder exists. A file of that name is replaced.
    data : bytes
        What it holds.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind, and what was there stays.
    """
    # A plain open, unlike `tempfile`, gives the file the rights that the user's umask asks for.
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            file.write(data)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
