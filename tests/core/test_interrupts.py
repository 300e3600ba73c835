"""Signals wait until what was begun is in place and noted."""

import os
import signal

import pytest

from bboxqa.core.interrupts import PLACED, Interrupted, placing, raising_signals


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


def test_handlers_are_as_before_afterwards():
    before = signal.getsignal(signal.SIGTERM)
    with raising_signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
