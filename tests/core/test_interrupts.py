"""Signals wait until what was begun is in place and noted."""

import os
import signal
import time
from enum import EnumType
from threading import Event, Thread

import numpy as np
import pytest
from support.datasets import annotation, document, write

import bboxqa
from bboxqa.core.interrupts import PLACED, Interrupted, blocked_signals, placing, raising_signals
from bboxqa.geometry.rasters import masks, outline_rings


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


def test_no_annotation_asks_its_enum_what_it_is(tmp_path, monkeypatch):
    """numpy asks so for a number that it compares with one, and drops a signal meanwhile."""
    asked = []

    def missing(_enum, name):
        asked.append(name)
        raise AttributeError(name)

    def n_asked(n_boxes):
        boxes = [annotation(n) for n in range(1, n_boxes + 1)]
        outlined = [each | {"segmentation": [[10, 10, 30, 10, 20, 30]]} for each in boxes]
        paths = [
            write(tmp_path / f"{name}{n_boxes}.json", document(each))
            for name, each in (("boxes", boxes), ("outlined", outlined))
        ]
        monkeypatch.setattr(EnumType, "__getattr__", missing, raising=False)
        asked.clear()
        bboxqa.convert(paths[0], tmp_path / f"{n_boxes}.csv", to="csv")
        found = bboxqa.read(paths[1], min_annotators=1).annotations
        masks(found.segmentation, np.full((n_boxes, 2), 100))
        for row in range(n_boxes):
            outline_rings(found, row)
        bboxqa.simulate(paths[1]).document()
        monkeypatch.undo()
        return len(asked)

    # Whole columns are compared once each.
    assert abs(n_asked(50) - n_asked(10)) < 40
