"""The only place that joins the parts: data set → pairs → units → alphas → result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Never

import numpy as np

from bboxqa.agreement.alpha.nominal import alpha_per_group, pooled_alpha
from bboxqa.agreement.alpha.nominal_estimator import image_estimators
from bboxqa.agreement.uncertainty.resampling import percentile_interval, replicates_of_all
from bboxqa.core.arrays import BoolArray, FloatArray, IntArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Files, Progress, Steps
from bboxqa.core.version import __version__
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.matching import registry as matchers
from bboxqa.matching.match import check_matcher
from bboxqa.model.annotations import Dataset
from bboxqa.model.reliability import Cell, Coincidences
from bboxqa.model.results import AgreementResult, ThresholdResult
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings, EmptyImages, Missing
from bboxqa.pipelines.counting import (
    AgreementCounts,
    ImagePart,
    count_sequentially,
    reliability_of,
)
from bboxqa.pipelines.notes import image_notes
from bboxqa.pipelines.read import read_coco
from bboxqa.pipelines.result_tables import category_table, image_table, pair_table, unit_table
from bboxqa.pipelines.settings import agree_settings_from

__all__ = ["CountAll", "agree", "agree_files", "agree_with", "read_for"]

CountAll = Callable[..., AgreementCounts]
_OF_READING = ("annotator_key", "attribution", "filter")


def agree(
    data: Dataset,
    *,
    similarity: str = "bbox",
    iou_threshold: float | Sequence[float] = 0.5,
    matcher: str = "recursive",
    category_lenient: bool = False,
    missing: Missing = "category",
    empty_images: EmptyImages = "agree",
    all_touched: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    min_alpha: float | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
    **unknown: Never,
) -> AgreementResult:
    """Measure how far annotators agree.

    Parameters
    ----------
    data : Dataset
        What `read_coco` returns.
    similarity : {"bbox", "giou", "centroid", "polygon", "mask", "pixel", "raster"}
        How two annotations are compared; also the name of a similarity of another package.
    iou_threshold : float or sequence of float
        Two annotations can show one object if their similarity reaches it; one result each.
    matcher : {"recursive", "hungarian", "greedy"}
        How annotations are joined to units.
    category_lenient : bool
        Prefer pairs of equal category when matching.
    missing : {"category", "ignore"}
        Whether a missing annotation is a value of its own, or is left out.
    empty_images : {"agree", "unit", "skip"}
        Whether an image that all its annotators left empty counts as agreement in the mean over
        images, as one unit of agreement as well, or not at all.
    all_touched : bool
        For similarity "raster": burn every pixel that a ring touches.
    bootstrap : int
        Replicates for the intervals, 40 to 100,000; 0 for no intervals.
    seed : int
        Seed of the replicates.
    min_alpha : float, optional
        Images with an alpha below it are marked in `result.images`.
    memory : int, optional
        Limits the bytes that comparing takes: images are then compared part by part. The result
        is the same.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

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
        If the data are not a `Dataset` but, for instance, the name of a file.

    References
    ----------
    .. [1] Krippendorff, K. (2022). Content Analysis: An Introduction to Its Methodology (4th ed.).
       SAGE. https://doi.org/10.4135/9781071878781
    .. [2] Tschirschwitz, D., Klemstein, F., Stein, B. and Rodehorst, V. (2022). A Dataset for
       Analysing Complex Document Layouts in the Digital Humanities and Its Evaluation with
       Krippendorff's Alpha. GCPR 2022, LNCS 13485. https://doi.org/10.1007/978-3-031-16788-1_22

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
        if unknown.pop(name, None) is not None:
            raise ConfigError(f"{name} is for `bboxqa.read_coco`; the data set is already read")
    settings = agree_settings_from(
        {
            "similarity": similarity,
            "iou_threshold": iou_threshold,
            "matcher": matcher,
            "category_lenient": category_lenient,
            "missing": missing,
            "empty_images": empty_images,
            "all_touched": all_touched,
            "bootstrap": bootstrap,
            "seed": seed,
            "min_alpha": min_alpha,
            **unknown,
        }
    )
    return agree_with(data, settings, memory=memory, progress=progress)


