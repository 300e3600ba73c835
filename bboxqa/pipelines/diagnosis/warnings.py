"""What the data cannot show, and properties of the data that make figures misleading."""

from collections.abc import Iterator
from math import isnan

import numpy as np

from bboxqa.core.arrays import component_of_each
from bboxqa.core.text import count
from bboxqa.diagnostics.offsets import pixel_bases
from bboxqa.model.annotations import EDGES
from bboxqa.pipelines.diagnosis.sentences import Diagnosed, said
from bboxqa.pipelines.diagnosis.significance import LEAST_DRAWS, LEAST_IMAGES

# An image with a larger share of the units dominates alpha.
_LARGE_IMAGE = 0.25


def limits(of: Diagnosed, *, judged: bool) -> Iterator[str]:
    """Yield what these data cannot show; `judged` if an image has three annotators."""
    n_images = int((of.matched.data.assigned.sum(1) >= 2).sum())
    if n_images < LEAST_IMAGES:
        yield said("few", what=count(n_images, "image"), least=LEAST_IMAGES, how="")
    elif of.matched.bootstrap < LEAST_DRAWS:
        draws = count(of.matched.bootstrap, "draw")
        yield said("few", what=draws, least=LEAST_DRAWS, how=f" (--bootstrap {LEAST_DRAWS})")
    all_drawn = of.part.n_complete_units == len(of.matched.units)
    if not judged and of.part.reference is None and not all_drawn:
        yield said("unjudged")


def warnings_of(of: Diagnosed) -> tuple[str, ...]:
    """Return warnings, each with its figure: alpha, or F1 where alpha has no meaning."""
    return (*_large_image(of), *_separate_groups(of), *_moved_by_a_program(of))


def _large_image(of: Diagnosed) -> Iterator[str]:
    """Yield the image with a large share of the units, if the figure differs without it."""
    table = of.part.images
    n_units = table["n_units"]
    if len(table) < 2 or not n_units.max() > _LARGE_IMAGE * n_units.sum():
        return
    largest = int(n_units.argmax())
    cost = float(table["cost"][largest])
    has_alpha = not isnan(of.part.alpha)
    value = of.part.alpha if has_alpha else of.part.existence.f1
    other, own = f"{value + cost:z.2f}", f"{value:z.2f}"
    if other != own:
        what = "alpha" if has_alpha else "F1"
        without = "" if isnan(cost) else f": without it, {what} would be {other} and not {own}"
        share = 100 * n_units[largest] / n_units.sum()
        yield said("large image", image=table["image"][largest], share=share, without=without)


def _separate_groups(of: Diagnosed) -> Iterator[str]:
    """Yield the number of groups of annotators who share no image."""
    assigned = of.matched.data.assigned
    shared = assigned[assigned.sum(1) > 1].astype(np.float64)
    first, second = np.nonzero(np.triu(shared.T @ shared, 1))
    n = len(np.unique(component_of_each(len(shared.T), first, second)[first]))
    if n > 1:
        yield said("separate groups", n=n)


def _moved_by_a_program(of: Diagnosed) -> Iterator[str]:
    """Yield annotators whose boxes differ by the same half or whole pixel."""
    found = pixel_bases(of.matched)
    for base in found[:1]:
        first, second = of.names[base.first], of.names[base.second]
        shifts = zip(EDGES, base.shift, strict=True)
        yield said(
            "moved by a program",
            who=f"{first} and {second}",
            n_alike=base.n_alike,
            n=base.n,
            edges=", ".join(f"{edge} {shift:+g} px" for edge, shift in shifts if shift),
            first=first,
            pairs=f"; {count(len(found) - 1, 'more such pair')}" if len(found) > 1 else "",
        )
