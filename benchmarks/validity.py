"""Measure whether diagnostics find the errors that simulated annotators were given.

    python benchmarks/validity.py                      # prints more rows than docs/validity.md
    python benchmarks/validity.py --study coverage --runs 200

With 2,000 runs, it takes about an hour and a half of a processor.
Four studies: how often 95 % intervals contain the figure that they are about, the same with few
images, which figures fall with which kind of error, and how often the worst annotator and the
confused pair of categories come first. `bboxqa simulate` makes the data.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from simulated_figures import (
    MANY_IMAGES,
    Figures,
    copied_from_p01,
    merged_share,
    of_all,
    of_all_and_one,
    of_p04,
    offset_of_p01,
    rates_of_p04,
    tables_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SIX = {"annotators": 6, "per_image": 3, "errors": ["p*: miss=0.2 jitter=5% confuse=0.2"]}
WORST = {
    "annotators": 4,
    "errors": [
        "p*: miss=0.1 confuse=0.05 jitter=3%",
        "p04: miss=0.2 offset=3,-2 confuse=0.05 confuse=cow/sheep:0.2",
    ],
}
EXTRAS = {
    "annotators": 4,
    "errors": ["p*: miss=0.1 extra=0.1 jitter=3% confuse=0.1", "p04: extra=0.3"],
}
FEW = {
    "annotators": 4,
    "errors": ["p*: miss=0.1 extra=0.1 jitter=3% confuse=0.1", "p04: miss=0.2"],
}
BESIDE = "p*: miss=0.1 jitter=3%"
LEVELS: dict[str, tuple[str, str]] = {
    "p*: miss": ("0.1", "0.3"),
    "p*: extra": ("0.1", "0.3"),
    "p*: confuse": ("0.1", "0.3"),
    "p*: jitter": ("4%", "8%"),
    "p03: offset": ("5%,0%", "15%,0%"),
    "p03: scale": ("1.1", "1.2"),
    "p*: split": ("0.1", "0.3"),
    "p*: merge": ("0.1", "0.3"),
    "p*: duplicate": ("0.1", "0.3"),
}
"""Two levels of each kind of error, beside none."""


@dataclass(frozen=True)
class Case:
    """Simulated annotators, what is measured, and which figures follow from their errors."""

    name: str
    options: Mapping[str, Any]
    measure: Callable[[int, int, int, Mapping[str, Any]], Figures] = of_all
    implied: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, Callable[[Mapping[str, Any]], float]] = field(default_factory=dict)
    """What is counted in the truth of many images."""

    def truth(self) -> dict[str, tuple[float, str]]:
        """Return the true figures with a mark: measured (*), counted (†), or implied by errors."""
        counted = {name: count(self.options) for name, count in self.counted.items()}
        large = self.measure(0, MANY_IMAGES, 0, self.options)
        return (
            {name: (figure[0], " *") for name, figure in large.items()}
            | {name: (figure, " †") for name, figure in counted.items()}
            | {name: (figure, "") for name, figure in self.implied.items()}
        )


# Two annotators who each find 0.9 both find 0.81 of the objects, and F1 is 0.81 / 0.9. Both are
# right about the category in 0.9 · 0.9, and both choose the same wrong one of 4 in 0.1 · 0.1 / 4.
CASES = (
    Case(
        "2 annotators: miss=0.1 confuse=0.1",
        {"annotators": 2, "errors": ["p*: miss=0.1 jitter=3% confuse=0.1"]},
        implied={"existence F1": 0.9, "class share": 0.8125},
    ),
    # Each draws 0.9 + 0.1 boxes per object.
    Case(
        "4 annotators: miss=0.1 extra=0.1 confuse=0.1",
        {"annotators": 4, "errors": ["p*: miss=0.1 extra=0.1 jitter=3% confuse=0.1"]},
        implied={"existence F1": 0.81, "class share": 0.8125},
    ),
    Case(
        "6 annotators, 3 in each image: miss=0.2 confuse=0.2",
        SIX,
        implied={"existence F1": 0.8, "class share": 0.65},
    ),
    Case(
        "p04 of 4: miss=0.2 offset=3,-2",
        WORST,
        of_p04,
        # The offset of both edges is that of the box.
        {
            "miss_rate": 0.2,
            "offset_px, left": 3,
            "offset_px, top": -2,
            "offset_px, right": 3,
            "offset_px, bottom": -2,
        },
    ),
    # Of the boxes of p04, 0.3 per object are invented, and 0.9 · 0.028 show objects that at most
    # one of the three others found: 0.1³ + 3 · 0.9 · 0.1² = 0.028.
    Case(
        "p04 of 4: miss=0.1 extra=0.3 confuse=0.1",
        EXTRAS,
        of_p04,
        # Invented boxes of two may overlap: what is missed, and its category, follow from no rate.
        {
            "extra_rate": (0.3 + 0.9 * 0.028) / 1.2,
            "offset_px, left": 0,
            "offset_px, top": 0,
            "offset_px, right": 0,
            "offset_px, bottom": 0,
        },
    ),
    *(
        Case(
            f"p01 of {n}, beside p0{n}: offset=5,0",
            {"annotators": n, "errors": ["p*: jitter=3%", f"p0{n}: offset=5,0"]},
            offset_of_p01,
            {f"offset_px, {edge}": 0 for edge in ("left", "top", "right", "bottom")},
        )
        for n in (3, 4)
    ),
    *(
        Case(
            f"p04 of 4: {error}=0.1; all have miss=0.1",
            {"annotators": 4, "errors": [BESIDE, f"p04: {error}=0.1"]},
            partial(rates_of_p04, (rate,)),
            {} if error == "merge" else {rate: 0.1},
            {rate: merged_share} if error == "merge" else {},
        )
        for error, rate in (
            ("duplicate", "twice_rate"),
            ("split", "split_rate"),
            ("merge", "merge_rate"),
        )
    ),
    # Both boxes of an object are there in 0.9 where p04 copies, and in 0.9 · 0.9 where not.
    Case(
        "p04 of 4: copy=p01:0.3; all have miss=0.1",
        {"annotators": 4, "errors": [BESIDE, "p04: copy=p01:0.3"]},
        copied_from_p01,
        {"identical_share": 0.3 * 0.9 / (0.3 * 0.9 + 0.7 * 0.81)},
    ),
)


def coverage(pool: ProcessPoolExecutor, runs: int, images: int) -> Iterable[str]:
    """Yield a table of how often intervals contain the true figure."""
    yield f"| errors | figure | true | mean of the runs | in the interval, of {runs:,} runs |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for case in CASES:
        # The seeds of the runs follow that of the truth.
        truth = case.truth()
        one = partial(case.measure, images=images, bootstrap=1000, options=case.options)
        found = list(pool.map(one, range(1, runs + 1), chunksize=10))
        for name, (true, mark) in truth.items():
            mean = np.mean([each[name][0] for each in found])
            inside = _inside(found, name, true)
            yield f"| {case.name} | {name} | {true:.4f}{mark} | {mean:.4f} | {inside} |"


def _inside(found: list[Figures], name: str, true: float) -> str:
    """Return the share of intervals that contain the true figure, of those that there are.

    A dash stands where fewer than half of the runs have an interval.
    """
    known = np.array([each[name] for each in found if not math.isnan(each[name][1])])
    if 2 * len(known) < len(found):
        return "–"
    _, low, high = known.T
    return f"{np.mean((low <= true) & (true <= high)):.1%}"


def few(pool: ProcessPoolExecutor, runs: int) -> Iterable[str]:
    """Yield a table of how often intervals from few images contain the true figure."""
    case = Case("", FEW, of_all_and_one)
    truth = case.truth()
    yield f"| images, {runs:,} runs | {' | '.join(truth)} |"
    yield f"| ---: |{' ---: |' * len(truth)}"
    for images in (5, 10, 20, 50, 100):
        one = partial(case.measure, images=images, bootstrap=1000, options=FEW)
        found = list(pool.map(one, range(1, runs + 1), chunksize=10))
        shares = " | ".join(_inside(found, name, truth[name][0]) for name in truth)
        yield f"| {images} | {shares} |"


def kinds(pool: ProcessPoolExecutor, images: int) -> Iterable[str]:
    """Yield a table of the figures without, with some and with many errors of each kind."""
    names = list(of_all(1, 4, 0, {"annotators": 2}))
    yield f"| errors | {' | '.join(names)} |"
    yield f"| --- |{' ---: |' * len(names)}"
    for kind, levels in LEVELS.items():
        cases = [
            {"annotators": 3, "errors": ["p*: jitter=2%", setting]}
            for setting in ("p*:", *(f"{kind}={level}" for level in levels))
        ]
        found = list(pool.map(partial(of_all, 1, images, 0), cases))
        cells = [" → ".join(_number(each[name][0]) for each in found) for name in names]
        yield f"| `{kind}` none, {', '.join(levels)} | {' | '.join(cells)} |"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def first(pool: ProcessPoolExecutor, runs: int) -> Iterable[str]:
    """Yield a table of how often the worst annotator and the confused pair come first."""
    columns = (
        f"images, {runs:,} runs",
        "lowest f1: p04",
        "highest miss_rate: p04",
        "largest offset: p04, right",
        "confused pair: cow, sheep",
    )
    yield f"| {' | '.join(columns)} |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for images in (20, 50, 100, 200):
        found = list(pool.map(partial(_found, images=images), range(1, runs + 1), chunksize=10))
        shares = " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0))
        yield f"| {images} | {shares} |"


def _found(seed: int, images: int) -> tuple[bool, ...]:
    """Return whether p04 and its errors come first in one data set."""
    tables = tables_of(seed, images, 0, WORST, ("annotators", "offsets", "confusions"))
    of_annotators, pair = tables["annotators"], tables["confusions"][0]
    worst = min(of_annotators, key=lambda row: row["f1"])
    misses = max(of_annotators, key=lambda row: row["miss_rate"])
    moved = max(tables["offsets"], key=lambda row: abs(row["offset_px"]))
    return (
        worst["annotator"] == "p04",
        misses["annotator"] == "p04",
        moved["annotator"] == "p04" and moved["offset_px"] > 0,
        {pair["first"], pair["second"]} == {"cow", "sheep"},
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", choices=["coverage", "few", "kinds", "first"], nargs="+")
    parser.add_argument(
        "--runs", type=int, default=2000, help="a quarter of them in few, a tenth in first"
    )
    parser.add_argument("--images", type=int, default=200)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        studies: dict[str, Callable[[], Iterable[str]]] = {
            "coverage": lambda: coverage(pool, arguments.runs, arguments.images),
            "few": lambda: few(pool, arguments.runs // 4),
            "kinds": lambda: kinds(pool, arguments.images),
            "first": lambda: first(pool, arguments.runs // 10),
        }
        for name in arguments.study or studies:
            for line in studies[name]():
                print(line)
                sys.stdout.flush()
            print()


if __name__ == "__main__":
    main()
