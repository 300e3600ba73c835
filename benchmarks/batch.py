"""Measure `bboxqa batch` on many small projects: cold, warm, with two jobs, and its overhead.

    python benchmarks/batch.py --data DIR

Projects are made from a seed. A cold run begins with an empty result folder; a warm one finds
nothing changed. The overhead compares a cold run of one job with the same projects run one after
the other in one process.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from projects import write_project
from results import machine_facts, write_text

HERE = Path(__file__).resolve().parent
ALONE = """
import sys, time
from pathlib import Path
from bboxqa.batch.discovery import discover
from bboxqa.batch.settings import Settings, result_key
from bboxqa.batch.project import run_project
root, out = map(Path, sys.argv[1:])
settings = Settings({}, {})
projects = discover(root).projects
run_project((projects[0], result_key(projects[0], settings)), settings, out / "warm")
begin = time.perf_counter()
for project in projects:
    run_project((project, result_key(project, settings)), settings, out)
print(time.perf_counter() - begin)
"""


def make(root: Path, n_projects: int, n_images: int) -> None:
    """Write the projects, if they are not there."""
    if (root / "complete").exists():
        return
    for number in range(n_projects):
        write_project(root / f"project {number:04}", number, n_images)
    (root / "complete").touch()


def seconds_of(command: list[str]) -> float:
    """Give the wall time of a command that has to succeed, or to find something."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(done.stderr[-500:])
    return time.perf_counter() - begin


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="where projects and results go")
    add("--projects", type=int, default=500)
    add("--images", type=int, default=200, help="in a project")
    add("--runs", type=int, default=3)
    add("--bboxqa", type=Path, default=Path(sys.executable).with_name("bboxqa"))
    add("--out", type=Path, default=HERE / "results" / "batch.md", metavar="FILE")
    arguments = parser.parse_args()
    root, out = arguments.data / "projects", arguments.data / "results"
    make(root, arguments.projects, arguments.images)
    base = [str(arguments.bboxqa), "batch", str(root), "--out", str(out)]
    found: dict[str, list[float]] = {}
    for _ in range(arguments.runs):
        shutil.rmtree(out, ignore_errors=True)
        alone = [sys.executable, "-c", ALONE, str(root), str(arguments.data / "alone")]
        done = subprocess.run(alone, capture_output=True, text=True, check=True)
        found.setdefault("one process, without batch", []).append(float(done.stdout))
        found.setdefault("cold, --jobs 1", []).append(seconds_of([*base, "--jobs", "1"]))
        shutil.rmtree(out, ignore_errors=True)
        found.setdefault("cold, --jobs 2", []).append(seconds_of([*base, "--jobs", "2"]))
        found.setdefault("warm", []).append(seconds_of([*base, "--jobs", "2"]))
    medians = {name: statistics.median(times) for name, times in found.items()}
    one, two = medians["cold, --jobs 1"], medians["cold, --jobs 2"]
    lines = [
        *machine_facts(),
        "",
        f"{arguments.projects} projects of {arguments.images} images.",
        "",
    ]
    lines += ["| run | median s | min-max s |", "| --- | ---: | ---: |"]
    lines += [
        f"| {name} | {medians[name]:.2f} | {min(times):.2f}-{max(times):.2f} |"
        for name, times in found.items()
    ]
    alone_seconds = medians["one process, without batch"]
    lines += [
        "",
        (
            f"Two jobs are {one / two:.2f} times as fast as one; a warm run takes "
            f"{medians['warm'] / two:.1%} of a cold one; one job takes "
            f"{one / alone_seconds - 1:+.1%} beside the projects alone."
        ),
    ]
    write_text(arguments.out, "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
