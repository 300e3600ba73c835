"""Matchers: ways to find the annotations of several annotators that show the same object."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import IndexArray, radix_order, run_starts
from bboxqa.core.blocks import blocks
from bboxqa.matching.assignment import assign
from bboxqa.matching.components import author_ranks
from bboxqa.matching.linkage import greedy
from bboxqa.matching.ties import drawn_ranks
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import MOST_PAIR_BYTES, CandidatePairs, PairBytes


@dataclass(frozen=True, slots=True)
class Matcher:
    """One way to match annotations.

    Attributes
    ----------
    join : callable
        (annotations, pairs, weight) → the first annotation of each annotation's unit, (N,) int64.
        The P pairs reach the threshold; weights are (P,) int64 and positive.
    pair_bytes : PairBytes
        The bytes that a pair takes from comparison to matching.
    most_annotators : int or None
        The largest number of annotators in a data set; None for any number.
    by_order : bool
        Whether the result depends on the order of three or more annotators.
    """

    join: Callable[[Annotations, CandidatePairs, IndexArray], IndexArray]
    pair_bytes: PairBytes = MOST_PAIR_BYTES
    most_annotators: int | None = None
    by_order: bool = False


def hungarian(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match two annotators with maximum total weight.

    Ties are broken by the shapes, not by who drew them, so the result does not depend on the order
    of the two annotators.

    See `bboxqa.matching.assignment.assign` for references.
    """
    first = np.arange(len(annotations))
    chosen = assign(pairs.left, pairs.right, weight, partial(drawn_ranks, annotations))
    first[pairs.right[chosen]] = pairs.left[chosen]
    return first


def recursive(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match annotators one after another, in sorted order [1]_.

    Each annotator is matched with each earlier annotator in turn, as in `hungarian`, using only
    annotations that are not matched yet. Annotations that stay unmatched become new units. The
    result depends on the order of the annotators.

    References
    ----------
    .. [1] Tschirschwitz, D., Klemstein, F., Stein, B. and Rodehorst, V. (2022). A Dataset for
       Analysing Complex Document Layouts in the Digital Humanities and Its Evaluation with
       Krippendorff's Alpha. GCPR 2022, LNCS 13485. doi:10.1007/978-3-031-16788-1_22
    """
    first = np.arange(len(annotations))
    annotator = annotations.annotator
    placed = np.zeros(len(annotations), np.bool_)
    # The annotator who joined each unit last, to tell whether the current annotator is in the unit.
    newest = np.full(len(annotations), -1)
    rank = author_ranks(annotations)
    for group in _groups(rank, pairs):
        open_pairs = group
        while len(open_pairs):
            earlier = rank[pairs.left[open_pairs[0]]]
            n_step = bisect_right(open_pairs, earlier, key=lambda pair: rank[pairs.left[pair]])
            step = _rows(open_pairs[:n_step])
            left, right = pairs.left[step], pairs.right[step]
            chosen = assign(left, right, weight[step], partial(drawn_ranks, annotations))
            left, right = left[chosen], right[chosen]
            first[right] = first[left]
            newest[first[left]] = annotator[right]
            placed[right] = True
            # Most annotations are matched in the first steps, so later steps have few pairs left.
            open_pairs = open_pairs[n_step:]
            left, right = pairs.left[open_pairs], pairs.right[open_pairs]
            open_pairs = open_pairs[~placed[right] & (newest[first[left]] != annotator[right])]
    return first


def _groups(rank: IndexArray, pairs: CandidatePairs) -> Iterator[IndexArray]:
    """Yield the pairs of each later annotator, sorted by the earlier one."""
    if len(pairs) == 0:
        return
    n_ranks = int(rank.max()) + 1
    if n_ranks == 2:
        yield np.arange(len(pairs))
        return
    key = rank[pairs.right] * n_ranks
    for part in blocks(len(pairs)):
        key[part] += rank[pairs.left[part]]
    order = radix_order(key, n_ranks * n_ranks)
    key = key[order] // n_ranks
    starts = run_starts(key)
    del key
    for start, stop in pairwise([*starts.tolist(), len(order)]):
        yield order[start:stop]


def _rows(index: IndexArray) -> IndexArray | slice:
    """Return a slice for consecutive rows, as a view takes no memory even for millions of pairs."""
    n = len(index)
    whole = index[-1] - index[0] == n - 1 and (index[1:] > index[:-1]).all()
    return slice(int(index[0]), int(index[0]) + n) if whole else index


def auto(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match as `hungarian` in images with two annotators, and as `greedy` in others.

    In simulations and on data with known truth, these are right more often than other matchers. The
    result does not depend on the order of the annotators.
    """
    third = annotations.image[author_ranks(annotations) > 1]
    several = np.isin(annotations.image, third)[pairs.left]
    if several.all():
        return greedy(annotations, pairs, weight)
    if not several.any():
        return hungarian(annotations, pairs, weight)
    first = greedy(annotations, pairs.take(several), weight[several])
    two = hungarian(annotations, pairs.take(~several), weight[~several])
    return np.minimum(first, two)
