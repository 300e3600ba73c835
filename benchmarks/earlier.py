"""Processor time of ordinary commands beside an earlier version, run in turn.

    python benchmarks/earlier.py --earlier ENVIRONMENT --source lvis_double_100.json --data DIR

ENVIRONMENT is a virtual environment in which the earlier version is installed. Times are of whole
processes; the table has medians, and the ratio that each bound is about.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from generate import generate
from measure import measure

N_VALIDATED = 200_000
DECODE = """
import sys, msgspec
class Image(msgspec.Struct):
    id: int
    file_name: str
    width: int
    height: int
class Category(msgspec.Struct):
    id: int
    name: str
class Annotation(msgspec.Struct):
    id: int
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    area: float
    iscrowd: int
class File(msgspec.Struct):
    images: list[Image]
    categories: list[Category]
    annotations: list[Annotation]
msgspec.json.decode(open(sys.argv[1], "rb").read(), type=File)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Two commands, and how many times as long the first may take."""

    name: str
    now: list[str]
    before: list[str]
    bound: float


def write_boxes(path: Path) -> Path:
    """Write a COCO file of 200,000 sound boxes, of 31 MB."""
    if path.exists():
        return path
    random = np.random.default_rng(0)
    corners = random.uniform(0, 500, (N_VALIDATED, 2)).round(2).tolist()
    sides = random.uniform(10, 100, (N_VALIDATED, 2)).round(2).tolist()
    images = [
        {"id": i + 1, "file_name": f"{i:06}.jpg", "width": 640, "height": 640}
        for i in range(N_VALIDATED // 20)
    ]
    annotations = [
        {
            "id": i + 1, "image_id": i // 20 + 1, "category_id": i % 7 + 1, "iscrowd": 0,
            "bbox": [*corner, *side], "area": round(side[0] * side[1], 4),
        }
        for i, (corner, side) in enumerate(zip(corners, sides, strict=True))
    ]  # fmt: skip
    categories = [{"id": i + 1, "name": f"category {i + 1}"} for i in range(7)]
    document = {"images": images, "categories": categories, "annotations": annotations}
    path.write_text(json.dumps(document))
    return path


def cases(now: Path, before: Path, source: Path, data: Path) -> list[Case]:
    """Return the commands, and make the files that they read."""
    many = data / "boxes_176050.json"
    some = data / "polygons_35210.json"
    for file, n in ((many, 176_050), (some, 35_210)):
        if not file.exists():
            generate(source, n, 0, file)
    sound = write_boxes(data / "sound_200000.json")
    page = ["--report", str(data / "page.html"), "--force"]
    new, old = [str(now), "-P", "-m", "bboxqa"], [str(before), "-I", "-m", "bboxqa"]
    plain = ["agree", "--bootstrap", "0", "--similarity"]
    agree, validate = ["agree", str(source)], ["validate", str(source)]
    boxes, polygons = [*plain, "bbox", str(many)], [*plain, "polygon", str(some)]
    decode = [str(now), "-c", DECODE, str(sound)]
    return [
        Case("`agree --bootstrap 0`, 176,050 boxes", new + boxes, old + boxes, 1.0),
        Case("`agree --bootstrap 0`, 35,210 polygons", new + polygons, old + polygons, 0.9),
        Case("`agree`, 100 images of LVIS", new + agree, old + agree, 1.5),
        Case("`agree --report` beside `agree`, the same", new + agree + page, old + agree, 4.0),
        Case("`validate`, the same", new + validate, old + validate, 1.0),
        Case(
            "`validate` beside a typed decoding, 200,000 boxes",
            [*new, "validate", str(sound)],
            decode,
            4.5,
        ),
    ]


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--earlier", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    arguments.data.mkdir(parents=True, exist_ok=True)
    rows = []
    before = arguments.earlier.absolute() / "bin" / "python"
    source = arguments.source.resolve()
    for case in cases(Path(sys.executable), before, source, arguments.data.resolve()):
        # Each command runs once before it counts, and then in turn.
        times = [
            tuple(measure(each).processor_seconds for each in (case.now, case.before))
            for _ in range(arguments.runs + 1)
        ][1:]
        now, earlier = (statistics.median(each) for each in zip(*times, strict=True))
        ratio = statistics.median(mine / theirs for mine, theirs in times)
        row = [case.name, f"{now:.2f}", f"{earlier:.2f}", f"{ratio:.2f}", f"{case.bound:g}"]
        rows.append(row)
        print(" | ".join(row), file=sys.stderr)
    head = [["command", "now (s)", "beside (s)", "ratio", "bound"], ["---", *["---:"] * 4]]
    print("\n".join("| " + " | ".join(row) + " |" for row in head + rows))


if __name__ == "__main__":
    main()
