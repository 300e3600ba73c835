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
from bboxqa.diagnostics.strata import ThresholdChoice, sigma, threshold_choice
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, text_column
from bboxqa.pipelines.chance_existence import ChanceCounts, chance_existence
from bboxqa.pipelines.counting import ImagePart, count_sequentially
from bboxqa.pipelines.threshold_results import figures_of, measure_name, measured_thresholds

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Thresholds from 0.05 to 0.95."""


# With more annotations, random images with about so many annotations are measured.
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Agreement at each threshold, and the threshold that the data suggest."""

    table: Table
    """A row for each threshold: alpha, F1, F1 by chance, F1 above chance ("existence_alpha") and
    class alpha, with their 95 % intervals over images but for F1 by chance; the share of equal
    classes, the mean similarity, and the number of units. NaN where undefined or without meaning.
    "distance" is F1 less F1 by chance; "observed_share" and "expected_share" are the shares of
    annotations whose similarity to another one, or by chance, lies between this threshold and the
    next."""
    suggested: Table
    """A row with the similarity, the suggested threshold with its interval, the largest distance of
    F1 from F1 by chance with its interval, the lowest and the highest threshold that do about as
    well, Braylan's sigma with its interval and the lowest similarity that it uses
    ("sigma_threshold"), the number of measured images, and the reason if there is no threshold."""
    text: str
    """The suggestion as a sentence of a story; empty without one."""


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
    """
    settings = msgspec.structs.replace(settings, iou_threshold=THRESHOLDS)
    part = _sampled(images, settings.seed)
    counted = count_sequentially(part, settings, of_pairs=False, progress=progress)
    chance = chance_existence(part, settings, progress=progress)
    if part is images:
        chance = _scaled(chance, by_chance or {})
    observed = np.stack(
        [np.stack([each.images.alone, each.images.possible], axis=1) for each in counted.objects]
    )
    distance, choice, share = _separation(observed, chance.sums, settings)
    columns = _columns(
        map(figures_of, measured_thresholds(part, settings, counted, chance, progress))
    )
    columns |= dict(zip(("distance", "distance_low", "distance_high"), distance, strict=True))
    for name, of in (("observed_share", "f1"), ("expected_share", "f1_by_chance")):
        columns[name] = columns[of] - np.append(columns[of][1:], 0.0)
    n_images = int((part.data.assigned.sum(1) >= 2).sum())
    best = 0 if np.isnan(distance[0]).any() else int(np.argmax(distance[0]))
    row = {
        **_with_interval("threshold", choice.threshold, choice.interval),
        **_with_interval("distance", choice.distance, distance[1:, best]),
        "lowest": choice.lowest,
        "highest": choice.highest,
        **_with_interval("sigma", share[0], share[1:3]),
        "sigma_threshold": share[3],
        "n_images": n_images,
    }
    suggested = Table(
        {
            "similarity": text_column([settings.similarity]),
            **{name: np.array([value]) for name, value in row.items()},
            "reason": text_column([choice.reason]),
        }
    )
    text = "" if choice.reason else _text(choice, measure_name(settings.similarity))
    if text and part is not images:
        text += f"; of {count(n_images, 'random image')}"
    return Sensitivity(Table(columns), suggested, text)


def _separation(
    observed: FloatArray, expected: FloatArray, settings: AgreeSettings
) -> tuple[FloatArray, ThresholdChoice, FloatArray]:
    """Return F1 less F1 by chance, (3, T), where it is largest, and sigma with its start, (4,).

    The sums, (T, I, 2), are pairs of annotations that match and that could, of annotators of one
    image and of annotations of other images laid over it. Intervals are over images.
    """
    thresholds = np.array(THRESHOLDS)

    def figures(f1: FloatArray, by_chance: FloatArray) -> FloatArray:
        distance = f1 - by_chance
        best = thresholds[np.argmax(distance, axis=0)]
        known = ~np.isnan(distance).any(0)
        share, _ = sigma(thresholds, f1, by_chance)
        return np.concatenate([distance, np.where(known, best, np.nan)[None], share[None]])

    def evaluate(*sums: FloatArray) -> FloatArray:
        return figures(ratio(sums[0], sums[1]), ratio(sums[2], sums[3]))

    tables = observed[..., 0], observed[:1, :, 1], expected[..., 0], expected[..., 1]
    f1, by_chance = (ratio(*each.sum(1).T) for each in (observed, expected))
    values = figures(f1, by_chance)
    bounds = drawn_intervals(values, tables, evaluate, settings.bootstrap, settings.seed)
    low, high = bounds[-2].round(10).tolist()
    return (
        np.concatenate([values[None, :-2], bounds[:-2].T]),
        threshold_choice(thresholds, f1, by_chance, (low, high)),
        np.array([values[-1], *bounds[-1].round(10), sigma(thresholds, f1, by_chance)[1]]),
    )


def _with_interval(name: str, value: float, interval: Any) -> dict[str, float]:
    return {name: value, f"{name}_low": interval[0], f"{name}_high": interval[1]}


def _scaled(chance: ChanceCounts, known: Mapping[float, float]) -> ChanceCounts:
    """Return counts scaled so that their F1 by chance is the known one at known thresholds."""
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
    """Return random images with about `_MOST` annotations; all if they have no more."""
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
    rows = []
    for each in figures:
        existence, classes = each["existence"], each["class_agreement"]
        row = {
            "threshold": each["iou_threshold"],
            **_with_interval("alpha", each["alpha"], each["interval"]),
            **_with_interval("f1", existence.f1, existence.interval),
            "f1_by_chance": existence.chance,
            **_with_interval("existence_alpha", existence.alpha, existence.alpha_interval),
            **_with_interval("class_alpha", classes.alpha, classes.interval),
            "class_share": classes.share,
            "mean_similarity": each["place"].mean_iou,
            "n_units": each["n_units"],
        }
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _text(choice: ThresholdChoice, measure: str) -> str:
    """Return the suggestion as a sentence."""
    low, high = choice.interval
    interval = "" if isnan(low) else f" [{round(low, 2):g}, {round(high, 2):g}]"
    about = ""
    if choice.lowest != choice.highest:
        about = f"; {choice.lowest:g} to {choice.highest:g} do about as well"
    return f"{measure} {choice.threshold:g}{interval} separates objects from chance best{about}"
