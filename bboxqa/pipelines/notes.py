"""Notes that are needed to read the figures of a result."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isnan

import numpy as np

from bboxqa.core.text import count, first_few, joined, one_line
from bboxqa.model.annotations import Dataset
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import ImagePart, partly_annotated

FEW_CLUSTERS = 10
"""With fewer clusters, even expanded intervals are somewhat too narrow."""
# From this F1 by chance on, F1 hardly depends on what images show.
_HIGH_CHANCE = 0.9
_SHOWN = 3
# By what `candidate_pairs` counts: the noun, and what is said of as many.
_COUNTED = {
    "flat": ("annotation", "without area: match no other"),
    "short": ("ring", "of fewer than 3 points left out"),
    "repaired": ("invalid polygon", "repaired before comparing"),
    "quadrilaterals": (
        "outline", "with four corners but no right angles: compared by the smallest rectangle"
    ),
    "other_outlines": (
        "other outline", "compared by the upright box; --similarity polygon compares outlines"
    ),
    "no_points": ("annotation", "without labelled key points: match no other"),
    "box_scale": (
        "annotation", "with the area of their box as scale, as the file gives none above 0"
    ),
    "point_scale": (
        "annotation", "with the extent of their key points as scale, without area and box"
    ),
    "no_scale": (
        "annotation",
        "without area and key points in a plane: match equal ones only; add `area` or `bbox`",
    ),
    "tangled": (
        "polygon", "with too many edges or self-crossings: compared in pixels, by the even-odd rule"
    ),
}  # fmt: skip


def notes_of(
    data: Dataset,
    part: ImagePart,
    settings: AgreeSettings,
    counts: Mapping[str, int],
    result: ThresholdResult,
) -> Iterator[str]:
    """Yield notes on the data that were compared, and on the figures at the first threshold.

    `part` has the compared images of the data; `counts` come from `candidate_pairs`.
    """
    crowds = data.annotations.category[data.annotations.iscrowd]
    if len(crowds):
        names = [data.category_names[each] for each in np.unique(crowds).tolist()]
        shown = first_few(names, _SHOWN, lambda each: repr(one_line(each)))
        yield f"{count(len(crowds), 'crowd annotation')} left out, of {shown}"
    is_shared = data.assigned.sum(1) >= 2
    drawn, compared = (
        np.bincount(each.annotations.image, minlength=len(is_shared)) > 0
        for each in (data, part.data)
    )
    if only_crowds := int((drawn & ~compared & is_shared).sum()):
        images = count(only_crowds, "image")
        yield f"{images} with crowd annotations only: not in the mean over images"
    for name, (noun, text) in _COUNTED.items():
        if counts.get(name):
            yield f"{count(counts[name], noun)} {text}"
    if settings.bootstrap and is_shared.any():
        yield from few_images_note(int(is_shared.sum()))
    if result.existence.chance >= _HIGH_CHANCE:
        yield (
            f"F1 by chance is {result.existence.chance:.2f}, since objects are in the same places "
            "in all images: F1 would be about as high if annotators did not look at them"
        )
    if part.paired is not None:
        yield (
            f"pairs of annotators are counted among the {np.count_nonzero(part.paired):,} of "
            f"{len(part.paired):,} who drew the most annotations"
        )


def few_images_note(n_images: int) -> Iterator[str]:
    """Yield a note on intervals if there are few images."""
    if n_images < FEW_CLUSTERS:
        narrow = "are somewhat too narrow with so few" if n_images > 1 else "need several images"
        yield f"{count(n_images, 'image')}: intervals {narrow}"


def shift_note(what: str, shift: float) -> str:
    """Return a note on an interval that was shifted by the bias of the draws."""
    side = "lower" if shift > 0 else "higher"
    return (
        f"{what} is {abs(shift):.4f} {side} in draws than in the data, on average; its interval "
        "is moved by as much"
    )


def all_asked_notes(data: Dataset, part: ThresholdResult) -> Iterator[str]:
    """Yield the number of images that do not list who was asked, and figures if all were."""
    figures = [
        f"{name} at {part.threshold_label} is {value:z.4f}"
        + ("" if isnan(usual) else f" ({value - usual:+z.4f})")
        for name, value, usual in (
            ("alpha", part.all_asked_alpha, part.alpha),
            ("F1", part.all_asked_f1, part.existence.f1),
        )
        if not isnan(value)
    ]
    if figures:
        names = [data.image_names[each] for each in np.flatnonzero(partly_annotated(data))]
        number = Counter(map(str.casefold, names))
        unlike = sorted((e for e in names if number[e.casefold()] > 1), key=str.casefold)
        hint = f". {count(len(unlike), 'name')} differ only by upper and lower case, such as "
        hint += f"{joined([*map(one_line, unlike[:2])])}: rename those of one image"
        yield (
            f"{len(names):,} of {count(len(data.image_names), 'image')} "
            "annotated by some annotators only, without a list of who was asked: the others count "
            f"as not asked. If all were asked, {' and '.join(figures)}: --asked all"
            f"{hint if unlike else ''}"
        )
