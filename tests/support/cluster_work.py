"""What workers of a cluster do in tests; `--preload` makes one project deadly to them."""

import os
from pathlib import Path
from signal import SIGKILL

from bboxqa.batch import cluster
from bboxqa.batch import tasks as transport
from bboxqa.core.version import __version__

DEADLY = "deadly"


def square_or_die(task):
    """Square a number; die of the first task that names a file, until that file is there."""
    number, file = task
    if file == DEADLY:
        os.kill(os.getpid(), SIGKILL)
    if file and not Path(file).exists():
        Path(file).touch()
        os.kill(os.getpid(), SIGKILL)
    if number < 0:
        raise ValueError("below zero")
    return number**2


def validated_elsewhere(project, settings):
    """Return what another worker finds; this one must not look."""

    def here():
        raise AssertionError

    with cluster._validate_on_worker(project, settings, __version__, here) as wait:
        return wait()


def dask_setup(worker):
    run_project = transport.run_project

    def deadly(project, *args, **settings):
        if project.name == DEADLY:
            os.kill(os.getpid(), SIGKILL)
        return run_project(project, *args, **settings)

    transport.run_project = deadly
