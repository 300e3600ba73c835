"""Offsets, missing joints and swapped joints of each annotator, compared with the others."""

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import centred_intervals, drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.annotators.edge_differences import confirmed
from bboxqa.diagnostics.annotators.image_ratios import holm
from bboxqa.diagnostics.annotators.offsets import p_values
from bboxqa.diagnostics.poses.joint_pairs import JointPairs, joint_offsets, joint_pairs
from bboxqa.model.shapes.rounding import beyond_rounding
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

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
    """Return the contribution of each joint of a pair to the sums for `_confirmed`.

    `own` is the side of the annotator in the pair of each row.
    """
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


def _table(matched: MatchedUnits, figures: FloatArray, counts: FloatArray) -> Table:
    data = matched.data
    sizes = [len(each) for each in data.joint_names]
    category = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    labels = tuple(dict.fromkeys(joint for each in data.joint_names for joint in each))
    code = {joint: number for number, joint in enumerate(labels)}
    joint = np.array([code[each] for names in data.joint_names for each in names], np.int32)
    n_people = len(data.annotator_names)
    n, n_images, scale = counts
    images = n_images.astype(np.int64)
    both = [p_values(each[0], each[1], each[2], images) for each in figures[:2]]
    p_value = np.minimum(2 * np.fmin(*both), 1)
    columns = {
        f"{name}{end}": figures[place, row]
        for place, name in enumerate(_FIGURES)
        for row, end in enumerate(("", "_low", "_high"))
    }
    length = np.hypot(figures[0, 0], figures[1, 0])
    percent = 100 * ratio(length, scale)
    return Table(
        {
            "annotator": Categorical(
                np.repeat(np.arange(n_people), len(joint)).astype(np.int32), data.annotator_names
            ),
            "category": Categorical(np.tile(category, n_people), data.category_names),
            "joint": Categorical(np.tile(joint, n_people), labels),
            "n": n.astype(np.int64),
            "n_images": n_images.astype(np.int64),
            **columns,
            "offset_percent": percent,
            "p_value": p_value,
            "systematic": (holm(p_value) < _ALARM) & beyond_rounding(length, percent),
        }
    )
