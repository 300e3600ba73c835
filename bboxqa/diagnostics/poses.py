"""How annotators differ in key points."""

from collections.abc import Iterator, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import centred_intervals, drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen_arrays,
    pairs_within,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.object_cells import holm, object_cells
from bboxqa.diagnostics.offsets import confirmed, p_values, with_bounds
from bboxqa.model.annotations import Dataset
from bboxqa.model.shapes.keypoints import Keypoints, sides_of
from bboxqa.model.shapes.rotated_boxes import beyond_rounding
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

# Left and right count as exchanged if that is 100 times as likely: log of the likelihood ratio.
_SURELY = log(100)
# The median of a sum of four normal squares with a variance of 1.
_MEDIAN = 3.3567


@frozen_arrays
class JointPairs:
    """E joints of P pairs of annotations of one object, by two annotators."""

    first: IntArray
    second: IntArray
    """(P,) int32. The annotators, in their order."""
    image: IntArray
    """(P,) int32."""
    weight: FloatArray
    """(P,) float64. The weight of each pair in an alpha: 1 / (annotators of the object − 1)."""
    pair: IndexArray
    """(E,) int64. The pair of each joint."""
    joint: IndexArray
    """(E,) int64. The joint, numbered across all categories."""
    difference: FloatArray
    """(E, 2) float64. The position of the second minus that of the first, in px."""
    scale: FloatArray
    """(E,) float64. The root of the mean area of both, in px."""
    visibility: ByteArray
    """(E, 2) uint8. The visibility by the first and by the second."""
    has_side: BoolArray
    is_swapped: BoolArray
    """(E,) bool. Whether both labelled left and right, and whether these are clearly exchanged."""

    @property
    def both(self) -> BoolArray:
        """Which joints both labelled, (E,)."""
        found: BoolArray = np.asarray((self.visibility > 0).all(1))
        return found

    @property
    def placed(self) -> BoolArray:
        """Which joints both labelled, without exchanged ones, (E,)."""
        return self.both & ~self.is_swapped


def joint_offsets(matched: MatchedUnits) -> IndexArray:
    """Return the number of the first joint of each category, and of all joints, (C + 1,)."""
    sizes = [len(joints) for joints in matched.data.joint_names]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@remembered
def joint_pairs(matched: MatchedUnits) -> JointPairs:
    """Return the joints of annotations of one object and one category."""
    of = matched.data.annotations
    left, right, weight = _pairs(matched)
    same = of.category[left] == of.category[right]
    left, right, weight = left[same], right[same], weight[same]
    keypoints = of.keypoints
    if keypoints is None:
        raise ValueError("the key points were not read")
    n_joints = np.diff(joint_offsets(matched))[of.category[left]]
    held = keypoints.stop - keypoints.start
    whole = np.flatnonzero((held[left] == n_joints) & (held[right] == n_joints) & (n_joints > 0))
    left, right, weight = left[whole], right[whole], weight[whole]
    area, _ = keypoints.packed().scales(of.bbox)
    first, offsets = rows(keypoints.start[left], keypoints.stop[left])
    pair = np.repeat(np.arange(len(left)), np.diff(offsets))
    second = first + (keypoints.start[right] - keypoints.start[left])[pair]
    joint = joint_offsets(matched)[of.category[left]][pair] + np.arange(len(pair))
    joint -= offsets[:-1][pair]
    of_joint = ((area[left] + area[right]) / 2)[pair]
    people = of.annotator[left].astype(np.int64) * len(matched.data.annotator_names)
    people = (people + of.annotator[right])[pair]
    has_side, is_swapped = _sides(matched, keypoints, joint, first, second, of_joint, people)
    return JointPairs(
        first=of.annotator[left],
        second=of.annotator[right],
        image=of.image[left],
        weight=weight,
        pair=pair,
        joint=joint,
        difference=keypoints.xy[second] - keypoints.xy[first],
        scale=np.sqrt(of_joint),
        visibility=np.column_stack([keypoints.visibility[first], keypoints.visibility[second]]),
        has_side=has_side,
        is_swapped=is_swapped,
    )


