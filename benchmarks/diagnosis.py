"""Measure `bboxqa agree --diagnose` on files: time and memory from the file to all tables.

    python benchmarks/diagnosis.py FILE...

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
| file | annotations | median wall s | median processor s | runs | peak MB | load |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def diagnosed(file: Path) -> tuple[Measurement, int]:
    """Return what a run takes, and the number of annotations that it compared."""
    with TemporaryDirectory() as folder:
        options = ["--diagnose", "--out", folder, "--format", "json"]
        command = [sys.executable, "-m", "bboxqa", "agree", str(file), *options]
        found = measure(command)
        if not found.succeeded:
            raise SystemExit(f"{file}: {found.last_error_line}")
        summary = json.loads(Path(folder, "summary.json").read_text())
    return found, summary["n_annotations"]


def main() -> None:
    """Print a row for each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print(HEADER)
    for file in arguments.files:
        load = os.getloadavg()[0]
        runs, counts = zip(*(diagnosed(file) for _ in range(arguments.runs)), strict=True)
        wall = median(run.wall_seconds for run in runs)
        processor = median(run.processor_seconds for run in runs)
        peak = max(run.peak_bytes for run in runs) / MEGABYTE
        print(
            f"| {file.name} | {counts[0]:,} | {wall:.1f} | {processor:.1f} | {len(runs)} | "
            f"{peak:,.0f} | {load:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
