"""Measure reading and validating a million boxes in each format, beside COCO.

    python benchmarks/formats.py --data DIR

The same boxes by one annotator are written in each format, laid out as its tool does. The formats
take turns (A B C A B C …) after one warm-up each. Each process does the job on one image first, so
that imports are not measured. Formats differ in length: processor time, of all processes, is
compared by the megabyte.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from measure import MEGABYTE, measure
from results import machine_facts, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
NAMES = ("car", "person", "dog", "bicycle", "traffic light", "bus", "truck", "cat", "bird", "boat")
WIDTH, HEIGHT = 1920, 1080
JOBS = ("read", "validate")
COLUMNS = (
    "job", "format", "MB", "files", "median s", "min-max s", "processor s", "processor ms a MB",
    "÷ coco", "peak MB",
)  # fmt: skip
CODE = f"""
import json, os, sys, time
import bboxqa
job, *paths = sys.argv[1:]
with bboxqa.reading(image_size=({WIDTH}, {HEIGHT})):
    for path in paths:
        wall, processor = time.perf_counter(), sum(os.times()[:4])
        if job == "read":
            bboxqa.read_coco([path], segmentation=False, min_annotators=1)
        else:
            bboxqa.validate([path], max_findings=20)
    print(json.dumps([time.perf_counter() - wall, sum(os.times()[:4]) - processor]))
"""


@dataclass(frozen=True, slots=True)
class Boxes:
    """What is written in each format."""

    bbox: NDArray[np.float64]
    """(N, 4). x, y, width and height in hundredths of pixels."""
    label: list[str]
    per_image: int

    def images(self) -> Iterator[tuple[str, list[tuple[int, str, list[float]]]]]:
        """Yield the name of each image, and number, label, and box of each annotation."""
        for number, start in enumerate(range(0, len(self.bbox), self.per_image), start=1):
            rows = range(start, min(start + self.per_image, len(self.bbox)))
            boxes = self.bbox[start : start + self.per_image].tolist()
            named = [(row + 1, self.label[row], box) for row, box in zip(rows, boxes, strict=True)]
            yield f"frame_{number:06d}", named


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of a job on a format."""

    job: str
    name: str
    megabytes: float
    n_files: int
    walls: tuple[float, ...]
    processor: float
    peak: float

    @property
    def pace(self) -> float:
        """Processor time in milliseconds for a megabyte."""
        return 1000 * self.processor / self.megabytes

    def line(self, coco: Row) -> str:
        """Give the line of the table."""
        cells = (
            self.job, self.name, f"{self.megabytes:.0f}", f"{self.n_files:,}",
            f"{median(self.walls):.2f}", f"{min(self.walls):.2f}-{max(self.walls):.2f}",
            f"{self.processor:.2f}", f"{self.pace:.0f}", f"{self.pace / coco.pace:.1f}",
            f"{self.peak:,.0f}",
        )  # fmt: skip
        return "| " + " | ".join(cells) + " |"


def drawn(size: int, per_image: int) -> Boxes:
    """Give random boxes."""
    random = np.random.default_rng(0)
    sides = random.uniform(8, 300, (size, 2))
    corners = random.random((size, 2)) * ([WIDTH, HEIGHT] - sides)
    names = random.choice(NAMES, size).tolist()
    return Boxes(np.concatenate([corners, sides], 1).round(2), names, per_image)


def coco(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give the file of COCO."""
    images, annotations = [], []
    for number, (name, drawn_here) in enumerate(boxes.images(), start=1):
        size = {"width": WIDTH, "height": HEIGHT}
        images.append({"id": number, "file_name": f"{name}.jpg", **size})
        for own, label, box in drawn_here:
            where = {"image_id": number, "category_id": NAMES.index(label) + 1, "bbox": box}
            more = {"area": round(box[2] * box[3], 4), "iscrowd": 0, "annotator": "ann"}
            annotations.append({"id": own, **where, **more})
    categories = [{"id": place, "name": name} for place, name in enumerate(NAMES, start=1)]
    whole = {"images": images, "annotations": annotations, "categories": categories}
    yield "coco.json", json.dumps(whole)


def cvat(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give the file of CVAT 1.1 for images."""
    labels = "".join(
        f"        <label>\n          <name>{e}</name>\n        </label>\n" for e in NAMES
    )
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
        "  <meta>\n    <task>\n      <id>1</id>\n      <name>frames</name>\n      <labels>\n"
        f"{labels}      </labels>\n      <assignee>\n        <username>ann</username>\n"
        "      </assignee>\n    </task>\n  </meta>\n"
    )
    lines = [head]
    for number, (name, drawn_here) in enumerate(boxes.images()):
        size = f'width="{WIDTH}" height="{HEIGHT}"'
        lines.append(f'  <image id="{number}" name="{name}.jpg" {size}>\n')
        for _, label, (x, y, width, height) in drawn_here:
            start = f'    <box label="{label}" source="manual" occluded="0" xtl="{x:.2f}"'
            edges = f'ytl="{y:.2f}" xbr="{x + width:.2f}" ybr="{y + height:.2f}"'
            lines.append(f'{start} {edges} z_order="0">\n    </box>\n')
        lines.append("  </image>\n")
    yield "annotations.xml", "".join([*lines, "</annotations>\n"])


