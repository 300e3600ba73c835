"""Messages of libtiff, which Pillow decodes TIFF with and which writes to stderr on its own."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
_LENGTH = 1000
_here = threading.local()


@contextmanager
def caught_errors() -> Iterator[list[str]]:
    """Yield a list that gets the first error of libtiff in this thread, in place of stderr.

    Warnings are dropped. Where Pillow does not bring a libtiff of its own, nothing is caught.
    """
    _install()
    errors: list[str] = []
    _here.errors = errors
    try:
        yield errors
    finally:
        del _here.errors


@cache
def _install() -> tuple[Any, ...]:
    """Replace the handlers of libtiff, and return all that has to stay in memory for them."""
    import PIL

    package = Path(PIL.__file__).parent
    found = [*package.parent.glob("pillow.libs/libtiff-*"), *package.glob(".dylibs/libtiff*")]
    kept = []
    with suppress(OSError, AttributeError):
        for path in found:
            library = ctypes.CDLL(str(path))
            for kind in ("Error", "Warning"):
                replace = getattr(library, f"TIFFSet{kind}Handler")
                replace.argtypes, replace.restype = [ctypes.c_void_p], ctypes.c_void_p
                kept.append(_new_handler(replace, is_error=kind == "Error"))
    return tuple(kept)


def _new_handler(replace: Any, *, is_error: bool) -> Any:
    """Install a handler that forwards messages of other threads to the one before."""
    before: list[Any] = []

    def handle(module: bytes | None, template: bytes, arguments: int) -> None:
        errors = getattr(_here, "errors", None)
        if errors is None:
            if before:
                before[0](module, template, arguments)
        elif is_error and not errors:
            text = ctypes.create_string_buffer(_LENGTH)
            ctypes.CDLL(None).vsnprintf(
                text, ctypes.c_size_t(_LENGTH), template, ctypes.c_void_p(arguments)
            )
            errors.append(text.value.decode("utf-8", "replace"))

    handler = _Handler(handle)
    if address := replace(ctypes.cast(handler, ctypes.c_void_p)):
        before.append(_Handler(address))
    return handler
