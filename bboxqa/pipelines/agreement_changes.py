"""Agreement in two versions of a data set, and the difference."""

from collections.abc import Sequence
from functools import partial
from math import nan

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import OK, Estimator, SumTable
from bboxqa.agreement.nominal import (
    alpha_per_group,
    image_estimators,
    images_per_value,
    pooled_alpha,
    value_sums,
)
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.objects import reason_without_meaning, values_without_meaning
from bboxqa.agreement.resampling import (
    covering_intervals,
    expanded_interval,
    replicates_of_all,
)
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, Progress
from bboxqa.core.machine import one_blas_thread
from bboxqa.model.comparison import AgreementChange, Change
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.versions import Names

_KINDS = ("pooled", "mean", "f1", "categories")


class _Side(msgspec.Struct, frozen=True, eq=False):
    """One version at one threshold, numbered by the images and categories of both."""

    counted: Coincidences
    alpha: FloatArray
    """(I,) float64. Alpha of each image that is drawn, NaN where it has none."""
    objects: FloatArray
    """(2, I) float64. Pairs of annotators that match in each image, and that could match."""
    with_missing: bool
    """Whether a missing annotation is a value."""
    status: str
    """Why the pooled alpha is undefined or has no meaning; else "ok"."""

    def figure(
        self, kind: str, estimator: Estimator, values: IntArray
    ) -> tuple[FloatArray, IndexArray]:
        """Return a figure, (1,), or alpha of each value, (V,), and of how many images it is made.

        Figures are NaN where they have no meaning.
        """
        sums = np.asarray(estimator.drawn_sums().sum(axis=1)).reshape(-1, 1)
        found = estimator.evaluate(sums).reshape(-1)
        if kind == "categories":
            if self.with_missing:
                marginal, _ = value_sums(self.counted)
                found[values_without_meaning(marginal)[values]] = nan
            return found, images_per_value(self.counted)[values]
        if kind == "pooled":
            n_images = len(np.unique(self.counted.group))
            return np.where(self.status == OK, found, nan), np.array([n_images])
        adds = ~np.isnan(self.alpha) if kind == "mean" else self.objects[1] > 0
        return found, np.array([np.count_nonzero(adds)])


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
    results = before, after
    places = [*zip(names.images.places, names.categories.places, strict=True)]
    first, last = (
        _drawn_images(result, image) for result, (image, _) in zip(results, places, strict=True)
    )
    shared = np.intersect1d(first, last)
    images = (shared, shared) if len(shared) else (first, last)
    sides = [
        _sides_of(result, *place, names, drawn)
        for result, place, drawn in zip(results, places, images, strict=True)
    ]
    values = np.unique(np.concatenate([each.counted.value for side in sides for each in side]))
    estimators = [_estimators(*each, values) for each in zip(sides, images, strict=True)]
    drawn = _replicates(estimators, images, settings, progress)
    changes = []
    for index, (part, pair) in enumerate(
        zip(after.thresholds, zip(*sides, strict=True), strict=True)
    ):
        found = {}
        for kind in _KINDS:
            (old, n_old), (new, n_new) = (
                side.figure(kind, own[index, kind], values)
                for side, own in zip(pair, estimators, strict=True)
            )
            replicates = [np.atleast_2d(each[index, kind]) for each in drawn]
            found[kind] = _intervals(old, new, replicates, (n_old, n_new))
        changes.append(_change(part, pair, found, values, names))
    return tuple(changes), len(shared) > 0, (len(images[0]), len(images[1]))


def _estimators(
    sides: Sequence[_Side], images: IndexArray, values: IntArray
) -> dict[tuple[int, str], Estimator]:
    """Return the figures of a version as functions of sums over images, by threshold and kind."""
    clusters = np.arange(len(images))
    found = image_estimators(
        [side.counted for side in sides], [side.alpha for side in sides], images, values
    )
    for index, side in enumerate(sides):
        table = SumTable(partial(side.objects.take, images, axis=1))
        found[index, "f1"] = Estimator(nan, nan, nan, OK, table, lambda of: ratio(*of), clusters)
    return found


