"""Agreement in two versions of a data set, and the difference."""

from collections.abc import Mapping
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
from bboxqa.pipelines.versions.annotations import Names

_Key = tuple[int, str]
"""The index of a threshold, and "pooled", "mean", "categories" or "f1"."""


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

    def estimators(self, values: IntArray) -> dict[_Key, Estimator]:
        """Return all figures as functions of sums over images."""
        clusters = np.arange(len(self.images))
        return image_estimators(self.counted, self.alphas, self.images, values) | {
            (index, "f1"): Estimator(
                nan, nan, nan, OK, SumTable(partial(sums.take, self.images, axis=1)), _f1, clusters
            )
            for index, sums in enumerate(self.objects)
        }

    def status(self, index: int) -> str:
        """Return why the pooled alpha is undefined or has no meaning; else "ok"."""
        found = pooled_alpha(self.counted[index], len(self.images))
        drawn = value_sums(self.counted[index])[0][:-1]
        reason = reason_without_meaning(drawn) if self.with_missing else ""
        return found.status if np.isnan(found.value) else reason or OK

    def value(self, key: _Key, estimator: Estimator, values: IntArray) -> FloatArray:
        """Return a figure, (1,), or alpha of each value, (V,); NaN where it has no meaning."""
        index, kind = key
        if kind == "categories":
            alpha, marginal = alpha_per_category(self.counted[index])
            if self.with_missing:
                alpha[values_without_meaning(marginal)] = np.nan
            return alpha[values]
        sums = np.asarray(estimator.drawn_sums().sum(axis=1)).reshape(-1, 1)
        is_undefined = kind == "pooled" and self.status(index) != OK
        return np.full(1, np.nan) if is_undefined else estimator.evaluate(sums)

    def n_images(self, key: _Key, values: IntArray) -> IndexArray:
        """Return how many images a figure, or that of each value, is made of."""
        index, kind = key
        if kind == "categories":
            return images_per_value(self.counted[index])[values]
        if kind == "pooled":
            return np.array([len(np.unique(self.counted[index].group))])
        adds = ~np.isnan(self.alphas[index]) if kind == "mean" else self.objects[index][1] > 0
        return np.array([np.count_nonzero(adds)])


def _f1(sums: FloatArray) -> FloatArray:
    return ratio(sums[0], sums[1])


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
    first, last = (
        _side_of(result, image, category, names)
        for result, image, category in zip(
            (before, after), names.images.places, names.categories.places, strict=True
        )
    )
    shared = np.intersect1d(first.images, last.images)
    if len(shared):
        first, last = first.within(shared), last.within(shared)
    sides = first, last
    values = np.unique(np.concatenate([c.value for side in sides for c in side.counted]))
    estimators = [side.estimators(values) for side in sides]
    drawn = _draw(sides, estimators, settings, progress)
    changes = []
    for index, part in enumerate(after.thresholds):
        found = {}
        for kind in ("pooled", "mean", "categories", "f1"):
            key = index, kind
            old, new = (
                side.value(key, own[key], values)
                for side, own in zip(sides, estimators, strict=True)
            )
            replicates = [np.atleast_2d(drawn[place, key]) for place in (0, 1) if drawn]
            made_of = [side.n_images(key, values) for side in sides]
            found[kind] = _intervals(old, new, replicates, made_of)
        changes.append(_change(part, sides, index, found, (values, names)))
    return tuple(changes), len(shared) > 0, (len(first.images), len(last.images))


def _draw(
    sides: tuple[_Side, _Side],
    estimators: list[dict[_Key, Estimator]],
    settings: AgreeSettings,
    progress: Progress | None,
) -> dict[tuple[int, _Key], FloatArray]:
    """Return replicates of the figures of each side, (B,) or (V, B); empty without draws."""
    if not settings.bootstrap or min(len(side.images) for side in sides) < 2:
        return {}
    parts = [
        {(place, key): each for key, each in own.items()} for place, own in enumerate(estimators)
    ]
    if np.array_equal(sides[0].images, sides[1].images):
        parts = [parts[0] | parts[1]]
    elif sides[0].images[0] > sides[1].images[0]:
        # Independent draws have seeds that do not depend on which version comes first.
        parts.reverse()
    on_progress = None if progress is None else partial(progress, "resampling")
    drawn: dict[tuple[int, _Key], FloatArray] = {}
    with one_blas_thread():
        for more, each in enumerate(parts):
            seed = settings.seed + more
            drawn |= replicates_of_all(each, settings.bootstrap, seed, on_progress)
    return drawn


