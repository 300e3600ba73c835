"""The only place that joins the parts: data set → pairs → units → alphas → result."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.image_intervals import Intervals, bootstrap
from bboxqa.agreement.alpha.nominal import alpha_per_group, pooled_alpha
from bboxqa.core.arrays import BoolArray, FloatArray, IntArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count
from bboxqa.core.types import Progress, Steps
from bboxqa.core.version import __version__
from bboxqa.matching import check_matcher
from bboxqa.model.annotations import Dataset
from bboxqa.model.reliability import Cell, Coincidences
from bboxqa.model.results import AgreementResult, ThresholdResult
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings, settings_from
from bboxqa.pipelines.counting import AgreementCounts, ImagePart, count_part, reliability_of
from bboxqa.pipelines.result_tables import category_table, image_table, pair_table, unit_table

__all__ = ["CountAll", "agree", "agree_with"]

CountAll = Callable[..., AgreementCounts]
_UNKNOWN = float("nan"), float("nan")
_OF_READING = ("annotator_key", "attribution", "filter")
# Below this, intervals by resampling images are known to be too narrow.
_FEW_IMAGES = 20


def agree(data: Dataset, *, progress: Progress | None = None, **settings: Any) -> AgreementResult:
    """Measure how far annotators agree.

    Parameters
    ----------
    data : Dataset
        What `read_coco` returns.
    progress : callable, optional
        Is told a stage, and how much of how much of it is done.
    **settings
        The fields of `bboxqa.AgreeSettings`: `similarity`, `iou_threshold` (a number or several),
        `matcher`, `category_lenient`, `missing`, `empty_images`, `all_touched`, `bootstrap`,
        `seed`, `min_alpha`.

    Returns
    -------
    AgreementResult

    Raises
    ------
    ConfigError
        If a setting is not known, has a wrong type, or contradicts another.
    DatasetError
        If the annotations do not have what the similarity compares.
    TypeError
        If the data are no `Dataset`, but the name of a file.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> round(bboxqa.agree(data, iou_threshold=0.5).alpha, 4)
    0.0222
    """
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data is a {type(data).__name__}; expected what `bboxqa.read_coco` returns"
        )
    for name in _OF_READING:
        if settings.get(name) is not None:
            raise ConfigError(f"{name} is for `bboxqa.read_coco`; the data set is already read")
    return agree_with(data, settings_from(settings), progress)


def agree_with(
    data: Dataset,
    settings: AgreeSettings,
    progress: Progress | None = None,
    count_all: CountAll = count_part,
) -> AgreementResult:
    """Measure how far annotators agree, with checked settings; see `agree`.

    Parameters
    ----------
    data, settings, progress
        As for `agree`.
    count_all : callable
        How what agrees in the images is counted: all at once here, or in parts elsewhere.
    """

    def tell(stage: str) -> Steps | None:
        if progress is None:
            return None
        return lambda done, total: progress(stage, done, total)

    lonely = data.assigned.sum(1) < 2
    crowd = data.annotations.iscrowd
    kept = np.flatnonzero(~crowd & ~lonely[data.annotations.image])
    empty = _empty_images(data, lonely)
    data_kept = data
    if len(kept) < len(crowd):
        data_kept = replace(data, annotations=select_annotations(data.annotations, kept))
    check_matcher(data_kept.annotations, settings.matcher)
    # Where more than two are in an image, their order matters; greedy matching has none.
    greedy = settings.matcher == "recursive" and bool(data.assigned.sum(1).max(initial=0) > 2)
    part = ImagePart(data_kept, empty)
    counted = count_all(part, settings, greedy=greedy, progress=progress)
    image_alphas = [_image_alpha(found, empty, settings) for found in counted.coincidences]
    intervals: Sequence[Intervals | None] = [None] * len(image_alphas)
    clusters = ~lonely
    if settings.empty_images == "skip":
        clusters[empty] = False
    if settings.bootstrap and clusters.sum() > 1:
        intervals = bootstrap(
            counted.coincidences,
            image_alphas,
            clusters,
            settings.bootstrap,
            settings.seed,
            tell("resampling"),
        )
    thresholds = tuple(
        _result(part, settings, counted, index, image_alpha, interval)
        for index, (image_alpha, interval) in enumerate(zip(image_alphas, intervals, strict=True))
    )
    return AgreementResult(
        thresholds=thresholds,
        n_images=int((~lonely).sum()),
        n_annotators=len(data.annotator_names),
        n_annotations=len(kept),
        n_crowd=int(crowd.sum()),
        n_empty_images=len(empty),
        settings=settings,
        version=__version__,
        attribution=data.attribution,
        sources=data.sources,
        notes=(
            *data.notes,
            *_notes(data_kept, settings, counted.counts, int(crowd.sum()), thresholds),
        ),
    )


def _empty_images(data: Dataset, lonely: BoolArray) -> IntArray:
    """Return the images that several annotators were asked about and none drew in."""
    drawn = np.bincount(data.annotations.image, minlength=len(lonely)) > 0
    return np.flatnonzero(~drawn & ~lonely).astype(np.int32)


def _image_alpha(found: Coincidences, empty: IntArray, settings: AgreeSettings) -> FloatArray:
    """Return alpha of each image; those in which all drew nothing agree, if they count."""
    alpha = alpha_per_group(found)
    if settings.empty_images != "skip":
        alpha[empty] = 1.0
    return alpha


def _result(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    index: int,
    image_alpha: FloatArray,
    intervals: Intervals | None,
) -> ThresholdResult:
    """Return the result of one threshold."""
    data, units, found = part.data, counted.units[index], counted.coincidences[index]
    reliability = reliability_of(part, units, settings)
    n_images = int((data.assigned.sum(1) >= 2).sum())
    alpha = pooled_alpha(found, n_images)
    defined = image_alpha[~np.isnan(image_alpha)]
    is_missing = reliability.state == Cell.MISSING
    missing = np.bincount(reliability.unit, is_missing, len(units))[: len(units)]
    greedy = pooled_alpha(counted.greedy[index]).value if counted.greedy else float("nan")
    return ThresholdResult(
        iou_threshold=settings.iou_threshold[index],
        alpha=alpha.value,
        status=alpha.status,
        interval=_UNKNOWN if intervals is None else _pair(intervals.pooled),
        observed=alpha.observed,
        expected=alpha.expected,
        mean_image_alpha=float(defined.mean()) if len(defined) else float("nan"),
        mean_image_interval=_UNKNOWN if intervals is None else _pair(intervals.mean),
        n_units=len(units),
        n_complete_units=int((missing == 0).sum()),
        greedy_alpha=greedy,
        images=image_table(data, units, image_alpha, settings.min_alpha),
        categories=category_table(data, found, intervals),
        pairs=pair_table(data, counted.pairs[index]),
        units=unit_table(data, units, reliability),
        reliability=reliability,
    )


def _pair(interval: FloatArray) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])


def _notes(
    data: Dataset,
    settings: AgreeSettings,
    counts: Counter[str],
    n_crowd: int,
    thresholds: Sequence[ThresholdResult],
) -> Iterator[str]:
    """Yield what a reader of the numbers has to know."""
    if n_crowd:
        yield f"{count(n_crowd, 'crowd annotation')} left out"
    if counts["flat"]:
        yield f"{count(counts['flat'], 'annotation')} without area: nothing matches them"
    if counts["short"]:
        yield f"{count(counts['short'], 'ring')} of fewer than 3 points left out"
    if counts["repaired"]:
        yield f"{count(counts['repaired'], 'invalid polygon')} repaired before comparing"
    n_images = int((data.assigned.sum(1) >= 2).sum())
    if settings.bootstrap and n_images < _FEW_IMAGES:
        yield (
            f"{count(n_images, 'image')}: intervals come from resampling images, and are "
            + ("too narrow with so few" if n_images > 1 else "not possible with one")
        )
    one_category = len(np.unique(data.annotations.category)) == 1
    if one_category and len(data.annotator_names) == 2 and settings.missing == "category":
        for part in (part for part in thresholds if not part.alpha > 0):
            share = part.n_complete_units / part.n_units
            yield (
                "with one category and two annotators, and missing as a category, alpha cannot "
                f"be positive; at IoU {part.iou_threshold:g} both annotators drew "
                f"{part.n_complete_units:,} of {part.n_units:,} objects ({share:.1%})"
            )
    for part in thresholds:
        if not np.isnan(part.greedy_alpha) and not np.isnan(part.alpha):
            yield (
                f"at IoU {part.iou_threshold:g}, greedy matching, which does not depend on the "
                f"order of annotators, gives alpha {part.greedy_alpha:.4f} "
                f"({part.greedy_alpha - part.alpha:+.4f})"
            )
