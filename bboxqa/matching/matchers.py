"""Ways to find which annotations of several annotators show one object."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, radix_order, run_starts
from bboxqa.core.blocks import blocks
from bboxqa.matching.assignment import assign
from bboxqa.matching.components import author_ranks, components
from bboxqa.matching.ties import drawn_ranks
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs

# More than any weight.
_EQUAL = 1 << 50


@dataclass(frozen=True, slots=True)
class Matcher:
    """One way to match annotations.

    Attributes
    ----------
    join : callable
        (annotations, pairs, weight) → for each of the N annotations the first one of its unit,
        (N,) int64. The P pairs are those that reach the threshold, their weights (P,) int64 and
        positive.
    most_annotators : int or None
        How many annotators it can match in a data set; None for any number.
    by_order : bool
        Whether the result depends on the order of three or more annotators.
    pair_bytes : int
        Bytes that a pair takes from comparison to matching, at most, in an image where many
        annotations overlap.
    """

    join: Callable[[Annotations, CandidatePairs, IndexArray], IndexArray]
    most_annotators: int | None = None
    by_order: bool = False
    pair_bytes: int = 100


def hungarian(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match two annotators so that the total weight is the largest.

    Of matchings with the same total, what is drawn decides, and not who drew it: the result does
    not depend on the order of the two annotators.

    See `bboxqa.matching.assignment.assign` for references.
    """
    first = np.arange(len(annotations))
    chosen = assign(pairs.left, pairs.right, weight, partial(drawn_ranks, annotations))
    first[pairs.right[chosen]] = pairs.left[chosen]
    return first


def recursive(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match annotators one after the other, in sorted order [1]_.

    Each annotator is matched as in `hungarian` with each annotator before, in the same order, among
    the annotations that neither has matched yet; the remaining ones open new units. The result
    depends on the order of the annotators.

    References
    ----------
    .. [1] Tschirschwitz, D., Klemstein, F., Stein, B. and Rodehorst, V. (2022). A Dataset for
       Analysing Complex Document Layouts in the Digital Humanities and Its Evaluation with
       Krippendorff's Alpha. GCPR 2022, LNCS 13485. doi:10.1007/978-3-031-16788-1_22
    """
    first = np.arange(len(annotations))
    annotator = annotations.annotator
    placed = np.zeros(len(annotations), np.bool_)
    # The annotator who joined each unit last; the current one is in a unit only if it is this.
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
            # Most annotations are matched in the first steps; the other steps have no pairs left.
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
    """Return a slice for consecutive rows: a view takes no memory, even of millions of pairs."""
    n = len(index)
    whole = index[-1] - index[0] == n - 1 and (index[1:] > index[:-1]).all()
    return slice(int(index[0]), int(index[0]) + n) if whole else index


def greedy(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Join annotations pair by pair, by falling weight, unless an annotator would appear twice.

    The result does not depend on the order of the annotators. Equal annotations are joined first;
    of other pairs with the same weight, those whose boxes come first by x, y, width and height,
    then outlines and categories, see `bboxqa.matching.ties`.
    """
    if len(pairs) == 0:
        return np.arange(len(annotations))
    home, hard = components(annotations, pairs)
    home[hard] = np.flatnonzero(hard)
    _join(home, annotations, pairs, _greedy_order(annotations, pairs, weight, hard))
    return home


def auto(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match as `hungarian` in images that two annotators drew in, and as `greedy` in others.

    In simulations and on data with a known truth, these are right more often than others. The
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


def _join(
    first: IndexArray, annotations: Annotations, pairs: CandidatePairs, order: IndexArray
) -> None:
    """Join the pairs at `order` unless an annotator would appear twice, in place."""
    n_authors = np.zeros(annotations.image.max() + 1, np.int64)
    np.maximum.at(n_authors, annotations.image, author_ranks(annotations) + 1)
    everyone = n_authors[annotations.image].tolist()
    is_open = np.ones(len(first), np.bool_)
    unit = first.tolist()
    members: dict[int, list[int]] = {}
    authors: dict[int, set[int]] = {}
    for part in blocks(len(order)):
        left, right = pairs.left[order[part]], pairs.right[order[part]]
        useful = is_open[left] & is_open[right]
        for one, other in zip(left[useful].tolist(), right[useful].tolist(), strict=True):
            a, b = sorted((unit[one], unit[other]))
            for node in (a, b):
                if node not in members:
                    members[node], authors[node] = [node], {int(annotations.annotator[node])}
            if not authors[a].isdisjoint(authors[b]):
                continue
            for node in members[b]:
                unit[node] = a
            members[a] += members.pop(b)
            authors[a] |= authors.pop(b)
            if len(authors[a]) == everyone[a]:
                # Nobody is left to join it, and in a crowded image most pairs end in such units.
                is_open[members[a]] = False
    first[:] = unit


def _greedy_order(
    annotations: Annotations, pairs: CandidatePairs, weight: IndexArray, hard: BoolArray
) -> IndexArray:
    """Return equal annotations, then the other pairs by falling weight and by what is drawn.

    Only pairs of `hard` annotations, (N,) bool. Once equal annotations are joined, it makes no
    difference which pair of two units comes first.
    """
    nodes = np.flatnonzero(hard)
    rank = np.zeros(len(hard), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes)
    chosen = np.flatnonzero(hard[pairs.left])
    drawn, falling = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    for part in blocks(len(chosen)):
        left, right = rank[pairs.left[chosen[part]]], rank[pairs.right[chosen[part]]]
        drawn[part] = np.minimum(left, right) * len(hard) + np.maximum(left, right)
        falling[part] = -weight[chosen[part]] - (left == right) * _EQUAL
    order = np.lexsort((drawn, falling))
    del drawn, falling
    return chosen[order]
