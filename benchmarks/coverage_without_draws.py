"""Simulate how often the 95 % intervals that need no draws cover what they are about.

    python benchmarks/coverage_without_draws.py

Of the kappa of a pair, Fleiss' kappa of a value, and Cramér's V. Units are independent. What the
intervals should cover follows from the probabilities that data sets are drawn from.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.chance import fleiss_per_value
from bboxqa.agreement.pair_kappas import cohen_pairs
from bboxqa.agreement.unit_counts import from_table, unit_counts
from bboxqa.stats import independence

Sample = Callable[[np.random.Generator, int], tuple[float, float]]


@dataclass(frozen=True)
class Case:
    """What is drawn: a name, a sampler of intervals, and the true value."""

    name: str
    interval: Sample
    truth: float


def said(n_values: int, right: float, common: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely each truth is, and what an annotator says of it."""
    likely = np.full(n_values, (1 - common) / (n_values - 1))
    likely[0] = common
    answer = right * np.eye(n_values) + (1 - right) / n_values
    return likely, answer


def answers(
    generator: np.random.Generator, n_units: int, annotators: int, likely: np.ndarray,
    answer: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Draw what annotators say, (A, U)."""
    truth = generator.choice(len(likely), n_units, p=likely)
    limits = answer.cumsum(1)[truth]
    limits[:, -1] = 1
    return (generator.random((annotators, n_units, 1)) > limits).sum(2)


def of_pair(n_values: int, right: float, common: float) -> Case:
    """Cohen's kappa of two annotators."""
    likely, answer = said(n_values, right, common)
    joint = np.einsum("t,tk,tl->kl", likely, answer, answer)
    chance = joint.sum(1) @ joint.sum(0)

    def interval(generator: np.random.Generator, n_units: int) -> tuple[float, float]:
        codes = answers(generator, n_units, 2, likely, answer)
        table = from_table(codes, np.ones(codes.shape, bool), n_values)
        low, high = cohen_pairs(table, 2).table.interval[0]
        return low, high

    name = f"kappa of a pair, {n_values} values, the first {common:.0%}"
    return Case(name, interval, (np.trace(joint) - chance) / (1 - chance))


def of_value(n_values: int, right: float, common: float) -> Case:
    """Fleiss' kappa of the first value, three annotators."""
    likely, answer = said(n_values, right, common)
    first = answer[:, 0]
    share = likely @ first
    unlike = 2 * likely @ (first * (1 - first))

    def interval(generator: np.random.Generator, n_units: int) -> tuple[float, float]:
        codes = answers(generator, n_units, 3, likely, answer)
        table = from_table(codes, np.ones(codes.shape, bool), n_values)
        low, high = fleiss_per_value(unit_counts(table)).interval[0]
        return low, high

    name = f"Fleiss' kappa of a value of {n_values}, {common:.0%}"
    return Case(name, interval, 1 - unlike / (2 * share * (1 - share)))


def of_table(rows: int, columns: int, strength: float) -> Case:
    """Cramér's V of a table between independence and one that follows."""
    following = np.zeros((rows, columns))
    places = np.arange(max(rows, columns))
    following[places % rows, places % columns] = 1
    share = (1 - strength) / (rows * columns) + strength * following / following.sum()
    chance = np.outer(share.sum(1), share.sum(0))
    truth = np.sqrt(((share - chance) ** 2 / chance).sum() / (min(rows, columns) - 1))

    def interval(generator: np.random.Generator, n_units: int) -> tuple[float, float]:
        table = generator.multinomial(n_units, share.ravel()).reshape(rows, columns)
        return independence(table).interval

    return Case(f"Cramér's V of {rows} x {columns}: {truth:.2f}", interval, float(truth))


CASES = [
    *(of_pair(n, 0.8, common) for n, common in ((2, 0.5), (2, 0.9), (5, 0.2), (5, 0.9))),
    *(of_value(n, 0.8, common) for n, common in ((5, 0.2), (5, 0.05), (20, 0.05))),
    *(of_table(*shape, strength) for shape in ((2, 2), (2, 5), (4, 4))
      for strength in (0.0, 0.1, 0.3, 0.6, 0.9)),
]  # fmt: skip


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--units", nargs="+", type=int, default=[20, 50, 100, 300])
    parser.add_argument("--data-sets", type=int, default=2000)
    arguments = parser.parse_args()
    print("| | " + " | ".join(f"{n_units} units" for n_units in arguments.units) + " |")
    print("| --- |" + " ---: |" * len(arguments.units))
    for case in CASES:
        cells = []
        for n_units in arguments.units:
            generator = np.random.default_rng(n_units)
            bounds = np.array(
                [case.interval(generator, n_units) for _ in range(arguments.data_sets)]
            )
            known = bounds[~np.isnan(bounds[:, 0])]
            covered = (known[:, 0] <= case.truth + 1e-9) & (case.truth <= known[:, 1] + 1e-9)
            without = 1 - len(known) / len(bounds)
            if without > 0.99:
                cells.append("none")
                continue
            cells.append(f"{covered.mean():.1%}" + (f" ({without:.0%} none)" if without else ""))
        print(f"| {case.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
