"""Differences between the edges of boxes of each pair of annotators on shared objects."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    FloatArray,
    IndexArray,
    compact,
    frozen_arrays,
    pairs_within,
    run_starts,
)
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.diagnostics.object_cells import edges_of, object_cells
from bboxqa.model.units import MatchedUnits

# Ordered pairs of annotators that are resampled at a time, to limit memory.
_AT_ONCE = 1 << 13


@frozen_arrays
class BoxDifferences:
    """Differences of K measures between two annotators' boxes of E shared objects."""

    annotator: IndexArray
    """(M,) int64. The first annotator of each ordered pair, sorted. Two annotators who share
    objects form two ordered pairs."""
    pair: IndexArray
    image: IndexArray
    """(E,) int64. The ordered pair and the image of each object; the second half repeats the first
    with the annotators exchanged."""
    differences: FloatArray
    """(E, K) float64."""
    others: FloatArray
    """(E, S) float64. Sizes of the other's box, such as width and height."""
    size_of: IndexArray
    """(K,) int64. The index of the size by which each measure is divided."""
    n_shared: IndexArray
    """(A,) int64. How many objects each annotator shares with others."""


def edge_differences(matched: MatchedUnits) -> BoxDifferences:
    """Return the differences of each pair of annotators, also of boxes too far apart to match.

    Boxes that show parts of objects, or several objects, are left out.
    """
    bbox = matched.data.annotations.bbox
    edges = edges_of(bbox)
    left, right = shared_boxes(matched)
    difference = edges[left] - edges[right]
    return box_differences(
        matched, left, right, difference, (bbox[left, 2:], bbox[right, 2:]), np.array([0, 1, 0, 1])
    )


