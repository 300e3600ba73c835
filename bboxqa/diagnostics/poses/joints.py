"""Agreement on each joint."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, run_starts, sum_by
from bboxqa.diagnostics.poses.joint_pairs import JointPairs, joint_offsets, joint_pairs
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

# Shares and means of the table; each is a ratio of two sums.
_RATIOS = ("same_visibility", "missing_share", "distance_px", "distance_percent", "swapped_share")


def joints(matched: MatchedUnits) -> Table:
    """Return the agreement on each joint of each category.

    A row for each joint. Figures are over pairs of annotators who drew the same object.

    Columns: category; joint; n, the pairs in which either labelled it, and n_both; same_visibility,
    the share of all pairs with equal visibility (0, 1 or 2), with its 95 % interval over images;
    visibility_alpha, Krippendorff's nominal alpha of the visibility; missing_share, the share of n
    that only one labelled; distance_px and distance_percent, the mean distance in px and in percent
    of the scale; sigma, the scatter about the true position relative to the scale, from the median
    distance; and swapped_share, the share of the pairs who both labelled left and right in which
    these are clearly exchanged, NaN for joints without a side. Exchanged joints do not count in
    distances.
    """
    found = joint_pairs(matched)
    names = matched.data.joint_names
    n_joints = int(joint_offsets(matched)[-1])
    image = found.image[found.pair]
    some = np.asarray((found.visibility > 0).any(1))
    length = np.hypot(*found.difference.T)
    share = 100 * length / np.maximum(found.scale, 1e-12)
    equal = found.visibility[:, 0] == found.visibility[:, 1]
    sums = [
        (equal * 1.0, np.ones(len(equal))),
        (some & ~found.both, some),
        (length * found.placed, found.placed),
        (share * found.placed, found.placed),
        (found.is_swapped, found.has_side),
    ]
    figures = _figures(found.joint, image, sums, n_joints, matched)
    category = np.repeat(np.arange(len(names)), [len(each) for each in names]).astype(np.int32)
    labels = tuple(dict.fromkeys(joint for each in names for joint in each))
    code = {joint: number for number, joint in enumerate(labels)}
    places = np.array([code[joint] for each in names for joint in each], np.int32)
    columns = {
        f"{name}{end}": figures[place, row]
        for place, name in enumerate(_RATIOS)
        for row, end in enumerate(("", "_low", "_high"))
    }
    return Table(
        {
            "category": Categorical(category, matched.data.category_names),
            "joint": Categorical(places, labels),
            "n": np.bincount(found.joint[some], minlength=n_joints),
            "n_both": np.bincount(found.joint[found.both], minlength=n_joints),
            **columns,
            "visibility_alpha": _alphas(found, n_joints),
            "sigma": _sigmas(found, share / 100, n_joints),
        }
    )


def _figures(
    joint: IndexArray,
    image: IntArray,
    sums: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    n_joints: int,
    matched: MatchedUnits,
) -> FloatArray:
    """Return ratios of sums of each joint with their intervals over images, (R, 3, J)."""
    shape = n_joints, len(matched.data.image_names)
    result = np.full((len(sums), 3, n_joints), np.nan)
    for place, pair in enumerate(sums):
        tables = [table_of(joint, image, each.astype(np.float64), shape) for each in pair]
        above, below = (np.asarray(table.sum(1), np.float64).ravel() for table in tables)
        result[place, 0] = ratio(above, below)
        result[place, 1:] = drawn_intervals(
            result[place, 0], tables, ratio, matched.bootstrap, matched.seed
        ).T
    return result


def _alphas(found: JointPairs, n_joints: int) -> FloatArray:
    """Return the nominal alpha of the visibility of each joint, (J,)."""
    weight = found.weight[found.pair]
    counts = np.stack(
        [
            sum_by(found.joint, weight * (found.visibility == value).sum(1), n_joints)
            for value in range(3)
        ]
    )
    equal = found.visibility[:, 0] == found.visibility[:, 1]
    agreeing = sum_by(found.joint, 2 * weight * equal, n_joints)
    alpha, _, _ = nominal_alpha(counts.sum(0), agreeing, (counts**2).sum(0))
    return alpha


def _sigmas(found: JointPairs, share: FloatArray, n_joints: int) -> FloatArray:
    """Return the sigma that the median distance of each joint implies, (J,); NaN without pairs."""
    result = np.full(n_joints, np.nan)
    rows = np.flatnonzero(found.placed)
    rows = rows[np.argsort(found.joint[rows], kind="stable")]
    for part in np.split(rows, run_starts(found.joint[rows])[1:]):
        if len(part):
            result[found.joint[part[0]]] = np.median(share[part]) / np.sqrt(2 * log(2))
    return result
