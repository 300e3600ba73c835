"""Agreement in two versions of a data set, and the difference."""

from functools import partial
from math import nan

import numpy as np

from bboxqa.agreement.alpha.nominal import image_estimators
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.estimator import OK, Estimator, SumTable
from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    expanded_interval,
    replicates_of_all,
)
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.core.parallel import one_blas_thread
from bboxqa.core.types import Progress
from bboxqa.model.comparison import AgreementChange, Change
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.pipelines.versions.aligned import Aligned
from bboxqa.pipelines.versions.sides import Side, side_of
from bboxqa.pipelines.versions.tables import Names

_Drawn = dict[tuple[int, int, str], FloatArray]
"""By side, index of the threshold, and "pooled", "mean", "categories" or "f1"."""


def agreement_changes(
    before: MeasuredAgreement,
    after: MeasuredAgreement,
    names: Names,
    settings: AgreeSettings,
    progress: Progress | None = None,
) -> tuple[tuple[AgreementChange, ...], bool, tuple[int, int]]:
    """Return agreement before and after with intervals, by drawing images with replacement [1]_.

    Returns
    -------
    changes : tuple of AgreementChange
        One per threshold.
    paired : bool
        Whether some images are measured in both versions. Agreement is then that of these images,
        which are drawn together.
    n_images : (int, int)
        The number of images before and after.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and
           Hall, ch. 8, doi:10.1201/9780429246593.
    """
    sides = (
        side_of(before, names, names.images.place_before, names.categories.place_before),
        side_of(after, names, names.images.place_after, names.categories.place_after),
    )
    shared = np.intersect1d(sides[0].images, sides[1].images)
    paired = len(shared) > 0
    if paired:
        sides = sides[0].within(shared), sides[1].within(shared)
    values = np.unique(np.concatenate([c.value for side in sides for c in side.counted]))
    drawn = _draw(sides, values, paired=paired, settings=settings, progress=progress)
    changes = tuple(
        _change(part, index, sides, values, drawn, names)
        for index, part in enumerate(after.thresholds)
    )
    return changes, paired, (len(sides[0].images), len(sides[1].images))


def _draw(
    sides: tuple[Side, Side],
    values: IntArray,
    *,
    paired: bool,
    settings: AgreeSettings,
    progress: Progress | None,
) -> _Drawn:
    """Return replicates of the alphas of each side, (B,) or (V, B); empty without draws."""
    if not settings.bootstrap or min(len(side.images) for side in sides) < 2:
        return {}
    estimators = [
        {
            (place, *name): estimator
            for name, estimator in (
                image_estimators(side.counted, side.alphas, side.images, values) | _f1_of(side)
            ).items()
        }
        for place, side in enumerate(sides)
    ]
    if paired:
        estimators = [estimators[0] | estimators[1]]
    elif sides[0].images[0] > sides[1].images[0]:
        # Independent draws have seeds that do not depend on which version comes first.
        estimators.reverse()
    on_progress = None if progress is None else partial(progress, "resampling")
    drawn: _Drawn = {}
    with one_blas_thread():
        for more, each in enumerate(estimators):
            seed = settings.seed + more
            drawn |= replicates_of_all(each, settings.bootstrap, seed, on_progress)
    return drawn


def _f1_of(side: Side) -> dict[tuple[int, str], Estimator]:
    """Return the F1 of each threshold as a function of sums over images."""
    clusters = np.arange(len(side.images))

    def f1(sums: FloatArray) -> FloatArray:
        return ratio(sums[0], sums[1])

    return {
        (index, "f1"): Estimator(
            nan, nan, nan, OK, SumTable(partial(sums.take, side.images, axis=1)), f1, clusters
        )
        for index, sums in enumerate(side.objects)
    }


