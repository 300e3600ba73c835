"""Signals that end a command, and the files that it had written before."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer, current_thread, main_thread
from types import FrameType

PLACED: list[Path] = []
"""Files and folders that this process has put in place, in order; see `placing`."""

# Seconds after which a signal is sent again.
_SOON = 0.01
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

# The number of `_held_signals` blocks that are running, and the signal that arrived meanwhile.
_n_held = 0
_waiting: int | None = None


class Interrupted(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def signal_of(error: BaseException) -> int | None:
    """Return the number of the signal that interrupted a command; None for another error."""
    # click replaces KeyboardInterrupt with an error of its own, and Python with a RuntimeError
    # while a class is created.
    for each in (error, error.__cause__):
        if isinstance(each, Interrupted):
            return each.number
    return signal.SIGINT if isinstance(error, KeyboardInterrupt) else None


def signal_words(number: int) -> str:
    """Return the effect of a signal in words."""
    return "Interrupted" if number == signal.SIGINT else f"Ended by {signal.Signals(number).name}"


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
    hook = sys.unraisablehook

    def again(ignored: "sys.UnraisableHookArgs") -> None:
        # A signal that arrived where Python ignores exceptions is sent once more.
        if isinstance(ignored.exc_value, Interrupted):
            timer = Timer(_SOON, _send, [ignored.exc_value.number])
            timer.daemon = True
            timer.start()
        else:
            hook(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        # Python would print a traceback for a signal that arrives while its handler changes.
        with blocked_signals(*before):
            for number, handler in before.items():
                signal.signal(number, handler)


def ignore_signals() -> None:
    """Ignore SIGINT, SIGTERM and SIGHUP from now on."""
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    with suppress(ValueError, KeyboardInterrupt), blocked_signals(*numbers):
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)


def _send(number: int) -> None:
    """Send a signal to the main thread, which may be waiting."""
    main = main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


@contextmanager
def placing(path: Path) -> Iterator[None]:
    """Put a file or folder in place and note it in `PLACED`; signals wait until both are done."""
    with _held_signals():
        yield
        PLACED.append(path)


@contextmanager
def _held_signals() -> Iterator[None]:
    """Let signals wait until the end, and then raise `Interrupted`."""
    global _n_held, _waiting  # noqa: PLW0603 - signals are facts about the process
    is_main = current_thread() is main_thread()
    _n_held += is_main
    try:
        yield
    finally:
        _n_held -= is_main
        if is_main and not _n_held and _waiting is not None:
            number, _waiting = _waiting, None
            raise Interrupted(number)


@contextmanager
def blocked_signals(*numbers: int) -> Iterator[None]:
    """Block signals, which wait meanwhile; SIGINT by default.

    Processes started meanwhile do not receive them: their parent is the one that ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Another thread, such as one of a library, may receive a signal that the main one blocks; its
    # handler runs in the main thread all the same.
    with _held_signals():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers or {signal.SIGINT})
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
