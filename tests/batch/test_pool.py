"""Processes that die take one task with them."""

import os
import sys
from functools import partial

import pytest
from support.pool_work import dawdle, fatal, wait_for_the_other

from bboxqa.batch.workers import TimedOut, WorkerDied, exit_reason, run_all
from bboxqa.core.errors import OutputError

pytestmark = pytest.mark.usefixtures("light_workers")


def do(tasks, work, jobs=2):
    return list(run_all(tasks, work, "bboxqa.batch.project", jobs))


def test_the_environment_of_the_caller_stays(monkeypatch):
    for before in (None, ""):
        monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        if before is not None:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        assert do([7], hex, 1) == [(7, "0x7")]
        assert os.environ.get("PYTHONSAFEPATH") == before


def test_two_tasks_run_beside_each_other(tmp_path):
    done = do([1, 2], partial(wait_for_the_other, folder=tmp_path))
    assert [together for _, together in done] == [True, True]


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 40])
def test_every_task_is_done_once(jobs, n_tasks):
    done = do(range(n_tasks), hex, jobs)
    assert sorted(done) == [(task, hex(task)) for task in range(n_tasks)]


def test_large_tasks_and_results_do_not_block():
    tasks = [bytes([number]) * 3_000_000 for number in range(4)]
    assert sorted(do(tasks, bytes)) == [(task, task) for task in tasks]


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_that_kills_itself(tmp_path, jobs):
    work = partial(fatal, folder=tmp_path, bad={2})
    done = do(range(8), work, jobs)
    assert sorted(task for task, _ in done) == [*range(8)]
    assert done[-1] == (2, WorkerDied(exit_reason(-9)))
    assert all(result == task for task, result in done[:-1])
    lines = {path.name: path.read_text().splitlines() for path in tmp_path.iterdir()}
    # Once more, and no more; those behind it are done once.
    assert {name: len(own) for name, own in lines.items()} == {
        str(task): 2 if task == 2 else 1 for task in range(8)
    }
    # In a process of its own, when the others are done.
    first, second = (line.split() for line in lines.pop("2"))
    others = [own[0].split() for own in lines.values()]
    assert second[0] not in {first[0], *(pid for pid, _ in others)}
    assert float(second[1]) > max(float(when) for _, when in others)


def test_all_of_them_die(tmp_path):
    work = partial(fatal, folder=tmp_path, bad={0, 1, 2})
    assert sorted(do(range(3), work), key=str) == [
        (task, WorkerDied(exit_reason(-9))) for task in range(3)
    ]


def test_a_worker_has_the_environment_of_its_own_run(monkeypatch):
    monkeypatch.setenv("BBOXQA_TEST", "first")
    monkeypatch.setenv("BBOXQA_GONE", "first")
    assert do(["BBOXQA_TEST"], os.getenv) == [("BBOXQA_TEST", "first")]
    # As in a notebook: keys of a store are set after a run without them.
    monkeypatch.setenv("BBOXQA_TEST", "second")
    monkeypatch.delenv("BBOXQA_GONE")
    found = do(["BBOXQA_TEST", "BBOXQA_GONE"], os.getenv)
    assert sorted(found) == [("BBOXQA_GONE", None), ("BBOXQA_TEST", "second")]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_where_no_process_can_be_started_it_is_said(monkeypatch):
    def gone(_):
        raise EOFError

    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", gone)
    with pytest.raises(OutputError, match="the server that forks them has ended"):
        do([1, 2], abs)


def test_a_task_that_takes_too_long_is_ended_and_the_others_are_done():
    done = dict(run_all([60, 0, 0.1], dawdle, "bboxqa.batch.project", 1, seconds=3))
    assert done.pop(60) == TimedOut("took more than 3 s, see --project-timeout")
    assert [*done] == [0, 0.1]
