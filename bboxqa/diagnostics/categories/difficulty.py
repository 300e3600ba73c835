"""Difficulty of each category: to find, to name and to place."""

import numpy as np

from bboxqa.agreement.alpha.nominal import binary_alpha, nominal_alpha
from bboxqa.agreement.counts.unit_counts import UnitCounts, unit_counts
from bboxqa.agreement.objects import has_meaning, values_without_meaning
from bboxqa.core.arrays import FloatArray, compact, sum_by
from bboxqa.diagnostics.annotators.image_ratios import RatioSums
from bboxqa.diagnostics.object_cells import object_cells, pairs_of_units
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

SHARES = ("found_share", "class_share", "mean_similarity")
"""Columns of the table, each with a ``_low`` and a ``_high``."""


def difficulty(matched: MatchedUnits) -> Table:
    """Return the reliability of each category, the least reliable first.

    A row for each category that was drawn. Columns: category; n, the number of its annotations;
    n_units, that of units with the category; alpha of the category against the rest; alpha_units,
    alpha of all values in these units, with the disagreement expected in all units; and these
    figures with 95 % intervals over images. The alphas are NaN where they have no meaning, as with
    one category.

    - found_share: of the others who were asked about an object with an annotation of the category,
      the share who drew it, with any category.
    - class_share: of the others who drew it, the share who gave the category.
    - mean_similarity: the mean similarity of annotations of the category to matching ones of
      others.
    """
    names = matched.data.category_names
    category = matched.data.annotations.category
    n = np.bincount(category, minlength=len(names))
    shown = np.flatnonzero(n)
    counts = unit_counts(matched.reliability, matched.missing)
    alpha, of_units = _alphas(counts, matched.missing)
    n_units = np.bincount(counts.value, minlength=counts.n_values)
    columns: dict[str, Column] = {
        "category": Categorical(shown.astype(np.int32), names),
        "n": n[shown],
        "n_units": n_units[shown],
        "alpha": alpha[shown],
        "alpha_units": of_units[shown],
    }
    found = difficulty_sums(matched).ratios(matched.bootstrap, matched.seed)
    for place, name in enumerate(SHARES):
        of = slice(place * len(shown), (place + 1) * len(shown))
        columns |= {
            name: found.value[of],
            f"{name}_low": found.interval[of, 0],
            f"{name}_high": found.interval[of, 1],
        }
    return Table(columns).take(np.lexsort([shown, -n[shown], alpha[shown]]))


def _alphas(counts: UnitCounts, missing: str) -> tuple[FloatArray, FloatArray]:
    """Return alpha of each value against the rest, and in the units with the value, (K,) each."""
    n_values, n_units = counts.n_values, len(counts.size)
    size = counts.size[counts.unit]
    pairable = size >= 2
    twice = pairable * counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    marginal = sum_by(counts.value, pairable * counts.count, n_values)
    diagonal = sum_by(counts.value, twice, n_values)
    total = float(marginal.sum())
    of_unit = sum_by(counts.unit, twice, n_units)[counts.unit]
    n_there = sum_by(counts.value, pairable * size, n_values)
    sums = (np.array([number]) for number in (total, diagonal.sum(), (marginal**2).sum()))
    _, _, expected = nominal_alpha(*sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = 1 - sum_by(counts.value, of_unit, n_values) / n_there
        of_units = np.where(expected > 0, 1 - observed / expected, np.nan)
    alpha = binary_alpha(marginal, diagonal, total)
    if missing == "category":
        alpha[values_without_meaning(marginal)] = np.nan
        if not has_meaning(marginal[:-1]):
            of_units[:] = np.nan
    return alpha, of_units


def difficulty_sums(matched: MatchedUnits) -> RatioSums:
    """Return the sums of `SHARES`, each of all categories that were drawn, one after the other."""
    category = matched.data.annotations.category.astype(np.int64)
    rows, row = compact(category, len(matched.data.category_names))
    n_rows = len(rows)
    cells = object_cells(matched)
    drawn = cells.drawn
    of, image = row[cells.annotation[drawn]], cells.image[drawn]
    n_drew = cells.n_others_drew[drawn]
    sums = RatioSums(3 * n_rows, len(matched.data.image_names))
    sums.add(of, image, n_drew, cells.n_others[drawn])
    sums.add(of + n_rows, image, cells.n_same_category[drawn], n_drew)
    pairs = pairs_of_units(matched)
    for side in (pairs.left, pairs.right):
        where = matched.data.annotations.image[side]
        sums.add(row[side] + 2 * n_rows, where, pairs.similarity, np.ones(len(side)))
    return sums
