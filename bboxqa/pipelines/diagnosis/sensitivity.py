"""How agreement depends on the threshold, and the threshold that the data suggest."""

from collections.abc import Mapping
from math import isnan, nan
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.intervals import drawn_intervals
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import FloatArray, Progress
from bboxqa.core.text import count
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, text_column
from bboxqa.pipelines.chance_existence import ChanceCounts, chance_existence
from bboxqa.pipelines.counting import ImagePart, compared_images, count_agreement, of_images
from bboxqa.pipelines.threshold_results import measure_name, threshold_results

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Thresholds from 0.05 to 0.95."""


# With more annotations, random images with about so many annotations are measured.
_MOST = 100_000


class Sensitivity(msgspec.Struct, frozen=True):
    """Agreement at each threshold, and the threshold that the data suggest."""

    table: Table
    """A row for each threshold: alpha, F1, F1 by chance, F1 above chance ("existence_alpha") and
    class alpha; "distance", F1 less F1 by chance; and "observed_share" and "expected_share", of
    annotations whose similarity to another one, or by chance, lies between this threshold and the
    next. NaN where undefined or without meaning."""
    suggested: Table
    """A row with the suggested threshold, the largest distance, the lowest and the highest
    threshold that do about as well, the number of measured images, and the reason if there is no
    threshold."""
    text: str
    """The suggestion as a sentence of a story; empty without one."""


def sensitivity(
    images: ImagePart,
    settings: AgreeSettings,
    *,
    by_chance: Mapping[float, float] | None = None,
    progress: Progress | None = None,
) -> Sensitivity:
    """Measure agreement at thresholds from 0.05 to 0.95, comparing annotations once."""
    settings, part, data = replace(settings, iou_threshold=THRESHOLDS), images, images.data
    n_drawn = np.bincount(data.annotations.image, minlength=len(data.image_names))
    if n_drawn.sum() > _MOST:
        order = np.random.default_rng(settings.seed).permutation(len(n_drawn))
        part = compared_images(of_images(data, np.sort(order[np.cumsum(n_drawn[order]) <= _MOST])))
    counted = count_agreement(part, settings, progress=progress)
    chance = chance_existence(part, settings, progress=progress)
    if part is images:
        chance = _scaled(chance, by_chance or {})
    objects = [each.sums.objects for each in counted.thresholds]
    observed = np.stack([np.stack([each.alone, each.possible], axis=1) for each in objects])
    distance, row = _separation(observed, chance.sums, settings)
    rows = []
    for each in threshold_results(part, settings, counted, chance, progress):
        existence, classes = each.existence, each.class_agreement
        rows.append(
            {
                "threshold": each.iou_threshold,
                **_with_interval("alpha", each.alpha, each.interval),
                **_with_interval("f1", existence.f1, existence.interval),
                "f1_by_chance": existence.chance,
                **_with_interval("existence_alpha", existence.alpha, existence.alpha_interval),
                **_with_interval("class_alpha", classes.alpha, classes.interval),
                "class_share": classes.share,
                "mean_similarity": each.place.mean_iou,
                "n_units": each.n_units,
            }
        )
    columns = {name: np.array([each[name] for each in rows]) for name in rows[0]}
    columns |= dict(zip(("distance", "distance_low", "distance_high"), distance, strict=True))
    for name, of in (("observed_share", "f1"), ("expected_share", "f1_by_chance")):
        columns[name] = columns[of] - np.append(columns[of][1:], 0.0)
    n_images, reason = int((part.data.assigned.sum(1) >= 2).sum()), row.pop("reason")
    suggested = Table(
        {
            "similarity": text_column([settings.similarity]),
            **{name: np.array([value]) for name, value in row.items()},
            "n_images": np.array([n_images]),
            "reason": text_column([reason]),
        }
    )
    text = ""
    if not reason:
        low, high = row["threshold_low"], row["threshold_high"]
        interval = "" if isnan(low) else f" [{round(low, 2):g}, {round(high, 2):g}]"
        text = f"{measure_name(settings.similarity)} {row['threshold']:g}{interval} "
        text += "is the best threshold for these data (F1 most above chance)"
        if row["lowest"] != row["highest"]:
            text += f"; {row['lowest']:g} to {row['highest']:g} do about as well"
        if part is not images:
            text += f"; of {count(n_images, 'random image')}"
    return Sensitivity(Table(columns), suggested, text)


def _separation(
    observed: FloatArray, expected: FloatArray, settings: AgreeSettings
) -> tuple[FloatArray, dict[str, Any]]:
    """Return F1 less F1 by chance with its bounds, (3, T), and the suggested threshold."""
    thresholds = np.array(THRESHOLDS)

    def evaluate(*sums: FloatArray) -> FloatArray:
        distance = ratio(sums[0], sums[1]) - ratio(sums[2], sums[3])
        best = thresholds[np.argmax(distance, axis=0)]
        known = ~np.isnan(distance).any(0)
        return np.concatenate([distance, np.where(known, best, np.nan)[None]])

    tables = observed[..., 0], observed[:1, :, 1], expected[..., 0], expected[..., 1]
    f1, by_chance = (ratio(*each.sum(1).T) for each in (observed, expected))
    values = evaluate(*(table.sum(1, keepdims=True) for table in tables))[:, 0]
    bounds = drawn_intervals(values, tables, evaluate, settings.bootstrap, settings.seed)
    distance, interval = np.column_stack([values, bounds])[:-1].T, bounds[-1].round(10)
    best = 0 if np.isnan(distance[0]).any() else int(np.argmax(distance[0]))
    choice = threshold_choice(thresholds, f1, by_chance, tuple(interval.tolist()))
    return distance, {
        **_with_interval("threshold", choice["threshold"], interval),
        **_with_interval("distance", choice["distance"], distance[1:, best]),
        "lowest": choice["lowest"],
        "highest": choice["highest"],
        "reason": choice["reason"],
    }


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


# Thresholds whose distance is at most this much below the largest separate about as well.
_SAME = 0.02
# With a smaller distance, annotators hardly agree more than by chance.
_LEAST = 0.2
# If a larger part of the range of thresholds does about as well, no threshold stands out.
_WIDE = 0.35


def threshold_choice(
    thresholds: FloatArray,
    observed: FloatArray,
    by_chance: FloatArray,
    interval: tuple[float, ...] = (nan, nan),
) -> dict[str, Any]:
    """Return the threshold at which observed and expected similarity differ most.

    The keys are "threshold", NaN if there is no clear best one; "reason", why there is none, or "";
    "distance", the largest Kolmogorov-Smirnov distance; "lowest" and "highest", the thresholds
    whose distance is at most 0.02 less. F1 at a threshold is the share of annotations with a
    similarity of at least the threshold to that of another annotator; F1 by chance is this share
    for annotations of other images. Their difference is the distance of the two distributions of
    similarity (Braylan, Alonso and Lease 2022, doi:10.1145/3485447.3512242). Both are (T,), NaN
    where not measured; `interval` is that of the threshold with the largest difference.
    """
    distance = observed - by_chance
    if np.isnan(distance).any() or len(distance) == 0:
        unknown = dict.fromkeys(("threshold", "distance", "lowest", "highest"), nan)
        return unknown | {"reason": "agreement by chance is not known"}
    largest = float(distance.max())
    near = np.flatnonzero(distance >= largest - _SAME)
    low, high = float(thresholds[near[0]]), float(thresholds[near[-1]])
    is_wide = max(high - low, interval[1] - interval[0]) > _WIDE
    reason = ""
    if largest < _LEAST or is_wide or near[0] == 0:
        reason = f"no threshold stands out: F1 is at most {largest:.2f} above F1 by chance"
    best = nan if reason else float(thresholds[np.argmax(distance)])
    found = {"threshold": best, "distance": largest, "lowest": low, "highest": high}
    return found | {"reason": reason}
