"""Agreement of one version of a data set, in the numbering of a comparison."""

from dataclasses import dataclass, replace

import numpy as np

from bboxqa.agreement.alpha.nominal import (
    alpha_per_category,
    alpha_per_group,
    images_per_value,
    pooled_alpha,
    value_sums,
)
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.agreement.objects import reason_without_meaning, values_without_meaning
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.model.reliability import Coincidences
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.table import Categorical, Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.pipelines.versions.tables import Names


@dataclass(frozen=True, slots=True, eq=False)
class Side:
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

    def within(self, images: IndexArray) -> "Side":
        """Return the same in some of the images."""
        inside = np.zeros(self.counted[0].n_groups, np.bool_)
        inside[images] = True
        return Side(
            [_rows(found, np.flatnonzero(inside[found.group])) for found in self.counted],
            [np.where(inside, alpha, np.nan) for alpha in self.alphas],
            [np.where(inside, sums, 0.0) for sums in self.objects],
            images,
            self.with_missing,
        )


def side_of(
    result: MeasuredAgreement, names: Names, image: IndexArray, category: IndexArray
) -> Side:
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
    return Side(counted, alphas, objects, np.sort(images), settings.missing == "category")


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
