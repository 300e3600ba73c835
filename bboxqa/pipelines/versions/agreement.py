"""Agreement in two versions of a data set, and the difference."""

from dataclasses import dataclass, replace
from functools import partial
from math import nan

import numpy as np

from bboxqa.agreement.alpha.nominal import (
    alpha_per_category,
    alpha_per_group,
    image_estimators,
    images_per_value,
    pooled_alpha,
    value_sums,
)
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.agreement.objects import reason_without_meaning, values_without_meaning
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
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.versions.names import Aligned
from bboxqa.pipelines.versions.tables import Names

_Drawn = dict[tuple[int, int, str], FloatArray]
"""By side, index of the threshold, and "pooled", "mean", "categories" or "f1"."""


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One version at all thresholds, numbered by the images and categories of both."""

    counted: list[Coincidences]
    """One per threshold."""
    alphas: list[FloatArray]
    """list of (I,) float64. Alpha of each image, NaN where it has none; one per threshold."""
    objects: list[FloatArray]
    """list of (2, I) float64. Pairs of annotations that match in each image, and that could match;
    one per threshold."""
    images: IndexArray
    """(C,) int64. The images that are measured."""
    with_missing: bool
    """Whether a missing annotation is a value."""

    def alpha(self, index: int) -> tuple[float, str]:
        """Return the pooled alpha with its status; NaN where it has no meaning."""
        found = pooled_alpha(self.counted[index], len(self.images))
        drawn = value_sums(self.counted[index])[0][:-1]
        reason = reason_without_meaning(drawn) if self.with_missing else ""
        if reason and not np.isnan(found.value):
            return np.nan, reason
        return found.value, found.status

    def of_categories(self, index: int) -> FloatArray:
        """Return alpha of each value against the rest; NaN where it has no meaning."""
        alpha, marginal = alpha_per_category(self.counted[index])
        if self.with_missing:
            alpha[values_without_meaning(marginal)] = np.nan
        return alpha

    def n_images(self, index: int, kind: str, values: IntArray) -> IndexArray:
        """Return how many images "pooled", "mean", "f1" or each of "categories" is made of."""
        if kind == "categories":
            return images_per_value(self.counted[index])[values]
        if kind == "pooled":
            return np.array([len(np.unique(self.counted[index].group))])
        adds = ~np.isnan(self.alphas[index]) if kind == "mean" else self.objects[index][1] > 0
        return np.array([np.count_nonzero(adds)])

    def within(self, images: IndexArray) -> "_Side":
        """Return the same in some of the images."""
        inside = np.zeros(self.counted[0].n_groups, np.bool_)
        inside[images] = True
        return _Side(
            [_rows(found, np.flatnonzero(inside[found.group])) for found in self.counted],
            [np.where(inside, alpha, np.nan) for alpha in self.alphas],
            [np.where(inside, sums, 0.0) for sums in self.objects],
            images,
            self.with_missing,
        )


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
        _side_of(before, names, names.images.place_before, names.categories.place_before),
        _side_of(after, names, names.images.place_after, names.categories.place_after),
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
    sides: tuple[_Side, _Side],
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


def _f1_of(side: _Side) -> dict[tuple[int, str], Estimator]:
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
    sides: tuple[_Side, _Side],
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


def _estimate(side: _Side, index: int, kind: str, values: IntArray) -> FloatArray:
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
    """Return the intervals before and after and of the difference, and the shift of the last."""
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


def _status(sides: tuple[_Side, _Side], index: int) -> str:
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


def _side_of(
    result: MeasuredAgreement, names: Names, image: IndexArray, category: IndexArray
) -> _Side:
    """Return a version whose images and categories have these places among those of both."""
    settings = result.settings
    n_images, n_categories = len(names.images), len(names.categories)
    # A missing annotation is the last value.
    values = np.append(category, n_categories)
    counted, alphas, objects = [], [], []
    for part in result.thresholds:
        found = coincidences(part.reliability, settings.missing)
        order = np.lexsort((values[found.value], image[found.group]))
        counted.append(
            replace(
                _rows(found, order),
                group=image[found.group][order].astype(np.int32),
                value=values[found.value][order].astype(np.int32),
                n_groups=n_images,
                n_values=n_categories + 1,
            )
        )
        alpha = np.full(n_images, np.nan)
        alpha[image[_measured(part)]] = _image_alpha(part, found)
        alphas.append(alpha)
        sums = np.zeros((2, n_images))
        sums[:, image[_measured(part)]] = _object_sums(part.images)
        objects.append(sums)
    images = image[_measured(result.thresholds[0])]
    if settings.empty_images == "skip":
        images = images[result.thresholds[0].images["n_annotations"] > 0]
    return _Side(counted, alphas, objects, np.sort(images), settings.missing == "category")


def _image_alpha(part: ThresholdResult, found: Coincidences) -> FloatArray:
    """Return alpha of each image, (I,), as it enters the mean over images."""
    if np.isnan(part.mean_image_alpha):
        return np.full(len(part.images), np.nan)
    empty = part.images["n_annotations"] == 0
    return np.where(empty, part.images["alpha"], alpha_per_group(found)[_measured(part)])


def _object_sums(images: Table) -> FloatArray:
    """Return the pairs of annotations that match in each image, and that could match, (2, I)."""
    possible = images["n_annotations"] * (images["n_annotators"] - 1) / 2
    # Matched pairs are whole numbers.
    return np.stack([np.rint(np.nan_to_num(images["f1"]) * possible), possible])


def _measured(part: ThresholdResult) -> IntArray:
    column = part.images.columns["image"]
    return column.code if isinstance(column, Categorical) else column


def _rows(found: Coincidences, rows: IndexArray) -> Coincidences:
    names = ("group", "value", "marginal", "diagonal")
    return replace(found, **{name: getattr(found, name)[rows] for name in names})