def label_studio(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give the file of Label Studio: a task for each image."""
    tasks = []
    sizes = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}
    of_tag = {"from_name": "label", "to_name": "image", "type": "rectanglelabels"}
    made = "2025-06-19T14:39:06.607987Z"
    for number, (name, drawn_here) in enumerate(boxes.images(), start=1):
        results = []
        for own, label, (x, y, width, height) in drawn_here:
            place = {"x": x / WIDTH * 100, "y": y / HEIGHT * 100}
            place |= {"width": width / WIDTH * 100, "height": height / HEIGHT * 100}
            value = {**place, "rotation": 0, "rectanglelabels": [label]}
            shown = {"id": f"r{own:09x}", **of_tag, "origin": "manual"}
            results.append({**sizes, "value": value, **shown})
        work = {"id": number, "completed_by": 1, "result": results, "was_cancelled": False}
        work |= {"ground_truth": False, "created_at": made, "updated_at": made, "lead_time": 26.8}
        more = {"drafts": [], "predictions": [], "data": {"image": f"/data/upload/1/{name}.jpg"}}
        tasks.append({"id": number, "annotations": [work], **more})
    yield "tasks.json", json.dumps(tasks)


def yolo(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give the files of YOLO."""
    names = "".join(f"  {place}: {name}\n" for place, name in enumerate(NAMES))
    yield "ann/data.yaml", f"names:\n{names}"
    for name, drawn_here in boxes.images():
        lines = [
            f"{NAMES.index(label)} {(x + width / 2) / WIDTH:.6f} {(y + height / 2) / HEIGHT:.6f} "
            f"{width / WIDTH:.6f} {height / HEIGHT:.6f}\n"
            for _, label, (x, y, width, height) in drawn_here
        ]
        yield f"ann/labels/{name}.txt", "".join(lines)


def dota(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give the files of DOTA: every other box is turned."""
    for name, drawn_here in boxes.images():
        lines = ["imagesource:GoogleEarth\ngsd:0.146\n"]
        for own, label, (x, y, width, height) in drawn_here:
            lean = width / 4 if own % 2 else 0.0
            corners = [(x + lean, y), (x + width, y + lean), (x + width - lean, y + height)]
            corners.append((x, y + height - lean))
            numbers = " ".join(f"{each:.1f}" for corner in corners for each in corner)
            lines.append(f"{numbers} {label.replace(' ', '-')} 0\n")
        yield f"ann/labelTxt/{name}.txt", "".join(lines)


def table(boxes: Boxes) -> Iterator[tuple[str, str]]:
    """Give a table in csv."""
    lines = ["image,image_width,image_height,annotator,category,id,x,y,width,height\n"]
    for name, drawn_here in boxes.images():
        for own, label, box in drawn_here:
            numbers = ",".join(map(str, box))
            lines.append(f"{name}.jpg,{WIDTH},{HEIGHT},ann,{label},{own},{numbers}\n")
    yield "boxes.csv", "".join(lines)


FORMATS: dict[str, Callable[[Boxes], Iterator[tuple[str, str]]]] = {
    "coco": coco, "cvat": cvat, "label-studio": label_studio, "yolo": yolo, "dota": dota,
    "csv": table,
}  # fmt: skip


def make(folder: Path, name: str, size: int, per_image: int) -> None:
    """Write the boxes in a format."""
    for part, text in FORMATS[name](drawn(size, per_image)):
        file = folder / part
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def source_of(data: Path, name: str, size: int, per_image: int) -> Path:
    """Give the file or folder with the boxes in a format, made if it is not there."""
    folder = data / f"{name}_{size}_{per_image}"
    made = folder / "made"
    if not made.exists():
        # The memory that it takes would count as that of the processes that are measured.
        maker = get_context("spawn").Process(target=make, args=(folder, name, size, per_image))
        maker.start()
        maker.join()
        made.touch()
    return next(each for each in folder.iterdir() if each != made)


def measured(job: str, small: Path, source: Path) -> tuple[float, float, int]:
    """Give wall and processor seconds of a job, and the peak of its memory in bytes."""
    done = measure([sys.executable, "-c", CODE, job, str(small), str(source)])
    if not done.succeeded:
        sys.exit(f"{source}: {done.last_error_line}")
    wall, processor = json.loads(done.output)
    return wall, processor, done.peak_bytes


def row(job: str, source: Path, name: str, runs: list[tuple[float, float, int]]) -> Row:
    """Give what was measured of a format."""
    files = [each for each in source.rglob("*") if each.is_file()] or [source]
    walls, processors, peaks = zip(*runs, strict=True)
    megabytes = sum(each.stat().st_size for each in files) / MEGABYTE
    return Row(job, name, megabytes, len(files), walls, median(processors), max(peaks) / MEGABYTE)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="where the files are kept")
    add("--size", type=int, default=1_000_000, metavar="N", help="number of boxes")
    add("--per-image", type=int, default=20, metavar="N", help="number of boxes in an image")
    add("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    add("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    add("--runs", type=int, default=5)
    add("--out", type=Path, default=HERE / "results" / "formats.md", metavar="FILE")
    arguments = parser.parse_args()
    names = list(dict.fromkeys(["coco", *arguments.formats]))
    per_image = arguments.per_image
    sources = {name: source_of(arguments.data, name, arguments.size, per_image) for name in names}
    small = {name: source_of(arguments.data, name, per_image, per_image) for name in names}
    lines = [*machine_facts(), "", "| " + " | ".join(COLUMNS) + " |"]
    lines.append("| " + " | ".join(["---"] * len(COLUMNS)) + " |")
    for job in arguments.jobs:
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in names}
        for turn in range(arguments.runs + 1):
            for name, source in sources.items():
                found = measured(job, small[name], source)
                print(f"{job} {name} {found[0]:.2f} s", file=sys.stderr, flush=True)
                runs[name] += [found] if turn else []
        rows = [row(job, sources[name], name, runs[name]) for name in names]
        lines += [each.line(rows[0]) for each in rows]
        write_text(arguments.out, "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
