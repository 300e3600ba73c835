"""Sums over pairs of annotations of the same object: existence, class and place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    compact,
    frozen_arrays,
    pairs_within,
    sum_by,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs

# Pairs of annotators of an image that are counted at a time.
_CHUNK = 1 << 19
# Sums of fewer than 2^28 multiples of 1 / _COARSE, and of the rests of 1 / _FINE, are exact.
_COARSE, _FINE = 2.0**24, 2.0**50
# Areas of polygons are exact to about 1e-9; their last digits depend on what is computed together.
_DIGITS = 9


@frozen_arrays
class ObjectSums:
    """Sums over pairs of annotations that show one object, (K,) by image, category or pair."""

    matched: FloatArray
    """Pairs of annotations of one unit."""
    possible: FloatArray
    """Possible pairs, if every other annotator asked had matched each annotation: for two
    annotators, half of the annotations of both."""
    same_class: FloatArray
    """Matched pairs of equal category."""
    similarity: FloatArray
    """The sum of the similarities of the matched pairs, each rounded to a multiple of 2^-24."""
    similarity_rest: FloatArray
    """The sum of what rounding left of them: with it, the sum is the same in any order of parts."""
    below: FloatArray
    """Matched pairs that do not reach the threshold themselves: a third annotation joins them."""

    @property
    def f1(self) -> FloatArray:
        """The positive specific agreement on existence; NaN without possible pairs."""
        return ratio(self.matched, self.possible)

    @property
    def class_share(self) -> FloatArray:
        """The share of matched pairs that have equal categories; NaN without matched pairs."""
        return ratio(self.same_class, self.matched)

    @property
    def mean_similarity(self) -> FloatArray:
        """The mean similarity of matched pairs; NaN without any."""
        return ratio(self.similarity + self.similarity_rest, self.matched)

    @property
    def below_share(self) -> FloatArray:
        """The share of matched pairs below the threshold; NaN without matched pairs."""
        return ratio(self.below, self.matched)

    def stacked(self) -> FloatArray:
        """Return the sums as rows, in the order of the attributes, (6, K)."""
        return np.stack([getattr(self, field.name) for field in fields(self)])

    def total(self) -> "ObjectSums":
        """Return the sums over all K, each (1,)."""
        return ObjectSums(*self.stacked().sum(1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class ObjectCounts:
    """Existence, class and place of the objects at one threshold."""

    images: ObjectSums
    """By image; the sum over images is the total."""
    categories: ObjectSums
    """By category; a pair counts for the categories of both annotations."""
    pair: IndexArray
    """Annotators who share an image, as ``first * n_annotators + second``, sorted, (P,): all, or
    those that `paired_annotators` names."""
    pairs: ObjectSums
    """By these pairs of annotators."""
    similarities: FloatArray
    """The similarity of each matched pair, in the order of images, to nine digits, (S,)."""


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return ratios, NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(denominator > 0, numerator / denominator, np.nan)
    return found


def count_objects(
    annotations: Annotations,
    pairs: CandidatePairs,
    assigned: BoolArray,
    n_categories: int,
    least: float,
    *,
    of_pairs: bool = True,
    paired: BoolArray | None = None,
) -> ObjectCounts:
    """Count the matched pairs of annotations, and the possible ones.

    An image of k annotators who were asked, with N annotations in units of m annotations, has
    Σ m (m − 1) / 2 matched pairs of (k − 1) N / 2 possible ones. Their ratio is the F1 of two
    annotators, 2 · matched / (drawn by one + drawn by the other), pooled over pairs of annotators.
    As the number of places without an object is unbounded, chance-corrected kappa tends to F1 [1]_.

    Parameters
    ----------
    annotations : Annotations
    pairs : CandidatePairs
        All pairs of annotations of one unit.
    assigned : (I, A) bool
        Who was asked to annotate which image.
    n_categories : int
    least : float
        The lowest similarity of two annotations that match without a third one.
    of_pairs : bool
        Whether to count by pairs of annotators as well.
    paired : (A,) bool, optional
        The annotators whose pairs are counted, if not all.

    References
    ----------
    .. [1] G. Hripcsak and A. S. Rothschild (2005), Agreement, the F-measure, and reliability in
           information retrieval, Journal of the American Medical Informatics Association 12(3),
           doi:10.1197/jamia.M1733.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> annotations = bboxqa.read_coco(example_file("fruits")).annotations
    >>> none = CandidatePairs(np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    >>> counted = count_objects(annotations, none, np.ones((1, 3), bool), 3, 0.5)
    >>> counted.images.possible, counted.images.f1
    (array([9.]), array([0.]))
    """
    n_images, n_annotators = assigned.shape
    left, right = pairs.left, pairs.right
    similarity = np.round(pairs.similarity, _DIGITS)
    image, category = annotations.image, annotations.category
    rounded = np.round(similarity * _COARSE) / _COARSE
    rest = np.round((similarity - rounded) * _FINE) / _FINE
    same = (category[left] == category[right]).astype(np.float64)
    below = (pairs.similarity < least).astype(np.float64)
    others = assigned.sum(1)[image] - 1.0

    def sums(key: NDArray[Any], possible: FloatArray) -> ObjectSums:
        size = len(possible)
        return ObjectSums(
            np.bincount(key, minlength=size).astype(np.float64),
            possible,
            sum_by(key, same, size),
            sum_by(key, rounded, size),
            sum_by(key, rest, size),
            sum_by(key, below, size),
        )

    # Each pair counts for the categories of both of its annotations.
    of_left = sums(category[left], sum_by(category, others, n_categories))
    of_right = sums(category[right], np.zeros(n_categories))
    pair, by_pairs = np.zeros(0, np.int64), ObjectSums(*np.zeros((6, 0)))
    if of_pairs:
        listed = assigned if paired is None else assigned & paired
        pair, drawn = _drawn_by_pairs(annotations, listed)
        row = _rows_of_pairs(annotations.annotator, pairs, pair, n_annotators)
        # What others matched is added up last, and dropped.
        by_pairs = ObjectSums(*sums(row, np.append(drawn / 2, 0)).stacked()[:, :-1])
    return ObjectCounts(
        images=sums(image[left], sum_by(image, others / 2, n_images)),
        categories=ObjectSums(*(of_left.stacked() + of_right.stacked())),
        pair=pair,
        pairs=by_pairs,
        similarities=similarity,
    )


def _drawn_by_pairs(annotations: Annotations, assigned: BoolArray) -> tuple[IndexArray, FloatArray]:
    """Return the pairs of annotators who share an image, and their possible pairs, (P,) each."""
    n_annotators = assigned.shape[1]
    image, annotator = np.nonzero(assigned)
    n_drawn = drawn_in_cells(annotations, assigned).astype(np.float64)
    tallies = []
    for start, stop in image_chunks(image):
        left, right = pairs_within(image[start:stop])
        pair = annotator[start:stop][left] * n_annotators + annotator[start:stop][right]
        keys, place = compact(pair, n_annotators**2)
        drawn = n_drawn[start:stop]
        tallies.append((keys, sum_by(place, drawn[left] + drawn[right], len(keys))))
    return _joined_sums(tallies)


def _rows_of_pairs(
    annotator: IntArray, pairs: CandidatePairs, pair: IndexArray, n_annotators: int
) -> IndexArray:
    """Return the place of each two annotators in `pair`, which is sorted; its length if nowhere."""
    one, other = (annotator[side].astype(np.int64) for side in (pairs.left, pairs.right))
    key = one * n_annotators + other
    row = np.searchsorted(pair, key)
    known = np.append(pair, -1)[row] == key
    return np.where(known, row, len(pair))


def drawn_in_cells(annotations: Annotations, assigned: BoolArray) -> IndexArray:
    """Return how many annotations there are of each image and annotator in `assigned`, (C,) int64.

    They are in the order of ``np.nonzero(assigned)``; annotations of others are left out.
    """
    cells = np.flatnonzero(assigned)
    cell = annotations.image.astype(np.int64) * assigned.shape[1] + annotations.annotator
    inside = cell[assigned[annotations.image, annotations.annotator]]
    return np.bincount(np.searchsorted(cells, inside), minlength=len(cells))


def image_chunks(image: IndexArray) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of whole images, each with about `_CHUNK` pairs of rows."""
    _, n_rows = np.unique(image, return_counts=True)
    ends = np.cumsum(n_rows)
    n_pairs = np.cumsum(n_rows * (n_rows - 1) // 2)
    start = done = 0
    while start < len(ends):
        stop = max(int(np.searchsorted(n_pairs, done + _CHUNK, side="right")), start + 1)
        yield int(ends[start - 1]) if start else 0, int(ends[stop - 1])
        start, done = stop, int(n_pairs[stop - 1])


def _joined_sums(
    parts: Sequence[tuple[IndexArray, FloatArray]],
) -> tuple[IndexArray, FloatArray]:
    """Return all keys, sorted, and the sums of their amounts along the last axis."""
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0)
    keys, place = np.unique(np.concatenate([key for key, _ in parts]), return_inverse=True)
    amounts = np.concatenate([amount for _, amount in parts], axis=-1)
    sums = [sum_by(place, row, len(keys)) for row in np.atleast_2d(amounts)]
    return keys, np.stack(sums) if amounts.ndim > 1 else sums[0]


def join_objects(parts: Sequence[ObjectCounts]) -> ObjectCounts:
    """Return the counts of several parts together.

    The parts have the same annotators and categories; their images follow each other.
    """
    pair, of_pairs = _joined_sums([(part.pair, part.pairs.stacked()) for part in parts])
    return ObjectCounts(
        images=ObjectSums(*np.concatenate([part.images.stacked() for part in parts], axis=1)),
        categories=ObjectSums(*np.sum([part.categories.stacked() for part in parts], axis=0)),
        pair=pair,
        pairs=ObjectSums(*of_pairs),
        similarities=np.concatenate([part.similarities for part in parts]),
    )
