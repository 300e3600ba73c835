"""How agreement depends on the threshold, and the threshold that the data suggest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any

import msgspec
import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import count
from bboxqa.core.types import Progress
from bboxqa.diagnostics.disagreement.thresholds import (
    ThresholdChoice,
    sigma,
    threshold_choice,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, text_column
from bboxqa.pipelines.chance_existence import ChanceCounts, chance_existence
from bboxqa.pipelines.counting import AgreementCounts, ImagePart, count_sequentially
from bboxqa.pipelines.threshold_results import measure_name, threshold_figures

SENSITIVITY = "sensitivity"
SUGGESTED = "suggested_threshold"
"""Names of the tables that are computed from the images, not from the matched units."""

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Thresholds from 0.05 to 0.95."""

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
    choice : ThresholdChoice
    suggested : Table
        One row: the similarity, the suggested threshold with its interval, the largest distance,
        the lowest and the highest threshold that do about as well, sigma with its interval and the
        lowest similarity that it uses ("sigma_threshold"), and the reason if there is no threshold.
    text : str
        The suggestion as a sentence of a story.
    n_images : int
        Number of images that were measured.
    """

    table: Table
    choice: ThresholdChoice
    suggested: Table
    text: str
    n_images: int


def sensitivity(
    images: ImagePart,
    settings: AgreeSettings,
    *,
    by_chance: Mapping[float, float] | None = None,
    memory: int | None = None,
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
    >>> from bboxqa.pipelines.counting import compared_images
    >>> images = compared_images(bboxqa.read_coco(example_file("fruits")))
    >>> found = sensitivity(images, bboxqa.AgreeSettings(bootstrap=0))
    >>> found.table["f1"][[9, 15]].round(4)
    array([0.7778, 0.7778])
    >>> found.text
    'no threshold suggests itself: agreement by chance is not known'
    """
    settings = msgspec.structs.replace(settings, iou_threshold=THRESHOLDS)
    part = _sampled(images, settings.seed)
    counted = count_sequentially(part, settings, of_pairs=False, memory=memory, progress=progress)
    chance = chance_existence(part, settings, memory=memory, progress=progress)
    if part is images:
        chance = _scaled(chance, by_chance or {})
    columns = _columns(threshold_figures(part, settings, counted, chance, progress))
    distance, interval, sigma_interval = _distance(columns, counted, chance, settings)
    columns |= distance
    for name, of in (("observed_share", "f1"), ("expected_share", "f1_by_chance")):
        columns[name] = columns[of] - np.append(columns[of][1:], 0.0)
    table = Table(columns)
    choice = threshold_choice(np.array(THRESHOLDS), table["f1"], table["f1_by_chance"], interval)
    n_images = int((part.data.assigned.sum(1) >= 2).sum())
    text = _text(choice, table, measure_name(settings.similarity))
    if part is not images:
        text += f"; of {count(n_images, 'random image')}"
    suggested = _suggested(choice, table, sigma_interval, settings.similarity)
    return Sensitivity(table, choice, suggested, text, n_images)


def _suggested(
    choice: ThresholdChoice, table: Table, sigma_interval: tuple[float, float], similarity: str
) -> Table:
    """Return the suggested threshold and sigma as a table of one row."""
    share, start = sigma(table["threshold"], table["f1"], table["f1_by_chance"])
    figures = {
        **_with_interval("threshold", choice.threshold, choice.interval),
        "distance": choice.distance,
        "lowest": choice.lowest,
        "highest": choice.highest,
        **_with_interval("sigma", float(share), sigma_interval),
        "sigma_threshold": float(start),
    }
    return Table(
        {
            "similarity": text_column([similarity]),
            **{name: np.array([value]) for name, value in figures.items()},
            "reason": text_column([choice.reason]),
        }
    )


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


def _sampled(images: ImagePart, seed: int) -> ImagePart:
    """Return random images with about `_MOST` annotations; all if there are fewer."""
    data = images.data
    n_drawn = np.bincount(data.annotations.image, minlength=len(data.image_names))
    if n_drawn.sum() <= _MOST:
        return images
    order = np.random.default_rng(seed).permutation(len(n_drawn))
    taken = np.zeros(len(n_drawn), np.bool_)
    taken[order[np.cumsum(n_drawn[order]) <= _MOST]] = True
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
            **_with_interval("alpha", each["alpha"], each["interval"]),
            **_with_interval("f1", each["existence"].f1, each["existence"].interval),
            "f1_by_chance": each["existence"].chance,
            **_with_interval(
                "existence_alpha", each["existence"].alpha, each["existence"].alpha_interval
            ),
            **_with_interval(
                "class_alpha", each["class_agreement"].alpha, each["class_agreement"].interval
            ),
            "class_share": each["class_agreement"].share,
            "mean_similarity": each["place"].mean_iou,
            "n_units": each["n_units"],
        }
        for each in figures
    ]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _distance(
    columns: dict[str, FloatArray],
    counted: AgreementCounts,
    chance: ChanceCounts,
    settings: AgreeSettings,
) -> tuple[dict[str, FloatArray], tuple[float, float], tuple[float, float]]:
    """Return F1 minus F1 by chance with intervals, and intervals of best threshold and sigma."""
    thresholds = np.array(THRESHOLDS)
    images = [found.images for found in counted.objects]
    tables = (
        np.stack([found.matched for found in images]),
        images[0].possible[None],
        chance.sums[..., 0],
        chance.sums[..., 1],
    )

    def figures(observed: FloatArray, expected: FloatArray) -> FloatArray:
        distance = observed - expected
        best = thresholds[np.argmax(distance, axis=0)]
        known = ~np.isnan(distance).any(0)
        share, _ = sigma(thresholds, observed, expected)
        return np.concatenate([distance, np.where(known, best, np.nan)[None], share[None]])

    def evaluate(*sums: FloatArray) -> FloatArray:
        return figures(ratio(sums[0], sums[1]), ratio(sums[2], sums[3]))

    values = figures(columns["f1"], columns["f1_by_chance"])
    bounds = drawn_intervals(values, tables, evaluate, settings.bootstrap, settings.seed)
    of_best, of_sigma = ((low, high) for low, high in bounds[-2:].round(10).tolist())
    distance = {"distance": values[:-2], "distance_low": bounds[:-2, 0]}
    return distance | {"distance_high": bounds[:-2, 1]}, of_best, of_sigma


def _with_interval(name: str, value: float, interval: tuple[float, float]) -> dict[str, float]:
    return {name: value, f"{name}_low": interval[0], f"{name}_high": interval[1]}


def _text(choice: ThresholdChoice, table: Table, measure: str) -> str:
    """Return the suggestion as a sentence."""
    if choice.reason:
        return f"no threshold suggests itself: {choice.reason}"
    row = int(np.argmax(table["distance"]))
    low, high = choice.interval
    interval = "" if isnan(low) else f" [{round(low, 2):g}, {round(high, 2):g}]"
    low, high = table["distance_low"][row], table["distance_high"][row]
    of_distance = "" if isnan(low) else f" [{low:.2f}, {high:.2f}]"
    about = (
        ""
        if choice.lowest == choice.highest
        else f"; thresholds from {choice.lowest:g} to {choice.highest:g} do about as well"
    )
    return (
        f"{measure} {choice.threshold:g}{interval} separates objects from chance best: F1 is "
        f"{table['f1'][row]:.2f}, and {table['f1_by_chance'][row]:.2f} by chance, a distance of "
        f"{choice.distance:.2f}{of_distance}{about}"
    )
