"""Work in threads, and in a second process, which ends with the first; and free memory."""

import gc
import os
import subprocess
import sys

import pytest

from bboxqa.core import machine
from bboxqa.core.errors import OutputError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is none elsewhere")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_results_in_order_and_take_few_items_ahead(monkeypatch, n_threads):
    monkeypatch.setattr(machine, "cores", lambda: n_threads)
    taken = []

    def items():
        for number in range(20):
            taken.append(number)
            yield number

    ahead = []
    for done, found in enumerate(machine.in_threads(lambda number: number**2, items())):
        assert found == done**2
        ahead.append(len(taken) - done)
    assert len(ahead) == 20
    assert max(ahead) <= n_threads + 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_thread_is_raised(monkeypatch, n_threads):
    monkeypatch.setattr(machine, "cores", lambda: n_threads)
    found = machine.in_threads(lambda number: 1 // number, [1, 0, 1])
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_a_command_starts_no_threads_of_linear_algebra(tmp_path):
    (tmp_path / "empty.json").write_text('{"images": [], "categories": [], "annotations": []}')
    script = f"""
import os, runpy, sys
sys.argv = ["bboxqa", "validate", {str(tmp_path / "empty.json")!r}]
try:
    runpy.run_module("bboxqa", run_name="__main__")
except SystemExit:
    pass
from bboxqa.core.machine import one_blas_thread
with one_blas_thread():
    print(len(os.listdir("/proc/self/task")), "numpy" in sys.modules)
"""
    given = {key: value for key, value in os.environ.items() if "NUM_THREADS" not in key}
    found = subprocess.run(
        [sys.executable, "-c", script], env=given, check=True, capture_output=True, text=True
    )
    assert found.stdout.splitlines()[-1] == "1 True"


def test_files_that_need_more_than_the_free_memory_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    file.write_bytes(b" " * 4096)
    free = tmp_path / "meminfo"
    monkeypatch.setattr(machine, "_MEMORY", free)
    free.write_text("MemTotal: 99 kB\nMemAvailable: 10 kB\n")
    machine.check_free_memory([file])
    free.write_text("MemTotal: 99 kB\nMemAvailable: 9 kB\n")
    with pytest.raises(OutputError, match=r"a\.json: reading needs about 0\.0 GB of memory, and "):
        machine.check_free_memory([file])


def test_what_a_program_has_frozen_stays_so(request):
    request.addfinalizer(gc.unfreeze)
    gc.freeze()
    with machine.gc_paused():
        pass
    assert gc.get_freeze_count() > 0
