"""Signals that end a command, and the files that it had written before."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

PLACED: list[Path] = []
"""Files and folders that this process has put in place, in order; see `placing`."""

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

# The number of `placing` blocks that are running, and the signal that arrived meanwhile.
_n_held = 0
_waiting: int | None = None


class Interrupted(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextmanager
def raising_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise `Interrupted`, so that temporary files are removed."""
    before = {}
    for name in _NAMES:
        number = getattr(signal, name, None)
        # `nohup` and `&` make a process ignore signals. Threads other than the main one may not set
        # handlers.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            with suppress(ValueError):
                before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def placing(path: Path) -> Iterator[None]:
    """Put a file or folder in place and note it in `PLACED`; signals wait until both are done."""
    global _n_held, _waiting  # noqa: PLW0603 - signals are facts about the process
    is_main = current_thread() is main_thread()
    _n_held += is_main
    try:
        yield
        PLACED.append(path)
    finally:
        _n_held -= is_main
        if is_main and not _n_held and _waiting is not None:
            number, _waiting = _waiting, None
            raise Interrupted(number)


@contextmanager
def blocked_signals() -> Iterator[None]:
    """Block SIGINT in processes started meanwhile: their parent is the one that ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    global _waiting  # noqa: PLW0603 - see above
    if _n_held:
        _waiting = number
        return
    raise Interrupted(number)
