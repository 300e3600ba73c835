"""Agreement on objects by size, crowding and region of the image."""

from collections.abc import Sequence

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.objects import has_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero, ratio_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, compact, sum_by
from bboxqa.diagnostics.disagreement.counted_objects import counted_objects
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.gains import AgreementSums, drawn_sums
from bboxqa.diagnostics.disagreement.kinds import Kind
from bboxqa.diagnostics.object_cells import pairs_of_units
from bboxqa.diagnostics.pair_sums import unit_members
from bboxqa.model.table import Categorical, Column, Table
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
    group = np.searchsorted(_COCO, _areas(matched, objects), side="right")
    return _by_group(matched, objects, "size", _COCO_NAMES, group)


def agreement_by_size_quarter(matched: MatchedUnits) -> Table:
    """Return agreement on the quarters of all objects by size, the smallest first.

    If sizes repeat, quarters have unequal numbers of objects. See `_by_group` for the columns.
    """
    objects = drawn_objects(matched)
    area, counted = _areas(matched, objects), counted_objects(matched).places
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
    objects, home = drawn_objects(matched), counted_objects(matched).home
    left, right = (home[objects.of[side]] for side in (matched.own.left, matched.own.right))
    again = np.append(matched.own.left[left == right], matched.own.right[left == right])
    n_neighbours = matched.n_neighbours - np.bincount(again, minlength=len(objects.of))
    group = np.zeros(len(objects), np.int64)
    np.maximum.at(group, objects.of, n_neighbours)
    return _by_group(matched, objects, "crowding", _CROWDED, np.minimum(group, 3))


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
        centre = _means(objects, bbox[:, side] + bbox[:, side + 2] / 2)
        share = np.divide(centre, size[:, side], out=np.zeros(len(size)), where=known)
        places.append(np.clip((share * 3).astype(np.int64), 0, 2))
    group = np.where(known, 3 * places[0] + places[1], -1)
    return _by_group(matched, objects, "region", _REGIONS, group)


def _means(objects: DrawnObjects, amount: FloatArray) -> FloatArray:
    """Return the mean of each object over its annotations."""
    return ratio(sum_by(objects.of, amount, len(objects)), objects.n_drawn.astype(np.float64))


def _areas(matched: MatchedUnits, objects: DrawnObjects) -> FloatArray:
    of = matched.data.annotations
    boxes = of.rotated_box if matched.compared == "rotated boxes" else None
    sides = of.bbox[:, 2:] if boxes is None else boxes[:, 2:4]
    return _means(objects, sides.prod(1))


def _by_group(
    matched: MatchedUnits,
    objects: DrawnObjects,
    title: str,
    names: Sequence[str],
    group: IndexArray,
) -> Table:
    """Return agreement on groups of objects, one row for each that occurs.

    Columns: the group; n_objects; f1, class_share, mean_similarity (of matched pairs that overlap)
    and alpha of the units of the group, each with its 95 % interval over images; missed_share, the
    share of objects that not all drew; and badly_placed_share, the share of objects whose
    annotations overlap too little to match. Alpha is NaN if undefined or without meaning. Parts and
    second boxes are in the group of the object that they belong to, and counted with it.
    """
    counted = counted_objects(matched)
    group = group[counted.home]
    # Objects of no group, -1, come last.
    occurs = np.unique(group[group >= 0])
    n_groups = len(occurs)
    place = np.where(group < 0, n_groups, np.searchsorted(occurs, group))
    sums, has, own = drawn_sums(matched), counted.has[counted.places], place[counted.places]
    n = np.bincount(own, minlength=n_groups + 1)[:n_groups]
    columns: dict[str, Column] = {
        title: Categorical(occurs.astype(np.int32), tuple(names)),
        "n_objects": n,
        **_ratios(matched, objects, sums, place, n_groups),
        **_alphas(matched, objects, sums, place, n_groups),
    }
    for name, kind in (("missed_share", Kind.MISSED), ("badly_placed_share", Kind.BADLY_PLACED)):
        n_with = sum_by(own, has[:, kind], n_groups + 1)[:n_groups]
        columns[name] = ratio(n_with, n.astype(np.float64))
    return Table(columns)


