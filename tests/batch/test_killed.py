"""A run that is killed at any moment goes on to the result of one that was not."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from support.batch import left_by
from support.cli import process
from support.datasets import annotation, document, noisy, write

from bboxqa.batch.run import Run, run_batch
from bboxqa.batch.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MARK = "BBOXQA_TEST_RUN"
ROOT = Path("root")
N_PROJECTS = 8


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    """Return a folder with small projects, two of which cannot be measured, and their results."""
    folder = tmp_path_factory.mktemp("killed")
    for number in range(N_PROJECTS - 2):
        write(folder / ROOT / f"p{number}/x.json", noisy(number, 4 + 5 * number))
    write(folder / ROOT / "alone/x.json", document([annotation(1)]))
    write(folder / ROOT / "cut/x.json", '{"images": [')
    with pytest.MonkeyPatch.context() as patched:
        patched.delattr(sys.modules["__main__"], "__file__", raising=False)
        with contextlib.chdir(folder):
            run_batch(ROOT, Path("undisturbed"), Settings({}, {}), Run(jobs=2))
    return folder


def alive(mark):
    """Return the numbers of the processes that were started with a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def gone(mark):
    """Return whether no process of a run is left, when they had time to notice."""
    end = time.monotonic() + 30
    while left := alive(mark):
        if time.monotonic() > end:
            for number in left:
                os.kill(number, signal.SIGKILL)
            return False
        time.sleep(0.02)
    return True


def killed(top, out, n_lines, pause, *options):
    """Start a run, kill it some time after it has told of some projects; return how it ended."""
    mark = uuid4().hex
    command = [sys.executable, "-m", "bboxqa", "batch", ROOT, "--out", out, "--jobs", "2", *options]
    with subprocess.Popen(
        command,
        cwd=top,
        env=os.environ | {MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        for _ in range(n_lines):
            process.stderr.readline()
        time.sleep(pause)
        process.kill()
        process.wait()
        assert gone(mark)
    return process.returncode


def chain(top, seed, again):
    """Kill a run again and again, or one that does all again; return how each ended."""
    rng = random.Random(seed)
    out = top / f"out {seed}"
    expected = left_by(top / "undisturbed")
    if again:
        shutil.copytree(top / "undisturbed", out)
    options = ["--fresh"] if again else []
    codes = []
    for number in range(4):
        # The first is killed at any time, while it starts as well.
        moment = (0, rng.random() * 2.5) if number == 0 else (rng.randint(1, N_PROJECTS), 0.05)
        codes.append(killed(top, out.name, moment[0], rng.random() * moment[1], *options))
        # What has a record is complete; what is there under its name is never half.
        # A folder that is being filled has a name of its own, and may be as good as done.
        for record in out.glob("projects/[!.]*/record.json"):
            name = record.parent.relative_to(out).as_posix() + "/"
            left = {file: text for file, text in left_by(out).items() if file.startswith(name)}
            assert left == {file: text for file, text in expected.items() if file.startswith(name)}
        for name in ("projects.csv", "summary.json", "index.html"):
            assert left_by(out).get(name) in (None, expected[name])
    return codes


def test_killed_at_eight_moments(top, monkeypatch):
    with ThreadPoolExecutor(2) as pool:
        chains = pool.map(chain, (top, top), (1, 2), (False, True))
        codes = [code for part in chains for code in part]
    assert len(codes) == 8
    # A run that was done by then came to its end: 1, since a project is cut off.
    assert set(codes) <= {-signal.SIGKILL, 1}
    assert codes.count(-signal.SIGKILL) >= 2
    monkeypatch.chdir(top)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    expected = left_by(Path("undisturbed"))
    for seed in (1, 2):
        out = Path(f"out {seed}")
        run_batch(ROOT, out, Settings({}, {}), Run(jobs=2))
        found = left_by(out)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []


def test_two_runs_at_once(top, tmp_path):
    mark = uuid4().hex
    command = [sys.executable, "-m", "bboxqa", "batch", ROOT, "--out", tmp_path, "--jobs", "1"]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": top, "text": True}
    with subprocess.Popen(command, env=os.environ | {MARK: mark}, **streams) as first:
        assert first.stderr.readline().startswith(f"1/{N_PROJECTS} ")
        # It does not come to its end while the other one looks.
        first.send_signal(signal.SIGSTOP)
        second = process(*command[3:], cwd=top)
        first.send_signal(signal.SIGCONT)
        assert second.returncode == 2
        told = "another run is at work here; wait for it, or choose another --out"
        assert second.stderr == f"Error: {tmp_path}: {told}\n"
        first.stderr.read()
        assert first.wait() == 1
        assert gone(mark)
    expected = left_by(top / "undisturbed")
    assert left_by(tmp_path) == expected


def signalled(top, out, number, pause):
    """Send a signal to all processes of a run after a while; return its exit code and its words."""
    mark = uuid4().hex
    command = [sys.executable, "-m", "bboxqa", "batch", ROOT, "--out", out, "--jobs", "2"]
    with subprocess.Popen(
        command,
        cwd=top,
        env=os.environ | {MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        if pause is None:
            process.stderr.readline()
        else:
            time.sleep(pause)
        os.killpg(process.pid, number)
        words = process.stderr.read()
        process.wait()
    assert gone(mark)
    return process.returncode, words


@pytest.mark.parametrize("pause", [1.0, 1.3, 1.6, 2.0])
def test_an_early_interrupt_shows_no_traceback(top, tmp_path, pause):
    code, words = signalled(top, tmp_path / "out", signal.SIGINT, pause)
    assert code in {130, 1}
    assert "Traceback" not in words
