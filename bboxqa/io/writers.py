"""Writing files so that a killed run leaves no half of one."""

import mmap
import secrets
from pathlib import Path

from bboxqa.errors import OutputError

__all__ = ["write_atomically", "write_fixed"]


def write_fixed(source: Path, text: bytes | mmap.mmap, *, in_place: bool, force: bool) -> Path:
    """Write a mended file beside its source, or in its place with a copy of what was there.

    Parameters
    ----------
    source : Path
        ``NAME.json``.
    text : bytes-like
        What it should be.
    in_place : bool
        Write ``NAME.json`` and keep ``NAME.json.bak``; otherwise write ``NAME.fixed.json``.
    force : bool
        Replace the copy or the mended file that is there already.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    OutputError
        If the file to be written is there already, or cannot be written.
    """
    copy = source.with_name(source.name + ".bak")
    beside = source.with_name(source.stem + ".fixed" + source.suffix)
    if (copy if in_place else beside).exists() and not force:
        raise OutputError(
            f"{copy if in_place else beside}: is there already; move it away, or give --force"
        )
    if not in_place:
        write_atomically(beside, text)
        return beside
    write_atomically(copy, source.read_bytes())
    write_atomically(source, text)
    return source


def write_atomically(path: Path, data: bytes | mmap.mmap) -> None:
    """Write a file beside its place, then move it there.

    Parameters
    ----------
    path : Path
        Where the file goes; its folder exists. A file of that name is replaced.
    data : bytes-like
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