def _pairs(matched: MatchedUnits) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs of annotations of one object, and their weights."""
    cells = object_cells(matched)
    drawn = np.flatnonzero(cells.drawn)
    left, right = (drawn[side] for side in pairs_within(cells.object[drawn]))
    n_drew = cells.n_others_drew[left]
    return cells.annotation[left], cells.annotation[right], 1 / np.maximum(n_drew, 1)


def _sides(
    matched: MatchedUnits,
    keypoints: Keypoints,
    joint: IndexArray,
    first: IndexArray,
    second: IndexArray,
    area: FloatArray,
    people: IndexArray,
) -> tuple[BoolArray, BoolArray]:
    """Return which joints have a left and a right that both labelled, and which are exchanged."""
    has_side, is_swapped = np.zeros(len(joint), np.bool_), np.zeros(len(joint), np.bool_)
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), *[np.zeros(0)] * 3)
    found = [nothing, *_side_distances(matched, keypoints, joint, first, second, area)]
    places, others, as_drawn, exchanged, variance = map(np.concatenate, zip(*found, strict=True))
    variance *= _scatter(np.minimum(as_drawn, exchanged), variance, people[places])
    is_sure = as_drawn - exchanged > 2 * variance * _SURELY
    for each in (places, others):
        has_side[each] = True
        is_swapped[each] = is_sure
    return has_side, is_swapped


def _side_distances(
    matched: MatchedUnits,
    keypoints: Keypoints,
    joint: IndexArray,
    first: IndexArray,
    second: IndexArray,
    area: FloatArray,
) -> Iterator[tuple[IndexArray, IndexArray, FloatArray, FloatArray, FloatArray]]:
    """Yield the indices of left and right joints that both labelled, and their distances."""
    starts = joint_offsets(matched)
    xy, seen = keypoints.xy, keypoints.visibility > 0
    for category, joints in enumerate(matched.data.joint_names):
        for left, right in sides_of(joints):
            places = np.flatnonzero(joint == starts[category] + left)
            others = places + (right - left)
            both = seen[first[places]] & seen[second[places]]
            both &= seen[first[others]] & seen[second[others]]
            places, others = places[both], others[both]
            as_drawn, exchanged = (
                ((xy[first[places]] - xy[second[a]]) ** 2).sum(1)
                + ((xy[first[others]] - xy[second[b]]) ** 2).sum(1)
                for a, b in ((places, others), (others, places))
            )
            spread = matched.data.joint_sigmas[category]
            variance = (spread[left] ** 2 + spread[right] ** 2) / 2 * area[places]
            yield places, others, as_drawn, exchanged, variance


def _scatter(squares: FloatArray, variance: FloatArray, people: IndexArray) -> FloatArray:
    """Return the ratio of the two annotators' scatter to the variance, by the median; at least 1.

    The squares are sums over both directions of two joints, the smaller one of as drawn and
    exchanged.
    """
    ratios = np.divide(squares, variance, out=np.zeros(len(squares)), where=variance > 0)
    order = np.argsort(people, kind="stable")
    result = np.ones(len(people))
    for rows_of in np.split(order, run_starts(people[order])[1:]):
        if len(rows_of):
            result[rows_of] = max(1.0, float(np.median(ratios[rows_of])) / _MEDIAN)
    return result


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
    return Table(
        {
            **_joint_columns(matched.data),
            "n": np.bincount(found.joint[some], minlength=n_joints),
            "n_both": np.bincount(found.joint[found.both], minlength=n_joints),
            **_bounded(_RATIOS, figures),
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


# An offset is systematic if the chance of a false alarm in the whole table is below this.
_ALARM = 0.05
# Index of the amount that counts joints placed by both.
_PLACED = 2
_FIGURES = ("offset_x_px", "offset_y_px", "missing_share", "swapped_share")


def joint_annotators(matched: MatchedUnits) -> Table:
    """Return offsets and rates of missing and swapped joints of each annotator.

    A row for each annotator and joint. Each other annotator gives one figure; the row has the value
    that others with 60 % of the weight confirm, as for offsets of edges, so that the errors of one
    annotator do not affect the figures of the others.

    Columns: annotator; category; joint; n, the number of pairs of an object and another annotator
    who labelled the joint as well; n_images; offset_x_px and offset_y_px, positive to the right and
    down, with their 95 % intervals over images; offset_percent, their length in percent of the
    scale; p_value, twice the smaller one of the tests of both offsets against 0; systematic,
    whether it is significant after Holm's correction for all rows, and beyond rounding (0.01 px);
    missing_share, the share of the joints labelled by others that the annotator did not label; and
    swapped_share, the share with left and right clearly exchanged.
    """
    found = joint_pairs(matched)
    n_joints = int(joint_offsets(matched)[-1])
    people = matched.data.annotator_names
    figures = np.full((len(_FIGURES), 3, len(people), n_joints), np.nan)
    counts = np.zeros((3, len(people), n_joints))
    for place in range(len(people)):
        figures[:, :, place], counts[:, place] = _of_annotator(found, place, n_joints, matched)
    return _table(matched, figures.reshape(len(_FIGURES), 3, -1), counts.reshape(3, -1))


def _of_annotator(
    found: JointPairs, place: int, n_joints: int, matched: MatchedUnits
) -> tuple[FloatArray, FloatArray]:
    """Return the figures of one annotator, (4, 3, J), and n, images and mean scale, (3, J)."""
    side = np.where(found.second == place, 1, 0)
    concerned = (found.first == place) | (found.second == place)
    rows = np.flatnonzero(concerned[found.pair])
    none = np.full((len(_FIGURES), 3, n_joints), np.nan), np.zeros((3, n_joints))
    if not len(rows):
        return none
    pair, own = found.pair[rows], side[found.pair[rows]]
    others, other = np.unique(
        np.where(own == 1, found.first[pair], found.second[pair]), return_inverse=True
    )
    images, image = np.unique(found.image[pair], return_inverse=True)
    shape = n_joints * len(others), len(images)
    row = found.joint[rows] * len(others) + other
    amounts = _amounts(found, rows, own)
    placed = amounts[_PLACED]
    tables = [table_of(row, image, each, shape) for each in amounts]

    def evaluate(*sums: FloatArray) -> FloatArray:
        return _confirmed(sums, n_joints, len(others)).reshape(len(_FIGURES) * n_joints, -1)

    totals = [np.asarray(table.sum(1), np.float64).reshape(-1, 1) for table in tables]
    value = evaluate(*totals)[:, 0]
    n_images = _images_of(found.joint[rows], image, placed, n_joints)
    drawn = drawn_intervals(
        value,
        tables,
        evaluate,
        matched.bootstrap,
        matched.seed,
        n_images=np.tile(n_images, len(_FIGURES)),
    )
    # Those of offsets lie about them, as of edges; shares stay inside of 0 and 1.
    half = 2 * n_joints
    drawn[:half] = centred_intervals(value[:half], drawn[:half])
    drawn[half:] = np.clip(drawn[half:], 0, 1)
    result = np.stack([value, *drawn.T]).reshape(3, len(_FIGURES), n_joints)
    n = sum_by(found.joint[rows], placed, n_joints)
    scale = ratio(sum_by(found.joint[rows], placed * found.scale[rows], n_joints), n)
    return result.transpose(1, 0, 2), np.stack([n, n_images, scale])


def _amounts(found: JointPairs, rows: IndexArray, own: IndexArray) -> list[FloatArray]:
    """Return the contribution of each joint of a pair to the sums for `_confirmed`."""
    sign = np.where(own == 1, 1.0, -1.0)
    placed = found.placed[rows].astype(np.float64)
    labelled = found.visibility[rows] > 0
    by_other = labelled[np.arange(len(rows)), 1 - own]
    by_own = labelled[np.arange(len(rows)), own]
    amounts = (
        found.difference[rows, 0] * sign * placed,
        found.difference[rows, 1] * sign * placed,
        placed,
        by_other & ~by_own,
        by_other,
        found.is_swapped[rows],
        found.has_side[rows],
    )
    return [each.astype(np.float64, copy=False) for each in amounts]


def _confirmed(sums: tuple[FloatArray, ...], n_joints: int, n_others: int) -> FloatArray:
    """Return the confirmed offsets and shares, (4, J, B), of sums of B columns."""
    x, y, n, missed, labelled, swapped, sided = (
        each.reshape(n_joints, n_others, -1) for each in sums
    )
    ratios = ((x, n), (y, n), (missed, labelled), (swapped, sided))
    found = np.empty((len(ratios), n_joints, x.shape[2]))
    for place, (above, below) in enumerate(ratios):
        values = ratio(above, below)
        for joint in range(n_joints):
            found[place, joint] = confirmed(values[joint], below[joint])
    return found


def _images_of(
    joint: IndexArray, image: IndexArray, placed: FloatArray, n_joints: int
) -> IndexArray:
    """Return the number of images in which two annotators labelled a joint, (J,)."""
    kept = placed > 0
    if not kept.any():
        return np.zeros(n_joints, np.int64)
    keys = np.unique(joint[kept] * (int(image.max()) + 1) + image[kept])
    return np.bincount(keys // (int(image.max()) + 1), minlength=n_joints).astype(np.int64)


def _joint_columns(data: Dataset, n_times: int = 1) -> dict[str, Column]:
    """Return the category and name of each key point, all of them `n_times`."""
    names = data.joint_names
    category = np.repeat(np.arange(len(names)), [len(each) for each in names]).astype(np.int32)
    labels = tuple(dict.fromkeys(joint for each in names for joint in each))
    joint = np.array([labels.index(joint) for each in names for joint in each], np.int32)
    return {
        "category": Categorical(np.tile(category, n_times), data.category_names),
        "joint": Categorical(np.tile(joint, n_times), labels),
    }


def _bounded(names: Sequence[str], figures: FloatArray) -> dict[str, Column]:
    """Return the columns of figures with their bounds, (F, 3, R)."""
    found: dict[str, Column] = {}
    for name, each in zip(names, figures, strict=True):
        found |= with_bounds(name, each)
    return found


def _table(matched: MatchedUnits, figures: FloatArray, counts: FloatArray) -> Table:
    data = matched.data
    n_people = len(data.annotator_names)
    n, n_images, scale = counts
    images = n_images.astype(np.int64)
    both = [p_values(each[0], each[1], each[2], images) for each in figures[:2]]
    p_value = np.minimum(2 * np.fmin(*both), 1)
    length = np.hypot(figures[0, 0], figures[1, 0])
    percent = 100 * ratio(length, scale)
    return Table(
        {
            "annotator": Categorical(
                np.repeat(np.arange(n_people), int(joint_offsets(matched)[-1])).astype(np.int32),
                data.annotator_names,
            ),
            **_joint_columns(data, n_people),
            "n": n.astype(np.int64),
            "n_images": n_images.astype(np.int64),
            **_bounded(_FIGURES, figures),
            "offset_percent": percent,
            "p_value": p_value,
            "systematic": (holm(p_value) < _ALARM) & beyond_rounding(length, percent),
        }
    )
