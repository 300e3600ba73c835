"""Agreement by size, crowding and region."""

from collections.abc import Sequence

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.objects import has_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, compact, sum_by
from bboxqa.diagnostics.decomposition import Kind, disagreements, drawn_sums
from bboxqa.diagnostics.object_cells import RatioSums, pairs_of_units, summed_rows, unit_members
from bboxqa.diagnostics.parts import DrawnObjects, drawn_objects
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
_QUARTERS = np.array([0.25, 0.5, 0.75])


def agreement_by_size(matched: MatchedUnits) -> Table:
    """Return agreement on small, medium and large objects, by COCO's bounds of 32² and 96² px.

    The area of an object is the mean area of its boxes, also if outlines are compared, or of its
    rotated boxes if these are compared. See `_by_group` for the columns.
    """
    objects = drawn_objects(matched)
    group = np.searchsorted(_COCO, areas(matched, objects), side="right")
    return _by_group(matched, objects, "size", _COCO_NAMES, group)


def agreement_by_size_quarter(matched: MatchedUnits) -> Table:
    """Return agreement on the quarters of all objects by size, the smallest first.

    If sizes repeat, quarters have unequal numbers of objects. See `_by_group` for the columns.
    """
    objects = drawn_objects(matched)
    area, counted = areas(matched, objects), disagreements(matched).counted
    bounds = np.quantile(area[counted], _QUARTERS) if len(counted) else np.zeros(3)
    low, middle, high = (f"{bound:,.0f}" for bound in bounds)
    names = (
        f"below {low} px²", f"{low} to {middle} px²", f"{middle} to {high} px²",
        f"from {high} px²",
    )  # fmt: skip
    group = np.searchsorted(bounds, area, side="right")
    return _by_group(matched, objects, "size", names, group)


def agreement_by_crowding(matched: MatchedUnits) -> Table:
    """Return agreement by the number of neighbours: boxes of the same annotator that overlap.

    Overlaps below the lower threshold of matching do not count, and neither do second boxes of one
    object. The largest number of any annotator counts. See `_by_group` for the columns.
    """
    objects, group = drawn_objects(matched), neighbours(matched)
    return _by_group(matched, objects, "crowding", _CROWDED, np.minimum(group, 3))


def neighbours(matched: MatchedUnits) -> IndexArray:
    """Return the number of neighbours of each object; see `agreement_by_crowding`."""
    objects, home = drawn_objects(matched), disagreements(matched).home
    left, right = (home[objects.of[side]] for side in (matched.own.left, matched.own.right))
    again = np.append(matched.own.left[left == right], matched.own.right[left == right])
    n_neighbours = matched.n_neighbours - np.bincount(again, minlength=len(objects.of))
    group = np.zeros(len(objects), np.int64)
    np.maximum.at(group, objects.of, n_neighbours)
    return group


def agreement_by_region(matched: MatchedUnits) -> Table:
    """Return agreement by the ninth of the image in which the centre of an object lies.

    Objects in images of unknown size are left out. See `_by_group` for the columns.
    """
    objects = drawn_objects(matched)
    bbox = matched.data.annotations.bbox
    size = matched.data.image_size[objects.image]
    known = (size > 0).all(1)
    places = []
    for side in (1, 0):
        centre = means(objects, bbox[:, side] + bbox[:, side + 2] / 2)
        share = np.divide(centre, size[:, side], out=np.zeros(len(size)), where=known)
        places.append(np.clip((share * 3).astype(np.int64), 0, 2))
    group = np.where(known, 3 * places[0] + places[1], -1)
    return _by_group(matched, objects, "region", _REGIONS, group)


def means(objects: DrawnObjects, amount: FloatArray) -> FloatArray:
    """Return the mean of each object over its annotations."""
    return ratio(sum_by(objects.of, amount, len(objects)), objects.n_drawn.astype(np.float64))


