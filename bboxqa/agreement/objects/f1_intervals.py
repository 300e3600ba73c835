"""Intervals of the F1 of categories and of pairs of annotators, by linearisation over images."""

from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.counts.object_counts import drawn_in_cells, image_chunks, ratio
from bboxqa.agreement.uncertainty.linear import FEWEST, NO_ERROR
from bboxqa.agreement.uncertainty.resampling import LEVEL
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    compact,
    pairs_within,
    radix_order,
    sum_by,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import UnitTable


@dataclass(slots=True)
class _ImageSquares:
    """Sums over images of products of two amounts of K rows: matched pairs, and possible ones."""

    sums: FloatArray
    """(6, K) float64: matched, possible, their squares, their product, and the number of images."""

    def add(self, row: IndexArray, image: IndexArray, amounts: FloatArray) -> None:
        """Add the (2, E) amounts of rows in images; an image is added once."""
        n_rows = self.sums.shape[1]
        keys, place = compact(image * n_rows + row, (int(image.max(initial=-1)) + 1) * n_rows)
        matched, possible = (sum_by(place, amount, len(keys)) for amount in amounts)
        found = matched, possible, matched**2, possible**2, matched * possible, possible > 0
        self.sums += np.stack([sum_by(keys % n_rows, each, n_rows) for each in found])

    def intervals(self) -> FloatArray:
        """Return the 95 % intervals of matched / possible, (K, 2).

        The error is that of a ratio of sums over clusters (Cochran 1977, Sampling techniques,
        eq. 2.39 and 6.9). NaN with fewer than ten images, and at 0 and 1.
        """
        matched, possible, matched_2, possible_2, product, n_images = self.sums
        f1 = ratio(matched, possible)
        residual = matched_2 - 2 * f1 * product + f1**2 * possible_2
        # Rounding leaves a residue if all images have the same F1.
        residual[residual < 1e-12 * matched_2] = 0
        error = np.sqrt(ratio(residual * n_images, n_images - 1.0)) / possible
        return _share_interval(f1, error, n_images - 1)


def _share_interval(share: FloatArray, error: FloatArray, freedom: FloatArray) -> FloatArray:
    """Return 95 % intervals of shares from standard errors, (N, 2), within 0 and 1.

    They are symmetric on the scale of log odds: logit θ ± t · error / (θ (1 − θ)).
    """
    from scipy.special import expit, logit, stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        reach = stdtrit(freedom, (1 + LEVEL) / 2) * error / (share * (1 - share))
        bounds: FloatArray = expit(np.stack([logit(share) - reach, logit(share) + reach], axis=1))
    known = (error > NO_ERROR) & (share > 0) & (share < 1) & (freedom > FEWEST - 1.5)
    bounds[~known] = np.nan
    return bounds


def category_f1_intervals(
    annotations: Annotations, units: UnitTable, assigned: BoolArray, n_categories: int
) -> FloatArray:
    """Return the 95 % interval of the F1 of each category, (K, 2)."""
    size = np.bincount(units.unit, minlength=len(units))[units.unit]
    others = assigned.sum(1)[annotations.image] - 1
    squares = _ImageSquares(np.zeros((6, n_categories)))
    category, image = (each.astype(np.int64) for each in (annotations.category, annotations.image))
    squares.add(category, image, np.stack([size - 1, others]).astype(np.float64))
    return squares.intervals()


def pair_f1_intervals(
    annotations: Annotations, units: UnitTable, assigned: BoolArray, pairs: IndexArray
) -> FloatArray:
    """Return the 95 % interval of the F1 of each pair of annotators, (P, 2).

    `pairs` are ``first * n_annotators + second``, sorted: those who share an image, all or those
    of some annotators.
    """
    if len(assigned) < FEWEST:
        # In chunks: thousands of annotators of one image are millions of pairs.
        return np.full((len(pairs), 2), np.nan)
    n_annotators = assigned.shape[1]
    paired = np.zeros(n_annotators, np.bool_)
    paired[np.concatenate(np.divmod(pairs, n_annotators))] = True
    order = radix_order(units.unit, len(units))
    order = order[paired[annotations.annotator[order]]]
    left, right = (order[side] for side in pairs_within(units.unit[order]))
    ends = np.sort(annotations.annotator[np.stack([left, right])].astype(np.int64), axis=0)
    of_image = annotations.image[left].astype(np.int64)
    by_image = np.argsort(of_image, kind="stable")
    of_image = of_image[by_image]
    matched = np.searchsorted(pairs, ends[0] * n_annotators + ends[1])[by_image]
    image, annotator = np.nonzero(assigned & paired)
    n_drawn = drawn_in_cells(annotations, assigned & paired)
    squares = _ImageSquares(np.zeros((6, len(pairs))))
    for start, stop in image_chunks(image):
        one, other = (start + side for side in pairs_within(image[start:stop]))
        row = np.searchsorted(pairs, annotator[one] * n_annotators + annotator[other])
        low, high = np.searchsorted(of_image, [image[start], image[stop - 1] + 1])
        both = np.append(row, matched[low:high])
        where = np.append(image[one], of_image[low:high]) - image[start]
        amounts = np.zeros((2, len(both)))
        amounts[1, : len(row)] = (n_drawn[one] + n_drawn[other]) / 2
        amounts[0, len(row) :] = 1
        squares.add(both, where, amounts)
    return squares.intervals()
