"""How annotators differ in key points."""

from math import log, sqrt

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.intervals import centred_intervals
from bboxqa.agreement.nominal import nominal_alpha
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    pairs_within,
    remembered,
    sum_by,
)
from bboxqa.diagnostics.object_cells import (
    Amounts,
    RatioSums,
    drawn_figures,
    holm,
    medians,
    n_images_of,
    object_cells,
)
from bboxqa.diagnostics.offsets import ALARM, confirmed, p_values
from bboxqa.model.annotations import Dataset
from bboxqa.model.keypoints import sides_of
from bboxqa.model.rotated_boxes import beyond_rounding
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits

# Left and right count as exchanged if that is 100 times as likely: log of the likelihood ratio.
_SURELY = log(100)
# The median of a sum of four normal squares with a variance of 1.
_MEDIAN = 3.3567


class JointPairs(FrozenArrays, frozen=True, eq=False):
    """E joints of P pairs of annotations of one object, by two annotators."""

    first: IntArray
    second: IntArray
    image: IntArray
    weight: FloatArray
    """(P,). The annotators, in their order, the image, and the weight of each pair in an alpha:
    1 / (annotators of the object − 1)."""
    pair: IndexArray
    joint: IndexArray
    """(E,) int64. The pair, and the joint, numbered across all categories."""
    difference: FloatArray
    """(E, 2) float64. The position of the second minus that of the first, in px."""
    scale: FloatArray
    """(E,) float64. The root of the mean area of both, in px."""
    visibility: ByteArray
    """(E, 2) uint8. The visibility by the first and by the second."""
    has_side: BoolArray
    is_swapped: BoolArray
    """(E,) bool. Whether both labelled left and right, and whether these are clearly exchanged."""
    both: BoolArray
    placed: BoolArray
    """(E,) bool. Whether both labelled the joint, and whether it is no exchanged one."""


def joint_offsets(matched: MatchedUnits) -> IndexArray:
    """Return the number of the first joint of each category, and of all joints, (C + 1,)."""
    sizes = [len(joints) for joints in matched.data.joint_names]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@remembered
def joint_pairs(matched: MatchedUnits) -> JointPairs:
    """Return the joints of annotations of one object and one category."""
    of, cells = matched.data.annotations, object_cells(matched)
    keypoints = of.keypoints
    if keypoints is None:
        raise ValueError("the key points were not read")
    drawn, first_joints = np.flatnonzero(cells.drawn), joint_offsets(matched)
    ends = drawn[np.stack(pairs_within(cells.object[drawn]))]
    weight = 1 / np.maximum(cells.n_others_drew[ends[0]], 1)
    left, right = cells.annotation[ends]
    n_joints = np.diff(first_joints)[of.category[left]]
    held = keypoints.stop - keypoints.start
    whole = (held[left] == n_joints) & (held[right] == n_joints) & (n_joints > 0)
    whole &= of.category[left] == of.category[right]
    left, right, weight = left[whole], right[whole], weight[whole]
    area, _ = keypoints.packed().scales(of.bbox)
    first, second, pair, offsets = keypoints.joints_of_pairs(left, right)
    joint = first_joints[of.category[left]][pair] + np.arange(len(pair)) - offsets[:-1][pair]
    of_joint = ((area[left] + area[right]) / 2)[pair]
    people = of.annotator[left].astype(np.int64) * len(matched.data.annotator_names)
    people = (people + of.annotator[right])[pair]
    xy = np.stack([keypoints.xy[first], keypoints.xy[second]])
    visibility = np.column_stack([keypoints.visibility[first], keypoints.visibility[second]])
    both = np.asarray((visibility > 0).all(1))
    ends, variance = _sides(matched, joint, both)
    has_side, is_swapped = np.zeros((2, len(joint)), np.bool_)
    has_side[ends] = True
    # Which are clearly exchanged. The two annotators' scatter is estimated by the median of the
    # smaller one of the distances as drawn and exchanged, relative to the variance.
    variance, sides, people = variance * of_joint[ends[0]], xy[:, ends], people[ends[0]]
    as_drawn, exchanged = (
        ((sides[0] - other) ** 2).sum((0, 2)) for other in (sides[1], sides[1, ::-1])
    )
    squares = np.minimum(as_drawn, exchanged)
    ratios = np.divide(squares, variance, out=np.zeros(len(squares)), where=variance > 0)
    scatter = medians(ratios, people, int(people.max(initial=-1)) + 1) / _MEDIAN
    scaled = variance * np.maximum(scatter, 1)[people]
    is_swapped[ends] = as_drawn - exchanged > 2 * scaled * _SURELY
    return JointPairs(
        first=of.annotator[left],
        second=of.annotator[right],
        image=of.image[left],
        weight=weight,
        pair=pair,
        joint=joint,
        difference=xy[1] - xy[0],
        scale=np.sqrt(of_joint),
        visibility=visibility,
        has_side=has_side,
        is_swapped=is_swapped,
        both=both,
        placed=both & ~is_swapped,
    )


