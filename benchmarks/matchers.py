"""Compare matchers with the true correspondence: which annotations show one object.

    python benchmarks/matchers.py [--several DIR] [--lvis FILE]

In simulated data the truth is known. In data of several annotators with a truth beside it, an
annotation shows the true object that it is matched with by the Hungarian method from an IoU of 0.5
on; others are left out of the figures, but not of the matching. For each matcher: F1 of the joined
pairs of annotations (precision / recall), and alpha of the units minus that of the true ones.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

import bboxqa
from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences, from_units
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.matchers import MATCHERS, match
from bboxqa.model.units import UnitTable
from bboxqa.pipelines.counting import compared_images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bboxqa.core.arrays import IndexArray
    from bboxqa.model.annotations import Dataset

THRESHOLD = 0.5
TEXTBOOK = "average, true IoU, stops at 0.5"
ERRORS = "miss=0.1 extra=0.05 confuse=0.1"
FEW = 10_000
SETS = ("asthma_round1", "asthma_round2", "crowd_boxes", "pedestrians")


@dataclass(frozen=True)
class Case:
    """A data set and the true object of each annotation, (N,); -1 where it is not known."""

    name: str
    data: Dataset
    shown: IndexArray


@dataclass(frozen=True)
class Score:
    """How a matcher does in one case."""

    precision: float
    recall: float
    bias: float
    seconds: float

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def simulated(
    name: str, truth: dict[str, Any] | None, annotators: int, jitter: int, seed: int, **scene: Any
) -> Case:
    """Simulate annotators; an extra box shows an object of its own."""
    errors = {"p*": f"{ERRORS} jitter={jitter}%"}
    found = bboxqa.simulate(truth, annotators=annotators, errors=errors, seed=seed, **scene)
    document = found.document()
    data = bboxqa.read_coco(document)
    true_id = {each["id"]: each.get("true_id", -1) for each in document["annotations"]}
    shown = np.array([true_id[number] for number in data.annotations.id.tolist()])
    extra = np.flatnonzero(shown < 0)
    shown[extra] = shown.max(initial=0) + 1 + np.arange(len(extra))
    return Case(name, data, shown)


def anchored(path: Path) -> Case:
    """Read a data set and find the true object of each annotation."""
    data = compared_images(bboxqa.read_coco(path)).data
    truth = json.loads(path.with_name(f"{path.stem}_truth.json").read_text("utf-8"))
    place = {name: number for number, name in enumerate(data.image_names)}
    image = {each["id"]: place.get(each["file_name"], -1) for each in truth["images"]}
    of_image = np.array([image[each["image_id"]] for each in truth["annotations"]])
    boxes = np.array([each["bbox"] for each in truth["annotations"]], float)
    columns = data.annotations
    shown = np.full(len(columns), -1)
    key = columns.image.astype(np.int64) * len(data.annotator_names) + columns.annotator
    for own in np.split(np.arange(len(key)), np.flatnonzero(np.diff(key)) + 1):
        there = np.flatnonzero(of_image == columns.image[own[0]])
        rows, partners = best_pairs(columns.bbox[own], boxes[there])
        shown[own[rows]] = there[partners]
    return Case(path.stem, data, shown)


def best_pairs(one: np.ndarray, other: np.ndarray) -> tuple[IndexArray, IndexArray]:
    """Match boxes of one annotator with true ones, from the threshold on."""
    from scipy.optimize import linear_sum_assignment

    overlap = iou(one[:, None], other[None])
    overlap[overlap < THRESHOLD] = 0
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    kept = overlap[rows, columns] > 0
    return rows[kept], columns[kept]


def iou(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Compute the IoU of boxes."""
    low = np.maximum(one[..., :2], other[..., :2])
    high = np.minimum(one[..., :2] + one[..., 2:], other[..., :2] + other[..., 2:])
    shared = np.clip(high - low, 0, None).prod(-1)
    return shared / (one[..., 2:].prod(-1) + other[..., 2:].prod(-1) - shared)


def textbook_average(data: Dataset) -> IndexArray:
    """Join units while their mean IoU, of all pairs, reaches the threshold."""
    columns = data.annotations
    units = np.arange(len(columns))
    for own in np.split(units.copy(), np.flatnonzero(np.diff(columns.image)) + 1):
        box, author = columns.bbox[own], columns.annotator[own]
        units[own] = own[joined(iou(box[:, None], box[None]), author[:, None] == author[None])]
    return units


def joined(total: np.ndarray, apart: np.ndarray) -> IndexArray:
    """Join the rows of a table of similarities, as long as a mean reaches the threshold."""
    unit, size = np.arange(len(total)), np.ones(len(total))
    mean = np.where(apart, 0, total)
    while mean.max() >= THRESHOLD:
        one, other = np.unravel_index(mean.argmax(), mean.shape)
        unit[unit == other] = one
        size[one] += size[other]
        total[one] += total[other]
        total[:, one] = total[one]
        apart[one] |= apart[other]
        apart[:, one] = apart[one]
        apart[other] = apart[:, other] = True
        mean[other] = mean[:, other] = 0
        mean[one] = np.where(apart[one], 0, total[one] / (size[one] * size))
        mean[:, one] = mean[one]
    return unit


