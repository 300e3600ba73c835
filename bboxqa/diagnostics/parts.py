"""Objects that an annotator drew twice, in parts or joined."""

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    distinct,
    distinct_rows,
    find,
    overlapping_boxes,
    remembered,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.diagnostics.object_cells import object_cells
from bboxqa.geometry.boxes import bbox_iou, corners, overlap
from bboxqa.model.units import MatchedUnits


class DrawnObjects(FrozenArrays, frozen=True, eq=False):
    """O objects of N annotations."""

    of: IndexArray
    """(N,) int64. The object of each annotation."""
    image: IndexArray
    n_asked: IndexArray
    n_drawn: IndexArray
    """(O,) int64. The image, the annotators who were asked and those who drew the object."""
    category: IndexArray
    """(O,) int64. The category of the majority; in a tie, the more frequent one."""
    is_tied: BoolArray
    """(O,) bool. Whether another category is as frequent."""
    unit: IndexArray
    """(O,) int64. The unit of the object that most drew."""


@remembered
def drawn_objects(matched: MatchedUnits) -> DrawnObjects:
    """Return the objects with their annotations."""
    annotations, of = matched.data.annotations, matched.objects
    n_objects = int(of.max(initial=-1)) + 1
    image = np.zeros(n_objects, np.int64)
    image[of] = annotations.image
    (each, value), _, n_given = distinct_rows(of, annotations.category.astype(np.int64))
    order = np.lexsort((value, -np.bincount(annotations.category)[value], -n_given, each))
    first = order[run_starts(each[order])]
    n_best = np.bincount(each[n_given == n_given[first][each]], minlength=n_objects)
    # The largest unit of each object; in a tie, the one whose boxes come first.
    unit, largest = matched.units.unit, np.zeros(n_objects, np.int64)
    largest[of] = unit
    several = np.isin(of, of[largest[of] != unit])
    (found, its_unit), place, size = distinct_rows(of[several], unit[several])
    mean = _sums(place, annotations.bbox[several], len(found)) / size[:, None]
    order = np.lexsort((*mean.T, -size, found))
    best = order[run_starts(found[order])]
    largest[found[best]] = its_unit[best]
    return DrawnObjects(
        of=of,
        image=image,
        n_asked=matched.data.assigned.sum(1)[image],
        n_drawn=np.bincount(of, minlength=n_objects),
        category=value[first],
        is_tied=n_best > 1,
        unit=largest,
    )


