"""Simulate how often a 95 % interval covers the coefficient that it is about.

    python benchmarks/coverage.py
    python benchmarks/coverage.py --coefficient cohen_kappa --annotators 20 --images 100 300 1000

Images differ in how hard they are, so that the units of one image are not independent; each data
set is a sample of images, and three annotators look at each. The coefficient that intervals should
cover is that of 400,000 images.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bboxqa.agreement.registry import COEFFICIENTS, CoefficientInputs
from bboxqa.agreement.resampling import (
    bca_interval,
    covering_intervals,
    expanded_level,
    jackknife,
    replicates_of_all,
)
from bboxqa.model.ratings import Ratings
from bboxqa.model.units import ReliabilityData

if TYPE_CHECKING:
    from bboxqa.agreement.estimators import Estimator

PER_IMAGE = 3
N_VALUES = 5
MISSING = 0.05


def sample(
    generator: np.random.Generator,
    n_images: int,
    mean_units: float,
    coefficient: str,
    annotators: int,
) -> Estimator:
    """Measure a random data set: images of some units, each with an own hardness."""
    per_image = 1 + generator.poisson(mean_units - 1, n_images)
    image = np.repeat(np.arange(n_images), per_image)
    hardness = generator.beta(1, 3, n_images)[image]
    truth = generator.choice(N_VALUES, len(image), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    guess = generator.integers(0, N_VALUES, (len(image), PER_IMAGE))
    wrong = generator.random((len(image), PER_IMAGE)) < hardness[:, None]
    said = np.where(wrong, guess, truth[:, None])
    there = generator.random(said.shape) >= MISSING
    team = np.sort(np.argsort(generator.random((n_images, annotators)), axis=1)[:, :PER_IMAGE])
    unit, place = np.nonzero(there)
    data = ReliabilityData(
        unit=unit,
        annotator=team[image[unit], place].astype(np.int32),
        value=said[there].astype(np.int32),
        state=np.zeros(len(unit), np.uint8),
        group=image.astype(np.int32),
        n_values=N_VALUES,
        n_groups=n_images,
    )
    names = tuple(str(annotator) for annotator in range(annotators))
    ratings = Ratings(data, (), names, tuple(str(value) for value in range(N_VALUES)))
    return COEFFICIENTS[coefficient](CoefficientInputs(ratings))


def covers(
    number: int,
    n_images: int,
    mean_units: float,
    coefficient: str,
    annotators: int,
    truth: float,
    replicates: int,
) -> tuple[bool, bool, bool]:
    """Tell whether the intervals of one data set cover: percentile, BCa, standard error."""
    generator = np.random.default_rng([n_images, number])
    estimator = sample(generator, n_images, mean_units, coefficient, annotators)
    drawn = replicates_of_all({"": estimator}, replicates, number)[""]
    n_clusters = np.array([len(estimator.clusters)])
    low, high = covering_intervals(np.array([estimator.value]), drawn[None], n_clusters)[0]
    moved = np.minimum(drawn + estimator.bias, 1.0)
    level = float(expanded_level(n_clusters)[0])
    lower, upper = bca_interval(estimator.value, moved, jackknife(estimator), level)
    away = abs(estimator.value - truth)
    return low <= truth <= high, lower <= truth <= upper, away <= 1.96 * estimator.standard_error


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--images", nargs="+", type=int, default=[10, 20, 50, 100, 200, 500])
    add("--units", nargs="+", type=float, default=[2.0, 8.0], help="on average in an image")
    add("--coefficient", choices=sorted(COEFFICIENTS), default="krippendorff_alpha")
    add("--annotators", type=int, default=PER_IMAGE, help="of whom three look at an image")
    add("--data-sets", type=int, default=4000)
    add("--replicates", type=int, default=1000)
    arguments = parser.parse_args()
    print("| images | units an image | percentile | BCa | 1.96 standard errors |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor() as pool:
        for mean_units in arguments.units:
            of = arguments.coefficient, arguments.annotators
            truth = sample(np.random.default_rng(0), 400_000, mean_units, *of).value
            for n_images in arguments.images:
                one = partial(
                    covers,
                    n_images=n_images,
                    mean_units=mean_units,
                    coefficient=arguments.coefficient,
                    annotators=arguments.annotators,
                    truth=truth,
                    replicates=arguments.replicates,
                )
                found = list(pool.map(one, range(arguments.data_sets), chunksize=50))
                shares = " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0))
                print(f"| {n_images} | {mean_units:g} | {shares} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
