"""Measure pages: of a file at once, and of its saved result as one file and as a folder.

    python benchmarks/pages.py FILE... [--runs 5] [--at-once] [--similarity polygon]

Prints the table of `benchmarks/README.md`, with the load of the machine: other work makes wall
times longer, and processor times somewhat.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from measure import MEGABYTE, Measurement, measure

HEADER = """\
| file | annotations | command | median wall s | processor s | runs | peak MB | MB | load |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
BBOXQA = (sys.executable, "-m", "bboxqa")


def measured(command: list[str]) -> Measurement:
    """Return what a command takes, which has to succeed."""
    found = measure([*BBOXQA, *command])
    if not found.succeeded:
        raise SystemExit(f"{' '.join(command)}: {found.last_error_line}")
    return found


def written_bytes(path: Path) -> int:
    """Return the size of a page, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def print_row(name: str, n: int, command: list[str], page: Path, n_runs: int) -> None:
    """Print the row of a command that writes a page."""
    load = os.getloadavg()[0]
    runs = [measured(command) for _ in range(n_runs)]
    wall = median(run.wall_seconds for run in runs)
    processor = median(run.processor_seconds for run in runs)
    peak = max(run.peak_bytes for run in runs) / MEGABYTE
    shown = "agree --report" if command[0] == "agree" else "report"
    shown += " --split" if "--split" in command else ""
    print(
        f"| {name} | {n:,} | {shown} | {wall:.1f} | {processor:.1f} | {n_runs} | {peak:,.0f} | "
        f"{written_bytes(page) / MEGABYTE:.1f} | {load:.1f} |",
        flush=True,
    )


def main() -> None:
    """Print the rows of each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--similarity", default="bbox")
    parser.add_argument("--at-once", action="store_true", help="also measure agree --report")
    arguments = parser.parse_args()
    print(HEADER)
    for file in arguments.files:
        with TemporaryDirectory() as folder:
            run, page, pages = (Path(folder, name) for name in ("run", "page.html", "pages"))
            agree = ["agree", str(file), "--similarity", arguments.similarity, "-q"]
            measured([*agree, "--diagnose", "--out", str(run)])
            n = json.loads((run / "summary.json").read_text())["n_annotations"]
            if arguments.at_once:
                print_row(file.name, n, [*agree, "--report", str(page)], page, arguments.runs)
            report = ["report", str(run), "--force", "--out"]
            print_row(file.name, n, [*report, str(page)], page, arguments.runs)
            print_row(file.name, n, [*report, str(pages), "--split"], pages, arguments.runs)


if __name__ == "__main__":
    main()
