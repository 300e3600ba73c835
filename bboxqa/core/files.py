"""Writing files so that a killed run leaves no half-written file."""

import glob
import hashlib
import mmap
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from bboxqa.core.errors import OutputError
from bboxqa.core.interrupts import PLACED, placing

_DIGITS = 16
# Seconds after which no process still fills a folder: it was killed.
_ABANDONED = 24 * 3600.0
# Names of files have at most 255 bytes, on encrypted disks 143.
_LONGEST = 100


def unfinished(name: str) -> str:
    """Return the pattern of the temporary files that a process killed while writing leaves."""
    return f"{glob.escape(_beginning(name))}.{'[0-9a-f]' * _DIGITS}.part"


def _beginning(name: str) -> str:
    """Return the beginning of the names of temporary files."""
    # Cutting may split a character, which some systems refuse in names.
    return "." + os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")


def refuse_replacing(outputs: Iterable[Path], read: Iterable[Path]) -> None:
    """Raise OutputError if an output is one of the files that are read, also by a link."""
    existing = {identity_of(each)[:2]: each for each in outputs if each.is_file()}
    if not existing:
        return
    for path in read:
        with suppress(OSError, ValueError):
            if (output := existing.get(identity_of(path)[:2])) is not None:
                raise OutputError(f"{output} is one of the files to read; name another file")


Identity = tuple[int, ...]
"""Tells a file from one that has replaced it, and from its own earlier content."""


def identity_of(path: Path) -> Identity:
    """Return the identity of a file."""
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def digest_of(path: Path) -> str:
    """Return the BLAKE2b digest of the content of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def write_fixed(
    source: Path,
    text: bytes | mmap.mmap,
    *,
    in_place: bool,
    force: bool = False,
    fixed: Identity | None = None,
) -> Path:
    """Write ``NAME.fixed.json`` next to a source ``NAME.json``; return the file that was written.

    If `in_place`, ``NAME.json``, or what it links to, is replaced, and a copy kept as
    ``NAME.json.bak``. The source has to be the one with the identity `fixed` still.
    """
    target = source.resolve()
    written = target.with_name(target.name + ".bak") if in_place else fixed_path(source)
    if written.exists() and not (force and not in_place):
        todo = "" if in_place else ", or give --force"
        raise OutputError(f"{written}: already exists; move it away{todo}")
    if not in_place:
        write_atomically(written, text)
        return written
    rights = target.stat().st_mode
    write_atomically(written, target.read_bytes(), on_disk=True)
    try:
        write_atomically(target, text, replaces=fixed, on_disk=True)
    except OutputError:
        # The source was not replaced, and a leftover copy would stop the next run.
        written.unlink(missing_ok=True)
        raise
    for path in (written, target):
        path.chmod(rights)
    return source


def fixed_path(source: Path) -> Path:
    """Return the path of the fixed copy of a file."""
    return source.with_name(source.stem + ".fixed" + source.suffix)


def write_atomically(
    path: Path,
    data: bytes | mmap.mmap,
    *,
    replaces: Identity | None = None,
    private: bool = False,
    on_disk: bool = False,
) -> None:
    """Write a file under a temporary name, then rename it, so that no half-written file is left.

    The folder is made; a link is followed; a pipe or a device is written to. `replaces` is the
    identity of the file that may be replaced; `private` lets the owner alone read it; with
    `on_disk`, the content is on disk before the file is renamed.
    """
    if path.is_dir():
        raise OutputError(f"{path}: cannot be written: is a folder; name a file")
    if path.exists() and not path.is_file():
        # A pipe or a device must not be replaced by a file; the links to a pipe lead to no path.
        with writing(path), path.open("wb") as stream:
            PLACED.append(path)
            stream.write(data)
        return
    try:
        path = path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        raise OutputError(f"{path}: cannot be written: is a link that leads to itself") from None
    # A plain open, unlike `tempfile`, gives the file the permissions of the user's umask.
    temporary = path.with_name(f"{_beginning(path.name)}.{secrets.token_hex(_DIGITS // 2)}.part")
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        opener = partial(os.open, mode=0o600) if private else None
        with open(temporary, "xb", opener=opener) as file:
            file.write(data)
            if on_disk:
                file.flush()
                os.fsync(file.fileno())
        if path.exists() and not private:
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        if replaces is not None and identity_of(path) != replaces:
            again = f"{path}: another program changed it; run the command again"
            raise OutputError(again)  # noqa: TRY301 - the temporary file is removed
        with placing(path):
            temporary.replace(path)
    except BaseException as error:
        # Where nothing can be written, nothing can be removed either, and the first error counts.
        with suppress(OSError):
            temporary.unlink()
        if not isinstance(error, OSError):
            raise
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise OutputError, which names a path, where a block cannot write it."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def filled_folder(target: Path, *, last: str | None = None) -> Iterator[Path]:
    """Yield a hidden folder to fill; its content appears in the target once it is complete.

    With `last`, the name of the file that marks a complete folder, an existing target is replaced
    as a whole, and this file is removed first, so that a killed run never leaves a folder that
    looks complete. Without it, only files of the same names are replaced.
    """
    inside = last is None and target.is_dir()
    place = target if inside else target.parent
    place.mkdir(parents=True, exist_ok=True)
    for each in place.glob(".bboxqa-*"):
        with suppress(OSError):
            if time.time() - each.stat().st_mtime > _ABANDONED:
                shutil.rmtree(each, ignore_errors=True)
    scratch = _hidden(place)
    # A plain mkdir, unlike `tempfile`, gives the permissions of the user's umask.
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
    """Return a new path in a folder."""
    return folder / f".bboxqa-{secrets.token_hex(_DIGITS // 2)}"


@contextmanager
def locked(lock: Path, name: Path, busy: str, seconds: float = 0) -> Iterator[None]:
    """Keep other processes out of a block, or say that `name` is `busy` after so many seconds."""
    from filelock import FileLock, Timeout

    held = FileLock(lock, timeout=seconds)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held.acquire()
    except Timeout:
        raise OutputError(f"{name}: {busy}") from None
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        held.release()
