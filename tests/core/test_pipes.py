"""Pipes that are read, with and without a process that writes to them."""

import os
import threading

import pytest

from bboxqa.core import files as pipes
from bboxqa.core.files import open_input

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")


def test_a_pipe_is_read_once_somebody_writes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Timer(0.2, pipe.write_bytes, [b"content"])
    writer.start()
    with open_input(pipe) as file:
        assert file.read() == b"content"
    writer.join()


def test_a_pipe_to_which_nobody_writes_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pipes, "_PATIENCE", 0.05)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    before = threading.active_count()
    with pytest.raises(TimeoutError, match="nobody writes"):
        open_input(pipe)
    assert threading.active_count() == before
