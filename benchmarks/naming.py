"""Measure whether the story names who errs, for the right error, and nobody else.

    python benchmarks/naming.py                 # prints the table of docs/validity.md

Of three or four simulated annotators one makes an error of one kind. The story of each data set is
searched for the name of this annotator beside words of this error, and for all other names. The
last row has 30 annotators who err alike, three of them for each image.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import bboxqa

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = {
    "duplicate=0.1": ("twice",),
    "split=0.1": ("splits",),
    "merge=0.1": ("in one box with another",),
    "copy=p01:0.5": ("share boxes",),
    "jitter=15%": ("less precisely",),
    "offset=5,0": ("further right",),
    "scale=1.15": ("wider", "taller"),
    "miss=0.1": ("misses",),
    "extra=0.1": ("most others did not draw",),
    "confuse=0.15": ("different categories",),
    "miss=0.1 offset=5,0 confuse=cow/sheep:0.2": ("misses", "further right", "above all by"),
    "": (),
}
"""The errors of one annotator, and words of the sentences that name them."""

EVERYONE = {
    # Without misses, there is nothing that the others could be blamed for.
    "copy=p01:0.5": "jitter=3% miss=0.1",
    "": "jitter=3% miss=0.1 extra=0.1 confuse=0.1",
}
"""The errors of all annotators, where they have others than `jitter=3%`."""

# Annotations with these errors may overlap too little to match.
_DISPLACING = ("jitter",)

_NAMING = (
    r"(p\d\d) (?:matches|misses|draws|splits|places|calls|and the others)",
    r"(p\d\d) (?:exchanges|leaves out)",
    r"(?:of what|above all by|F1 of) (p\d\d)",
    r"(p\d\d) and p\d\d share",
    r"p\d\d and (p\d\d) share",
)


def named(sentence: str) -> set[str]:
    """Return who is named in a sentence."""
    return {name for pattern in _NAMING for name in re.findall(pattern, sentence)}


def told(seed: int, errors: str, n_annotators: int, images: int) -> tuple[bool, bool, bool]:
    """Return whether the right errors, wrong ones of the same annotator, and others are named."""
    guilty = f"p0{n_annotators}"
    everyone = EVERYONE.get(errors, "jitter=3%")
    made = bboxqa.simulate(
        images=images,
        annotators=n_annotators,
        categories=("cow", "sheep", "horse"),
        errors={"p*": everyone, guilty: errors},
        seed=seed,
    )
    data = bboxqa.read_coco(made.document())
    story = bboxqa.agree(data, bootstrap=400).story().story
    words = KINDS[errors]
    of_guilty = [line for line in story if guilty in named(line)]
    right = all(any(word in line for line in of_guilty) for word in words)
    known = (
        *words,
        "matches the others",
        *["different categories", "above all by"] * ("confuse" in errors),
        *["in different places"] * any(kind in errors for kind in _DISPLACING),
    )
    wrong = any(not any(word in line for word in known) for line in of_guilty)
    usual = {guilty, "p01"} if "copy" in errors else {guilty}
    others = any(named(line) - usual for line in story)
    if "copy" in errors:
        # The copied annotator is named with the copy only.
        others |= any("p01" in named(line) and "share boxes" not in line for line in story)
    return right, wrong, others


def named_of_many(seed: int, images: int) -> tuple[bool, bool, bool]:
    """Return whether anybody is named of 30 who err alike, of whom three draw each image."""
    made = bboxqa.simulate(
        images=images,
        annotators=30,
        categories=("cow", "sheep", "horse"),
        errors={"p*": EVERYONE[""]},
        seed=seed,
    ).document()
    rng = np.random.default_rng(seed)
    asked = {}
    for image in made["images"]:
        people = [f"p{number + 1:02}" for number in rng.choice(30, 3, replace=False)]
        asked[image["id"]] = image["annotators"] = sorted(people)
    made["annotations"] = [
        each for each in made["annotations"] if each["annotator"] in asked[each["image_id"]]
    ]
    story = bboxqa.agree(bboxqa.read_coco(made), bootstrap=400).story().story
    return True, False, any(named(line) for line in story)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--annotators", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--only", help="errors of one row")
    arguments = parser.parse_args()
    print("| one annotator | of | named for it | named for something else | others named |")
    print("| --- | ---: | ---: | ---: | ---: |")
    rows = [arguments.only] if arguments.only is not None else list(KINDS)
    with ProcessPoolExecutor(2) as pool:
        for errors in rows:
            for n in arguments.annotators:
                one = partial(told, errors=errors, n_annotators=n, images=arguments.images)
                row = f"| {f'`{errors}`' if errors else 'nothing more'} | {n} |"
                print(row, _cells(pool.map(one, range(arguments.runs))), flush=True)
        if arguments.only is None:
            many = partial(named_of_many, images=arguments.images)
            print("| nothing more | 30 |", _cells(pool.map(many, range(arguments.runs))))


def _cells(found: Iterable[tuple[bool, ...]]) -> str:
    """Return the share of each column as cells of a table."""
    columns = zip(*found, strict=True)
    return " | ".join(f"{100 * sum(each) / len(each):.0f} %" for each in columns) + " |"


if __name__ == "__main__":
    main()
