"""Three ways to find which annotations of several annotators show one object."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import IndexArray, run_starts
from bboxqa.matching.assignment import assign, connected_components
from bboxqa.matching.ties import drawn_ranks
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs


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
    """

    join: Callable[[Annotations, CandidatePairs, IndexArray], IndexArray]
    most_annotators: int | None = None
    by_order: bool = False


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
    rank = _ranks(annotations)
    for group in _groups(rank[pairs.right], rank[pairs.left]):
        open_pairs = group
        while len(open_pairs):
            earlier = rank[pairs.left[open_pairs]]
            step = open_pairs[: np.searchsorted(earlier, earlier[0], side="right")]
            left, right = pairs.left[step], pairs.right[step]
            chosen = assign(left, right, weight[step], partial(drawn_ranks, annotations))
            left, right = left[chosen], right[chosen]
            first[right] = first[left]
            newest[first[left]] = annotator[right]
            placed[right] = True
            # Most annotations are matched in the first steps; the other steps have no pairs left.
            left, right = pairs.left[open_pairs], pairs.right[open_pairs]
            free = ~placed[right] & (newest[first[left]] != annotator[right])
            free[: len(step)] = False
            open_pairs = open_pairs[free]
    return first


def _ranks(annotations: Annotations) -> IndexArray:
    """Return the place of each annotation's author among the annotators of its image.

    Images are independent, so that the first annotators of all images are matched with the second
    ones at once, whoever they are.
    """
    new_image = np.diff(annotations.image, prepend=-1) != 0
    new_author = new_image | (np.diff(annotations.annotator, prepend=-1) != 0)
    number = np.cumsum(new_author)
    starts = np.flatnonzero(new_image)
    rank: IndexArray = number - np.repeat(number[starts], np.diff(starts, append=len(number)))
    return rank


def _groups(later: IndexArray, earlier: IndexArray) -> Iterator[IndexArray]:
    """Yield the pairs of each later annotator, sorted by the earlier one."""
    order = np.lexsort((earlier, later))
    starts = run_starts(later[order])
    for start, stop in pairwise([*starts.tolist(), len(order)]):
        yield order[start:stop]


def greedy(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Join annotations pair by pair, by falling weight, unless an annotator would appear twice.

    The result does not depend on the order of the annotators. Equal annotations are joined first;
    of other pairs with the same weight, those whose boxes come first by x, y, width and height,
    then outlines and categories, see `bboxqa.matching.ties`.
    """
    first = np.arange(len(annotations))
    if len(pairs) == 0:
        return first
    component = connected_components(pairs.left, pairs.right)
    home = first.copy()
    home[pairs.left] = component
    home[pairs.right] = component
    # A component without an annotator who appears twice is one unit.
    order = np.lexsort((annotations.annotator, home))
    twice = np.diff(home[order]) == 0
    twice &= np.diff(annotations.annotator[order]) == 0
    crowded = home[order[1:][twice]]
    first = np.where(np.isin(home, crowded), first, home)
    hard = np.isin(component, crowded)
    _join(first, annotations, pairs.take(hard), weight[hard])
    return first


def _join(
    first: IndexArray, annotations: Annotations, pairs: CandidatePairs, weight: IndexArray
) -> None:
    """Join the pairs by falling weight, in place."""
    members = {
        node: [node] for node in np.unique(np.concatenate([pairs.left, pairs.right])).tolist()
    }
    unit = {node: node for node in members}
    authors = {node: {int(annotations.annotator[node])} for node in members}
    for left, right in _greedy_order(annotations, pairs, weight):
        a, b = sorted((unit[left], unit[right]))
        if not authors[a].isdisjoint(authors[b]):
            continue
        for node in members[b]:
            unit[node] = a
        members[a] += members.pop(b)
        authors[a] |= authors.pop(b)
    for node, root in unit.items():
        first[node] = root


def _greedy_order(
    annotations: Annotations, pairs: CandidatePairs, weight: IndexArray
) -> Iterator[tuple[int, int]]:
    """Yield equal annotations, then the other pairs by falling weight and by what is drawn.

    Once equal annotations are joined, it makes no difference which pair of two units comes first.
    """
    nodes, ends = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    left, right = drawn_ranks(annotations, nodes)[ends].reshape(2, -1)
    order = np.lexsort((np.maximum(left, right), np.minimum(left, right), -weight, left != right))
    yield from zip(pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True)