def shared_boxes(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of annotations of one object by two annotators, without odd boxes."""
    cells = object_cells(matched)
    odd_boxes = np.append(parts(matched).odd_boxes, True)
    drawn = np.flatnonzero(~odd_boxes[cells.annotation])
    left, right = (drawn[side] for side in pairs_within(cells.object[drawn]))
    return cells.annotation[left], cells.annotation[right]


def box_differences(
    matched: MatchedUnits,
    left: IndexArray,
    right: IndexArray,
    difference: FloatArray,
    sizes: tuple[FloatArray, FloatArray],
    size_of: IndexArray,
    *,
    sign: int = -1,
) -> BoxDifferences:
    """Return the differences of pairs of annotations and, negated, of the reversed pairs."""
    of, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    own, other = np.concatenate([left, right]), np.concatenate([right, left])
    key = of.annotator[own].astype(np.int64) * n_annotators + of.annotator[other]
    keys, pair = compact(key, n_annotators**2)
    shared = np.zeros(len(of), np.bool_)
    shared[own] = True
    return BoxDifferences(
        annotator=keys // n_annotators,
        pair=pair,
        image=of.image[own].astype(np.int64),
        differences=np.concatenate([difference, sign * difference]),
        others=np.concatenate([sizes[1], sizes[0]]),
        size_of=size_of,
        n_shared=np.bincount(of.annotator[shared], minlength=n_annotators),
    )


@frozen_arrays
class PairGroup:
    """The P ordered pairs of G annotators with all others."""

    annotator: IndexArray
    start: IndexArray
    stop: IndexArray
    """(G,) int64. The annotators, and where the pairs of each begin and end."""
    differences: Any
    sizes: Any
    counts: Any
    """(K P, I), (S P, I) and (P, I) arrays or sparse arrays. The sums in each image of differences,
    of sizes of the others' boxes, and of objects."""

    @property
    def each(self) -> Iterator[tuple[int, slice]]:
        """Yield the index of each annotator, and the slice of the pairs."""
        yield from enumerate(map(slice, self.start.tolist(), self.stop.tolist()))


def pair_groups(found: BoxDifferences, n_images: int) -> Iterator[PairGroup]:
    """Yield the sums of a group of annotators at a time."""
    annotators, n_pairs = np.unique(found.annotator, return_counts=True)
    stop = np.cumsum(n_pairs)
    start = stop - n_pairs
    group = start // _AT_ONCE
    ends = np.searchsorted(group, np.unique(group)).tolist()
    for first, last in pairwise([*ends, len(annotators)]):
        low, high = int(start[first]), int(stop[last - 1])
        inside = np.flatnonzero((found.pair >= low) & (found.pair < high))
        of = found.pair[inside] - low, found.image[inside], (high - low, n_images)
        yield PairGroup(
            annotator=annotators[first:last],
            start=start[first:last] - low,
            stop=stop[first:last] - low,
            differences=_table(*of, found.differences[inside]),
            sizes=_table(*of, found.others[inside]),
            counts=_table(*of, np.ones((len(inside), 1))),
        )


def _table(pair: IndexArray, image: IndexArray, shape: tuple[int, int], amounts: FloatArray) -> Any:
    """Return the sums of (E, N) amounts by pair and image, stacked to N blocks of rows."""
    n_amounts = amounts.shape[1]
    row = pair + np.arange(n_amounts)[:, None] * shape[0]
    shape = n_amounts * shape[0], shape[1]
    return table_of(row.ravel(), np.tile(image, n_amounts), amounts.T.ravel(), shape)


def of_others(
    found: BoxDifferences, statistic: Callable[[FloatArray], FloatArray], sign: int
) -> FloatArray:
    """Return the statistic of differences as confirmed by the others, (A, K); NaN without others.

    The statistic reduces the second axis, (P, n, K) → (P, K). `sign` is its factor if the two
    annotators of a pair are exchanged.
    """
    n_annotators, n_measures = len(found.n_shared), found.differences.shape[1]
    half = len(found.pair) // 2
    # The second half repeats the pairs of the first in the other direction.
    pair, mirrored = found.pair[:half], found.pair[half:]
    order = np.argsort(pair, kind="stable")
    of_pairs = np.empty((len(found.annotator), n_measures))
    starts = run_starts(pair[order])
    n_rows = np.diff(starts, append=half)
    # Pairs with equal numbers of objects are computed together: many annotators are many pairs.
    for number in np.unique(n_rows).tolist():
        rows = order[starts[n_rows == number][:, None] + np.arange(number)]
        value = statistic(found.differences[rows])
        of_pairs[pair[rows[:, 0]]] = value
        of_pairs[mirrored[rows[:, 0]]] = sign * value
    counts = np.bincount(found.pair, minlength=len(of_pairs)).astype(np.float64)[:, None]
    result = np.full((n_annotators, n_measures), np.nan)
    starts = run_starts(found.annotator)
    for start, stop in pairwise([*starts.tolist(), len(of_pairs)]):
        weights = np.broadcast_to(counts[start:stop], of_pairs[start:stop].shape)
        result[found.annotator[start]] = confirmed(of_pairs[start:stop], weights)
    return result


def confirmed(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the value nearest to 0 that 60 % of the weight confirm, per column, (M, B) → (B,).

    With three equal weights this is the median; with two the value nearer to 0, or 0 if their signs
    differ. NaN without weight.

    Examples
    --------
    >>> values = np.array([[5.0, 5.0], [4.0, -1.0]])
    >>> confirmed(values, np.ones((2, 2)))
    array([4., 0.])
    """
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(np.take_along_axis(_capped(weights), order, axis=0), axis=0)
    total = reached[-1]
    last = len(values) - 1
    low, high = (
        np.take_along_axis(ordered, np.minimum(below.sum(0), last)[None], axis=0)[0]
        for below in (5 * reached <= 2 * total, 5 * reached < 3 * total)
    )
    return np.where(total > 0, np.clip(0, low, high), np.nan)


def _capped(weights: FloatArray) -> FloatArray:
    """Return weights capped at the second largest of each column.

    Otherwise the annotator with the most shared objects could decide alone.
    """
    if len(weights) < 2:
        return weights
    second = np.partition(weights, -2, axis=0)[-2]
    return np.minimum(weights, np.where(second > 0, second, np.inf))
