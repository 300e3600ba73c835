"""Measure `bboxqa` on files that are made to take long: processor time and peak memory.

    python benchmarks/worst_cases.py --data DIR

Each is one crowded or repetitive image, or text. `tests/test_limits.py` holds smaller ones to 10
seconds and 1 GB.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import MEGABYTE, measure
from results import machine_facts, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
POLYGONS = ("agree", "--similarity", "polygon")
DIAGNOSED = ("agree", "--diagnose", "--no-checks")


def document(annotations: Iterable[dict[str, Any]], categories: int = 1) -> str:
    """Give the text of a file of one image."""
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
        "categories": [{"id": number + 1, "name": "c"} for number in range(categories)],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": 1, **annotation}
            for number, annotation in enumerate(annotations, 1)
        ],
    }
    return json.dumps(content)


def overlapping(n: int, annotators: str) -> str:
    """Give different boxes that overlap strongly."""
    values = random.Random(1)
    return document(
        {
            "annotator": annotators[i % len(annotators)],
            "bbox": [values.randint(0, 20), values.randint(0, 20), 300, 300 + i / n],
        }
        for i in range(n)
    )


def scattered(n: int, annotators: str) -> str:
    """Give small boxes all over an image, few of which overlap."""
    values = random.Random(1)
    return document(
        {
            "annotator": annotators[i % len(annotators)],
            "bbox": [values.randint(0, 2000), values.randint(0, 2000), 12, 9],
        }
        for i in range(n)
    )


def annotators(n: int) -> str:
    """Give two boxes of each of many annotators."""
    return document(
        {"annotator": f"p{i // 2}", "bbox": [300 * (i % 2), 9, 50, 50]} for i in range(2 * n)
    )


def scribbles(n: int) -> str:
    """Give two rings of random points."""
    values = random.Random(1)
    ring = [round(values.random() * side, 1) for _ in range(n) for side in (640, 480)]
    moved = [round(value + 1, 1) for value in ring]
    return document(
        {"annotator": who, "bbox": [0, 0, 640, 480], "segmentation": [outline]}
        for who, outline in (("a", ring), ("b", moved))
    )


def combs(n: int) -> str:
    """Give two valid rings with slanted teeth."""
    teeth = ((i // 2 / n * 600, 300 * (i % 4 in (1, 2))) for i in range(n))
    points = chain(((x + y, y) for x, y in teeth), ((310, -5), (-5, -5)))
    ring = [round(value, 3) for point in points for value in point]
    return document(
        {"annotator": who, "bbox": [0, 0, 600, 300], "segmentation": [ring]} for who in "ab"
    )


def repeated_key(n: int) -> str:
    """Give an empty document with a list that is repeated."""
    return '{"annotations": [], "categories": [], ' + '"images": [{}], ' * n + '"a": 1}'


CASES = {
    "4,000 boxes of two in one place": (overlapping(4_000, "ab"), ("agree",)),
    "12,000 boxes of two in one place": (overlapping(12_000, "ab"), ("agree",)),
    "4,000 boxes of three in one place, diagnosed": (overlapping(4_000, "abc"), DIAGNOSED),
    "9,000 boxes of three side by side, diagnosed": (scattered(9_000, "abc"), DIAGNOSED),
    "2,000 annotators of 2 boxes": (annotators(2_000), ("agree",)),
    "40,000 boxes in one place": (overlapping(40_000, "a"), ("validate",)),
    "100,000 categories of one name": (document((), 100_000), ("validate",)),
    "a list 40,000 times": (repeated_key(40_000), ("validate",)),
    "rings of 20,000 random points": (scribbles(20_000), ("validate",)),
    "the same, measured": (scribbles(20_000), POLYGONS),
    "combs of 40,000 points": (combs(40_000), ("validate",)),
    "the same combs, measured": (combs(40_000), POLYGONS),
}


def row(name: str, arguments: argparse.Namespace) -> str:
    """Measure one case; give its line of the table."""
    text, (command, *options) = CASES[name]
    path = arguments.data / "worst.json"
    path.write_text(text, encoding="utf-8")
    runs = [
        measure([str(arguments.bboxqa), command, str(path), *options], arguments.timeout)
        for _ in range(arguments.runs)
    ]
    seconds = statistics.median(run.processor_seconds for run in runs)
    peak = max(run.peak_bytes for run in runs) / MEGABYTE
    outcome = ", ".join(sorted({str(run.exit_status) for run in runs}))
    cells = (name, " ".join((command, *options)), f"{len(text) / MEGABYTE:.1f}")
    return f"| {' | '.join(cells)} | {seconds:.1f} | {peak:,.0f} | {outcome} |"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="where the files are written")
    add("--runs", type=int, default=3)
    add("--timeout", type=float, default=600.0, metavar="S", help="for one run")
    add("--bboxqa", type=Path, default=Path(sys.executable).with_name("bboxqa"))
    add("--out", type=Path, default=HERE / "results" / "worst_cases.md", metavar="FILE")
    arguments = parser.parse_args()
    arguments.data.mkdir(parents=True, exist_ok=True)
    lines = [
        *machine_facts(),
        "",
        "| file | command | MB | processor s | peak MB | exit |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name in CASES:
        lines.append(row(name, arguments))
        print(lines[-1], flush=True)
    write_text(arguments.out, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
