"""What agreement depends on: size, crowding, region and category."""

from collections.abc import Mapping, Sequence
from math import erfc, log, sqrt
from typing import NamedTuple

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.nominal import nominal_alpha
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.objects import has_meaning
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    distinct,
    distinct_rows,
    remembered,
    run_starts,
    sum_by,
)
from bboxqa.diagnostics.decomposition import Kind, disagreements, drawn_sums
from bboxqa.diagnostics.object_cells import (
    Amounts,
    RatioSums,
    drawn_figures,
    n_images_of,
    object_cells,
    pairs_of_units,
    summed_rows,
    unit_members,
)
from bboxqa.diagnostics.parts import DrawnObjects, drawn_objects
from bboxqa.geometry.boxes import corners
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits

# Areas of medium objects in COCO's evaluation.
_COCO = (32**2, 96**2)
_COCO_NAMES = ("small: below 32² px", "medium: to 96² px", "large: from 96² px")
_CROWDED = ("no neighbour", "1 neighbour", "2 neighbours", "3 or more neighbours")
_REGIONS = tuple(
    f"{row} {column}".replace("middle centre", "centre")
    for row in ("top", "middle", "bottom")
    for column in ("left", "centre", "right")
)


def agreement_by_size(matched: MatchedUnits) -> Table:
    """Return agreement on small, medium and large objects, by COCO's bounds of 32² and 96² px."""
    group = np.searchsorted(_COCO, covariates(matched)["size"], side="right")
    return _by_group(matched, "size", _COCO_NAMES, group)


def agreement_by_crowding(matched: MatchedUnits) -> Table:
    """Return agreement by the number of neighbours: boxes of the same annotator that overlap.

    Second boxes of one object do not count. The largest number of any annotator counts.
    """
    group = np.minimum(covariates(matched)["crowding"], 3).astype(np.int64)
    return _by_group(matched, "crowding", _CROWDED, group)


def agreement_by_region(matched: MatchedUnits) -> Table:
    """Return agreement by the ninth of the image, of known size, with the centre of an object."""
    objects, bbox = drawn_objects(matched), matched.data.annotations.bbox
    size = matched.data.image_size[objects.image]
    known = (size > 0).all(1)
    centre = np.column_stack([_means(objects, each) for each in (bbox[:, :2] + bbox[:, 2:] / 2).T])
    share = np.divide(centre, size, out=np.zeros(size.shape), where=size > 0)
    column, row = np.clip((share * 3).astype(np.int64), 0, 2).T
    return _by_group(matched, "region", _REGIONS, np.where(known, 3 * row + column, -1))


def _means(objects: DrawnObjects, amount: FloatArray) -> FloatArray:
    """Return the mean of each object over its annotations."""
    return ratio(sum_by(objects.of, amount, len(objects.image)), objects.n_drawn.astype(np.float64))


def _by_group(matched: MatchedUnits, title: str, names: Sequence[str], group: IndexArray) -> Table:
    """Return agreement on groups of objects, one row for each that occurs."""
    objects, found, sums = drawn_objects(matched), disagreements(matched), drawn_sums(matched)
    pairs = pairs_of_units(matched)
    group = group[found.home]
    occurs = distinct(group[group >= 0])
    n_groups = len(occurs)
    place = np.where(group < 0, -1, np.searchsorted(occurs, group))
    own, has = place[found.counted], found.has_counted[found.counted]
    n = np.bincount(own[own >= 0], minlength=n_groups)
    left, right = unit_members(matched)
    category = matched.data.annotations.category
    named, same = objects.of[left], category[left] == category[right]
    placed = objects.of[pairs.left]
    amounts: dict[str, list[Amounts]] = {}
    for name, of, above, below in (
        ("f1", np.arange(len(objects.image)), *sums.of_object[1:]),
        ("class_share", named, same, np.ones(len(same))),
        ("mean_similarity", placed, pairs.similarity, np.ones(len(pairs))),
    ):
        kept = np.flatnonzero(place[of] >= 0)
        of_kept = of[kept]
        amounts[name] = [(place[of_kept], objects.image[of_kept], above[kept], below[kept])]
    known, n_of = own >= 0, n.astype(np.float64)
    missed, badly_placed = (
        ratio(sum_by(own[known], has[known, kind], n_groups), n_of)
        for kind in (Kind.MISSED, Kind.BADLY_PLACED)
    )
    return Table(
        {
            title: Categorical(occurs.astype(np.int32), tuple(names)),
            "n_objects": n,
            **RatioSums(matched, n_groups, amounts).columns(),
            **_alphas(matched, place, n_groups),
            "missed_share": missed,
            "badly_placed_share": badly_placed,
        }
    )


