"""Signals wait until what was begun is in place and noted."""

import os
import signal
import time
from threading import Event, Thread

import pytest

from bboxqa.core.interrupts import PLACED, Interrupted, blocked_signals, placing, raising_signals


@pytest.fixture(autouse=True)
def _nothing_placed():
    PLACED.clear()


def test_a_signal_waits_for_the_note(tmp_path):
    steps = []

    def place():
        with raising_signals():
            with placing(tmp_path):
                os.kill(os.getpid(), signal.SIGTERM)
                steps.append("placed")
            steps.append("not reached")

    with pytest.raises(Interrupted) as caught:
        place()
    assert caught.value.number == signal.SIGTERM
    assert (steps, PLACED) == (["placed"], [tmp_path])


def test_what_fails_is_not_noted(tmp_path):
    with pytest.raises(OSError, match="full"), placing(tmp_path):
        raise OSError("full")
    assert PLACED == []


@pytest.mark.parametrize("n_threads", [0, 3])
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="the system has no masks")
def test_blocked_signals_wait(n_threads):
    """Also those that another thread receives."""
    done = Event()
    threads = [Thread(target=done.wait) for _ in range(n_threads)]
    for each in threads:
        each.start()

    def work():
        with raising_signals():
            with blocked_signals(signal.SIGTERM):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.05)
                steps.append("held")
            steps.append("not reached")

    steps = []
    with pytest.raises(Interrupted):
        work()
    done.set()
    assert steps == ["held"]
