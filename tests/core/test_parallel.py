"""Work in threads, and in a second process, which ends with the first."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import python

from bboxqa.core import parallel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is none elsewhere")




@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_results_in_order_and_take_few_items_ahead(monkeypatch, n_threads):
    monkeypatch.setattr(parallel, "cores", lambda: n_threads)
    taken = []

    def items():
        for number in range(20):
            taken.append(number)
            yield number

    ahead = []
    for done, found in enumerate(parallel.in_threads(lambda number: number**2, items())):
        assert found == done**2
        ahead.append(len(taken) - done)
    assert len(ahead) == 20
    assert max(ahead) <= n_threads + 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_thread_is_raised(monkeypatch, n_threads):
    monkeypatch.setattr(parallel, "cores", lambda: n_threads)
    found = parallel.in_threads(lambda number: 1 // number, [1, 0, 1])
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_where_there_is_no_poll_it_is_not_missed():
    """As on Windows, where there are no such processes either."""
    modules = "bboxqa.core.parallel, bboxqa.batch.run, bboxqa.pipelines.agree"
    done = python(f"import select; del select.poll; import {modules}")
    assert done.returncode == 0, done.stderr


def test_it_ends_when_the_first_is_killed():
    """However long its work takes."""
    program = (
        "import os, time\n"
        "from bboxqa.core.parallel import second_process\n"
        "def work():\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "with second_process(work) as outcome:\n"
        "    outcome()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    second = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 10
    while not (ended := has_ended(second)) and time.monotonic() < end:
        time.sleep(0.05)
    if not ended:
        os.kill(second, 9)
    assert ended


def has_ended(number):
    """Return whether a process has ended; one that nobody has fetched yet is gone all the same."""
    try:
        state = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return True
    return state.rpartition(")")[2].split()[0] == "Z"
