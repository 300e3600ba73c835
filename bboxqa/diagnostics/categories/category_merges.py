"""Suggested merges of categories, step by step."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.categories.confusions import Confusions, matched_confusions
from bboxqa.model.table import Table, text_column
from bboxqa.model.units import MatchedUnits

# With more merges, the result would be another set of categories.
_MOST_MERGES = 50
# Smaller gains are due to rounding.
_LEAST_GAIN = 1e-9


def category_merges(matched: MatchedUnits) -> Table:
    """Return the merges of categories that raise alpha, the best first.

    A row for each merge: step, numbered from 1; categories, the names in the merged category; alpha
    after this and all former merges; and gain, the rise of alpha by this merge. Each step merges
    the two categories, or groups of them, that raise alpha most. Merging ends if alpha no longer
    rises, and after 50 steps.

    The data show only that categories are confused, not that they mean the same.
    """
    names = matched.data.category_names
    merges = merged_categories(matched_confusions(matched))
    return Table(
        {
            "step": np.arange(1, len(merges) + 1),
            "categories": text_column(
                [", ".join(names[member] for member in merge.members) for merge in merges]
            ),
            "alpha": np.array([merge.alpha for merge in merges], np.float64),
            "gain": np.array([merge.gain for merge in merges], np.float64),
        }
    )


@dataclass(frozen=True, slots=True)
class Merge:
    """Categories that became one."""

    members: tuple[int, ...]
    """All categories of the new one, sorted."""
    alpha: float
    gain: float


def merged_categories(found: Confusions) -> list[Merge]:
    """Return the merges that raise alpha, each the best one given those before.

    The time of a merge is proportional to the number of confused pairs of categories.
    """
    first, second, amount = found.first, found.second, found.amount
    marginal = found.marginal.copy()
    members: dict[int, tuple[int, ...]] = {value: (value,) for value in range(found.n_categories)}
    agreeing, products, alpha = 0.0, 0.0, found.alpha()
    merges: list[Merge] = []
    while len(first) and len(merges) < _MOST_MERGES:
        product = marginal[first] * marginal[second]
        alphas = found.alpha_of(agreeing + amount, products + product)
        if np.isnan(alphas).all():
            break
        best = int(np.nanargmax(alphas))
        gain = float(alphas[best]) - alpha
        if not gain > _LEAST_GAIN:
            break
        kept, gone = int(first[best]), int(second[best])
        agreeing, products = agreeing + float(amount[best]), products + float(product[best])
        alpha = float(alphas[best])
        members[kept] = tuple(sorted((*members[kept], *members.pop(gone))))
        merges.append(Merge(members[kept], alpha, gain))
        marginal[kept] += marginal[gone]
        first, second, amount = _relabelled(first, second, amount, kept, gone)
    return merges


def _relabelled(
    first: IndexArray, second: IndexArray, amount: FloatArray, kept: int, gone: int
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs with value `gone` replaced by `kept`, without the pair of the two."""
    ends = np.sort(np.where(np.stack([first, second]) == gone, kept, [first, second]), axis=0)
    apart = ends[0] < ends[1]
    size = int(ends.max(initial=0)) + 1
    keys, place = np.unique(ends[0][apart] * size + ends[1][apart], return_inverse=True)
    return keys // size, keys % size, sum_by(place, amount[apart], len(keys))
