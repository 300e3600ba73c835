"""Counts of what pairs of annotators drew, named and placed alike."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    chunks,
    compact,
    pairs_within,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, Cell, ReliabilityData

# Pairs of annotators of an image that are counted at a time.
_CHUNK = 1 << 19
# Sums of fewer than 2^28 multiples of 1 / _COARSE, and of the rests of 1 / _FINE, are exact.
_COARSE, _FINE = 2.0**24, 2.0**50
SIMILARITY_DIGITS = 9
"""Areas of polygons are exact to about 1e-9; their last digits depend on what is computed together.
"""


class ObjectSums(FrozenArrays, frozen=True, eq=False):
    """Sums over pairs of annotations that show one object, (K,) by image, category or pair."""

    alone: FloatArray
    """Pairs of annotations by two annotators, each two matched without the others."""
    alone_same: FloatArray
    """Such pairs of equal category."""
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
        return ratio(self.alone, self.possible)

    @property
    def class_share(self) -> FloatArray:
        """The share of matched pairs that have equal categories; NaN without matched pairs."""
        return ratio(self.same_class, self.matched)

    @property
    def mean_similarity(self) -> FloatArray:
        """The mean similarity of matched pairs; NaN without any."""
        return ratio(self.similarity + self.similarity_rest, self.matched)

    def stacked(self) -> FloatArray:
        """Return the sums as rows, in the order of the attributes, (8, K)."""
        return np.stack([getattr(self, field) for field in self.__struct_fields__])


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return ratios, NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(denominator > 0, numerator / denominator, np.nan)
    return found


def count_objects(
    annotations: Annotations,
    pairs: CandidatePairs,
    alone: IndexArray,
    assigned: BoolArray,
    n_categories: int,
    least: float,
) -> tuple[ObjectSums, ObjectSums]:
    """Count the matched pairs of annotations, and the possible ones, by image and by category.

    An image of k annotators who were asked, with N annotations, has (k − 1) N / 2 possible pairs.
    The ratio of the pairs that are matched if each two annotators are alone, and of possible ones,
    is the F1 of two annotators, 2 · matched / (drawn by one + drawn by the other), pooled over
    pairs of annotators: it does not depend on how many others annotate the images. As the number of
    places without an object is unbounded, kappa tends to F1 (Hripcsak and Rothschild 2005,
    doi:10.1197/jamia.M1733).

    `pairs` are all pairs of annotations of one unit, `alone` (2, M) those of `match_pairwise`, and
    `assigned` (I, A) says who was asked. Similarities below `least` match by a third annotation.
    """
    image, category = annotations.image, annotations.category
    others = assigned.sum(1)[image] - 1.0
    of = partial(_object_sums, category, pairs, alone, least)
    # Each pair counts for the categories of both of its annotations.
    of_left = of(category[pairs.left], category[alone[0]], sum_by(category, others, n_categories))
    of_right = of(category[pairs.right], category[alone[1]], np.zeros(n_categories))
    possible = sum_by(image, others / 2, len(assigned))
    of_images = of(image[pairs.left], image[alone[0]], possible)
    return of_images, ObjectSums(*(of_left.stacked() + of_right.stacked()))


def _object_sums(
    category: IntArray,
    pairs: CandidatePairs,
    alone: IndexArray,
    least: float,
    row: NDArray[Any],
    row_alone: NDArray[Any],
    possible: FloatArray,
) -> ObjectSums:
    """Return sums of pairs by their rows, and of pairs of two alone; see `count_objects`."""
    similarity = np.round(pairs.similarity, SIMILARITY_DIGITS)
    rounded = np.round(similarity * _COARSE) / _COARSE
    rest = np.round((similarity - rounded) * _FINE) / _FINE
    same, same_alone = (
        (category[one] == category[other]).astype(np.float64)
        for one, other in ((pairs.left, pairs.right), alone)
    )
    size = len(possible)
    return ObjectSums(
        alone=np.bincount(row_alone, minlength=size).astype(np.float64),
        alone_same=sum_by(row_alone, same_alone, size),
        matched=np.bincount(row, minlength=size).astype(np.float64),
        possible=possible,
        same_class=sum_by(row, same, size),
        similarity=sum_by(row, rounded, size),
        similarity_rest=sum_by(row, rest, size),
        below=sum_by(row, (pairs.similarity < least).astype(np.float64), size),
    )


def count_objects_of_pairs(
    annotations: Annotations,
    pairs: CandidatePairs,
    alone: IndexArray,
    assigned: BoolArray,
    least: float,
) -> tuple[IndexArray, ObjectSums]:
    """Return pairs, ``first * n_annotators + second``, of common images, and their sums, (P,)."""
    n_annotators = assigned.shape[1]
    image, annotator = np.nonzero(assigned)
    n_drawn = drawn_in_cells(annotations, assigned).astype(np.float64)
    tallies = [(np.zeros(0, np.int64), np.zeros(0))]
    for start, stop in image_chunks(image):
        left, right = pairs_within(image[start:stop])
        both = annotator[start:stop][left] * n_annotators + annotator[start:stop][right]
        keys, place = compact(both, n_annotators**2)
        drawn = n_drawn[start:stop]
        tallies.append((keys, sum_by(place, drawn[left] + drawn[right], len(keys))))
    pair, of_both = _joined_sums(tallies)
    # The row of each two annotators; what others matched is added up last, and dropped.
    author, rows_of = annotations.annotator.astype(np.int64), []
    for one, other in ((pairs.left, pairs.right), alone):
        key = author[one] * n_annotators + author[other]
        place = np.searchsorted(pair, key)
        rows_of.append(np.where(np.append(pair, -1)[place] == key, place, len(pair)))
    row, row_alone = rows_of
    possible = np.append(of_both / 2, 0)
    sums = _object_sums(annotations.category, pairs, alone, least, row, row_alone, possible)
    return pair, ObjectSums(*sums.stacked()[:, :-1])


def drawn_in_cells(annotations: Annotations, assigned: BoolArray) -> IndexArray:
    """Return how many annotations each image and annotator in `assigned` have, (C,) int64."""
    cells = np.flatnonzero(assigned)
    cell = annotations.image.astype(np.int64) * assigned.shape[1] + annotations.annotator
    inside = cell[assigned[annotations.image, annotations.annotator]]
    return np.bincount(np.searchsorted(cells, inside), minlength=len(cells))


def image_chunks(image: IndexArray) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of whole images, each with about `_CHUNK` pairs of rows."""
    _, n_rows = np.unique(image, return_counts=True)
    ends = [0, *np.cumsum(n_rows).tolist()]
    for start, stop in chunks(n_rows * (n_rows - 1) // 2, _CHUNK):
        yield ends[start], ends[stop]


def _joined_sums(parts: Sequence[tuple[IndexArray, Any]]) -> tuple[IndexArray, Any]:
    """Return all keys, sorted, and the sums of their amounts."""
    keys, place = np.unique(np.concatenate([key for key, _ in parts]), return_inverse=True)
    amounts = np.concatenate([amount for _, amount in parts])
    return keys, sum_by(place, amounts, len(keys)).astype(amounts.dtype, copy=False)


class PairCounts(FrozenArrays, frozen=True, eq=False):
    """The sums of which alphas of pairs, ``first * n_annotators + second``, are functions."""

    unit_pair: IndexArray
    n_units: IndexArray
    agreeing_pair: IndexArray
    n_agreeing: IndexArray
    """(P,) and (Q,). Pairs, with the units on which they were compared, and on which they agree."""
    pair_value: IndexArray
    n_given: IndexArray
    """(R,). ``pair * n_values + value``, and how often either gave the value in these units."""
    n_annotators: int
    n_values: int


def count_pairs(data: ReliabilityData, n_annotators: int, missing: str) -> PairCounts:
    """Count the values of each pair in units that somebody drew; "missing" may be one more."""
    n_values = data.n_values + 1
    drawn = data.state == Cell.CATEGORY
    code = np.where(drawn, data.value, data.n_values).astype(np.int64)
    annotator = data.annotator.astype(np.int64)
    none = np.zeros(0, np.int64)
    # Of pairs of annotators, of those who agree, and of their values: keys and numbers.
    counted = [(none, none)] * 3
    # Pairs of missing cells, which are the majority, are left out.
    cells = np.arange(len(drawn)) if missing == "category" else np.flatnonzero(drawn)
    starts = run_starts(data.unit[cells])
    size = np.diff(starts, append=len(cells))
    begins, ends = (np.repeat(bound, size)[drawn[cells]] for bound in (starts, starts + size))
    sources, n_partners = cells[drawn[cells]], ends - begins
    for start, stop in chunks(n_partners, _CHUNK):
        left = np.repeat(sources[start:stop], n_partners[start:stop])
        right = cells[rows(begins[start:stop], ends[start:stop])[0]]
        # A pair of drawn cells comes up from both sides.
        once = np.flatnonzero(~drawn[right] | (left < right))
        left, right = left[once], right[once]
        one, other = annotator[left], annotator[right]
        pair = np.minimum(one, other) * n_annotators + np.maximum(one, other)
        given = np.concatenate([pair * n_values + code[left], pair * n_values + code[right]])
        keyed = ((pair, 1), (pair[code[left] == code[right]], 1), (given, n_values))
        for number, (each, n) in enumerate(keyed):
            keys, place = compact(each, n * n_annotators**2)
            part = keys, np.bincount(place, minlength=len(keys))
            counted[number] = _joined_sums([counted[number], part])
    units, agreeing, values = counted
    return PairCounts(*units, *agreeing, *values, n_annotators, n_values)


MOST_PAIRED = 447
"""How many annotators tables of pairs have at most: about 100,000 pairs."""


def paired_annotators(annotator: IntArray, assigned: BoolArray) -> BoolArray | None:
    """Return (A,) bool: the 447 annotators who drew most; None if few pairs share an image."""
    n_annotators = assigned.shape[1]
    if n_annotators <= MOST_PAIRED:
        return None
    if assigned.sum(1).max(initial=0) <= MOST_PAIRED:
        image, asked = np.nonzero(assigned)
        keys: IndexArray = np.zeros(0, np.int64)
        for start, stop in image_chunks(image):
            left, right = (asked[start:stop][side] for side in pairs_within(image[start:stop]))
            keys = np.union1d(keys, left * n_annotators + right)
            if len(keys) > MOST_PAIRED * (MOST_PAIRED - 1) // 2:
                break
        else:
            return None
    n_drawn = np.bincount(annotator, minlength=n_annotators)
    result = np.zeros(n_annotators, np.bool_)
    result[np.argsort(-n_drawn, kind="stable")[:MOST_PAIRED]] = True
    return result
