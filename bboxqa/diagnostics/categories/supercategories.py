"""What broader categories would gain: those that the file names as supercategories."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.categories.confusions import count_confusions
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

ALL = "(all)"


def supercategories(matched: MatchedUnits) -> Table:
    """Return what merging the categories of each supercategory would gain, most first.

    A row for each supercategory with two categories that occur, or more, and one "(all)" for all of
    them at once, if there are several. Columns: supercategory; n_categories and n, its categories
    that occur and their annotations; alpha_merged, alpha if they were one category; and gain, by
    how much it is higher than alpha. No rows where the file names no supercategories.
    """
    data = matched.data
    drawn = np.bincount(data.annotations.category, minlength=len(data.category_names))
    of_category = data.supercategories or ("",) * len(data.category_names)
    names, group = np.unique(np.array(of_category, np.str_), return_inverse=True)
    found = count_confusions(matched.reliability, matched.missing)
    n_categories = sum_by(group, drawn > 0, len(names))
    # Without a supercategory, categories have nothing in common.
    shown = np.flatnonzero((n_categories > 1) & (names != ""))
    inside = group[found.first] == group[found.second]
    agreeing = sum_by(group[found.first[inside]], found.amount[inside], len(names))[shown]
    marginal = found.marginal[: len(group)]
    # Of each two categories: half of the square of the sum less the squares.
    squares = sum_by(group, marginal**2, len(names))
    products = ((sum_by(group, marginal, len(names)) ** 2 - squares) / 2)[shown]
    merged = found.alpha_of(
        np.append(agreeing, agreeing.sum()), np.append(products, products.sum())
    )
    last = len(shown)
    order = np.argsort(-merged[: last + (last > 1)], kind="stable")
    return Table(
        {
            "supercategory": Categorical(order.astype(np.int32), (*names[shown].tolist(), ALL)),
            "n_categories": _with_sum(n_categories[shown])[order],
            "n": _with_sum(sum_by(group, drawn, len(names))[shown])[order],
            "alpha_merged": merged[order],
            "gain": (merged - found.alpha())[order],
        }
    )


def _with_sum(numbers: FloatArray) -> IndexArray:
    return np.append(numbers, numbers.sum()).astype(np.int64)
