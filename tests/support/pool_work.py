"""What processes of a pool do in tests: a module that is imported fast, as each of them does."""

import os
import time
from multiprocessing import current_process

from threadpoolctl import threadpool_info

from bboxqa.core import parallel


def double(task):
    return 2 * task


def note(task, folder):
    with (folder / str(task)).open("a") as file:
        file.write(f"{os.getpid()} {time.monotonic()}\n")


def fatal(task, folder, bad, times=9):
    note(task, folder)
    if task in bad and len((folder / str(task)).read_text().splitlines()) <= times:
        os.kill(os.getpid(), 9)
    return task


def wait_for_the_other(task, folder):
    """Return once two tasks are at work at a time, or after a while."""
    note(task, folder)
    for _ in range(200):
        if len(list(folder.iterdir())) >= 2:
            return True
        time.sleep(0.05)
    return False


def count_others(task, folder):
    """Return how many are at work at some time while this one is."""
    note(task, folder)
    time.sleep(0.6)
    n = len(list(folder.iterdir()))
    (folder / str(task)).unlink()
    return n, parallel.threads(), current_process().daemon


def leave(task):
    os._exit(3)


def surroundings(task):
    import scipy.linalg  # noqa: F401 - a library with threads that is loaded late

    return max(pool["num_threads"] for pool in threadpool_info()), current_process().daemon


def dawdle(task):
    time.sleep(task)
    return os.getpid()


def echo(task):
    return task
