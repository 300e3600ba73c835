"""Agreement on objects: their existence, class and place, with intervals."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import starmap
from math import isnan, nan

import numpy as np

from bboxqa.agreement.estimators import (
    FEWEST,
    NO_ERROR,
    OK,
    Estimator,
    Resampled,
    SumTable,
    t_quantile,
)
from bboxqa.agreement.nominal import (
    alpha_per_category,
    image_estimators,
    mean_estimator,
    nominal_alpha,
    pooled_alpha,
    pooled_of_sums,
    stacked_tables,
    value_sums,
)
from bboxqa.agreement.object_counts import ObjectSums, drawn_in_cells, image_chunks, ratio
from bboxqa.agreement.resampling import LEVEL, covering_intervals, replicates_of_all
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    Steps,
    compact,
    distinct,
    pairs_within,
    run_starts,
    sum_by,
)
from bboxqa.core.machine import one_blas_thread
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import Coincidences

# The rows of sums of a threshold: those of `ObjectSums`, and matched and possible pairs by chance.
_OF_OBJECTS, _N_ROWS = 8, 10
# Figures of objects.
_FIGURES = ("f1", "chance", "above chance", "class share", "place", "below")


def _object_figures(first: int, sums: FloatArray) -> FloatArray:
    """Return the `_FIGURES` of objects, (6, B), from the rows of sums of a threshold."""
    of_objects, by_chance, _ = np.split(sums[first:], [_OF_OBJECTS, _N_ROWS])
    objects, chance = ObjectSums(*of_objects), ratio(*by_chance)
    above_chance = 1 - ratio(1 - objects.f1, 1 - chance)
    below = ratio(objects.below, objects.matched)
    return np.stack(
        [
            objects.f1, chance, above_chance, objects.class_share, objects.mean_similarity, below,
        ]
    )  # fmt: skip


def f1_estimator(images: ObjectSums, drawn: IndexArray) -> Estimator:
    """Return the F1 of all pairs of annotators in the `drawn` images, (C,) int64, sorted."""
    sums = np.stack([images.alone, images.possible])
    total = sums[:, drawn].sum(1)
    value = float(ratio(total[:1], total[1:])[0])
    status = "undefined: no annotations of two annotators" if isnan(value) else OK
    return Estimator(value, nan, nan, status, SumTable(lambda: sums), lambda of: ratio(*of), drawn)


ONE_CATEGORY = (
    "no meaning with one category: alpha can be 0 or below however many objects the annotators "
    "share"
)


def has_meaning(drawn: FloatArray, missing: str = "category") -> bool:
    """Return whether alpha can show agreement: always, unless a missing annotation is a value.

    Places where all annotators see nothing are not recorded, so that "missing" never agrees with
    itself. If all annotations, `drawn` by category (K,), are of one category, chance explains
    agreement on them, and alpha is near 0 even for annotators who find 95 % of the objects.
    """
    return missing == "ignore" or np.count_nonzero(drawn) != 1


def values_without_meaning(marginal: FloatArray) -> BoolArray:
    """Return (K,) bool: values whose alpha against the rest has no meaning; see `has_meaning`."""
    drawn = marginal[:-1] > 0
    return np.append(drawn & (drawn.sum() == 1), False)


Intervals = dict[str, FloatArray]
"""The 95 % interval of each figure, (1, 2), and of "categories", (K, 2)."""


class ThresholdSums(FrozenArrays, frozen=True, eq=False):
    """Sums over the images of one threshold."""

    coincidences: Coincidences
    classes: Coincidences
    """Coincidences of drawn annotations only."""
    image_alpha: FloatArray
    """Alpha of each image, NaN where it has none, (I,)."""
    has_meaning: BoolArray
    """Whether the alpha of an image has a meaning, (I,)."""
    meaningful_alpha: FloatArray
    """Alpha of each image with objects, (I,); NaN where it has no meaning."""
    objects: ObjectSums
    """By image."""
    chance: FloatArray
    """Pairs that match by chance, and that could match, by image, (I, 2); 0 if not measured."""

    def figures(self) -> dict[str, tuple[float, int]]:
        """Return all scalar figures by name, and of how many images each is made."""
        sums = np.append(self.objects.stacked().sum(1), self.chance.sum(0))[:, None]
        of_objects = zip(_FIGURES, _object_figures(0, sums)[:, 0].tolist(), strict=True)
        n_drawn = int(np.count_nonzero(self.objects.possible))
        pooled = pooled_alpha(self.coincidences).value
        of_classes = pooled_alpha(self.classes, one_group=False).value
        means = {"mean": self.image_alpha, "meaningful mean": self.meaningful_alpha}
        return {
            "pooled": (pooled, len(distinct(self.coincidences.group))),
            "class": (of_classes, len(distinct(self.classes.group))),
            **{name: (mean_of(of), int((~np.isnan(of)).sum())) for name, of in means.items()},
            **{name: (value, n_drawn) for name, value in of_objects},
        }


def mean_of(values: FloatArray) -> float:
    """Return the mean of the values that are defined; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def threshold_intervals(
    thresholds: Sequence[ThresholdSums],
    images: IndexArray,
    replicates: int,
    seed: int,
    on_progress: Steps | None = None,
) -> list[Intervals]:
    """Return the intervals of each threshold, all from the same draws of `images`, sorted."""
    counted = [sums.coincidences for sums in thresholds]
    values = distinct(np.concatenate([found.value for found in counted]))
    estimators = image_estimators(
        counted, [sums.image_alpha for sums in thresholds], images, values
    )
    # One table of the objects of all thresholds, so that the weights are read once.
    rows = (each for sums in thresholds for each in (sums.objects.stacked(), sums.chance.T))
    of_images = np.concatenate([*rows])[:, images]
    of_objects, everyone = SumTable(lambda: of_images), np.arange(len(images))
    classes = [sums.classes for sums in thresholds]
    categories = distinct(np.concatenate([found.value for found in classes]))
    of_classes = stacked_tables(classes, images, categories, 1)
    for index, (sums, table) in enumerate(zip(thresholds, of_classes, strict=True)):
        estimators |= {
            (index, "meaningful mean"): mean_estimator(sums.meaningful_alpha, images),
            (index, "class"): Resampled(table, partial(pooled_of_sums, len(categories)), everyone),
            (index, "objects"): Resampled(
                of_objects, partial(_object_figures, index * _N_ROWS), everyone
            ),
        }
    with one_blas_thread():
        drawn = replicates_of_all(estimators, replicates, seed, on_progress)
    figures = [sums.figures() for sums in thresholds]
    found: list[Intervals] = [{} for _ in thresholds]
    for (index, kind), replicated in drawn.items():
        if kind == "categories":
            alpha, _, n_images = alpha_per_category(counted[index])
            found[index][kind] = np.full((len(alpha), 2), np.nan)
            found[index][kind][values] = covering_intervals(
                alpha[values], replicated, n_images[values]
            )
        else:
            names = _FIGURES if kind == "objects" else (kind,)
            own = zip(*(figures[index][name] for name in names), strict=True)
            of_values, made_of = map(np.array, own)
            intervals = covering_intervals(of_values, np.atleast_2d(replicated), made_of)
            found[index] |= {name: intervals[[row]] for row, name in enumerate(names)}
    return found


