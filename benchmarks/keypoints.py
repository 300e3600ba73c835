"""Measure `bboxqa agree` on people with 17 key points: by their boxes, and by their key points.

    python benchmarks/keypoints.py people.json --n 1000000

Makes the file if it does not exist, and prints the table of `benchmarks/README.md`. Other work of
the machine makes processor times somewhat longer.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from typing import IO

import numpy as np
from measure import MEGABYTE, measure

HEADER = """\
| similarity | annotations | median wall s | median processor s | runs | peak MB | load |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
SIMILARITIES = ("bbox", "keypoints")
PER_IMAGE = 5


def write_people(file: IO[str], n: int) -> None:
    """Write images of five people, each drawn by two annotators some pixels apart."""
    rng = np.random.default_rng(1)
    n_images = n // (2 * PER_IMAGE)
    images = (
        f'{{"id":{each},"file_name":"{each}.jpg","width":640,"height":480}}'
        for each in range(n_images)
    )
    file.write(f'{{"images":[{",".join(images)}],"categories":[{{"id":1,"name":"person"}}],')
    file.write('"annotations":[')
    number = 0
    for image in range(n_images):
        corner = rng.uniform(0, 1, (PER_IMAGE, 1, 2)) * [500, 320]
        truth = rng.uniform(0, 1, (PER_IMAGE, 17, 2)) * [80, 150] + corner
        for annotator in ("ann", "bob"):
            points = np.round(truth + rng.normal(0, 2, truth.shape)).astype(int)
            for person in points:
                number += 1
                left, top = person.min(0)
                width, height = person.max(0) - person.min(0)
                keypoints = ",".join(f"{x},{y},2" for x, y in person)
                file.write("," if number > 1 else "")
                file.write(
                    f'{{"id":{number},"image_id":{image},"category_id":1,"iscrowd":0,'
                    f'"annotator":"{annotator}","area":{width * height * 0.6:.1f},'
                    f'"bbox":[{left},{top},{width},{height}],"num_keypoints":17,'
                    f'"keypoints":[{keypoints}]}}'
                )
    file.write("]}")


def main() -> None:
    """Print a row for each similarity."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--n", type=int, default=1_000_000, help="annotations of a new file")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    if not arguments.file.exists():
        with arguments.file.open("w") as file:
            write_people(file, arguments.n)
    print(HEADER)
    for similarity in SIMILARITIES:
        load = os.getloadavg()[0]
        options = ["--similarity", similarity, "--format", "json"]
        command = [sys.executable, "-m", "bboxqa", "agree", str(arguments.file), *options]
        runs = [measure(command) for _ in range(arguments.runs)]
        if not all(run.succeeded for run in runs):
            raise SystemExit(f"{arguments.file}: {runs[0].last_error_line}")
        wall = median(run.wall_seconds for run in runs)
        processor = median(run.processor_seconds for run in runs)
        peak = max(run.peak_bytes for run in runs) / MEGABYTE
        print(
            f"| {similarity} | {arguments.n:,} | {wall:.1f} | {processor:.1f} | {len(runs)} | "
            f"{peak:,.0f} | {load:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