def _alphas(matched: MatchedUnits, place: IndexArray, n_groups: int) -> dict[str, Column]:
    """Return the alpha of the units of each group with its interval, NaN without meaning."""
    objects, sums = drawn_objects(matched), drawn_sums(matched)
    n_categories = len(matched.data.category_names)
    n_images, kept = len(matched.data.image_names), np.flatnonzero(place[sums.place] >= 0)
    of, inside = sums.place[kept], np.flatnonzero(place >= 0)
    (group, _), row, _ = distinct_rows(place[of], sums.value[kept])
    agreeing = sums.of_object[0, inside]
    tables = (
        table_of(row, objects.image[of], sums.count[kept], (len(group), n_images)),
        table_of(place[inside], objects.image[inside], agreeing, (n_groups, n_images)),
    )

    def evaluate(marginal: FloatArray, agreeing: FloatArray) -> FloatArray:
        total, squares = (summed_rows(group, each, n_groups) for each in (marginal, marginal**2))
        return nominal_alpha(total, agreeing, squares)[0]

    with_group = n_images_of(place[of], objects.image[of], n_groups)
    alpha, bounds = drawn_figures(matched, tables, evaluate, with_group, 1.0)
    if matched.missing == "category":
        for each in range(n_groups):
            drawn = matched.data.annotations.category[place[objects.of] == each]
            if not has_meaning(np.bincount(drawn, minlength=n_categories).astype(np.float64)):
                alpha[each] = bounds[each] = np.nan
    return figure_columns("alpha", alpha, bounds)


CATEGORY = "category"
_ALARM = 0.05
# Shares of objects below the thresholds that are tried.
_SHARES = np.array([0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95])
# Fewest objects on either side, and the least ratio of the two rates that is worth a sentence.
_FEWEST, _LEAST_RATIO = 10, 2.0


@remembered
def covariates(matched: MatchedUnits) -> Mapping[str, FloatArray]:
    """Return what errors may depend on, by object, in px² and px, (O,) each; NaN where unknown."""
    objects, of = drawn_objects(matched), matched.data.annotations
    edges = np.column_stack([_means(objects, edge) for edge in corners(of.bbox).T])
    size = matched.data.image_size[objects.image]
    border = np.maximum(np.minimum(edges[:, :2], size - edges[:, 2:]).min(1), 0)
    boxes = of.rotated_box if matched.compared == "rotated boxes" else None
    sides = of.bbox[:, 2:] if boxes is None else boxes[:, 2:4]
    # Second boxes of one object are no neighbours.
    home, (left, right) = disagreements(matched).home, (matched.own.left, matched.own.right)
    again = home[objects.of[left]] == home[objects.of[right]]
    ends = np.append(left[again], right[again])
    crowding = np.zeros(len(objects.image))
    n_neighbours = matched.n_neighbours - np.bincount(ends, minlength=len(of))
    np.maximum.at(crowding, objects.of, n_neighbours)
    return {
        "size": _means(objects, sides.prod(1)),
        "crowding": crowding,
        "border": np.where((size > 0).all(1), border, np.nan),
        CATEGORY: objects.category.astype(np.float64),
    }


class Dependence(NamedTuple):
    """On what errors depend."""

    covariate: str
    threshold: float
    """A category, or the value on whose two sides errors differ."""
    below: bool
    """Whether errors are frequent below the threshold, or in the category."""
    inside: float
    outside: float
    """The rates of errors where they are frequent, and elsewhere."""


def dependence(
    values: Mapping[str, FloatArray], failed: BoolArray, n_tests: int
) -> Dependence | None:
    """Return on what errors depend most, by likelihood-ratio tests; None if on nothing.

    Bonferroni's correction is for all thresholds and categories, and for `n_tests` of other
    covariates and annotators (Wilks 1938, doi:10.1214/aoms/1177732360). `values` are the covariates
    of the cases, (C,) each, NaN where unknown; `failed`, (C,), marks errors.
    """
    best, found = -np.inf, None
    for name, value in values.items():
        known = ~np.isnan(value)
        of, error = value[known], failed[known]
        if not len(of):
            continue
        # Categories or thresholds, with the number of cases of or below each, and of errors.
        order = np.argsort(of, kind="stable")
        ordered, errors = of[order], np.append(0, np.cumsum(error[order]))
        if name == CATEGORY:
            tried = distinct(ordered)
            start, stop = (np.searchsorted(ordered, tried, side) for side in ("left", "right"))
        else:
            tried = ordered[(_SHARES * len(ordered)).astype(np.int64)]
            if name != "time":
                # Two digits are enough for a sentence.
                unit = 10 ** np.maximum(np.floor(np.log10(np.maximum(tried, 1))) - 1, 0)
                tried = np.ceil(tried / unit) * unit
            tried = distinct(tried[tried > ordered[0]])
            start, stop = np.zeros(len(tried), np.int64), np.searchsorted(ordered, tried)
        n, k = (stop - start).astype(np.float64), (errors[stop] - errors[start]) * 1.0
        n_failed, n_cases = float(error.sum()), float(len(of))
        likelihood = _likelihood(k, n) + _likelihood(n_failed - k, n_cases - n)
        excess = 2 * (likelihood - _likelihood(n_failed, n_cases))
        excess[np.minimum(n, n_cases - n) < _FEWEST] = 0
        if name == CATEGORY:
            # A category is told where errors are frequent, not where they are rare.
            excess[k * n_cases < n * n_failed] = 0
        place = int(excess.argmax()) if len(excess) else 0
        if len(excess) and excess[place] > 0 and excess[place] - 2 * log(len(excess)) > best:
            p_value = len(excess) * n_tests * erfc(sqrt(float(excess[place]) / 2))
            inside = float(k[place] / n[place])
            outside = float((n_failed - k[place]) / (n_cases - n[place]))
            below = inside > outside
            rates = (inside, outside) if below else (outside, inside)
            best = excess[place] - 2 * log(len(excess))
            clear = p_value <= _ALARM and rates[0] >= _LEAST_RATIO * rates[1]
            found = Dependence(name, float(tried[place]), below, *rates) if clear else None
    return found


