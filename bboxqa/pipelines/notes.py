"""Notes on agreement in images: what to know when reading the numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.measured import outline_notes
from bboxqa.geometry.similarities.registry import needs_rotated_boxes
from bboxqa.model.annotations import Dataset
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.rotated_boxes import are_upright
from bboxqa.pipelines.chance_existence import ChanceCounts
from bboxqa.pipelines.counting import partly_annotated

FEW_CLUSTERS = 10
"""With fewer clusters, even expanded intervals are somewhat too narrow."""

# From this F1 by chance on, F1 hardly depends on what images show.
_HIGH_CHANCE = 0.9
_SHOWN = 3


def image_notes(
    data: Dataset,
    settings: AgreeSettings,
    counts: Counter[str],
    thresholds: Sequence[ThresholdResult],
) -> Iterator[str]:
    """Yield notes on the data that were compared, and on alpha at each threshold.

    `counts` come from `candidate_pairs`.
    """
    yield from _annotation_notes(counts)
    boxes = data.annotations.rotated_box if needs_rotated_boxes(settings.similarity) else None
    if boxes is not None and are_upright(boxes, data.annotations.bbox):
        yield "no box is rotated: --similarity bbox gives the same figures, and is faster"
    n_images = int((data.assigned.sum(1) >= 2).sum())
    if settings.bootstrap and n_images:
        yield from few_images_note(n_images)
    for part in thresholds:
        if part.interval_shift:
            yield shift_note(f"alpha at {part.threshold_label}", part.interval_shift)
    for part in thresholds:
        if not isnan(part.greedy_alpha) and not isnan(part.alpha):
            yield (
                f"at {part.threshold_label}, greedy matching, which does not depend on the "
                f"order of annotators, gives alpha {part.greedy_alpha:z.4f} "
                f"({part.greedy_alpha - part.alpha:+z.4f})"
            )


def few_images_note(n_images: int) -> Iterator[str]:
    """Yield a note on intervals if there are few images."""
    if n_images < FEW_CLUSTERS:
        yield (
            f"{count(n_images, 'image')}: intervals come from resampling images, and are "
            + ("somewhat too narrow with so few" if n_images > 1 else "not possible with one")
        )


def pair_note(paired: BoolArray | None) -> Iterator[str]:
    """Yield a note if pairs of some annotators only are counted, (A,) bool."""
    if paired is not None:
        yield (
            f"pairs of annotators are counted among the {np.count_nonzero(paired):,} of "
            f"{len(paired):,} who drew the most annotations"
        )


def all_asked_notes(data: Dataset, thresholds: Sequence[ThresholdResult]) -> Iterator[str]:
    """Yield the number of images that do not list who was asked, and figures if all were."""
    n_partly = int(partly_annotated(data).sum())
    for part in thresholds:
        found = (
            ("alpha", part.all_asked_alpha, part.alpha),
            ("F1", part.all_asked_f1, part.existence.f1),
        )
        figures = [
            (name, f"{value:z.4f}" + ("" if isnan(usual) else f" ({value - usual:+z.4f})"))
            for name, value, usual in found
            if not isnan(value)
        ]
        if figures:
            (name, value), *others = figures
            more = "".join(f" and {other} {text}" for other, text in others)
            yield (
                f"{n_partly:,} of {count(len(data.image_names), 'image')} annotated by some "
                "annotators only, without a list of who was asked: the others count as not asked. "
                f"If all were asked, {name} at {part.threshold_label} is {value}{more}: "
                "--asked all"
            )


def chance_notes(chance: ChanceCounts, n_images: int, f1: float) -> Iterator[str]:
    """Yield the numbers of images without chance agreement on existence, and if it is high.

    `f1` is the F1 by chance; NaN where unknown.
    """
    if f1 >= _HIGH_CHANCE:
        others = ", and F1 above chance rests on the few others" if f1 < 1 else ""
        yield (
            f"annotations of different images match as well (F1 by chance is {f1:.2f}), since "
            "objects are in the same places in all images: F1 would be about as high if annotators "
            f"did not look at them{others}"
        )
    if chance.reason:
        return
    others = "chance agreement on existence comes from the other images"
    of_images = f"of {count(n_images, 'image')}"
    if chance.n_unknown:
        yield f"the size of {chance.n_unknown:,} {of_images} is not known: {others}"
    if n_alone := chance.n_alone - chance.n_unknown:
        have = "has" if n_alone == 1 else "have"
        alike = "no other image of a similar shape and the same annotators"
        yield f"{n_alone:,} {of_images} {have} {alike}: {others}"


def crowd_notes(data: Dataset, n_images: int) -> Iterator[str]:
    """Yield numbers of crowd annotations; `n_images` images have no other annotations."""
    crowds = data.annotations.category[data.annotations.iscrowd]
    if len(crowds):
        names = [data.category_names[each] for each in np.unique(crowds).tolist()]
        shown = first_few(names, _SHOWN, lambda each: repr(one_line(each)))
        of = "of category" if len(names) == 1 else "of categories"
        yield f"{count(len(crowds), 'crowd annotation')} left out, {of} {shown}"
    if n_images:
        yield f"{count(n_images, 'image')} with crowd annotations only: not in the mean over images"


def _annotation_notes(counts: Counter[str]) -> Iterator[str]:
    """Yield numbers of annotations that were left out, match nothing or were repaired."""
    if counts["flat"]:
        match = "matches" if counts["flat"] == 1 else "match"
        yield f"{count(counts['flat'], 'annotation')} without area {match} no other"
    if counts["short"]:
        yield f"{count(counts['short'], 'ring')} of fewer than 3 points left out"
    if counts["repaired"]:
        yield f"{count(counts['repaired'], 'invalid polygon')} repaired before comparing"
    yield from outline_notes(counts["quadrilaterals"], counts["other_outlines"])
    yield from _scale_notes(counts)
    if counts["tangled"]:
        yield (
            f"{count(counts['tangled'], 'polygon')} with too many edges side by side, or too many "
            "self-crossings to repair: compared in pixels, by the even-odd rule"
        )


def _scale_notes(counts: Counter[str]) -> Iterator[str]:
    """Yield numbers of annotations without key points, or with another scale than their area."""
    if counts["no_points"]:
        without = count(counts["no_points"], "annotation")
        yield f"{without} without labelled key points match no other"
    for name, scale in (
        ("box_scale", "the area of their box as scale, as the file gives none above 0"),
        (
            "point_scale",
            "the extent of their key points as scale, without area and box",
        ),
    ):
        if counts[name]:
            yield f"{count(counts[name], 'annotation')} with {scale}"
    if counts["no_scale"]:
        yield (
            f"{count(counts['no_scale'], 'annotation')} without area, whose key points lie on a "
            "line or point: match equal ones only, as the size of the object is unknown; add "
            "`area` or `bbox`"
        )


def shift_note(what: str, shift: float) -> str:
    """Return a note on an interval that was shifted by the bias of the draws."""
    side = "lower" if shift > 0 else "higher"
    return (
        f"{what} is {abs(shift):.4f} {side} in draws than in the data, on average; its interval "
        "is moved by as much"
    )