def alpha(data: Dataset, unit: IndexArray) -> float:
    """Compute the pooled alpha of units; missing annotations count as a category."""
    named, unit = np.unique(unit, return_inverse=True)
    image = np.zeros(len(named), np.int32)
    image[unit] = data.annotations.image
    table = UnitTable(unit=unit, image=image)
    n_categories = len(data.category_names)
    reliability = from_units(data.annotations, table, data.assigned, n_categories, None)
    return pooled_alpha(coincidences(reliability, "category")).value


def scores(case: Case) -> Iterator[tuple[str, Score]]:
    """Run every matcher that can match so many annotators."""
    data, known = case.data, np.flatnonzero(case.shown >= 0)
    kept = replace(data, annotations=data.annotations.take(known))
    true = case.shown[known]
    true_alpha = alpha(kept, true)
    pairs, _ = candidate_pairs(data, "bbox", THRESHOLD)

    def matched(name: str) -> Callable[[], IndexArray]:
        return lambda: match(data.annotations, pairs, name, THRESHOLD).unit

    n_annotators = len(np.unique(data.annotations.annotator))
    ways = {
        name: matched(name)
        for name, each in MATCHERS.items()
        if n_annotators <= (each.most_annotators or n_annotators)
    }
    if len(data.annotations) < FEW:
        ways[TEXTBOOK] = lambda: textbook_average(data)
    for name, way in ways.items():
        start = time.perf_counter()
        unit = way()[known]
        seconds = time.perf_counter() - start
        right = n_pairs(np.unique(np.stack([unit, true]), axis=1, return_inverse=True)[1])
        found = right / n_pairs(unit), right / n_pairs(true)
        yield name, Score(*found, alpha(kept, unit) - true_alpha, seconds)


def n_pairs(group: IndexArray) -> int:
    """Count the pairs of annotations in one group."""
    size = np.bincount(group.ravel())
    return int((size * (size - 1) // 2).sum())


def line(name: str, measured: list[Score]) -> str:
    """Write a line of a table: means over data sets."""
    f1, precision, recall, bias = (
        np.mean([getattr(each, field) for each in measured])
        for field in ("f1", "precision", "recall", "bias")
    )
    seconds = sum(each.seconds for each in measured)
    return (
        f"| {name} | {f1:.4f} | {precision:.4f} | {recall:.4f} | {bias:+.3f} | "
        f"{1000 * seconds:,.0f} |"
    )


def report(title: str, cases: list[Case]) -> dict[str, list[Score]]:
    """Print the table of one setting."""
    found: dict[str, list[Score]] = {}
    for case in cases:
        for name, score in scores(case):
            found.setdefault(name, []).append(score)
    print(f"\n{title}\n\n| matcher | F1 | precision | recall | bias of alpha | ms |")
    print("| --- |" + " ---: |" * 5)
    for name, measured in found.items():
        print(line(name, measured), flush=True)
    return found


def drawn_cases(annotators: int, jitter: int, overlap: float, seeds: range) -> list[Case]:
    """Simulate scenes; crowded ones have more objects, which overlap."""
    objects = {"images": 20, "objects": 80} if overlap else {"images": 60, "objects": 5}
    scene = {**objects, "overlap": overlap}
    return [simulated("drawn", None, annotators, jitter, seed, **scene) for seed in seeds]


def lvis_truth(path: Path) -> dict[str, Any]:
    """Take the boxes of one rater as the truth."""
    content = json.loads(path.read_text("utf-8"))
    kept = ("id", "image_id", "category_id", "bbox")
    boxes = [each for each in content["annotations"] if each["rater_id"] == "r1"]
    images = [
        {name: each[name] for name in each if name != "rater_list"} for each in content["images"]
    ]
    records = [{name: each[name] for name in kept} for each in boxes]
    return {"images": images, "categories": content["categories"], "annotations": records}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--several", type=Path, metavar="DIR", help="data sets with a truth")
    parser.add_argument("--lvis", type=Path, metavar="FILE", help="LVIS with raters")
    parser.add_argument("--annotators", type=int, nargs="*", default=(2, 3, 5, 8, 12))
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    for annotators in arguments.annotators:
        for overlap in (0.0, 0.5):
            for jitter in (5, 10, 15):
                where = "crowded" if overlap else "sparse"
                title = f"{annotators} annotators, {where}, jitter {jitter} %"
                report(title, drawn_cases(annotators, jitter, overlap, seeds))
    if arguments.lvis:
        truth = lvis_truth(arguments.lvis)
        for annotators in (2, 3, 5):
            for jitter in (5, 10, 15):
                title = f"LVIS, {annotators} annotators, jitter {jitter} %"
                cases = [simulated("lvis", truth, annotators, jitter, seed) for seed in seeds]
                report(title, cases)
    if arguments.several:
        for name in SETS:
            report(name, [anchored(arguments.several / f"{name}.json")])


if __name__ == "__main__":
    main()
