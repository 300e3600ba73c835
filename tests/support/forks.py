"""The command line in processes that are forked from one that has the libraries loaded.

Streams, signals, exit code and use of memory are those of a new process; only its start is saved.
"""

import atexit
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["CLOSED", "LIMITS", "Ended", "alone", "forked"]

LIMITS = {"RLIMIT_CPU": (200, 201), "RLIMIT_DATA": (3 << 30, 3 << 30)}
"""End a process that hangs or fills the machine."""

CLOSED = "a pipe without a reader"
"""Stands for the file of a stream that nobody reads."""

# Each line of its input is a task; the answer is a line of its output.
_SERVER = f"""
import gc, json, os, resource, sys

import bboxqa.batch.run, bboxqa.geometry.polygons, bboxqa.report.result_files
import bboxqa.pipelines.agree, bboxqa.pipelines.compare, bboxqa.pipelines.diagnosis.story
import bboxqa.pipelines.plan, bboxqa.pipelines.validate, scipy.optimize, scipy.sparse.csgraph
from bboxqa.cli import main

# The collector would touch, and so copy, what all processes share.
gc.freeze()
answers = os.dup(1)
for line in sys.stdin:
    task = json.loads(line)
    child = os.fork()
    if not child:
        break
    _, status, used = os.wait4(child, 0)
    answer = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024
    os.write(answers, (json.dumps(answer) + "\\n").encode())
else:
    sys.exit()

def to(path):
    if path == {CLOSED!r}:
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open(path, os.O_WRONLY | os.O_CREAT)

os.close(answers)
os.chdir(task["cwd"])
os.environ.clear()
os.environ.update(task["environment"])
for name, limits in task["limits"].items():
    resource.setrlimit(getattr(resource, name), limits)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(to(task["stderr"]), 2)
os.dup2(2 if task["stdout"] == task["stderr"] else to(task["stdout"]), 1)
# Python looks when it starts whether a stream can be sought in.
sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)
sys.stderr = sys.__stderr__ = open(2, "w", closefd=False)
sys.argv = ["bboxqa", *task["arguments"]]
main()
"""

# A process inherits the most memory of the one that starts it, and a test has long used much of it.
_LAUNCHER = """
import json, os, sys

answer, *command = sys.argv[1:]
child = os.spawnv(os.P_NOWAIT, command[0], command)
_, status, used = os.wait4(child, 0)
figures = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024
with open(answer, "w") as file:
    json.dump(figures, file)
"""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, output, and the most bytes it held at once."""

    returncode: int
    stdout: str
    stderr: str
    memory: float


def forked(*arguments, cwd=".", stdout=None, stderr=None, limits=None):
    """Return how a process of the command line ended; streams go to the files that are given."""
    with TemporaryDirectory() as folder:
        out, err = stdout or f"{folder}/out", stderr or f"{folder}/err"
        task = {
            "arguments": [*map(str, arguments)], "cwd": str(Path(cwd).resolve()),
            "stdout": out, "stderr": err, "environment": dict(os.environ), "limits": limits or {},
        }  # fmt: skip
        server = _server(os.environ.get("PYTHONPATH"))
        print(json.dumps(task), file=server.stdin, flush=True)
        answer = json.loads(server.stdout.readline())
        texts = [
            "" if given else Path(path).read_text("utf-8")
            for given, path in ((stdout, out), (stderr, err))
        ]
    return Ended(answer[0], *texts, answer[1])


def alone(*arguments):
    """Return how a process of the command line ended that has only the libraries that it loads."""
    command = [sys.executable, "-m", "bboxqa", *map(str, arguments)]
    with TemporaryDirectory() as folder:
        out, err, answer = (Path(folder, name) for name in ("out", "err", "answer"))
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(answer)]
        with out.open("w") as stdout, err.open("w") as stderr:
            subprocess.run([*launcher, *command], stdout=stdout, stderr=stderr, check=True)
        texts = out.read_text("utf-8"), err.read_text("utf-8")
        code, memory = json.loads(answer.read_text("utf-8"))
    return Ended(code, *texts, memory)


@cache
def _server(_path):
    """Return the server of a place where Python looks for modules."""
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVER], env={**os.environ, "PYTHONUTF8": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(server.communicate)
    return server
