"""Silencing libtiff, with which Pillow decodes TIFF and which writes to stderr by itself."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_lock = Lock()
_before: list[tuple[Callable[[Any], Any], Any]] = []
_n_inside = 0


@contextmanager
def silent_libtiff() -> Iterator[None]:
    """Make libtiff drop its messages in all threads; Pillow still raises its own errors.

    Nothing changes where Pillow does not bundle libtiff. No Python handler is installed, since
    libtiff might call it after it was freed.
    """
    global _n_inside  # noqa: PLW0603 - the handlers belong to the process
    with _lock:
        if not _n_inside:
            _before[:] = [(replace, replace(None)) for replace in _setters()]
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                for replace, handler in _before:
                    replace(handler)


@cache
def _setters() -> list[Callable[[Any], Any]]:
    """Return the libtiff functions that set its handlers and return the previous ones."""
    import PIL

    package = Path(PIL.__file__).parent
    found = [*package.parent.glob("pillow.libs/libtiff-*"), *package.glob(".dylibs/libtiff*")]
    setters: list[Callable[[Any], Any]] = []
    with suppress(OSError, AttributeError):
        for path in found:
            library = ctypes.CDLL(str(path))
            for name in ("TIFFSetErrorHandler", "TIFFSetWarningHandler"):
                setter = getattr(library, name)
                setter.argtypes, setter.restype = [ctypes.c_void_p], ctypes.c_void_p
                setters.append(setter)
    return setters
