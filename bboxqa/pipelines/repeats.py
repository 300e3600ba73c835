"""Agreement of annotators with themselves, in images annotated in several sessions."""

from collections.abc import Iterator
from math import isnan, nan
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.alpha.nominal import value_sums
from bboxqa.agreement.counts.object_counts import ObjectSums
from bboxqa.agreement.objects import (
    Intervals,
    ThresholdSums,
    reason_without_meaning,
    threshold_intervals,
)
from bboxqa.core.arrays import IndexArray, sum_by
from bboxqa.core.text import names_in_words
from bboxqa.core.types import Progress
from bboxqa.model.annotations import Dataset, Repeats
from bboxqa.model.diagnosis import EVERYONE
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.counting import AgreementCounts, compared_images, count_sequentially

FIGURES = {
    "f1": "f1", "alpha": "pooled", "class_alpha": "class", "class_share": "class share",
    "mean_iou": "place",
}  # fmt: skip
"""Columns of the table, each with a ``_low`` and a ``_high``, and their names in `ThresholdSums`.
"""


def with_repeats(
    results: tuple[ThresholdResult, ...], data: Dataset, settings: AgreeSettings,
    *, progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:  # fmt: skip
    """Return results with the agreement of annotators with themselves, if there is any.

    The table has a row for all annotators together, and one for each who annotated an image in
    several sessions. Columns are the numbers of images and annotations, and each of `FIGURES` with
    its 95 % interval over images. Alpha is NaN where it has no meaning.
    """
    repeats, names = data.repeats, data.annotator_names
    if repeats is None:
        return results
    part = compared_images(repeats.sessions)
    counted = count_sequentially(part, settings, progress=progress)
    drawn = np.bincount(part.data.annotations.image, minlength=len(repeats.image))
    who = np.unique(repeats.annotator)
    cells = [np.arange(len(repeats.image))]
    cells += [np.flatnonzero(repeats.annotator == each) for each in who.tolist()]
    people = np.append(len(names), who).astype(np.int32)
    columns: dict[str, Column] = {
        "annotator": Categorical(people, (*names, EVERYONE)),
        "n_images": np.array([len(np.unique(repeats.image[each])) for each in cells]),
        "n_annotations": np.array([int(drawn[each].sum()) for each in cells]),
    }
    found = []
    for index, result in enumerate(results):
        rows = [_row(counted, index, each, repeats, settings) for each in cells]
        figures = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        found.append(replace(result, repeats=Table({**columns, **figures})))
    return tuple(found)


def repeat_notes(part: ThresholdResult) -> Iterator[str]:
    """Yield who agrees significantly less with themselves than the others do, if anybody.

    With two annotators, their intervals must not overlap.
    """
    if part.repeats is None:
        return
    # What loads the diagnosis is loaded where sessions are compared.
    from bboxqa.pipelines.diagnosis.findings import above_others, bounds, judged

    table = part.repeats.take(np.arange(1, len(part.repeats)))
    f1 = bounds(table, "f1")
    error = judged(table, f1.of_complement())
    worst = above_others(error, table["n_images"], n_kinds=1)[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        return
    for place in worst:
        others = f1.others(place, "{:.2f}".format)
        (name,) = names_in_words([table["annotator"][place]])
        yield (
            f"{name} agrees least with what {name} drew in other sessions: F1 "
            f"{f1.value[place]:.2f} [{f1.low[place]:.2f}, {f1.high[place]:.2f}] at "
            f"{part.threshold_label}{others}"
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
