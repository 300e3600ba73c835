"""Three ways to find which annotations of several annotators show one object."""

from collections.abc import Callable, Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError
from bboxqa.matching.assignment import assign, connected_components
from bboxqa.matching.objective import pair_weights
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, UnitTable

__all__ = ["MATCHERS", "check_matcher", "match"]

Matcher = Callable[[Annotations, CandidatePairs, IndexArray], IndexArray]
"""Takes annotations, admissible pairs and their weights; returns for each annotation the smallest
annotation of its unit."""


def hungarian(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match two annotators so that the total weight is the largest (Kuhn 1955)."""
    first = np.arange(len(annotations))
    chosen = assign(pairs.left, pairs.right, weight)
    first[pairs.right[chosen]] = pairs.left[chosen]
    return first


def recursive(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Match annotators one after the other, in sorted order.

    Each annotator is matched, as in `hungarian`, against each annotator placed before, in the
    same order, with what neither has matched yet; what stays unmatched opens new units. The
    result depends on the order of the annotators (Tschirschwitz et al., GCPR 2022).
    """
    first = np.arange(len(annotations))
    annotator = annotations.annotator
    placed = np.zeros(len(annotations), np.bool_)
    # The annotator who joined each unit last: whoever is being placed is in a unit only so.
    newest = np.full(len(annotations), -1)
    rank = _ranks(annotations)
    for step in _steps(rank[pairs.right], rank[pairs.left]):
        left, right = pairs.left[step], pairs.right[step]
        free = ~placed[right] & (newest[first[left]] != annotator[right])
        left, right = left[free], right[free]
        chosen = assign(left, right, weight[step[free]])
        left, right = left[chosen], right[chosen]
        first[right] = first[left]
        newest[first[left]] = annotator[right]
        placed[right] = True
    return first


def _ranks(annotations: Annotations) -> IndexArray:
    """Return the place of each annotation's author among the annotators of its image.

    Images are independent, so that the first of each can be matched with the second of each at
    once, whoever they are.
    """
    new_image = np.diff(annotations.image, prepend=-1) != 0
    new_author = new_image | (np.diff(annotations.annotator, prepend=-1) != 0)
    number = np.cumsum(new_author)
    starts = np.flatnonzero(new_image)
    rank: IndexArray = number - np.repeat(number[starts], np.diff(starts, append=len(number)))
    return rank


def _steps(later: IndexArray, earlier: IndexArray) -> Iterator[IndexArray]:
    """Yield the pairs of each later and earlier annotator, in the order of both."""
    order = np.lexsort((earlier, later))
    changes = (np.diff(later[order]) != 0) | (np.diff(earlier[order]) != 0)
    yield from np.split(order, np.flatnonzero(changes) + 1)


def greedy(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Join annotations pair by pair, by falling weight, where no annotator appears twice.

    The result does not depend on the order of the annotators.
    """
    first = np.arange(len(annotations))
    if len(pairs) == 0:
        return first
    component = connected_components(pairs.left, pairs.right)
    home = first.copy()
    home[pairs.left] = component
    home[pairs.right] = component
    # Where a component has no annotator twice, all of it is one unit.
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
    """Join the pairs in turn, in place."""
    members = {
        node: [node] for node in np.unique(np.concatenate([pairs.left, pairs.right])).tolist()
    }
    unit = {node: node for node in members}
    authors = {node: {int(annotations.annotator[node])} for node in members}
    order = np.lexsort((pairs.right, pairs.left, -weight))
    for left, right in zip(pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True):
        a, b = sorted((unit[left], unit[right]))
        if not authors[a].isdisjoint(authors[b]):
            continue
        for node in members[b]:
            unit[node] = a
        members[a] += members.pop(b)
        authors[a] |= authors.pop(b)
    for node, root in unit.items():
        first[node] = root


MATCHERS: dict[str, Matcher] = {
    "hungarian": hungarian,
    "recursive": recursive,
    "greedy": greedy,
}
"""Each matcher by its name; a new one is one function and one line here."""


def check_matcher(annotations: Annotations, matcher: str) -> None:
    """Refuse a matcher that is not known, or does not take so many annotators.

    Raises
    ------
    ConfigError
    """
    if matcher not in MATCHERS:
        raise ConfigError(f"matcher is {matcher!r}; expected one of {', '.join(MATCHERS)}")
    n_annotators = len(np.unique(annotations.annotator))
    if matcher == "hungarian" and n_annotators > 2:
        raise ConfigError(
            f"matcher 'hungarian' is for two annotators and there are {n_annotators}; "
            "choose 'recursive' or 'greedy'"
        )


def match(
    annotations: Annotations,
    pairs: CandidatePairs,
    matcher: str,
    iou_threshold: float,
    *,
    category_lenient: bool = False,
) -> UnitTable:
    """Return the units: one per object, as far as the annotators agree that it is one.

    Parameters
    ----------
    annotations : Annotations
        N annotations, ordered by image, then annotator.
    pairs : CandidatePairs
        Pairs that reach the threshold.
    matcher : {"hungarian", "recursive", "greedy"}
        How to match.
    iou_threshold : float
        The threshold.
    category_lenient : bool
        Prefer pairs of equal category.

    Returns
    -------
    UnitTable
        Units are numbered by image, then by the annotator and the id of their first annotation.

    Raises
    ------
    ConfigError
        If there is no such matcher, or it does not take so many annotators.
    """
    check_matcher(annotations, matcher)
    weight = pair_weights(
        pairs, annotations.category, iou_threshold, category_lenient=category_lenient
    )
    first = MATCHERS[matcher](annotations, pairs, weight)
    opens = np.flatnonzero(first == np.arange(len(first)))
    # Numbered by id within an image, as a reader of the tables expects.
    opens = opens[
        np.lexsort((annotations.id[opens], annotations.annotator[opens], annotations.image[opens]))
    ]
    number = np.empty_like(first)
    number[opens] = np.arange(len(opens))
    return UnitTable(unit=number[first], image=annotations.image[opens])