def _sides(
    matched: MatchedUnits, joint: IndexArray, both: BoolArray
) -> tuple[IndexArray, FloatArray]:
    """Return the left and right joints that both labelled, (2, S), and their variances."""
    index, variance = [np.zeros((2, 0), np.int64)], [np.zeros(0)]
    for category, joints in enumerate(matched.data.joint_names):
        spread = matched.data.joint_sigmas[category]
        for left, right in sides_of(joints):
            places = np.flatnonzero(joint == joint_offsets(matched)[category] + left)
            ends = np.stack([places, places + right - left])
            ends = ends[:, both[ends].all(0)]
            index.append(ends)
            variance.append(np.full(ends.shape[1], (spread[left] ** 2 + spread[right] ** 2) / 2))
    return np.hstack(index), np.concatenate(variance)


def joints(matched: MatchedUnits) -> Table:
    """Return the agreement on each joint of each category, over pairs of annotators of one object.

    Columns: category; joint; n, the pairs in which either labelled it, and n_both; same_visibility,
    the share of pairs with equal visibility (0, 1 or 2), with its 95 % interval over images;
    visibility_alpha, Krippendorff's nominal alpha of it; missing_share, the share of n that only
    one labelled; distance_px and distance_percent, the mean distance in px and in percent of the
    scale; sigma, the scatter about the true position relative to the scale, from the median
    distance; and swapped_share, the share in which left and right are clearly exchanged, NaN for
    joints without a side. Exchanged joints do not count in distances.
    """
    found, n_joints = joint_pairs(matched), int(joint_offsets(matched)[-1])
    some = np.asarray((found.visibility > 0).any(1))
    length = np.hypot(*found.difference.T)
    share = 100 * length / np.maximum(found.scale, 1e-12)
    equal = found.visibility[:, 0] == found.visibility[:, 1]
    # How often each visibility occurs, where annotations of an object weigh one pair each.
    weight = found.weight[found.pair]
    n_given = ((found.visibility == value).sum(1) for value in range(3))
    counts = np.stack([sum_by(found.joint, weight * n, n_joints) for n in n_given])
    agreeing = sum_by(found.joint, 2 * weight * equal, n_joints)
    joint, image = found.joint, found.image[found.pair]
    amounts: dict[str, list[Amounts]] = {
        "same_visibility": [(joint, image, equal, 1.0)],
        "missing_share": [(joint, image, some & ~found.both, some)],
        "distance_px": [(joint, image, length * found.placed, found.placed)],
        "distance_percent": [(joint, image, share * found.placed, found.placed)],
        "swapped_share": [(joint, image, found.is_swapped, found.has_side)],
    }
    return Table(
        {
            **_joint_columns(matched.data),
            "n": np.bincount(joint[some], minlength=n_joints),
            "n_both": np.bincount(joint[found.both], minlength=n_joints),
            **RatioSums(matched, n_joints, amounts).columns(),
            "visibility_alpha": nominal_alpha(counts.sum(0), agreeing, (counts**2).sum(0))[0],
            # The median distance that a normal scatter implies.
            "sigma": medians(share[found.placed], found.joint[found.placed], n_joints)
            / (100 * sqrt(2 * log(2))),
        }
    )


_FIGURES = ("offset_x_px", "offset_y_px", "missing_share", "swapped_share")


