"""Measure whether drift and fatigue are those of annotators who tire.

    python benchmarks/validity_of_time.py --runs 100    # prints the table of docs/validity.md

Of three annotators, p03 misses ever more objects; or none of them changes. The true slopes follow
from the rate of misses in each image, at the times at which p03 worked on it.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import bboxqa
from bboxqa.diagnostics.over_time import work, worked
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

if TYPE_CHECKING:
    from bboxqa.model.units import MatchedUnits

IMAGES, OBJECTS = 300, 10
MISSES = np.linspace(0.05, 0.4, IMAGES)
"""The share of the objects of each image that p03 misses, who tires."""
CHANGES = ("drift", "fatigue")
BOOTSTRAP = 400


@dataclass(frozen=True)
class Run:
    """What was found in two data sets, by change."""

    truth: dict[str, float]
    found: dict[str, float]
    inside: dict[str, bool]
    still_inside: dict[str, list[bool]]
    """Whether 0 is in the intervals of the three who do not change."""


def matched(seed: int, errors: str = "", *, tires: bool = False) -> MatchedUnits:
    """Return the units of a simulated data set with times, in which p03 may miss more and more."""
    simulation = bboxqa.simulate(
        images=IMAGES, objects=OBJECTS, annotators=3, errors=[errors] if errors else [], seed=seed
    )
    content = simulation.document()
    if tires:
        random = np.random.default_rng(seed)
        misses = dict(zip([each["id"] for each in content["images"]], MISSES, strict=True))
        content["annotations"] = [
            each
            for each in content["annotations"]
            if each["annotator"] != "p03" or random.random() >= misses[each["image_id"]]
        ]
    data = bboxqa.read_coco(content, time_key="created_at", segmentation=False)
    return matched_units(compared_images(data), bboxqa.AgreeSettings(bootstrap=BOOTSTRAP))


def true_slopes(units: MatchedUnits) -> dict[str, float]:
    """Return the slopes of the expected F1 of p03 with the two others, who find everything."""
    of_all = worked(units)
    own = of_all.annotator == 2
    session, weight = of_all.session[own], of_all.drawn[own]
    drawn = 1 - MISSES[of_all.image[own]]
    f1 = 2 * drawn / (1 + drawn)
    number = of_all.number[session].astype(float)
    return {
        "drift": _slope(weight, number, np.zeros(len(f1)), f1),
        "fatigue": _slope(weight, of_all.elapsed[own] / 3600, session, f1),
    }


def _slope(weight: np.ndarray, x: np.ndarray, group: np.ndarray, f1: np.ndarray) -> float:
    columns = np.column_stack([x, group[:, None] == np.unique(group)]).astype(float)
    root = np.sqrt(weight)[:, None]
    return float(np.linalg.lstsq(columns * root, f1 * root[:, 0], rcond=None)[0][0])


def one(seed: int) -> Run:
    """Measure a data set in which p03 tires, and one in which nobody does."""
    units = matched(seed, tires=True)
    table, truth = work(units), true_slopes(units)
    still = work(matched(10_000 + seed, "p*: miss=0.1 jitter=1"))
    return Run(
        truth=truth,
        found={name: float(table[name][3]) for name in CHANGES},
        inside={
            name: bool(table[f"{name}_low"][3] <= truth[name] <= table[f"{name}_high"][3])
            for name in CHANGES
        },
        still_inside={
            name: ((still[f"{name}_low"] <= 0) & (still[f"{name}_high"] >= 0))[1:].tolist()
            for name in CHANGES
        },
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(one, range(arguments.runs)))
    print("| change of F1 | true | mean of the runs | true slope in the interval | 0 in it |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in CHANGES:
        truth = np.mean([run.truth[name] for run in runs])
        found = np.mean([run.found[name] for run in runs])
        inside = np.mean([run.inside[name] for run in runs])
        still = np.mean([run.still_inside[name] for run in runs])
        print(f"| {name} | {truth:.4f} | {found:.4f} | {inside:.1%} | {still:.1%} |")


if __name__ == "__main__":
    main()
