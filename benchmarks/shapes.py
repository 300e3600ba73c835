"""Processor time of agreement of shapes, and of the plain boxes of the same file.

    python benchmarks/shapes.py [--objects 500000] [--repeats 3]

Two annotators draw each object of a COCO file. Both similarities are measured in turns.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.model.rotated_boxes import bounds, corners

PER_IMAGE = 50


def drawn(n_objects: int) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the rotated boxes of two annotators, each (N, 5)."""
    generator = np.random.default_rng(0)
    places = generator.uniform(40, 984, (n_objects, 2))
    sizes = generator.uniform([15, 8], [60, 30], (n_objects, 2))
    true = np.column_stack([places, sizes, generator.uniform(0, 360, n_objects)])
    return [true + generator.normal(0, [1, 1, 1, 1, 2], true.shape) for _ in range(2)]


def shape_keys(form: str, boxes: np.ndarray[Any, np.dtype[np.float64]]) -> list[dict[str, Any]]:
    """Return the keys of annotations that say where rotated boxes are."""
    if form == "five numbers":
        counter_clockwise = boxes * [1, 1, 1, 1, -1]
        return [{"bbox": box} for box in counter_clockwise.round(3).tolist()]
    edges = bounds(boxes)
    edges[:, 2:] -= edges[:, :2]
    rings = corners(boxes).reshape(-1, 8).round(2).tolist()
    found = zip(edges.round(2).tolist(), rings, strict=True)
    return [{"bbox": box, "segmentation": [ring]} for box, ring in found]


def write(path: Path, form: str, n_objects: int) -> None:
    """Write a COCO file."""
    n_images = -(-n_objects // PER_IMAGE)
    annotations = [
        {"id": who * n_objects + n, "image_id": n // PER_IMAGE, "category_id": n % 5}
        | {"annotator": ("ann", "bob")[who], "iscrowd": 0, **keys}
        for who, boxes in enumerate(drawn(n_objects))
        for n, keys in enumerate(shape_keys(form, boxes))
    ]
    images = [
        {"id": n, "file_name": f"{n}.png", "width": 1024, "height": 1024} for n in range(n_images)
    ]
    categories = [{"id": n, "name": f"category {n}"} for n in range(5)]
    content = {"images": images, "categories": categories, "annotations": annotations}
    path.write_text(json.dumps(content))


def seconds(path: Path, similarity: str) -> float:
    """Return the processor time of one run of `bboxqa agree`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "bboxqa", "agree", path, "--similarity", similarity]
    subprocess.run([*command, "--bootstrap", "0"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| file | plain boxes, s | shapes, s | ratio |\n| --- | ---: | ---: | ---: |")
    for form in ("four corners", "five numbers"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "export.json")
            write(path, form, options.objects)
            runs = [
                [seconds(path, name) for name in ("bbox", "obb")] for _ in range(options.repeats)
            ]
        plain, turned = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"| rotated boxes, {form} | {plain:.1f} | {turned:.1f} | {turned / plain:.2f} |")


if __name__ == "__main__":
    main()