def agree_files(
    source: Files,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> AgreementResult:
    """Read files and measure how far their annotators agree, with checked settings.

    Parameters
    ----------
    source, memory, digest, progress
        As for `read_coco`.
    settings : AgreeSettings

    Returns
    -------
    AgreementResult
    """
    data = read_for(source, settings, memory=memory, digest=digest, progress=progress)
    return agree_with(data, settings, memory=memory, progress=progress)


def read_for(
    source: Files,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Read what settings of `agree` need of files: outlines only if the similarity compares them.

    Parameters are as those of `agree_files`.
    """
    return read_coco(
        source,
        annotator_key=settings.annotator_key,
        attribution=settings.attribution,
        segmentation=needs_outlines(settings.similarity),
        pattern=settings.filter,
        digest=digest,
        memory=memory,
        progress=progress,
    )


def agree_with(
    data: Dataset,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    count_all: CountAll | None = None,
    progress: Progress | None = None,
) -> AgreementResult:
    """Measure how far annotators agree, with checked settings; see `agree`.

    Parameters
    ----------
    data, memory, progress
        As for `agree`.
    settings : AgreeSettings
    count_all : callable, optional
        Counts agreement in the images, for instance on other machines; by default
        `count_sequentially` does, within the memory.
    """
    lonely = data.assigned.sum(1) < 2
    crowd = data.annotations.iscrowd
    kept = np.flatnonzero(~crowd & ~lonely[data.annotations.image])
    empty = _empty_images(data, lonely)
    data_kept = data
    if len(kept) < len(crowd):
        data_kept = replace(data, annotations=select_annotations(data.annotations, kept))
    check_matcher(data_kept.annotations, settings.matcher)
    # The order matters where an image has three annotators; greedy matching does without one.
    several = bool(data.assigned.sum(1).max(initial=0) > 2)
    greedy = several and matchers.matcher(settings.matcher).by_order
    part = ImagePart(data_kept, empty)
    if count_all is None:
        count_all = partial(count_sequentially, memory=memory)
    counted = count_all(part, settings, greedy=greedy, progress=progress)
    image_alphas = [_image_alpha(found, empty, settings) for found in counted.coincidences]
    drawn = ~lonely
    if settings.empty_images == "skip":
        drawn[empty] = False
    intervals: dict[tuple[int, str], FloatArray] = {}
    if settings.bootstrap and drawn.sum() > 1:
        on_progress = None if progress is None else partial(progress, "resampling")
        intervals = _intervals(counted.coincidences, image_alphas, drawn, settings, on_progress)
    thresholds = tuple(
        _result(part, settings, counted, index, image_alpha, intervals)
        for index, image_alpha in enumerate(image_alphas)
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
            *image_notes(data_kept, settings, counted.counts, int(crowd.sum()), thresholds),
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


def _intervals(
    thresholds: Sequence[Coincidences],
    image_alphas: Sequence[FloatArray],
    drawn: BoolArray,
    settings: AgreeSettings,
    on_progress: Steps | None,
) -> dict[tuple[int, str], FloatArray]:
    """Return the intervals of each threshold by drawing images with replacement.

    By index of the threshold and "pooled" or "mean", (1, 2), or "categories", (K, 2).
    """
    from threadpoolctl import threadpool_limits

    values = np.unique(np.concatenate([found.value for found in thresholds]))
    estimators = image_estimators(thresholds, image_alphas, np.flatnonzero(drawn), values)
    # The number of threads decides in which order numbers are added, and so the last bit.
    with threadpool_limits(1, "blas"):
        found = replicates_of_all(estimators, settings.bootstrap, settings.seed, on_progress)
    intervals = {key: percentile_interval(np.atleast_2d(found[key])) for key in found}
    for index, data in enumerate(thresholds):
        of_values = np.full((data.n_values, 2), np.nan)
        of_values[values] = intervals[index, "categories"]
        intervals[index, "categories"] = of_values
    return intervals


def _result(
    part: ImagePart,
    settings: AgreeSettings,
    counted: AgreementCounts,
    index: int,
    image_alpha: FloatArray,
    intervals: Mapping[tuple[int, str], FloatArray],
) -> ThresholdResult:
    """Return the result of one threshold."""
    data, units, found = part.data, counted.units[index], counted.coincidences[index]
    reliability = reliability_of(part, units, settings)
    n_images = int((data.assigned.sum(1) >= 2).sum())
    alpha = pooled_alpha(found, n_images)
    unknown = np.full((found.n_values, 2), np.nan)
    pooled, mean, of_categories = (
        intervals.get((index, kind), unknown) for kind in ("pooled", "mean", "categories")
    )
    defined = image_alpha[~np.isnan(image_alpha)]
    is_missing = reliability.state == Cell.MISSING
    missing = np.bincount(reliability.unit, is_missing, len(units))[: len(units)]
    greedy = pooled_alpha(counted.greedy[index]).value if counted.greedy else float("nan")
    return ThresholdResult(
        iou_threshold=settings.iou_threshold[index],
        alpha=alpha.value,
        status=alpha.status,
        interval=_pair(pooled[0]),
        observed=alpha.observed,
        expected=alpha.expected,
        mean_image_alpha=float(defined.mean()) if len(defined) else float("nan"),
        mean_image_interval=_pair(mean[0]),
        n_units=len(units),
        n_complete_units=int((missing == 0).sum()),
        greedy_alpha=greedy,
        images=image_table(data, units, image_alpha, settings.min_alpha),
        categories=category_table(data, found, of_categories),
        pairs=pair_table(data, counted.pairs[index]),
        units=unit_table(data, units, reliability),
        reliability=reliability,
    )


def _pair(interval: FloatArray) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])