_Found = tuple[FloatArray, ...]
"""Figures before, after, their difference, the intervals of these, and the shift of the last."""


def _intervals(
    old: FloatArray, new: FloatArray, replicates: list[FloatArray], made_of: list[IndexArray]
) -> _Found:
    figures = old, new, new - old
    if not replicates:
        return *figures, *([np.full((len(old), 2), np.nan)] * 3), np.zeros(len(old))
    drawn = *replicates, replicates[1] - replicates[0]
    fewest = *made_of, np.minimum(*made_of)
    intervals = []
    for value, each, n, highest in zip(figures, drawn, fewest, (1.0, 1.0, 2.0), strict=True):
        bounds, shift = covering_intervals(value, each, expanded_interval(each, n), highest)
        bounds[np.isnan(value)] = np.nan
        intervals.append(bounds)
    return *figures, *intervals, shift


def _change(
    part: ThresholdResult,
    sides: tuple[_Side, _Side],
    index: int,
    found: Mapping[str, _Found],
    named: tuple[IntArray, Names],
) -> AgreementChange:
    """Return the change at one threshold."""
    status = {
        name: side.status(index) for name, side in zip(("before", "after"), sides, strict=True)
    }
    why = "; ".join(f"{name}: {each}" for name, each in status.items() if each != OK)
    values, names = named
    shown = np.flatnonzero(values < len(names.categories))
    old, new, difference, _, _, between, _ = (each[shown] for each in found["categories"])
    first, last = (side.alphas[index] for side in sides)
    images = np.flatnonzero(~(np.isnan(first) & np.isnan(last)))
    return AgreementChange(
        measure=part.measure,
        iou_threshold=part.iou_threshold,
        pooled=_figure_change(found["pooled"], why or OK),
        mean=_figure_change(found["mean"]),
        f1=_figure_change(found["f1"]),
        categories=Table(
            {
                "category": Categorical(values[shown], names.categories.names),
                "alpha_before": old,
                "alpha_after": new,
                "difference": difference,
                "low": between[:, 0],
                "high": between[:, 1],
            }
        ),
        images=Table(
            {
                "image": Categorical(images.astype(np.int32), names.images.names),
                "alpha_before": first[images],
                "alpha_after": last[images],
                "difference": last[images] - first[images],
            }
        ),
    )


def _figure_change(found: _Found, status: str = OK) -> Change:
    old, new, difference, before, after, between, shift = (each[0].tolist() for each in found)
    return Change(old, new, difference, tuple(before), tuple(after), tuple(between), shift, status)


def _side_of(
    result: MeasuredAgreement, image: IndexArray, category: IndexArray, names: Names
) -> _Side:
    """Return a version whose images and categories have these places among those of both."""
    settings, n_images = result.settings, len(names.images)
    # A missing annotation is the last value.
    values = np.append(category, len(names.categories))
    counted, alphas, objects = [], [], []
    for part in result.thresholds:
        found, measured = coincidences(part.reliability, settings.missing), _measured(part)
        order = np.lexsort((values[found.value], image[found.group]))
        counted.append(
            replace(
                _rows(found, order),
                group=image[found.group][order].astype(np.int32),
                value=values[found.value][order].astype(np.int32),
                n_groups=n_images,
                n_values=len(names.categories) + 1,
            )
        )
        n_drawn, of_image = part.images["n_annotations"], np.full(n_images, np.nan)
        if not np.isnan(part.mean_image_alpha):
            alpha = alpha_per_group(found)[measured]
            of_image[image[measured]] = np.where(n_drawn == 0, part.images["alpha"], alpha)
        alphas.append(of_image)
        possible = n_drawn * (part.images["n_annotators"] - 1) / 2
        sums = np.zeros((2, n_images))
        # Matched pairs are whole numbers.
        matching = np.rint(np.nan_to_num(part.images["f1"]) * possible)
        sums[:, image[measured]] = matching, possible
        objects.append(sums)
    images = image[_measured(result.thresholds[0])]
    if settings.empty_images == "skip":
        images = images[result.thresholds[0].images["n_annotations"] > 0]
    return _Side(counted, alphas, objects, np.sort(images), settings.missing == "category")


def _measured(part: ThresholdResult) -> IntArray:
    column = part.images.columns["image"]
    return column.code if isinstance(column, Categorical) else column


def _rows(found: Coincidences, rows: IndexArray) -> Coincidences:
    names = ("group", "value", "marginal", "diagonal")
    return replace(found, **{name: getattr(found, name)[rows] for name in names})
