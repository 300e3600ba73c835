"""Work in a second process: it ends with the first, and has its share of the cores."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import python

from bboxqa import forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is none elsewhere")


def test_the_second_process_has_half_of_the_cores(monkeypatch):
    monkeypatch.setattr(forked, "cores", lambda: 8)
    with forked.beside(lambda: (forked.threads(), forked.can_fork())) as outcome:
        assert outcome() == (4, False)
        assert (forked.threads(), forked.can_fork()) == (4, True)
    assert forked.threads() == 8
    monkeypatch.setattr(forked, "cores", lambda: 2)
    with forked.beside(forked.threads) as outcome:
        assert (outcome(), forked.threads(), forked.can_fork()) == (1, 1, False)
    monkeypatch.setattr(forked, "cores", lambda: 1)
    with forked.beside(forked.threads) as outcome:
        assert outcome() == 1


def test_where_there_is_no_poll_it_is_not_missed():
    """As on Windows, where there are no such processes either."""
    program = (
        "import select; del select.poll; import bboxqa.forked, bboxqa.batch.run, bboxqa.pipeline"
    )
    done = python(program)
    assert done.returncode == 0, done.stderr


def test_it_ends_when_the_first_is_killed():
    """However long its work takes."""
    program = (
        "import os, time\n"
        "from bboxqa.forked import beside\n"
        "def work():\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "with beside(work) as outcome:\n"
        "    outcome()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    second = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(200):
        state = Path(f"/proc/{second}/stat")
        # A process that nobody has fetched yet is gone all the same.
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    os.kill(second, 9)
    pytest.fail("the second process goes on")