def _likelihood(k: FloatArray | float, n: FloatArray | float) -> FloatArray:
    """Return the largest logarithm of the likelihood of k errors in n cases."""
    terms = []
    for part in (np.asarray(k), np.asarray(n - k)):
        with np.errstate(divide="ignore", invalid="ignore"):
            terms.append(np.where(part > 0, part * np.log(part / n), 0))
    return np.asarray(terms[0] + terms[1])


# With more judges of an object, it hardly happens that more than half of them miss it.
_MOST_VOTERS = 8
# Standard errors of the number of misses by which the miss rates may be higher.
_ERRORS = 2.0
_PRIOR = 10.0


def explained_extras(matched: MatchedUnits) -> FloatArray:
    """Return how many objects of each annotator fewer than half of the others would draw, (A,).

    It follows from the miss rates of the others if these miss independently: if two others miss
    20 % each, both miss 4 %. Rates are higher by two standard errors, and those of objects alike in
    size, crowding, distance to the border or category, whichever explains most. Models have 0.
    """
    cells, n_annotators = object_cells(matched), len(matched.data.annotator_names)
    found: FloatArray = np.zeros(n_annotators)
    rows = np.flatnonzero(~matched.is_model[cells.annotator])
    of, who, drawn = cells.object[rows], cells.annotator[rows], cells.drawn[rows]
    if not len(rows):
        return found
    starts = run_starts(of)
    slot = np.arange(len(of)) - np.repeat(starts, np.diff(starts, append=len(of)))
    n_slots = int(slot.max()) + 1
    if n_slots > _MOST_VOTERS:
        return found
    expected = cells.expected[rows]
    n_objects = int(of.max()) + 1
    for name, value in covariates(matched).items():
        strata = value[of]
        if name != CATEGORY:
            ordered = np.sort(np.nan_to_num(strata, nan=-1))
            quarters = ordered[len(ordered) * np.arange(1, 4) // 4]
            strata = np.searchsorted(quarters, strata).astype(np.float64)
        _, stratum = np.unique(strata, return_inverse=True)
        n_strata = int(stratum.max()) + 1
        n, missed = (
            np.bincount(who * n_strata + stratum, each, n_annotators * n_strata)
            for each in (expected, expected & ~drawn)
        )
        # Rates of few objects are drawn to that of all objects.
        overall = ratio(*(each.reshape(-1, n_strata).sum(1) for each in (missed, n)))
        usual = _PRIOR * np.nan_to_num(np.repeat(overall, n_strata))
        rate = np.minimum((missed + usual + _ERRORS * np.sqrt(missed)) / (n + _PRIOR), 1)
        table = np.full((n_slots, n_objects), np.nan)
        table[slot, of] = rate[who * n_strata + stratum]
        most_miss = np.stack([_most_miss(np.delete(table, each, 0)) for each in range(n_slots)])
        found = np.maximum(found, np.bincount(who, most_miss[slot, of] * drawn, n_annotators))
    return found


def _most_miss(rate: FloatArray) -> FloatArray:
    """Return the probability that more than half miss an object, (K, O) → (O,); NaN: not asked."""
    asked = ~np.isnan(rate)
    share = np.zeros((len(rate) + 1, rate.shape[1]))
    share[0] = 1
    for miss in np.nan_to_num(rate):
        share[1:] = share[1:] * (1 - miss) + share[:-1] * miss
        share[0] *= 1 - miss
    most = 2 * np.arange(len(share))[:, None] > asked.sum(0)
    return np.asarray((share * most).sum(0) * asked.any(0))
