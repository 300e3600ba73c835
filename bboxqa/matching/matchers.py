"""Matchers by name, and the units that they make from pairs."""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, blocks, distinct, run_starts
from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import lookup
from bboxqa.matching.assignment import assign
from bboxqa.matching.linkage import author_ranks, drawn_ranks, linked
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, UnitTable


class Matcher(msgspec.Struct, frozen=True):
    """One way to match annotations."""

    join: Callable[[Annotations, CandidatePairs, IndexArray], IndexArray]
    """(annotations, pairs, weight) → the first annotation of each annotation's unit, (N,) int64.
    The P pairs reach the threshold; weights are (P,) int64 and positive."""
    most_annotators: int | None = None
    """The largest number of annotators in a data set; None for any number."""
    by_order: bool = False
    """Whether the result depends on the order of three or more annotators."""


def hungarian(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match two annotators with maximum total weight; see `bboxqa.matching.assignment.assign`."""
    first = np.arange(len(annotations))
    chosen = assign(pairs.left, pairs.right, weight, partial(drawn_ranks, annotations))
    first[pairs.right[chosen]] = pairs.left[chosen]
    return first


def recursive(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match annotators one after another, in sorted order (Tschirschwitz et al. 2022).

    Each annotator is matched with each earlier annotator in turn, as in `hungarian`, using only
    annotations that are not matched yet. Annotations that stay unmatched become new units. The
    result depends on the order of the annotators. doi:10.1007/978-3-031-16788-1_22
    """
    first = np.arange(len(annotations))
    annotator = annotations.annotator
    placed = np.zeros(len(annotations), np.bool_)
    # The annotator who joined each unit last, to tell whether the current annotator is in the unit.
    newest = np.full(len(annotations), -1)
    rank = author_ranks(annotations)
    later = rank[pairs.right]
    order = np.lexsort((rank[pairs.left], later))
    for group in np.split(order, run_starts(later[order])[1:]):
        open_pairs = group
        while len(open_pairs):
            earlier = rank[pairs.left[open_pairs[0]]]
            n_step = bisect_right(open_pairs, earlier, key=lambda pair: rank[pairs.left[pair]])
            step = open_pairs[:n_step]
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


def auto(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match as "hungarian" in images with two annotators, and as "greedy" in others."""
    third = annotations.image[author_ranks(annotations) > 1]
    several = np.isin(annotations.image, third)[pairs.left]
    if several.all():
        return linked(annotations, pairs, weight)
    if not several.any():
        return hungarian(annotations, pairs, weight)
    first = linked(annotations, pairs.take(several), weight[several])
    two = hungarian(annotations, pairs.take(~several), weight[~several])
    return np.minimum(first, two)


MATCHERS: dict[str, Matcher] = {
    "auto": Matcher(auto),
    "hungarian": Matcher(hungarian, most_annotators=2),
    "recursive": Matcher(recursive, by_order=True),
    "greedy": Matcher(linked),
    "average": Matcher(partial(linked, linkage="average")),
    "complete": Matcher(partial(linked, linkage="complete")),
}


def match_pairwise(
    annotations: Annotations, pairs: CandidatePairs, weight: IndexArray
) -> IndexArray:
    """Return the pairs, sorted, that are chosen if each two annotators are matched alone.

    Each two are matched as in `hungarian`, so that the pairs of two annotators do not depend on who
    else annotated their images. Pairs reach the threshold; `weight` is that of `pair_weights`.
    """
    # An end of a pair is a node for each annotator that it could be matched with.
    annotator = annotations.annotator.astype(np.int64)
    n_annotators = int(annotator.max(initial=0)) + 1
    left = pairs.left * n_annotators + annotator[pairs.right]
    right = pairs.right * n_annotators + annotator[pairs.left]
    both = np.concatenate([left, right])
    # An image can have millions of pairs.
    del left, right
    nodes, ends = np.unique(both, return_inverse=True)
    del both
    drawn = nodes // n_annotators
    ranks = np.zeros(len(annotations), np.int64)
    several = distinct(drawn)
    ranks[several] = drawn_ranks(annotations, several)
    return assign(
        ends[: len(pairs)], ends[len(pairs) :], weight, lambda chosen: ranks[drawn[chosen]]
    )


_STEPS = 1 << 30
_TIE_STEPS = 1 << 10


def pair_weights(
    pairs: CandidatePairs,
    category: IntArray,
    iou_threshold: float,
    *,
    category_lenient: bool = False,
) -> IndexArray:
    """Return the weight of each pair that reaches the threshold, (P,) int64 and positive.

    Similarities are rounded to multiples of 2⁻³⁰, so that rounding errors do not matter. Among
    matchings with the same total, the one with more pairs of equal category is preferred; with
    `category_lenient`, 1 is added to the similarity of such pairs. If the threshold admits
    similarities of 0 or less, 1 is added to all, so that weights are positive.
    """
    weight: IndexArray = np.empty(len(pairs), np.int64)
    for part in blocks(len(pairs)):
        same = category[pairs.left[part]] == category[pairs.right[part]]
        similarity = pairs.similarity[part] + (1.0 if iou_threshold <= 0 else 0.0)
        if category_lenient:
            similarity = similarity + same
        steps = np.maximum(np.rint(similarity * _STEPS), 1).astype(np.int64)
        weight[part] = steps * _TIE_STEPS + same
    return weight


def check_matcher(annotations: Annotations, name: str) -> None:
    """Refuse an unknown matcher, or a matcher that cannot handle that many annotators."""
    most = lookup("matcher", MATCHERS, name).most_annotators
    if most is None:
        return
    n_annotators = len(distinct(annotations.annotator))
    if n_annotators > most:
        others = [repr(other) for other, each in MATCHERS.items() if each.most_annotators is None]
        raise ConfigError(
            f"matcher {name!r} is for {'two' if most == 2 else most} annotators and there are "
            f"{n_annotators}; choose {' or '.join(others)}"
        )


def match(
    annotations: Annotations,
    pairs: CandidatePairs,
    name: str,
    iou_threshold: float,
    *,
    category_lenient: bool = False,
) -> UnitTable:
    """Group annotations into units by one of `MATCHERS`, one per object.

    Units are numbered by image, then by the annotator and the id of their first annotation. Raises
    ConfigError if there is no such matcher, or if it cannot match that many annotators.
    """
    check_matcher(annotations, name)
    weight = pair_weights(
        pairs, annotations.category, iou_threshold, category_lenient=category_lenient
    )
    first = MATCHERS[name].join(annotations, pairs, weight)
    opens = np.flatnonzero(first == np.arange(len(first)))
    opens = opens[
        np.lexsort((annotations.id[opens], annotations.annotator[opens], annotations.image[opens]))
    ]
    number = np.empty_like(first)
    number[opens] = np.arange(len(opens))
    return UnitTable(unit=number[first], image=annotations.image[opens])
