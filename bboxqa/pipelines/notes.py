"""Notes on a result, and agreement of annotators with themselves."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import value_sums
from bboxqa.agreement.counts.object_counts import ObjectSums
from bboxqa.agreement.objects import (
    Intervals,
    ThresholdSums,
    reason_without_meaning,
    threshold_intervals,
)
from bboxqa.core.arrays import BoolArray, IndexArray, sum_by
from bboxqa.core.text import count, first_few, names_in_words, one_line
from bboxqa.core.types import Progress
from bboxqa.formats.measured import outline_notes
from bboxqa.geometry.similarities.registry import needs_rotated_boxes
from bboxqa.model.annotations import Dataset, Repeats
from bboxqa.model.diagnosis import EVERYONE
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.rotated_boxes import are_upright
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.chance_existence import ChanceCounts
from bboxqa.pipelines.counting import (
    AgreementCounts,
    compared_images,
    count_sequentially,
    partly_annotated,
)
from bboxqa.pipelines.diagnosis.sentences import of_others
from bboxqa.pipelines.diagnosis.significance import above_others, bounds, judged

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


FIGURES = {
    "f1": "f1", "alpha": "pooled", "class_alpha": "class", "class_share": "class share",
    "mean_iou": "place",
}  # fmt: skip
"""Columns of the table, each with a ``_low`` and a ``_high``, and their names in `ThresholdSums`.
"""


def with_repeats(
    results: tuple[ThresholdResult, ...],
    data: Dataset,
    settings: AgreeSettings,
    *,
    progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:
    """Return results with the agreement of annotators with themselves, if there is any."""
    if data.repeats is None:
        return results
    tables = repeat_tables(data.repeats, data.annotator_names, settings, progress=progress)
    return tuple(
        replace(result, repeats=table) for result, table in zip(results, tables, strict=True)
    )


def repeat_tables(
    repeats: Repeats,
    annotator_names: tuple[str, ...],
    settings: AgreeSettings,
    *,
    progress: Progress | None = None,
) -> tuple[Table, ...]:
    """Return the agreement of annotators with themselves at each threshold.

    There is a row for all annotators together, and one for each who annotated an image in several
    sessions. Columns are the numbers of images and annotations, and each of `FIGURES` with its 95 %
    interval over images. Alpha is NaN where it has no meaning.
    """
    part = compared_images(repeats.sessions)
    counted = count_sequentially(part, settings, progress=progress)
    drawn = np.bincount(part.data.annotations.image, minlength=len(repeats.image))
    who = np.unique(repeats.annotator)
    tables = []
    for index in range(len(settings.iou_threshold)):
        rows = [_row(counted, index, np.arange(len(repeats.image)), repeats, settings)]
        of_each = [np.flatnonzero(repeats.annotator == each) for each in who.tolist()]
        rows += [_row(counted, index, cells, repeats, settings) for cells in of_each]
        everyone = np.arange(len(repeats.image))
        columns: dict[str, Column] = {
            "annotator": Categorical(
                np.append(len(annotator_names), who).astype(np.int32), (*annotator_names, EVERYONE)
            ),
            "n_images": np.array(
                [len(np.unique(repeats.image[cells])) for cells in (everyone, *of_each)]
            ),
            "n_annotations": np.array([int(drawn[cells].sum()) for cells in (everyone, *of_each)]),
        }
        columns |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
        tables.append(Table(columns))
    return tuple(tables)


def repeat_notes(part: ThresholdResult) -> Iterator[str]:
    """Yield who agrees significantly less with themselves than the others do, if anybody.

    With two annotators, their intervals must not overlap.
    """
    if part.repeats is None:
        return
    table = part.repeats.take(np.arange(1, len(part.repeats)))
    f1 = bounds(table, "f1")
    error = judged(table, f1.of_complement())
    worst = above_others(error, table["n_images"], n_kinds=1)[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        return
    for place in worst:
        (name,) = names_in_words([table["annotator"][place]])
        yield (
            f"{name} agrees least with what {name} drew in other sessions: F1 "
            f"{f1.value[place]:.2f} [{f1.low[place]:.2f}, {f1.high[place]:.2f}] at "
            f"{part.threshold_label}{of_others(np.delete(f1.value, place), '{:.2f}'.format)}"
        )


def _row(
    counted: AgreementCounts,
    index: int,
    cells: IndexArray,
    repeats: Repeats,
    settings: AgreeSettings,
) -> dict[str, float]:
    """Return the figures of some annotators; intervals draw images."""
    images, place = np.unique(repeats.image[cells], return_inverse=True)
    group = np.full(len(repeats.image), -1)
    group[cells] = place
    n_groups = len(images)
    objects = counted.objects[index].images.stacked()[:, cells]
    sums = ThresholdSums(
        coincidences=_of_groups(counted.coincidences[index], group, n_groups),
        classes=_of_groups(counted.classes[index], group, n_groups),
        image_alpha=np.full(n_groups, nan),
        has_meaning=np.zeros(n_groups, np.bool_),
        left_empty=np.zeros(n_groups, np.bool_),
        objects=ObjectSums(*(sum_by(place, row, n_groups) for row in objects)),
        chance=np.zeros((n_groups, 2)),
    )
    figures = sums.figures()
    intervals: Intervals = {}
    if settings.bootstrap and n_groups > 1:
        clusters = np.arange(n_groups)
        intervals = threshold_intervals([sums], clusters, settings.bootstrap, settings.seed)[0]
    if settings.missing == "category" and reason_without_meaning(
        value_sums(sums.coincidences)[0][:-1]
    ):
        figures["pooled"] = nan
    row: dict[str, Any] = {}
    for name, kind in FIGURES.items():
        known = kind in intervals and not isnan(figures[kind])
        low, high = intervals[kind][0, :2] if known else (nan, nan)
        row |= {name: figures[kind], f"{name}_low": low, f"{name}_high": high}
    return row


def _of_groups(found: Coincidences, group: IndexArray, n_groups: int) -> Coincidences:
    """Return coincidences summed over groups; `group` maps old to new groups, -1 to none."""
    kept = np.flatnonzero(group[found.group] >= 0)
    key = group[found.group[kept]] * found.n_values + found.value[kept]
    keys, place = np.unique(key, return_inverse=True)
    return Coincidences(
        group=(keys // found.n_values).astype(np.int32),
        value=(keys % found.n_values).astype(np.int32),
        marginal=sum_by(place, found.marginal[kept], len(keys)),
        diagonal=sum_by(place, found.diagonal[kept], len(keys)),
        n_groups=n_groups,
        n_values=found.n_values,
    )
