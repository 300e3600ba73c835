"""Measure how `bboxqa batch` grows: annotations per second against their number and the jobs.

    python benchmarks/growth.py --data DIR

The same number of boxes is one project, or projects of 1,000 images. Every run is cold: it begins
with an empty result folder, and is a whole process from start to end. What has been measured is
kept beside the report, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

from measure import measure
from projects import write_project
from results import machine_facts, write_text

HERE = Path(__file__).resolve().parent
# Images of a project that is one of many: about 10,800 annotations.
SMALL = 1000
CASES = ("one project", "projects of 1,000 images")


def make(data: Path, case: str, n_images: int) -> tuple[Path, int]:
    """Write the projects, if they are not there; give their folder and their annotations."""
    root = data / f"growth {n_images} {'one' if case == CASES[0] else 'many'}"
    known = root / "complete"
    if not known.exists():
        sizes = [n_images] if case == CASES[0] else [SMALL] * (n_images // SMALL)
        total = sum(
            write_project(root / f"project {seed:05}", seed, size)
            for seed, size in enumerate(sizes)
        )
        known.write_text(str(total), encoding="utf-8")
    return root, int(known.read_text(encoding="utf-8"))


def measured(data: Path, case: str, n_images: int, jobs: int, program: Path) -> float:
    """Run one cold batch; return its seconds."""
    root, _ = make(data, case, n_images)
    results = data / "growth results"
    shutil.rmtree(results, ignore_errors=True)
    command = [str(program), "batch", str(root), "--out", str(results), "--jobs", str(jobs)]
    done = measure(command, 7200)
    if done.exit_status not in (0, 1):
        sys.exit(f"{case}, {n_images} images: exit status {done.exit_status}")
    return done.wall_seconds


def in_turns(arguments: argparse.Namespace, kept: Path) -> list[dict[str, Any]]:
    """Measure every size, case and number of jobs in turns, so that a slow hour is one of all."""
    runs: list[dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else []
    known = {(run["case"], run["images"], run["jobs"]) for run in runs}
    for n_images in (1, *arguments.images):
        for case in CASES[:1] if n_images == 1 else arguments.cases:
            runs += [
                {"case": case, "images": n_images, "jobs": jobs, "seconds": [],
                 "n": make(arguments.data, case, n_images)[1]}
                for jobs in arguments.jobs if (case, n_images, jobs) not in known
            ]  # fmt: skip
    while True:
        waiting = [
            run for run in runs
            if len(run["seconds"])
            < (arguments.long_runs if run["images"] > 100_000 else arguments.runs)
        ]  # fmt: skip
        if not waiting:
            return runs
        run = min(waiting, key=lambda run: len(run["seconds"]))
        facts = run["case"], run["images"], run["jobs"]
        run["seconds"].append(measured(arguments.data, *facts, arguments.bboxqa))
        print(*facts, f"{run['seconds'][-1]:.2f} s", flush=True)
        write_text(kept, json.dumps(runs))


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Give the lines of a table."""
    return [
        "| projects | jobs | annotations | median s | min-max s | runs | annotations/s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {row['case']} | {row['jobs']} | {row['n']:,} | {row['seconds']:.2f} "
            f"| {row['range']} | {row['runs']} | {row['n'] / row['seconds']:,.0f} |"
            for row in rows
        ),
    ]


def line(rows: list[dict[str, Any]], start: float) -> list[str]:
    """Say how far the times are from a line: so much to begin with, and so much an annotation.

    The line is that of the least squares of relative errors, and begins no lower than a project
    of one image.
    """
    import numpy as np

    lines = [f"A project of one image takes {start:.2f} s."]
    for case, jobs in dict.fromkeys((row["case"], row["jobs"]) for row in rows):
        own = [row for row in rows if (row["case"], row["jobs"]) == (case, jobs)]
        n = np.array([row["n"] for row in own], float)
        seconds = np.array([row["seconds"] for row in own])
        terms = np.stack([1 / seconds, n / seconds], axis=1)
        begin, each = np.linalg.lstsq(terms, np.ones(len(n)), rcond=None)[0]
        if begin < start:
            begin, slopes = start, terms[:, 1]
            each = slopes @ (1 - start / seconds) / (slopes @ slopes)
        off = seconds / (begin + each * n)
        lines.append(
            f"- {case}, --jobs {jobs}: {begin:.2f} s and {1e6 * each:.1f} µs an annotation; "
            f"measured {', '.join(f'{x:.2f}' for x in off)} times that, "
            f"the most {off.max() / off.min():.2f} times the least"
        )
    return lines


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw annotations per second against their number, on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    styles = {CASES[0]: ("#0072b2", "o"), CASES[1]: ("#d55e00", "s")}
    for case, (colour, marker) in styles.items():
        for jobs, line in ((1, "--"), (2, "-")):
            own = [row for row in rows if (row["case"], row["jobs"]) == (case, jobs)]
            axes.plot(
                [row["n"] for row in own],
                [row["n"] / row["seconds"] for row in own],
                line, color=colour, marker=marker, label=f"{case}, --jobs {jobs}",
            )  # fmt: skip
    axes.set(
        xscale="log", yscale="log", ylim=(10_000, 250_000),
        xlabel="annotations", ylabel="annotations per second",
    )  # fmt: skip
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=130)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="where projects and results go")
    add("--images", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    add("--cases", nargs="+", choices=CASES, default=[*CASES])
    add("--jobs", type=int, nargs="+", default=[1, 2])
    add("--runs", type=int, default=5)
    add("--long-runs", type=int, default=1, help="of more than 100,000 images")
    add("--bboxqa", type=Path, default=Path(sys.executable).with_name("bboxqa"))
    add("--out", type=Path, default=HERE / "results" / "growth.md", metavar="FILE")
    add("--plot", type=Path, default=HERE / "results" / "growth.png", metavar="FILE")
    arguments = parser.parse_args()
    rows = [
        {
            **run, "runs": len(run["seconds"]), "seconds": statistics.median(run["seconds"]),
            "range": f"{min(run['seconds']):.2f}-{max(run['seconds']):.2f}",
        }
        for run in in_turns(arguments, arguments.out.with_suffix(".json"))
    ]  # fmt: skip
    start = min(row["seconds"] for row in rows if row["images"] == 1)
    rows = sorted(
        (row for row in rows if row["images"] > 1),
        key=lambda row: (row["case"], row["jobs"], row["n"]),
    )
    report = "\n".join([*machine_facts(), "", *table(rows), "", *line(rows, start)]) + "\n"
    write_text(arguments.out, report)
    print(report)
    draw(rows, arguments.plot)


if __name__ == "__main__":
    main()