def _f1_intervals(
    n_rows: int, parts: Iterable[tuple[IndexArray, IndexArray, FloatArray]]
) -> FloatArray:
    """Return the 95 % intervals of matched / possible pairs of K rows, (K, 2).

    Each part has the rows, images and (2, E) amounts; an image is in one part only. The error is
    that of a ratio of sums over clusters (Cochran 1977, Sampling techniques, eq. 2.39 and 6.9). NaN
    with fewer than ten images, and at 0 and 1.
    """
    sums = np.zeros((6, n_rows))
    for row, image, amounts in parts:
        keys, place = compact(image * n_rows + row, (int(image.max(initial=-1)) + 1) * n_rows)
        matched, possible = (sum_by(place, amount, len(keys)) for amount in amounts)
        found = matched, possible, matched**2, possible**2, matched * possible, possible > 0
        sums += np.stack([sum_by(keys % n_rows, each, n_rows) for each in found])
    matched, possible, matched_2, possible_2, product, n_images = sums
    f1 = ratio(matched, possible)
    residual = matched_2 - 2 * f1 * product + f1**2 * possible_2
    # Rounding leaves a residue if all images have the same F1.
    residual[residual < 1e-12 * matched_2] = 0
    error = np.sqrt(ratio(residual * n_images, n_images - 1.0)) / possible
    bounds, freedom = np.full((len(f1), 2), np.nan), n_images - 1
    known = (error > NO_ERROR) & (f1 > 0) & (f1 < 1) & (freedom > FEWEST - 1.5)
    some, odds = f1[known], np.log(f1[known] / (1 - f1[known]))
    reach = t_quantile(freedom[known], (1 + LEVEL) / 2) * error[known] / (some * (1 - some))
    bounds[known] = 1 / (1 + np.exp(-np.stack([odds - reach, odds + reach], axis=1)))
    return bounds


def category_f1_intervals(
    annotations: Annotations, alone: IndexArray, assigned: BoolArray, n_categories: int
) -> FloatArray:
    """Return the 95 % interval of the F1 of each category with its class, (K, 2)."""
    category, image = (each.astype(np.int64) for each in (annotations.category, annotations.image))
    ends = alone[:, category[alone[0]] == category[alone[1]]]
    same = np.bincount(ends.ravel(), minlength=len(category))
    others = assigned.sum(1)[image] - 1
    amounts = np.stack([same, others]).astype(np.float64)
    return _f1_intervals(n_categories, [(category, image, amounts)])


