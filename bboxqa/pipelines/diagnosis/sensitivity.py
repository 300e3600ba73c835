"""How agreement depends on the threshold, and the threshold that the data suggest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any

import msgspec
import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.core.types import Progress
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.pipelines.chance_existence import ChanceCounts, chance_existence
from bboxqa.pipelines.counting import count_sequentially
from bboxqa.pipelines.diagnosis.separation import (
    THRESHOLDS,
    Separation,
    separation,
    with_interval,
)
from bboxqa.pipelines.image_parts import ImagePart
from bboxqa.pipelines.results.threshold_results import measure_name, threshold_figures

SENSITIVITY = "sensitivity"
"""The name of the table."""

# With more annotations, random images with about so many annotations are measured.
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Agreement at each threshold.

    Attributes
    ----------
    table : Table
        A row for each threshold: alpha, F1, F1 by chance, F1 above chance ("existence_alpha") and
        class alpha, with their 95 % intervals over images but for F1 by chance; the share of equal
        classes, the mean similarity, and the number of units. NaN where undefined or without
        meaning. "distance" is F1 less F1 by chance; "observed_share" and "expected_share" are the
        shares of annotations whose similarity to another one, or by chance, lies between this
        threshold and the next.
    separation : Separation
        The suggested threshold.
    text : str
        The suggestion as a sentence of a story.
    n_images : int
        Number of images that were measured.
    """

    table: Table
    separation: Separation
    text: str
    n_images: int


def sensitivity(
    images: ImagePart,
    settings: AgreeSettings,
    *,
    by_chance: Mapping[float, float] | None = None,
    progress: Progress | None = None,
) -> Sensitivity:
    """Measure agreement at thresholds from 0.05 to 0.95, comparing annotations once.

    Of more than 100,000 annotations, random images with about so many are measured. Errors are
    those of `agree`; the threshold of the settings has no effect. `images` is the result of
    `compared_images`. `by_chance` is the F1 by chance of some thresholds, measured with more
    passes: if all images are measured, the F1 by chance of all thresholds is scaled to it.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> from bboxqa.pipelines.image_parts import compared_images
    >>> images = compared_images(bboxqa.read_coco(example_file("fruits")))
    >>> found = sensitivity(images, bboxqa.AgreeSettings(bootstrap=0))
    >>> found.table["f1"][[9, 15]].round(4)
    array([0.7778, 0.7778])
    >>> found.text
    'no threshold suggests itself: agreement by chance is not known'
    """
    settings = msgspec.structs.replace(settings, iou_threshold=THRESHOLDS)
    n_drawn = np.bincount(images.data.annotations.image, minlength=len(images.data.image_names))
    part = sampled(images, n_drawn, _MOST, settings.seed)
    counted = count_sequentially(part, settings, of_pairs=False, progress=progress)
    chance = chance_existence(part, settings, progress=progress)
    if part is images:
        chance = _scaled(chance, by_chance or {})
    observed = np.stack(
        [np.stack([each.images.matched, each.images.possible], axis=1) for each in counted.objects]
    )
    found = separation(observed, chance.sums, settings.bootstrap, settings.seed)
    columns = _columns(threshold_figures(part, settings, counted, chance, progress))
    columns |= dict(zip(("distance", "distance_low", "distance_high"), found.distance, strict=True))
    for name, of in (("observed_share", "f1"), ("expected_share", "f1_by_chance")):
        columns[name] = columns[of] - np.append(columns[of][1:], 0.0)
    n_images = int((part.data.assigned.sum(1) >= 2).sum())
    text = _text(found, measure_name(settings.similarity))
    if part is not images:
        text += f"; of {count(n_images, 'random image')}"
    return Sensitivity(Table(columns), found, text, n_images)


def _scaled(chance: ChanceCounts, known: Mapping[float, float]) -> ChanceCounts:
    """Return counts scaled so that their F1 by chance is the known one at known thresholds.

    Few passes are enough for the shape of the curve over thresholds, but not for its level.
    """
    found = ratio(*chance.sums.sum(1).T)
    rows = [row for row, threshold in enumerate(THRESHOLDS)
            if known.get(threshold, nan) > 0 and found[row] > 0]  # fmt: skip
    if not rows:
        return chance
    thresholds = np.array(THRESHOLDS)
    of_known = np.array([known[THRESHOLDS[row]] for row in rows])
    factor = np.interp(thresholds, thresholds[rows], of_known / found[rows])
    sums = chance.sums.copy()
    # An F1 cannot exceed 1.
    sums[..., 0] *= np.minimum(factor, 1 / np.where(found > 0, found, 1.0))[:, None]
    return replace(chance, sums=sums)


def sampled(images: ImagePart, cost: IndexArray | FloatArray, most: int, seed: int) -> ImagePart:
    """Return random images whose costs (I,) add up to `most` at most; all if they do."""
    data = images.data
    if cost.sum() <= most:
        return images
    order = np.random.default_rng(seed).permutation(len(cost))
    taken = np.zeros(len(cost), np.bool_)
    taken[order[np.cumsum(cost[order]) <= most]] = True
    kept = np.flatnonzero(taken[data.annotations.image])
    part = replace(
        data,
        annotations=data.annotations.take(kept),
        # No annotator counts as asked about the images that are left out.
        assigned=data.assigned & taken[:, None],
    )
    return ImagePart(part, images.empty[taken[images.empty]])


def _columns(figures: Iterable[dict[str, Any]]) -> dict[str, FloatArray]:
    """Return the figures of each threshold as columns."""
    rows = [
        {
            "threshold": each["iou_threshold"],
            **with_interval("alpha", each["alpha"], each["interval"]),
            **with_interval("f1", each["existence"].f1, each["existence"].interval),
            "f1_by_chance": each["existence"].chance,
            **with_interval(
                "existence_alpha", each["existence"].alpha, each["existence"].alpha_interval
            ),
            **with_interval(
                "class_alpha", each["class_agreement"].alpha, each["class_agreement"].interval
            ),
            "class_share": each["class_agreement"].share,
            "mean_similarity": each["place"].mean_iou,
            "n_units": each["n_units"],
        }
        for each in figures
    ]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _text(found: Separation, measure: str) -> str:
    """Return the suggestion as a sentence."""
    choice = found.choice
    if choice.reason:
        return f"no threshold suggests itself: {choice.reason}"
    row = int(np.argmax(found.distance[0]))
    low, high = choice.interval
    interval = "" if isnan(low) else f" [{round(low, 2):g}, {round(high, 2):g}]"
    low, high = found.distance[1:, row].tolist()
    of_distance = "" if isnan(low) else f" [{low:.2f}, {high:.2f}]"
    about = (
        ""
        if choice.lowest == choice.highest
        else f"; thresholds from {choice.lowest:g} to {choice.highest:g} do about as well"
    )
    return (
        f"{measure} {choice.threshold:g}{interval} separates objects from chance best: F1 is "
        f"{found.f1[row]:.2f}, and {found.f1_by_chance[row]:.2f} by chance, a distance of "
        f"{choice.distance:.2f}{of_distance}{about}"
    )