def _replicates(
    estimators: list[dict[tuple[int, str], Estimator]],
    images: tuple[IndexArray, IndexArray],
    settings: AgreeSettings,
    progress: Progress | None,
) -> list[dict[tuple[int, str], FloatArray]]:
    """Return replicates of the figures of each version, (B,) or (V, B); empty without draws."""
    if not settings.bootstrap or min(map(len, images)) < 2:
        return []
    seeds = [settings.seed, settings.seed]
    if not np.array_equal(images[0], images[1]):
        # The seed of independent draws does not depend on which version comes first.
        seeds[int(images[0][0] < images[1][0])] += 1
    on_progress = None if progress is None else partial(progress, "resampling")
    with one_blas_thread():
        return [
            replicates_of_all(own, settings.bootstrap, seed, on_progress)
            for own, seed in zip(estimators, seeds, strict=True)
        ]


_Found = tuple[FloatArray, ...]
"""Figures before, after, their difference, the intervals of these, and the shift of the last."""


def _intervals(
    old: FloatArray,
    new: FloatArray,
    replicates: list[FloatArray],
    made_of: tuple[IndexArray, IndexArray],
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
    sides: Sequence[_Side],
    found: dict[str, _Found],
    values: IntArray,
    names: Names,
) -> AgreementChange:
    """Return the change at one threshold."""
    pairs = zip(("before", "after"), sides, strict=True)
    why = "; ".join(f"{name}: {side.status}" for name, side in pairs if side.status != OK)
    pooled, mean, f1 = (_figure_change(found[kind]) for kind in _KINDS[:3])
    shown = np.flatnonzero(values < len(names.categories))
    old, new, difference, _, _, between, _ = (each[shown] for each in found["categories"])
    first, last = (side.alpha for side in sides)
    images = np.flatnonzero(~(np.isnan(first) & np.isnan(last)))
    return AgreementChange(
        measure=part.measure,
        iou_threshold=part.iou_threshold,
        pooled=replace(pooled, status=why or OK),
        mean=mean,
        f1=f1,
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


def _figure_change(found: _Found) -> Change:
    old, new, difference, before, after, between, shift = (each[0].tolist() for each in found)
    return Change(old, new, difference, tuple(before), tuple(after), tuple(between), shift)


def _drawn_images(result: MeasuredAgreement, image: IndexArray) -> IndexArray:
    """Return the images of a version that count, sorted, by their places among those of both."""
    part = result.thresholds[0]
    images = image[_measured(part)]
    if result.settings.empty_images == "skip":
        images = images[part.images["n_annotations"] > 0]
    return np.sort(images)


def _measured(part: ThresholdResult) -> IntArray:
    column = part.images.columns["image"]
    return column.code if isinstance(column, Categorical) else column


def _sides_of(
    result: MeasuredAgreement,
    image: IndexArray,
    category: IndexArray,
    names: Names,
    drawn: IndexArray,
) -> list[_Side]:
    """Return a version at each threshold, in the drawn images.

    `image` and `category` are its places among those of both versions.
    """
    n_images, missing = len(names.images), result.settings.missing
    inside = np.zeros(n_images, np.bool_)
    inside[drawn] = True
    # A missing annotation is the last value.
    values = np.append(category, len(names.categories))
    sides = []
    for part in result.thresholds:
        found, measured = coincidences(part.reliability, missing), _measured(part)
        group, value = image[found.group], values[found.value]
        rows = np.lexsort((value, group))
        rows = rows[inside[group[rows]]]
        counted = replace(
            found,
            group=group[rows].astype(np.int32),
            value=value[rows].astype(np.int32),
            marginal=found.marginal[rows],
            diagonal=found.diagonal[rows],
            n_groups=n_images,
            n_values=len(values),
        )
        n_drawn, alpha = part.images["n_annotations"], np.full(n_images, np.nan)
        if not np.isnan(part.mean_image_alpha):
            own = alpha_per_group(found)[measured]
            alpha[image[measured]] = np.where(n_drawn == 0, part.images["alpha"], own)
        possible = n_drawn * (part.images["n_annotators"] - 1) / 2
        objects = np.zeros((2, n_images))
        # Matched pairs are whole numbers.
        matching = np.rint(np.nan_to_num(part.images["f1"]) * possible)
        objects[:, image[measured]] = matching, possible
        pooled, with_missing = pooled_alpha(counted, len(drawn)), missing == "category"
        reason = reason_without_meaning(value_sums(counted)[0][:-1]) if with_missing else ""
        sides.append(
            _Side(
                counted,
                np.where(inside, alpha, np.nan),
                np.where(inside, objects, 0.0),
                with_missing,
                pooled.status if np.isnan(pooled.value) else reason or OK,
            )
        )
    return sides
