"""Writing files so that a killed run leaves no half of one."""

import glob
import mmap
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bboxqa.core.errors import OutputError
from bboxqa.core.interrupts import PLACED, placing

UNFINISHED_FOLDERS = ".bboxqa-*"
"""Pattern of the folders that a process leaves when it is killed inside `filled_folder`."""

_DIGITS = 16
# Names of files have at most 255 bytes, on encrypted disks 143.
_LONGEST = 100


def unfinished(name: str) -> str:
    """Return a pattern of what a process that was killed while it wrote a file has left.

    Examples
    --------
    >>> from fnmatch import fnmatchcase
    >>> fnmatchcase(".index.html.0123456789abcdef.part", unfinished("index.html"))
    True
    """
    return f"{glob.escape(_beginning(name))}.{'[0-9a-f]' * _DIGITS}.part"


def _beginning(name: str) -> str:
    """Return what the name of a file that is not complete begins with."""
    # Some systems refuse names with an incomplete character.
    return "." + os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")


def check_fixed(source: Path, *, in_place: bool, force: bool) -> None:
    """Refuse to fix a file ``NAME.json`` where that would replace another one.

    What would be written is ``NAME.json.bak`` if in place, and otherwise ``NAME.fixed.json``, which
    `force` allows to be replaced. Raises OutputError if it already exists.
    """
    if in_place and _copy_of(source).exists():
        raise OutputError(f"{_copy_of(source)}: already exists; move it away")
    if not in_place and _fixed_path(source).exists() and not force:
        raise OutputError(f"{_fixed_path(source)}: already exists; move it away, or give --force")


Identity = tuple[int, ...]
"""What tells a file from one that has replaced it, or from itself before a change."""


def identity_of(path: Path) -> Identity:
    """Return the identity of a file.

    The time of its last change of any kind also differs for a file that was moved away and back.
    """
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def write_fixed(
    source: Path, text: bytes | mmap.mmap, *, in_place: bool, fixed: Identity | None = None
) -> Path:
    """Write a fixed file next to its source, or in its place with a copy of the source.

    Raises OutputError if it cannot be written, or the source has changed.

    Parameters
    ----------
    source : Path
        ``NAME.json``; of a link, what it leads to.
    text : bytes-like
        What it should be.
    in_place : bool
        Write ``NAME.json`` and keep ``NAME.json.bak``; otherwise write ``NAME.fixed.json``.
    fixed : tuple of int, optional
        The `identity_of` the source when it was read; a source that has changed stays.

    Returns
    -------
    Path
        What was written.
    """
    if not in_place:
        write_atomically(_fixed_path(source), text)
        return _fixed_path(source)
    target = source.resolve()
    rights = target.stat().st_mode
    write_atomically(_copy_of(source), target.read_bytes())
    try:
        write_atomically(target, text, replaces=fixed)
    except OutputError:
        # The file is not replaced; its copy would only keep the next run from writing one.
        _copy_of(source).unlink(missing_ok=True)
        raise
    for path in (_copy_of(source), target):
        path.chmod(rights)
    return source


def _copy_of(source: Path) -> Path:
    real = source.resolve()
    return real.with_name(real.name + ".bak")


def _fixed_path(source: Path) -> Path:
    return source.with_name(source.stem + ".fixed" + source.suffix)


def write_atomically(
    path: Path,
    data: bytes | mmap.mmap,
    *,
    replaces: Identity | None = None,
    private: bool = False,
) -> None:
    """Write a file under a temporary name, then move it to its place.

    Raises OutputError if it cannot be written, or is another file than `replaces`; nothing is left
    behind, and what was there stays.

    Parameters
    ----------
    path : Path
        Where the file goes; its folder exists. A file of that name is replaced, and keeps its
        rights; of a link, what it leads to. A pipe or a device is written to.
    data : bytes-like
        What it holds.
    replaces : tuple of int, optional
        The `identity_of` the file to replace; another one stays.
    private : bool
        Whether only the owner may read it, at any time.
    """
    if path.is_dir():
        raise OutputError(f"{path}: cannot be written: is a folder; name a file")
    try:
        path = path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        raise OutputError(f"{path}: cannot be written: is a link that leads to itself") from None
    if path.exists() and not path.is_file():
        _write_through(path, data)
        return
    # A plain open, unlike `tempfile`, gives the file the rights that the user's umask asks for.
    temporary = path.with_name(f"{_beginning(path.name)}.{secrets.token_hex(_DIGITS // 2)}.part")
    try:
        with open(temporary, "xb", opener=_private if private else None) as file:
            file.write(data)
        if path.exists() and not private:
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        _check_unchanged(path, replaces)
        with placing(path):
            temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _check_unchanged(path: Path, before: Identity | None) -> None:
    if before is not None and identity_of(path) != before:
        raise OutputError(
            f"{path}: was changed meanwhile by another program, and is left as it is; run the same "
            "again"
        )


@contextmanager
def filled_folder(target: Path, *, last: str | None = None) -> Iterator[Path]:
    """Yield a hidden folder to fill; what it holds appears in the target when all of it is there.

    Parameters
    ----------
    target : Path
        Made with its parents if it does not exist.
    last : str, optional
        Name of the file that marks a complete folder. With it, an existing target is replaced as
        a whole, and loses this file first: what a killed run leaves never looks complete. Without
        it, files of the same names are replaced, and the others stay.
    """
    inside = last is None and target.is_dir()
    place = target if inside else target.parent
    place.mkdir(parents=True, exist_ok=True)
    scratch = _hidden(place)
    # A plain mkdir, unlike `tempfile`, gives the rights that the user's umask asks for.
    scratch.mkdir()
    try:
        yield scratch
        old = _hidden(place)
        with placing(target):
            if inside:
                for file in sorted(scratch.iterdir()):
                    file.replace(target / file.name)
            elif last is not None and target.exists():
                (target / last).unlink(missing_ok=True)
                target.rename(old)
                scratch.rename(target)
            else:
                scratch.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _hidden(folder: Path) -> Path:
    """Return a new name in a folder, which `UNFINISHED_FOLDERS` matches."""
    return folder / UNFINISHED_FOLDERS.replace("*", secrets.token_hex(_DIGITS // 2))


def _write_through(path: Path, data: bytes | mmap.mmap) -> None:
    """Write to a pipe or a device, which nothing may take the place of."""
    try:
        with path.open("wb") as stream:
            PLACED.append(path)
            stream.write(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
