"""The command line in this process, or in one of its own where a test is about the process."""

import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from types import ModuleType

import pytest
from click.testing import CliRunner

from bboxqa.cli import main

__all__ = ["Outcome", "process", "python", "run", "shell"]


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `output` is both streams in the order of their lines."""

    returncode: int
    stdout: str
    stderr: str
    output: str


def run(*arguments, cwd=None, stdin=None):
    """Return the outcome of `bboxqa` with these arguments, run in this process."""
    runner = CliRunner()
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(cwd or "."),
        runner.isolation(input=stdin) as (stdout, stderr, output),
    ):
        patch.setattr(sys, "argv", ["bboxqa", *map(str, arguments)])
        # Neither click nor the workers of a batch should see that pytest is the program.
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with pytest.raises(SystemExit) as stop:
            main()
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [stream.getvalue().decode() for stream in (stdout, stderr, output)]
    return Outcome(stop.value.code, *texts)


def process(*arguments, **more):
    """Return the outcome of `python -m bboxqa` with these arguments, in a process of its own."""
    return _finished([sys.executable, "-m", "bboxqa", *map(str, arguments)], **more)


def python(program, **more):
    """Return the outcome of a Python program, given as text, in a process of its own."""
    return _finished([sys.executable, "-c", program], **more)


def shell(line):
    """Return the outcome of a line of a shell in which $BBOXQA is the program."""
    return _finished(line, shell=True)  # noqa: S604


def _finished(command, *, check=False, env=None, **more):
    own = {"PYTHONUTF8": "1", "BBOXQA": f"{sys.executable} -m bboxqa"}
    env = {**(os.environ if env is None else env), **own}
    return subprocess.run(command, capture_output=True, text=True, check=check, env=env, **more)