def _ratios(
    matched: MatchedUnits,
    objects: DrawnObjects,
    sums: AgreementSums,
    place: IndexArray,
    n_groups: int,
) -> dict[str, FloatArray]:
    """Return F1, class share and mean similarity of each group, with their intervals."""
    pairs, category = pairs_of_units(matched), matched.data.annotations.category
    left, right = unit_members(matched)
    named, placed = objects.of[left], objects.of[pairs.left]
    same = (category[left] == category[right]).astype(np.float64)
    figures = (
        (np.arange(len(objects)), sums.matched, sums.possible),
        (named, same, np.ones(len(named))),
        (placed, pairs.similarity, np.ones(len(placed))),
    )
    shape = len(figures) * n_groups, len(matched.data.image_names)
    places = [n * n_groups + place[of] for n, (of, _, _) in enumerate(figures)]
    kept = np.flatnonzero(np.concatenate([place[of] for of, _, _ in figures]) < n_groups)
    row = np.concatenate(places)[kept]
    image = np.concatenate([objects.image[of] for of, _, _ in figures])[kept]
    above, below = (
        table_of(row, image, np.concatenate([each[side] for each in figures])[kept], shape)
        for side in (1, 2)
    )
    value = ratio(*(np.asarray(table.sum(1)).ravel() for table in (above, below)))
    bounds = ratio_intervals(above, below, matched.bootstrap, matched.seed)
    columns: dict[str, FloatArray] = {}
    for n, name in enumerate(("f1", "class_share", "mean_similarity")):
        own = slice(n * n_groups, (n + 1) * n_groups)
        columns |= {name: value[own], f"{name}_low": bounds[own, 0], f"{name}_high": bounds[own, 1]}
    return columns


def _alphas(
    matched: MatchedUnits,
    objects: DrawnObjects,
    sums: AgreementSums,
    place: IndexArray,
    n_groups: int,
) -> dict[str, FloatArray]:
    """Return the alpha of the units of each group with its interval, NaN without meaning."""
    from scipy.sparse import csr_array

    n_images, n_values = len(matched.data.image_names), sums.marginal.shape[1]
    entries = sums.marginal.tocoo()
    kept = np.flatnonzero(place[entries.row] < n_groups)
    of, value = entries.row[kept], entries.col[kept].astype(np.int64)
    keys, row = compact(place[of] * n_values + value, n_groups * n_values)
    inside = np.flatnonzero(place < n_groups)
    tables = (
        table_of(row, objects.image[of], entries.data[kept], (len(keys), n_images)),
        table_of(place[inside], objects.image[inside], sums.agreeing[inside], (n_groups, n_images)),
    )
    rows = np.arange(len(keys))
    groups = csr_array((np.ones(len(keys)), (keys // n_values, rows)), shape=(n_groups, len(keys)))

    def evaluate(marginal: FloatArray, agreeing: FloatArray) -> FloatArray:
        return nominal_alpha(groups @ marginal, agreeing, groups @ marginal**2)[0]

    alpha = evaluate(*(np.asarray(table.sum(1)).reshape(-1, 1) for table in tables))[:, 0]
    if matched.missing == "category":
        n_categories = len(matched.data.category_names)
        key = place[objects.of] * n_categories + matched.data.annotations.category
        drawn = np.bincount(key, minlength=(n_groups + 1) * n_categories).astype(np.float64)
        meaningful = [has_meaning(row) for row in drawn.reshape(-1, n_categories)[:n_groups]]
        alpha[~np.array(meaningful, np.bool_)] = np.nan
    with_group = n_nonzero(groups @ tables[0])
    bounds = drawn_intervals(
        alpha, tables, evaluate, matched.bootstrap, matched.seed, 1.0, n_images=with_group
    )
    return {"alpha": alpha, "alpha_low": bounds[:, 0], "alpha_high": bounds[:, 1]}