def pair_f1_intervals(
    annotations: Annotations, alone: IndexArray, assigned: BoolArray, pairs: IndexArray
) -> FloatArray:
    """Return the 95 % interval of the F1 of each pair of annotators, (P, 2)."""
    if len(assigned) < FEWEST:
        # In chunks: thousands of annotators of one image are millions of pairs.
        return np.full((len(pairs), 2), np.nan)
    n_annotators = assigned.shape[1]
    paired = np.zeros(n_annotators, np.bool_)
    paired[np.concatenate(np.divmod(pairs, n_annotators))] = True
    author = annotations.annotator.astype(np.int64)[alone]
    counted = np.flatnonzero(paired[author].all(0))
    of_image = annotations.image.astype(np.int64)[alone[0, counted]]
    counted, of_image = (each[np.argsort(of_image, kind="stable")] for each in (counted, of_image))
    matched = np.searchsorted(pairs, author[0, counted] * n_annotators + author[1, counted])
    image, annotator = np.nonzero(assigned & paired)
    n_drawn = drawn_in_cells(annotations, assigned & paired)

    def part(start: int, stop: int) -> tuple[IndexArray, IndexArray, FloatArray]:
        one, other = (start + side for side in pairs_within(image[start:stop]))
        row = np.searchsorted(pairs, annotator[one] * n_annotators + annotator[other])
        low, high = np.searchsorted(of_image, [image[start], image[stop - 1] + 1])
        both = np.append(row, matched[low:high])
        where = np.append(image[one], of_image[low:high]) - image[start]
        amounts = np.zeros((2, len(both)))
        amounts[1, : len(row)] = (n_drawn[one] + n_drawn[other]) / 2
        amounts[0, len(row) :] = 1
        return both, where, amounts

    return _f1_intervals(len(pairs), starmap(part, image_chunks(image)))


def alpha_costs(data: Coincidences) -> FloatArray:
    """Return pooled alpha without each group, minus pooled alpha, (G,)."""
    marginal, diagonal = value_sums(data)
    inside = sum_by(data.group, data.marginal, data.n_groups)
    agreeing = sum_by(data.group, data.diagonal, data.n_groups)
    # (n_c − n_ic)² = n_c² − n_ic (2 n_c − n_ic)
    less = data.marginal * (2 * marginal[data.value] - data.marginal)
    squares = sum_by(data.group, less, data.n_groups)
    total, all_squares = marginal.sum(), (marginal**2).sum()
    without = nominal_alpha(total - inside, diagonal.sum() - agreeing, all_squares - squares)[0]
    pooled = nominal_alpha(*(np.array([n]) for n in (total, diagonal.sum(), all_squares)))[0]
    return without - pooled


def f1_costs(images: ObjectSums) -> FloatArray:
    """Return F1 without each image, minus F1, (I,); NaN if one of them is undefined."""
    matched, possible = images.alone.sum(), images.possible.sum()
    without = ratio(matched - images.alone, possible - images.possible)
    return without - ratio(np.array([matched]), np.array([possible]))


def chance_slots(
    image: IndexArray,
    annotator: IndexArray,
    kind: IndexArray,
    ranks: tuple[IndexArray, IndexArray],
    n_passes: int,
    generator: np.random.Generator,
) -> IndexArray:
    """Return places, annotators, and the random images that they bring to them, (3, S), sorted.

    In each pass, the images of an annotator and a kind, (C,) each, form a circle in a random order,
    which is the same for all annotators, and are rotated by a different number of places for each
    annotator. So annotators of the same images never bring the same image to a place, unless there
    are more annotators than images; then one of them is kept. Random numbers are assigned in the
    order of `ranks`, of images and annotators. A place is the pass times the number of images, plus
    the image; it has two annotators or more.
    """
    of_images, of_annotators = ranks
    n_images, n_annotators = len(of_images), len(of_annotators)
    order = generator.random((n_passes, n_images))[:, of_images]
    turns = generator.permuted(np.tile(np.arange(n_annotators), (n_passes, 1)), axis=1)
    circle = np.unique(kind * n_annotators + annotator, return_inverse=True)[1]
    in_passes = np.broadcast_to(circle, (n_passes, len(circle)))
    cell = np.lexsort((order[:, image], in_passes), axis=1)
    size = np.bincount(circle)
    start = np.cumsum(size) - size
    circle = np.sort(circle)
    start, size = start[circle], size[circle]
    turn = np.take_along_axis(turns[:, of_annotators], annotator[cell], axis=1)
    moved = start + (np.arange(len(circle)) - start + turn) % size
    source = image[np.take_along_axis(cell, moved, axis=1)]
    place = np.arange(n_passes)[:, None] * n_images + image[cell]
    slots = np.stack([place.ravel(), annotator[cell].ravel(), source.ravel()])
    # One annotator per image and place, and places with two annotators or more.
    brought = slots[0] * n_images + slots[2]
    ranked = np.lexsort((turn.ravel(), brought))
    slots = slots[:, ranked[run_starts(brought[ranked])]]
    slots = slots[:, np.bincount(slots[0])[slots[0]] >= 2]
    return slots[:, np.lexsort((slots[1], slots[0]))]