def _change(
    part: ThresholdResult,
    index: int,
    sides: tuple[Side, Side],
    values: IntArray,
    drawn: _Drawn,
    names: Names,
) -> AgreementChange:
    """Return the change at one threshold."""
    found: dict[str, tuple[FloatArray, ...]] = {}
    for kind in ("pooled", "mean", "categories", "f1"):
        old, new = (_estimate(side, index, kind, values) for side in sides)
        replicates = [np.atleast_2d(drawn[side, index, kind]) for side in (0, 1) if drawn]
        made_of = [side.n_images(index, kind, values) for side in sides]
        found[kind] = (old, new, new - old, *_intervals(old, new, replicates, made_of))
    return AgreementChange(
        measure=part.measure,
        iou_threshold=part.iou_threshold,
        pooled=_figure_change(found["pooled"], _status(sides, index)),
        mean=_figure_change(found["mean"]),
        f1=_figure_change(found["f1"]),
        categories=_category_table(found["categories"], values, names.categories),
        images=_image_table(sides[0].alphas[index], sides[1].alphas[index], names.images),
    )


def _estimate(side: Side, index: int, kind: str, values: IntArray) -> FloatArray:
    if kind == "mean":
        alphas = side.alphas[index][side.images]
        defined = alphas[~np.isnan(alphas)]
        return np.array([defined.mean() if len(defined) else np.nan])
    if kind == "categories":
        return side.of_categories(index)[values]
    if kind == "f1":
        return ratio(*side.objects[index][:, side.images].sum(1, keepdims=True))
    return np.array([side.alpha(index)[0]])


def _intervals(
    old: FloatArray, new: FloatArray, replicates: list[FloatArray], made_of: list[IndexArray]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the intervals before and after and of the difference, and the shift of the last.

    They are expanded for the number of images that contribute to each figure before and after.
    """
    if not replicates:
        unknown = np.full((len(old), 2), np.nan)
        return unknown, unknown, unknown, np.zeros(len(old))
    left, right = replicates
    apart = right - left
    drawn = left, right, apart
    fewest = np.minimum(*made_of)
    ends = [expanded_interval(each, n) for each, n in zip(drawn, (*made_of, fewest), strict=True)]
    before, _ = covering_intervals(old, left, ends[0])
    after, _ = covering_intervals(new, right, ends[1])
    between, shift = covering_intervals(new - old, apart, ends[2], 2.0)
    for bounds, values in ((before, old), (after, new), (between, new - old)):
        bounds[np.isnan(values)] = np.nan
    return before, after, between, shift


def _status(sides: tuple[Side, Side], index: int) -> str:
    """Return why the pooled alpha of a version is undefined, or "ok"."""
    alphas = [side.alpha(index) for side in sides]
    return (
        "; ".join(
            f"{name}: {status}"
            for name, (alpha, status) in zip(("before", "after"), alphas, strict=True)
            if np.isnan(alpha)
        )
        or OK
    )


def _figure_change(found: tuple[FloatArray, ...], status: str = OK) -> Change:
    old, new, difference, before, after, between, shift = (each[0].tolist() for each in found)
    return Change(old, new, difference, tuple(before), tuple(after), tuple(between), shift, status)


def _category_table(found: tuple[FloatArray, ...], values: IntArray, categories: Aligned) -> Table:
    old, new, difference, _, _, between, _ = found
    shown = np.flatnonzero(values < len(categories))
    return Table(
        {
            "category": Categorical(values[shown], categories.names),
            "alpha_before": old[shown],
            "alpha_after": new[shown],
            "difference": difference[shown],
            "low": between[shown, 0],
            "high": between[shown, 1],
        }
    )


def _image_table(old: FloatArray, new: FloatArray, images: Aligned) -> Table:
    shown = np.flatnonzero(~(np.isnan(old) & np.isnan(new)))
    return Table(
        {
            "image": Categorical(shown.astype(np.int32), images.names),
            "alpha_before": old[shown],
            "alpha_after": new[shown],
            "difference": new[shown] - old[shown],
        }
    )