def drawn_with(
    matched: MatchedUnits, one: IndexArray, other: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return pairs, annotations of one object, and those of another by the same one, or -1."""
    cells, n_annotators = object_cells(matched), len(matched.data.annotator_names)
    drawn = np.flatnonzero(cells.drawn)
    ends = (np.searchsorted(cells.object[drawn], one, side) for side in ("left", "right"))
    place, offsets = rows(*ends)
    pair, first = np.repeat(np.arange(len(one)), np.diff(offsets)), drawn[place]
    key = cells.object * n_annotators + cells.annotator
    second = find(key, other[pair] * n_annotators + cells.annotator[first])
    return pair, cells.annotation[first], np.append(cells.annotation, -1)[second]


def _sums(group: IndexArray, sides: FloatArray, n_groups: int) -> FloatArray:
    return np.column_stack([sum_by(group, side, n_groups) for side in sides.T])


@remembered
def object_ranks(matched: MatchedUnits) -> IndexArray:
    """Return the rank of objects that may be a part or a repetition of another one, (O,); else -1.

    Objects that more annotators drew come first, then boxes decide, independently of names.
    """
    objects = drawn_objects(matched)
    found = distinct(_overlapping_objects(matched))
    boxes = _sums(objects.of, matched.data.annotations.bbox, len(objects.image))[found]
    boxes /= objects.n_drawn[found, None]
    order = np.lexsort((objects.category[found], *boxes.T, -objects.n_drawn[found]))
    rank = np.full(len(objects.image), -1)
    rank[found[order]] = np.arange(len(found))
    return rank


def _overlapping_objects(matched: MatchedUnits) -> IndexArray:
    """Return the two objects of each pair of overlapping annotations of different ones, (2, P)."""
    ends = np.hstack([np.stack([each.left, each.right]) for each in (matched.near, matched.own)])
    found = matched.objects[ends]
    return found[:, found[0] != found[1]]


# Share of a box that must lie in another one, and lowest IoU of the parts together with the whole.
_INSIDE = 0.5


def _accepted(
    odd: IndexArray, box: IndexArray, is_merge: BoolArray, edges: FloatArray
) -> tuple[IndexArray, BoolArray]:
    """Return the pairs whose small boxes fill a large one, and which have another box."""
    # The edges, (3, P, 4), are of the odd box, of the large box and of the other box in it. The
    # joint bounds overlap the large one by at least half, and by more than the other box alone.
    area = (edges[..., 2:] - edges[..., :2]).prod(2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Whether half of the one box lies in the other one; not of boxes without area.
        odd_in_large, other_in_large, other_in_odd, odd_in_other = (
            (area[part] > 0) & (overlap(edges[part], edges[whole]) / area[part] >= _INSIDE)
            for part, whole in ((0, 1), (2, 1), (2, 0), (0, 2))
        )
    kept, both = (area[0] < area[1]) & odd_in_large, other_in_large
    # A box outside the large box was not merged with the small one.
    pairs = np.flatnonzero(kept & np.where(both, ~(other_in_odd | odd_in_other), is_merge))
    small, large, other = edges[:, pairs]
    has_other = both[pairs]
    other = np.where(has_other[:, None], other, np.nan)
    _, group = np.unique(2 * box[pairs] + is_merge[pairs], return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = run_starts(group[order])
    low, high = np.fmin(small, other)[order, :2], np.fmax(small, other)[order, 2:]
    joint = np.hstack([np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)])[group]
    iou = bbox_iou(joint, large)
    alone = np.where(has_other, bbox_iou(np.nan_to_num(other), large), 0)
    n_parts = np.bincount(group)[group] + has_other
    good = np.flatnonzero((n_parts >= 2) & (iou >= _INSIDE) & (iou > alone))
    good = good[np.lexsort((box[pairs[good]], -iou[good].round(9), odd[pairs[good]]))]
    good = good[run_starts(odd[pairs[good]])]
    return pairs[good], has_other[good]


class Parts(FrozenArrays, frozen=True, eq=False):
    """E pairs of an annotator and an object that was split, or merged with another one.

    A *split*: two boxes of the annotator lie in the box that others drew, and at most half of the
    annotators drew one of these two. A *merge*: the annotator drew one box around two objects and
    has no other box for one of them, which at least half of the annotators drew.
    """

    part: IndexArray
    """(E,) int64. The object of the second box, or the object that was merged."""
    whole: IndexArray
    """(E,) int64. The object that was split, or with which the part was merged; -1 if the box of a
    merge shows no single object."""
    annotator: IndexArray
    box: IndexArray
    """(E,) int64. The annotation of the first part, or the one around several objects."""
    is_merge: BoolArray
    odd_boxes: BoolArray
    """(N,) bool. The annotations that show parts, or several objects."""


@remembered
def parts(matched: MatchedUnits) -> Parts:
    """Return which objects were split or merged, and by whom."""
    annotations, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    edges, cells = corners(annotations.bbox), object_cells(matched)
    # The mean edges of objects, (O, 4), and of the others' boxes, (N, 4).
    of = matched.objects
    n, total = np.bincount(of), _sums(of, edges, int(of.max(initial=-1)) + 1)
    means, n_others = total / n[:, None], (n[of] - 1)[:, None]
    others = np.where(n_others > 0, (total[of] - edges) / np.maximum(n_others, 1), np.nan)
    # Mean boxes of objects that an annotator did not draw, and boxes that few drew.
    n_asked, n_drawn = cells.n_others + 1, cells.n_others_drew + cells.drawn
    missed = np.flatnonzero(~cells.drawn & (2 * n_drawn >= n_asked))
    extra = np.flatnonzero(cells.drawn & (2 * n_drawn <= n_asked))
    own = np.concatenate([missed, extra])
    small = np.concatenate([means[cells.object[missed]], edges[cells.annotation[extra]]])
    key = annotations.image.astype(np.int64) * n_annotators + annotations.annotator
    wanted = cells.image[own].astype(np.int64) * n_annotators + cells.annotator[own]
    compared = []
    for odd, large in (
        (np.arange(len(missed)), edges), (np.arange(len(missed), len(own)), others)
    ):  # fmt: skip
        pairs = overlapping_boxes(wanted[odd], small[odd], key, large)
        compared += [np.stack([odd[one], place]) for one, place in pairs]
    odd, box = np.hstack([np.zeros((2, 0), np.int64), *compared])
    apart = np.flatnonzero(of[box] != cells.object[own[odd]])
    odd, box = odd[apart], box[apart]
    is_merge = odd < len(missed)
    # The large box is the annotator's own for a merge, and that of the others for a split.
    large, other = (
        np.where(is_merge[:, None], *each)
        for each in ((edges[box], others[box]), (others[box], edges[box]))
    )
    found, has_other = _accepted(odd, box, is_merge, np.stack([small[odd], large, other]))
    odd, box, is_merge = own[odd[found]], box[found], is_merge[found]
    odd_boxes = np.zeros(len(of), np.bool_)
    odd_boxes[box] = True
    odd_boxes[cells.annotation[odd[~is_merge]]] = True
    return Parts(
        part=cells.object[odd],
        whole=np.where(has_other, matched.objects[box], -1),
        annotator=cells.annotator[odd].astype(np.int64),
        box=box,
        is_merge=is_merge,
        odd_boxes=odd_boxes,
    )


def resolved(root: IndexArray) -> IndexArray:
    """Return the last object of each chain of roots, (O,)."""
    while not np.array_equal(root, root[root]):
        root = root[root]
    return root


def repetitions(
    matched: MatchedUnits, objects: DrawnObjects
) -> tuple[IndexArray, IndexArray, BoolArray, tuple[IndexArray, IndexArray]]:
    """Return what objects repeat and are tied to, (O,), second boxes, (N,), and who drew them."""
    of, unit, rank = objects.of, matched.units.unit, object_ranks(matched)
    tied, shown = np.arange(len(objects.image)), np.full(len(matched.units), -1)
    # Boxes of objects of one annotator that share a unit with others.
    second = (objects.n_drawn[of] == 1) & (np.bincount(unit, minlength=len(shown))[unit] > 1)
    shown[unit[~second]] = of[~second]
    places = np.flatnonzero(second & (shown[unit] >= 0))
    tied[of[places]] = shown[unit[places]]
    left = matched.own.left
    one, other = of[left], of[matched.own.right]
    pair, _, second_box = drawn_with(matched, one, other)
    alone = np.flatnonzero(np.bincount(pair[second_box >= 0], minlength=len(one)) == 1)
    ends = np.stack([one[alone], other[alone]])
    swap = rank[ends[0]] > rank[ends[1]]
    main, again = np.where(swap, ends[::-1], ends)
    order = np.lexsort((rank[main], again))
    found, first = np.unique(again[order], return_index=True)
    root, free = tied.copy(), tied[found] == found
    root[found[free]] = main[order][first][free]
    who = matched.data.annotations.annotator[left[alone]].astype(np.int64)
    return root, tied, second, (again, who)


def join_parts(
    objects: DrawnObjects, drawn: Parts, root: IndexArray, n_annotators: int
) -> tuple[IndexArray, BoolArray, IndexArray, IndexArray, tuple[IndexArray, IndexArray]]:
    """Set in `root` the objects that parts are joined with.

    Return the numbers of object and annotator of merged ones, (M,); which objects are joined with
    another one, (O,); how many annotators merged each, and how many of their boxes are joined with
    it, (O,) each; and split and merged objects with their annotators.
    """
    n, merge = len(objects.image), drawn.is_merge
    is_again = root != np.arange(n)
    # Boxes around several objects that nobody else drew are joined with the object in them that
    # most annotators drew; in a tie, the first.
    part, of = drawn.part, objects.of[drawn.box]
    alone = np.flatnonzero(merge & (drawn.whole < 0) & ((objects.n_drawn == 1) & ~is_again)[of])
    order = alone[np.lexsort((part[alone], -objects.n_drawn[part[alone]], of[alone]))]
    first = order[run_starts(of[order])]
    joint, joint_part = of[first], part[first]
    root[joint] = joint_part
    # Parts are joined to what more annotators drew, so that there are no circles.
    half = 2 * objects.n_drawn >= objects.n_asked
    minor = np.flatnonzero(~merge & ~(half | is_again)[part])
    minor = minor[objects.n_drawn[drawn.whole[minor]] > objects.n_drawn[part[minor]]]
    whole = drawn.whole[minor]
    minor = minor[np.lexsort((whole, -objects.n_drawn[whole], part[minor]))]
    minor = minor[run_starts(part[minor])]
    root[part[minor]] = drawn.whole[minor]
    is_part = np.zeros(n, np.bool_)
    is_part[np.append(joint, part[minor])] = True
    merged = distinct(part[merge] * n_annotators + drawn.annotator[merge])
    most = merge & (drawn.whole >= 0) & (2 * objects.n_drawn > objects.n_asked)[part]
    concerned = (
        np.concatenate([part, drawn.whole[most], joint]),
        np.concatenate([drawn.annotator, drawn.annotator[most], drawn.annotator[first]]),
    )
    n_merged, n_joined = (
        np.bincount(each, minlength=n) for each in (merged // n_annotators, joint_part)
    )
    return merged, is_part, n_merged, n_joined, concerned


def tie_second_boxes(
    matched: MatchedUnits,
    objects: DrawnObjects,
    root: IndexArray,
    second: BoolArray,
    tied: IndexArray,
) -> None:
    """Tie second boxes and parts that share a unit to the object of one of them, in place."""
    alone = np.flatnonzero(second & (tied[objects.of] == objects.of))
    of, unit, home = objects.of[alone], matched.units.unit[alone], resolved(root)
    shown = np.full(len(matched.units), -1)
    known = objects.n_drawn[home[of]] > 1
    np.maximum.at(shown, unit[known], home[of[known]])
    whole = shown[unit]
    belongs = (whole >= 0) & ((home[of] == of) | (home[of] == whole))
    tied[of[belongs]] = whole[belongs]


def with_second_boxes_apart(matched: MatchedUnits) -> MatchedUnits:
    """Return units in which second boxes and parts that match by chance are separate objects.

    If one annotator draws an object twice and another in halves, the second box may match a half.
    Unless more than half drew such boxes for the same reason, each becomes an object of its own,
    which `disagreements` counts with the surrounding one; single boxes that match join that one.
    """
    objects, rank, n = drawn_objects(matched), object_ranks(matched), len(matched.objects)
    ends = _overlapping_objects(matched)
    ends = ends[:, (objects.n_drawn[ends] > 1).all(0)]
    swap = rank[ends[0]] < rank[ends[1]]
    # Of each two objects, the one that fewer drew, and its boxes with those of the large one.
    small, large = distinct_rows(*np.where(swap, ends[::-1], ends))[0]
    pair, box, other = drawn_with(matched, small, large)
    shared = other >= 0
    low, high = np.minimum(box, other), np.maximum(box, other)
    twice = shared & (find(matched.own.left * n + matched.own.right, low * n + high) >= 0)
    # Boxes that are further parts of the large object.
    possible, edges = np.flatnonzero(shared & ~twice), corners(matched.data.annotations.bbox)
    n_left = np.bincount(objects.of)[large] - np.bincount(pair[possible], minlength=len(large))
    whole = _sums(objects.of, edges, len(objects.image))[large]
    whole -= _sums(pair[possible], edges[other[possible]], len(large))
    whole /= np.where(n_left > 0, n_left, np.nan)[:, None]
    around = np.stack([edges[box[possible]], whole[pair[possible]], edges[other[possible]]])
    no_merge = np.zeros(len(possible), np.bool_)
    accepted, _ = _accepted(np.arange(len(possible)), other[possible], no_merge, around)
    part = np.zeros(len(shared), np.bool_)
    part[possible[accepted]] = True
    # How many boxes of each pair are second boxes or parts, match otherwise, and stand alone.
    n_twice, n_parts, n_matching, n_alone = (
        np.bincount(pair[which], minlength=len(small))
        for which in (twice, part, shared & ~twice & ~part, ~shared)
    )
    apart = (n_twice + n_parts > 0) & (n_matching == 0)
    apart &= 2 * np.maximum(n_twice, n_parts) <= objects.n_asked[small]
    # One pair of each small object; no annotator may appear twice in the large object that most
    # annotators drew.
    chosen = np.flatnonzero(apart & ~np.isin(large, small[apart]))
    chosen = chosen[np.lexsort((rank[large[chosen]], small[chosen]))]
    chosen = chosen[np.unique(small[chosen], return_index=True)[1]]
    moves = n_alone[chosen] > 0
    movers = chosen[moves][np.argsort(rank[small[chosen[moves]]])]
    movers = movers[np.unique(large[movers], return_index=True)[1]]
    taken = np.zeros(len(apart), np.bool_)
    taken[np.append(chosen[~moves], movers)] = True
    if not taken.any():
        return matched
    of = objects.of.copy()
    moved, own = (np.flatnonzero(taken[pair] & which) for which in (~shared, shared))
    of[box[moved]] = large[pair[moved]]
    of[box[own]] = len(objects.image) + np.arange(len(own))
    numbers = np.unique(of, return_inverse=True)[1]
    return replace(matched, objects=numbers.astype(np.int64, copy=False))
