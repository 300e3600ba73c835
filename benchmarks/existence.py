"""Simulate existence corrected for chance: of guessing, perfect and erring annotators.

    python benchmarks/existence.py

Prints the table of `docs/existence.md`. Each row is of many data sets. Images are 100 × 100 px, and
the sides of boxes 10 to 30 px, or 30 to 60 px where images are crowded.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from bboxqa import agree
from bboxqa.model.annotations import Annotations, Dataset

SIDE = 100.0


@dataclass(frozen=True)
class Case:
    """How annotators draw."""

    name: str
    found: float
    """The share of objects that each annotator draws where they are; of the others, nothing."""
    guessed: float
    """Boxes in random places for each object, on average."""
    annotators: int = 2
    images: int = 50
    objects: float = 5.0
    sides: tuple[float, float] = (10.0, 30.0)
    shares: tuple[float, ...] = (1.0,)
    """Of the categories."""
    error_px: float = 1.0
    """The standard deviation with which the sides of found objects are placed."""


def boxes(generator: np.random.Generator, number: int, case: Case) -> np.ndarray:
    """Return boxes in random places, (N, 4)."""
    size = generator.uniform(*case.sides, (number, 2))
    return np.column_stack([generator.uniform(0, SIDE - size), size])


def simulated(generator: np.random.Generator, case: Case) -> Dataset:
    """Return a data set of annotators who find some objects, and guess others."""
    objects = generator.poisson(case.objects, case.images)
    truth_image = np.repeat(np.arange(case.images), objects)
    truth = boxes(generator, len(truth_image), case)
    truth_category = generator.choice(len(case.shares), len(truth), p=case.shares)
    columns = []
    for annotator in range(case.annotators):
        found = generator.random(len(truth)) < case.found
        seen = truth[found] + generator.normal(0, case.error_px, (found.sum(), 4))
        n_guessed = generator.poisson(case.guessed * case.objects, case.images)
        guessed = boxes(generator, n_guessed.sum(), case)
        image = np.concatenate([truth_image[found], np.repeat(np.arange(case.images), n_guessed)])
        category = generator.choice(len(case.shares), len(guessed), p=case.shares)
        category = np.concatenate([truth_category[found], category])
        who = np.full(len(image), annotator)
        columns.append((image, who, category, np.concatenate([seen, guessed])))
    image, who, category, bbox = map(np.concatenate, zip(*columns, strict=True))
    order = np.lexsort((who, image))
    annotations = Annotations(
        id=np.arange(len(order)),
        image=image[order].astype(np.int32),
        annotator=who[order].astype(np.int32),
        category=category[order].astype(np.int32),
        bbox=bbox[order],
        iscrowd=np.zeros(len(order), np.bool_),
    )
    return Dataset(
        image_names=tuple(f"{number:04}" for number in range(case.images)),
        image_size=np.full((case.images, 2), int(SIDE), np.int32),
        category_names=tuple(map(str, range(len(case.shares)))),
        annotator_names=tuple(map(str, range(case.annotators))),
        annotations=annotations,
        assigned=np.ones((case.images, case.annotators), np.bool_),
    )


def measured(number: int, case: Case, draws: int) -> tuple[float, ...]:
    """Return F1, F1 by chance, corrected F1 with its interval, and Krippendorff's alpha."""
    data = simulated(np.random.default_rng([number, case.images]), case)
    result = agree(data, bootstrap=draws, checks=False)
    found = result.existence
    return found.f1, found.chance, found.alpha, *found.alpha_interval, result.alpha


CROWDED = (30.0, 60.0)
CASES = (
    Case("guess, 2 annotators", 0, 1),
    Case("guess, 2 annotators, crowded", 0, 1, sides=CROWDED),
    Case("guess, 4 annotators, crowded", 0, 1, annotators=4, sides=CROWDED),
    Case("guess, 2 annotators, crowded, 10 images", 0, 1, images=10, sides=CROWDED),
    Case("guess, 2 annotators, 20 boxes an image, crowded", 0, 1, objects=20, sides=CROWDED),
    Case("draw all", 1, 0, error_px=0),
    Case("draw all, crowded", 1, 0, sides=CROWDED, error_px=0),
    Case("find 95 %", 0.95, 0),
    Case("find 95 %, crowded", 0.95, 0, sides=CROWDED),
    Case("find 95 %, two categories 99 : 1", 0.95, 0, shares=(0.99, 0.01)),
    Case("find 95 %, two categories 1 : 1", 0.95, 0, shares=(0.5, 0.5)),
    Case("find 95 %, 100 categories", 0.95, 0, shares=(0.01,) * 100),
    Case("find 75 %, guess 25 %", 0.75, 0.25),
    Case("find 75 %, guess 25 %, crowded", 0.75, 0.25, sides=CROWDED),
    Case("find 50 %, guess 50 %", 0.5, 0.5),
    Case("find 50 %, guess 50 %, crowded", 0.5, 0.5, sides=CROWDED),
    Case("find 25 %, guess 75 %", 0.25, 0.75),
    Case("find 25 %, guess 75 %, crowded", 0.25, 0.75, sides=CROWDED),
)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--draws", type=int, default=200)
    arguments = parser.parse_args()
    print("| annotators | F1 | by chance | corrected | its error | in the interval | alpha |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor() as pool:
        for case in CASES:
            of_case = partial(measured, case=case, draws=arguments.draws)
            found = np.array([*pool.map(of_case, range(arguments.data_sets), chunksize=10)])
            f1, chance, corrected, low, high, alpha = found.T
            mean = corrected.mean()
            error = corrected.std() / np.sqrt(len(corrected))
            # Annotators who guess have a true value of 0; of others, the mean stands for it.
            true = 0.0 if case.found == 0 else mean
            # Rounding: perfect annotators have an interval without width.
            inside = np.mean((low <= true + 1e-9) & (true - 1e-9 <= high))
            shown = "–" if np.isnan(alpha).any() else f"{alpha.mean():.3f}"
            print(
                f"| {case.name} | {f1.mean():.3f} | {chance.mean():.3f} | {mean:.3f} | "
                f"{error:.3f} | {inside:.1%} | {shown} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