def joint_annotators(matched: MatchedUnits) -> Table:
    """Return offsets and rates of missing and swapped joints of each annotator and joint.

    As for offsets of edges, the figures are those that others with 60 % of the weight confirm.

    Columns: annotator; category; joint; n, the number of pairs of an object and another annotator
    who labelled the joint as well; n_images; offset_x_px and offset_y_px, positive to the right and
    down, with their 95 % intervals over images; offset_percent, their length in percent of the
    scale; p_value, twice the smaller one of the tests of both offsets against 0; systematic, after
    Holm's correction for all rows and beyond rounding; missing_share, the share of the joints
    labelled by others that the annotator left out; and swapped_share.
    """
    found, data = joint_pairs(matched), matched.data
    n_joints, n_people = int(joint_offsets(matched)[-1]), len(data.annotator_names)
    by_person = np.full((len(_FIGURES), 3, n_people, n_joints), np.nan)
    counts = np.zeros((3, n_people, n_joints))
    for place in range(n_people):
        concerned = (found.first == place) | (found.second == place)
        own = np.flatnonzero(concerned[found.pair])
        if len(own):
            by_person[:, :, place], counts[:, place] = _of_annotator(found, place, own, matched)
    figures = by_person.reshape(len(_FIGURES), 3, -1)
    n, n_images, scale = counts.reshape(3, -1)
    images = n_images.astype(np.int64)
    p_value = np.minimum(2 * np.fmin(*(p_values(each, images) for each in figures[:2])), 1)
    length = np.hypot(figures[0, 0], figures[1, 0])
    percent = 100 * ratio(length, scale)
    columns: dict[str, Column] = {
        "annotator": Categorical(
            np.repeat(np.arange(n_people, dtype=np.int32), n_joints), data.annotator_names
        ),
        **_joint_columns(data, n_people),
        "n": n.astype(np.int64),
        "n_images": images,
    }
    for name, each in zip(_FIGURES, figures, strict=True):
        columns |= figure_columns(name, each[0], each[1:].T)
    columns |= {
        "offset_percent": percent,
        "p_value": p_value,
        "systematic": (holm(p_value) < ALARM) & beyond_rounding(length, percent),
    }
    return Table(columns)


def _of_annotator(
    found: JointPairs, place: int, own: IndexArray, matched: MatchedUnits
) -> tuple[FloatArray, FloatArray]:
    """Return the figures of one annotator, (4, 3, J), and n, images and mean scale, (3, J)."""
    n_joints, pair, joint = int(joint_offsets(matched)[-1]), found.pair[own], found.joint[own]
    is_second = found.second[pair] == place
    other = np.where(is_second, found.first[pair], found.second[pair])
    others, other = np.unique(other, return_inverse=True)
    images, image = np.unique(found.image[pair], return_inverse=True)
    sign, placed = np.where(is_second, 1.0, -1.0), found.placed[own].astype(np.float64)
    labelled = found.visibility[own] > 0
    by_own, by_other = np.where(is_second[:, None], labelled[:, ::-1], labelled).T
    amounts = (
        *(found.difference[own].T * sign * placed), by_other & ~by_own, found.is_swapped[own],
        placed, by_other, found.has_side[own],
    )  # fmt: skip
    shape = n_joints * len(others), len(images)
    tables = [
        table_of(joint * len(others) + other, image, each.astype(np.float64), shape)
        for each in amounts
    ]

    def evaluate(*sums: FloatArray) -> FloatArray:
        parts = [
            each.reshape(n_joints, len(others), -1).swapaxes(0, 1).reshape(len(others), -1)
            for each in sums
        ]
        weights = parts[4], *parts[4:]
        confirmed_values = [
            confirmed(ratio(above, below), below)
            for above, below in zip(parts[:4], weights, strict=True)
        ]
        return np.concatenate(confirmed_values).reshape(len(_FIGURES) * n_joints, -1)

    n_images = n_images_of(joint[placed > 0], image[placed > 0], n_joints)
    value, drawn = drawn_figures(matched, tables, evaluate, np.tile(n_images, len(_FIGURES)))
    # Those of offsets lie about them, as of edges; shares stay inside of 0 and 1.
    half = 2 * n_joints
    drawn[:half] = centred_intervals(value[:half], drawn[:half])
    drawn[half:] = np.clip(drawn[half:], 0, 1)
    figures = np.stack([value, *drawn.T]).reshape(3, len(_FIGURES), n_joints)
    n = sum_by(joint, placed, n_joints)
    scale = ratio(sum_by(joint, placed * found.scale[own], n_joints), n)
    return figures.transpose(1, 0, 2), np.stack([n, n_images, scale])


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
