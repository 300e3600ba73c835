"""Conditions under which alpha has a meaning for objects that annotators may miss."""

import numpy as np

from bboxqa.agreement.counts.pair_counts import PairCounts
from bboxqa.core.arrays import BoolArray, FloatArray, sum_by
from bboxqa.model.reliability import Coincidences

LARGEST_SHARE = 0.9
"""With more annotations in one category, alpha can be near 0 however many objects match."""

ONE_CATEGORY = (
    "no meaning with one category: alpha can be 0 or below however many objects the annotators "
    "share"
)


def has_meaning(drawn: FloatArray, missing: str = "category") -> bool:
    """Return whether alpha can show agreement: always, unless a missing annotation is a value.

    Places where all annotators see nothing are not recorded, so that "missing" never agrees with
    itself. If most annotations are of one category, chance explains agreement on them, and alpha is
    near 0 even for annotators who find 95 % of the objects.

    Parameters
    ----------
    drawn : (K,) float64
        The number of annotations of each category.
    missing : {"category", "ignore"}
        Whether a missing annotation is a value of its own.

    Examples
    --------
    >>> has_meaning(np.array([90.0, 10.0])), has_meaning(np.array([91.0, 9.0]))
    (True, False)
    """
    return missing == "ignore" or bool(drawn.max(initial=0) <= LARGEST_SHARE * drawn.sum())


def pairs_with_meaning(counts: PairCounts) -> BoolArray:
    """Return (P,) bool: pairs of annotators whose alpha has a meaning; see `has_meaning`."""
    pair, value = np.divmod(counts.pair_value, counts.n_values)
    drawn = np.flatnonzero(value < counts.n_values - 1)
    owner = np.searchsorted(counts.unit_pair, pair[drawn])
    n_given = counts.n_given[drawn]
    largest = np.zeros(len(counts.unit_pair), np.int64)
    np.maximum.at(largest, owner, n_given)
    return largest <= LARGEST_SHARE * sum_by(owner, n_given, len(largest))


def values_without_meaning(marginal: FloatArray) -> BoolArray:
    """Return (K,) bool: values whose alpha against the rest has no meaning; see `has_meaning`.

    The last value is a missing annotation.

    Examples
    --------
    >>> values_without_meaning(np.array([91.0, 9.0, 20.0]))
    array([ True, False, False])
    """
    most: BoolArray = marginal > LARGEST_SHARE * marginal[:-1].sum()
    return most


def images_with_meaning(counted: Coincidences) -> BoolArray:
    """Return (I,) bool: images whose own alpha has a meaning; see `has_meaning`.

    It is true for images without pairable annotations, as no category dominates there.
    """
    drawn = np.flatnonzero(counted.value < counted.n_values - 1)
    group, amount = counted.group[drawn], counted.marginal[drawn]
    largest = np.zeros(counted.n_groups)
    np.maximum.at(largest, group, amount)
    return largest <= LARGEST_SHARE * sum_by(group, amount, counted.n_groups)


def reason_without_meaning(drawn: FloatArray) -> str:
    """Return why alpha has no meaning; empty if it has one.

    Examples
    --------
    >>> reason_without_meaning(np.array([95.0, 5.0]))
    'no meaning: 95.0 % of the annotations are of one category, and with more than 90 % alpha can \
be near 0 however many objects the annotators share'
    """
    if has_meaning(drawn):
        return ""
    if np.count_nonzero(drawn) == 1:
        return ONE_CATEGORY
    share = drawn.max() / drawn.sum()
    return (
        f"no meaning: {share:.1%} of the annotations are of one category, and with more than "
        f"{LARGEST_SHARE:.0%} alpha can be near 0 however many objects the annotators share"
    ).replace("%", " %")
