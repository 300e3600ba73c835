"""Grouping annotations into units with a matcher."""

from collections.abc import Iterable

import numpy as np

from bboxqa.core.errors import ConfigError
from bboxqa.matching import registry
from bboxqa.matching.components import author_ranks
from bboxqa.matching.objective import pair_weights
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, PairBytes, UnitTable


def check_matcher(annotations: Annotations, matcher: str) -> None:
    """Refuse an unknown matcher, or a matcher that cannot handle that many annotators."""
    most = registry.matcher(matcher).most_annotators
    if most is None:
        return
    n_annotators = len(np.unique(annotations.annotator))
    if n_annotators > most:
        every = registry.MATCHERS.items()
        others = [repr(name) for name, each in every if each.most_annotators is None]
        raise ConfigError(
            f"matcher {matcher!r} is for {'two' if most == 2 else most} annotators and there are "
            f"{n_annotators}; choose {' or '.join(others)}"
        )


def bytes_per_pair(annotations: Annotations, matchers: Iterable[str]) -> PairBytes:
    """Return the most bytes per pair of an image that any of the matchers needs."""
    only_two = not (author_ranks(annotations) > 1).any()
    # If no image has a third annotator, `auto` is `hungarian`.
    names = ["hungarian" if name == "auto" and only_two else name for name in matchers]
    of_each = [registry.matcher(name).pair_bytes for name in names]
    return PairBytes(*map(max, zip(*of_each, strict=True)))


def match(
    annotations: Annotations,
    pairs: CandidatePairs,
    matcher: str,
    iou_threshold: float,
    *,
    category_lenient: bool = False,
) -> UnitTable:
    """Group annotations into units, one per object.

    Raises ConfigError if there is no such matcher, or if it cannot match that many annotators.

    Parameters
    ----------
    annotations : Annotations
        N annotations, ordered by image, then annotator.
    pairs : CandidatePairs
        Pairs that reach the threshold.
    matcher : str
        One of `bboxqa.matching.registry.names()`.
    category_lenient : bool
        Prefer pairs of equal category.

    Returns
    -------
    UnitTable
        Units are numbered by image, then by the annotator and the id of their first annotation.
    """
    check_matcher(annotations, matcher)
    weight = pair_weights(
        pairs, annotations.category, iou_threshold, category_lenient=category_lenient
    )
    first = registry.matcher(matcher).join(annotations, pairs, weight)
    opens = np.flatnonzero(first == np.arange(len(first)))
    opens = opens[
        np.lexsort((annotations.id[opens], annotations.annotator[opens], annotations.image[opens]))
    ]
    number = np.empty_like(first)
    number[opens] = np.arange(len(opens))
    return UnitTable(unit=number[first], image=annotations.image[opens])
