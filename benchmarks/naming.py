"""Measure whether the story names who errs, for the right cause, and nobody else.

    python benchmarks/naming.py                 # prints what docs/validity.md sums up

Sets of 100 images with 8 objects, drawn by 3 to 5 annotators with a jitter of 1 px, who miss 2 % of
them. None, one or two annotators err. Sentences name those whom they are about, or mention.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import bboxqa

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH, HEIGHT, IMAGES, OBJECTS = 1000, 800, 100, 8
CATEGORIES = ("car", "person", "dog", "bike")
_SHARES = (0.4, 0.3, 0.2, 0.1)

CAUSES = {
    "shift": ("5 px to the right", "further right"),
    "size": ("boxes × 1.15", "wider|taller"),
    "miss": ("misses 15 %", "misses"),
    "small": ("misses 30 % of the objects below 60² px", "misses small objects"),
    "swap": ("30 % of two categories exchanged", "car.*person|person.*car"),
    "dup": ("10 % drawn twice", "twice"),
    "extra": ("10 % extras", "did not draw"),
    "copy": ("a copy of the first", "copied"),
    "random": ("random boxes", "agrees with nobody"),
}
"""The errors in words, and the words of their cause in sentences."""
TWO = (
    "miss shift", "small swap", "extra miss", "dup size", "miss miss", "swap extra", "shift shift",
)  # fmt: skip
"""Errors of two annotators of four or five."""


class Found(NamedTuple):
    """What the sentences on a set name."""

    erring: int
    """Annotators who err,"""
    named: int
    explained: int
    """those who are named, and those with the right cause."""
    innocent: bool
    """Whether a sentence is about somebody else."""


def sides(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the sides of n boxes, from 20 to 180 px."""
    return np.exp(rng.uniform(np.log(20), np.log(180), n))


def drawn(
    rng: np.random.Generator, scene: list[Any], error: str
) -> list[tuple[int, int, np.ndarray]]:
    """Return the images, categories and boxes that an annotator draws."""
    rows = []
    for image, (true, category) in enumerate(scene):
        n, boxes, names = len(true), true.copy(), category.copy()
        kept = rng.random(n) >= 0.02
        if error == "miss":
            kept &= rng.random(n) >= 0.15
        if error == "small":
            kept &= (true[:, 2:].prod(1) >= 60**2) | (rng.random(n) >= 0.3)
        if error == "shift":
            boxes[:, 0] += 5
        if error == "size":
            boxes[:, :2] -= 0.075 * boxes[:, 2:]
            boxes[:, 2:] *= 1.15
        if error == "swap":
            swapped = (names < 2) & (rng.random(n) < 0.3)
            names[swapped] = 1 - names[swapped]
        if error == "random":
            boxes[:, 2:] = sides(rng, n)[:, None]
            boxes[:, :2] = rng.uniform(0, np.array([WIDTH, HEIGHT]) - boxes[:, 2:])
            names = rng.choice(4, n)
        edges = rng.normal(0, 1, (n, 4))
        boxes[:, :2] += edges[:, :2]
        boxes[:, 2:] += edges[:, 2:] - edges[:, :2]
        rows += [(image, names[each], boxes[each]) for each in np.flatnonzero(kept)]
        if error == "dup":
            twice = np.flatnonzero(kept & (rng.random(n) < 0.1))
            rows += [(image, names[each], boxes[each] + rng.normal(0, 1, 4)) for each in twice]
        if error == "extra":
            for side in sides(rng, rng.binomial(n, 0.1)):
                at = rng.uniform(0, np.array([WIDTH, HEIGHT]) - side)
                rows.append((image, rng.choice(4), np.array([*at, side, side])))
    return rows


def document(seed: int, n: int, errors: list[str]) -> dict[str, Any]:
    """Return a set of n annotators as COCO; the last ones make the errors."""
    rng = np.random.default_rng(1000 * seed + n)
    scene = []
    for _ in range(IMAGES):
        stretch = np.exp(rng.normal(0, 0.15, OBJECTS))
        size = sides(rng, OBJECTS)[:, None] * np.column_stack([stretch, 1 / stretch])
        corner = rng.uniform(0, np.array([WIDTH, HEIGHT]) - size)
        scene.append((np.hstack([corner, size]), rng.choice(4, OBJECTS, p=_SHARES)))
    names = [f"p{each + 1}" for each in range(n)]
    every = [""] * (n - len(errors)) + errors
    of_each = [drawn(rng, scene, error) for error in every]
    if "copy" in every:
        of_each[every.index("copy")] = of_each[0]
    rows = [(name, *row) for name, part in zip(names, of_each, strict=True) for row in part]
    return {
        "images": [
            {"id": each + 1, "file_name": f"{each}.jpg", "width": WIDTH, "height": HEIGHT,
             "annotators": names}
            for each in range(IMAGES)
        ],
        "categories": [{"id": each + 1, "name": name} for each, name in enumerate(CATEGORIES)],
        "annotations": [
            {"id": number, "image_id": image + 1, "category_id": int(category) + 1,
             "bbox": box.tolist(), "area": float(box[2:].prod()), "iscrowd": 0, "annotator": name}
            for number, (name, image, category, box) in enumerate(rows, 1)
        ],
    }  # fmt: skip


def found(case: tuple[int, int, str]) -> Found:
    """Return what the sentences name in the set of a seed, a number of annotators and errors."""
    seed, n, words = case
    errors = words.split()
    data = bboxqa.read_coco(document(seed, n, errors), segmentation=False)
    result = bboxqa.agree(data, bootstrap=1000)
    lines = result.tell().lines
    erring = {f"p{n - place}": error for place, error in enumerate(reversed(errors))}
    allowed = {*erring, "p1"} if "copy" in errors else {*erring}
    n_named = n_explained = 0
    for name, error in erring.items():
        own = [line.text for line in lines if name in line.annotators or name in line.text]
        n_named += bool(own)
        n_explained += any(re.search(CAUSES[error][1], text) for text in own)
    innocent = any({*line.annotators} - allowed for line in lines)
    return Found(len(erring), n_named, n_explained, innocent)


def cases() -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Yield the words of each row, the numbers of annotators, and the errors."""
    yield "nobody", (3, 4, 5), ""
    for error, (words, _) in CAUSES.items():
        yield f"one: {words}", (3, 4, 5), error
    for pair in TWO:
        yield f"two: {', '.join(CAUSES[each][0] for each in pair.split())}", (4, 5), pair


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--only", default="", help="words of the rows to run")
    arguments = parser.parse_args()
    print("| who errs | of | who errs is named | with the right cause | somebody else is named |")
    print("| --- | ---: | ---: | ---: | ---: |")
    total = []
    with ProcessPoolExecutor(2) as pool:
        for words, numbers, errors in cases():
            if arguments.only not in words:
                continue
            sets = [(seed, n, errors) for n in numbers for seed in range(arguments.runs)]
            every = list(pool.map(found, sets))
            total += every
            print(f"| {words} | {', '.join(map(str, numbers))} | {_cells(every)}", flush=True)
    print(f"| all {len(total)} sets | | {_cells(total)}")


def _cells(every: list[Found]) -> str:
    n, named, explained, innocent = np.sum(every, axis=0).tolist()
    shares = (f"{100 * each / n:.0f} %" if n else "" for each in (named, explained))
    return " | ".join([*shares, f"{100 * innocent / len(every):.1f} %"]) + " |"


if __name__ == "__main__":
    main()