def areas(matched: MatchedUnits, objects: DrawnObjects) -> FloatArray:
    """Return the mean area of the boxes of each object, (O,)."""
    of = matched.data.annotations
    boxes = of.rotated_box if matched.compared == "rotated boxes" else None
    sides = of.bbox[:, 2:] if boxes is None else boxes[:, 2:4]
    return means(objects, sides.prod(1))


def _by_group(
    matched: MatchedUnits,
    objects: DrawnObjects,
    title: str,
    names: Sequence[str],
    group: IndexArray,
) -> Table:
    """Return agreement on groups of objects, one row for each that occurs."""
    found, sums, pairs = disagreements(matched), drawn_sums(matched), pairs_of_units(matched)
    group = group[found.home]
    occurs = np.unique(group[group >= 0])
    n_groups, inside = len(occurs), np.flatnonzero(group >= 0)
    place = np.where(group < 0, -1, np.searchsorted(occurs, group))
    own, has = place[found.counted], found.has_counted[found.counted]
    n = np.bincount(own[own >= 0], minlength=n_groups)
    left, right = unit_members(matched)
    category = matched.data.annotations.category
    named, same = objects.of[left], category[left] == category[right]
    placed = objects.of[pairs.left]
    ratios = RatioSums(matched, n_groups)
    for name, of, above, below in (
        ("f1", np.arange(len(objects)), *sums.of_object[1:]),
        ("class_share", named, same, np.ones(len(same))),
        ("mean_similarity", placed, pairs.similarity, np.ones(len(pairs))),
    ):
        kept = np.flatnonzero(place[of] >= 0)
        of_kept = of[kept]
        ratios.add(name, place[of_kept], objects.image[of_kept], above[kept], below[kept])
    columns: dict[str, Column] = {
        title: Categorical(occurs.astype(np.int32), tuple(names)),
        "n_objects": n,
        **ratios.columns(),
        **_alphas(matched, objects, place, inside, n_groups),
    }
    for name, kind in (("missed_share", Kind.MISSED), ("badly_placed_share", Kind.BADLY_PLACED)):
        n_with = np.bincount(own[(own >= 0) & has[:, kind]], minlength=n_groups)
        columns[name] = ratio(n_with.astype(np.float64), n.astype(np.float64))
    return Table(columns)


def _alphas(
    matched: MatchedUnits,
    objects: DrawnObjects,
    place: IndexArray,
    inside: IndexArray,
    n_groups: int,
) -> dict[str, Column]:
    """Return the alpha of the units of each group with its interval, NaN without meaning."""
    sums, n_categories = drawn_sums(matched), len(matched.data.category_names)
    n_images, n_values = len(matched.data.image_names), n_categories + 1
    kept = np.flatnonzero(place[sums.place] >= 0)
    of = sums.place[kept]
    keys, row = compact(place[of] * n_values + sums.value[kept], n_groups * n_values)
    agreeing = sums.of_object[0, inside]
    tables = (
        table_of(row, objects.image[of], sums.count[kept], (len(keys), n_images)),
        table_of(place[inside], objects.image[inside], agreeing, (n_groups, n_images)),
    )
    group = keys // n_values

    def evaluate(marginal: FloatArray, agreeing: FloatArray) -> FloatArray:
        total, squares = (summed_rows(group, each, n_groups) for each in (marginal, marginal**2))
        return nominal_alpha(total, agreeing, squares)[0]

    alpha = evaluate(*(np.asarray(table.sum(1)).reshape(-1, 1) for table in tables))[:, 0]
    if matched.missing == "category":
        for each in range(n_groups):
            drawn = matched.data.annotations.category[place[objects.of] == each]
            if not has_meaning(np.bincount(drawn, minlength=n_categories).astype(np.float64)):
                alpha[each] = np.nan
    in_images = np.unique(place[of] * n_images + objects.image[of])
    with_group = np.bincount(in_images // max(n_images, 1), minlength=n_groups)
    bounds = drawn_intervals(
        alpha, tables, evaluate, matched.bootstrap, matched.seed, 1.0, n_images=with_group
    )
    return figure_columns("alpha", alpha, bounds)
