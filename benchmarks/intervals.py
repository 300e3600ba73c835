"""Measure how often the 95 % intervals of `agree` contain the figure of all images.

    python benchmarks/intervals.py              # prints what docs/validity.md sums up

Sets of 100 images with 8 objects, as in naming.py. The figures that intervals should contain are
those of one set of 5,000 images with the same errors.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import naming
import numpy as np

import bboxqa
from bboxqa import diagnostics
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

ERRORS = ("", "shift", "size", "miss", "swap", "miss shift")
PEOPLE = (3, 5)
FIGURES = ("existence (F1)", "class (alpha)", "place (IoU)", "alpha", "offsets of edges")
MANY, _ONE = 5000, 0.999


def figures(seed: int, n: int, errors: str, *, n_images: int = 100) -> list[np.ndarray]:
    """Return the values and the intervals of each figure, (K, 3); one offset for each edge."""
    naming.IMAGES = n_images
    data = bboxqa.read_coco(naming.document(seed, n, errors.split()), segmentation=False)
    result = bboxqa.agree(data, bootstrap=1000 if n_images < MANY else 0)
    named, place, existence = result.class_agreement, result.place, result.existence
    offsets = diagnostics.diagnostic("offsets")(
        matched_units(compared_images(data), result.settings)
    )
    return [
        np.array([[existence.f1, *existence.interval]]),
        np.array([[named.alpha, *named.interval]]),
        np.array([[place.mean_iou, *place.interval]]),
        np.array([[result.alpha, *result.interval]]),
        np.column_stack([offsets[f"offset_px{end}"] for end in ("", "_low", "_high")]),
    ]


def covered(
    case: tuple[str, int, int], true: dict[tuple[str, int], list[np.ndarray]]
) -> list[float]:
    """Return the share of intervals that contain the true value, for each figure.

    It is NaN where the true value is 1, within rounding: no interval of samples without a case
    contains a rate of one in ten thousand.
    """
    errors, n, seed = case
    return [
        float("nan")
        if of[0, 0] > _ONE
        else float(np.mean((found[:, 1] <= of[:, 0]) & (of[:, 0] <= found[:, 2])))
        for found, of in zip(figures(seed, n, errors), true[errors, n], strict=True)
    ]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    with ProcessPoolExecutor(2) as pool:
        kinds = [*product(ERRORS, PEOPLE)]
        large = pool.map(
            partial(figures, 10**6, n_images=MANY), *zip(*[(n, e) for e, n in kinds], strict=True)
        )
        true = dict(zip(kinds, large, strict=True))
        print(f"| who errs | {' | '.join(FIGURES)} |")
        print(f"| --- |{' ---: |' * len(FIGURES)}")
        every = []
        for errors in ERRORS:
            sets = [(errors, n, seed) for n in PEOPLE for seed in range(runs)]
            found = list(pool.map(partial(covered, true=true), sets))
            every += found
            words = ", ".join(naming.CAUSES[each][0] for each in errors.split()) or "nobody"
            print(f"| {words} | {_cells(found)} |", flush=True)
        print(f"| all {len(every)} sets | {_cells(every)} |")


def _cells(found: list[list[float]]) -> str:
    shares = np.array(found)
    known = ~np.isnan(shares).all(0)
    return " | ".join(
        f"{100 * np.nanmean(shares[:, place]):.1f} %" if known[place] else "–"
        for place in range(len(known))
    )


if __name__ == "__main__":
    main()
