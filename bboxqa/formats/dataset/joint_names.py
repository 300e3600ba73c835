"""The joints of categories: their names and order, and joints that annotations omit."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, first_few
from bboxqa.formats.records import AnnotationFile, Category, most_joints, whole_number
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.keypoints import Keypoints, limbs_of

_SHOWN = 3
_Names = tuple[str, ...]
_Limbs = tuple[tuple[int, int], ...]


def with_one_order(files: Sequence[AnnotationFile]) -> list[AnnotationFile]:
    """Return files with the key points of each category in the order of the first file.

    Raises DatasetError if each of two files has a name that the other does not have, since these
    may be two names of one joint.
    """
    orders: dict[str, _Names] = {}
    sources: dict[str, str] = {}
    problems = []
    for file in (each for each in files if each.columns.keypoints is not None):
        for category in file.categories:
            name, joints = clean(category.name), _names_of(category)
            known = orders.get(name, ())
            had, has = {*known}, {*joints}
            more = tuple(joint for joint in joints if joint not in had)
            fewer = [joint for joint in known if joint not in has]
            if joints and more and fewer and not file.numbers_categories:
                found = f"{first_few(more, _SHOWN)} in {file.source.name} only"
                problems.append(
                    f"category {name!r} has key points {found}, and {first_few(fewer, _SHOWN)} in "
                    f"{sources[name]} only; expected the same names"
                )
            orders[name] = known + more
            sources.setdefault(name, file.source.name)
    if problems:
        raise DatasetError(problems, "Give the key points the same names in all files.")
    return [_reordered(file, orders) for file in files]


def _reordered(file: AnnotationFile, orders: dict[str, _Names]) -> AnnotationFile:
    keypoints = file.columns.keypoints
    if keypoints is None:
        return file
    categories = []
    for category in file.categories:
        joints, order = _names_of(category), orders.get(clean(category.name), ())
        if joints and order[: len(joints)] != joints:
            rows = np.flatnonzero(file.columns.category_id == whole_number(category.id))
            # The first of two equal names counts.
            places = {joint: number for number, joint in reversed([*enumerate(order)])}
            place = np.array([places[joint] for joint in joints], np.int64)
            held = (keypoints.stop - keypoints.start)[rows]
            keypoints = _placed(keypoints, rows[held <= len(joints)], place, len(order))
            limbs = [[int(place[end]) + 1 for end in ends] for ends in skeleton_of(category)]
            named = Category(category.id, category.name, category.supercategory, [*order], limbs)
            categories.append(named)
        else:
            categories.append(category)
    columns = replace(file.columns, keypoints=keypoints)
    return replace(file, categories=categories, columns=columns)


def with_joints(data: Dataset, files: Sequence[AnnotationFile]) -> Dataset:
    """Return a data set with joint names, in which every annotation has all joints of its category.

    Joints without a name are numbered. Joints that an annotation omits at the end of its list are
    not labelled. Lines come from the first skeleton in the files, or else from COCO's person
    skeleton.
    """
    if data.annotations.keypoints is None:
        return data
    named: dict[str, _Names] = {}
    skeletons: dict[str, _Limbs] = {}
    for category in (each for file in files for each in file.categories):
        name, joints = clean(category.name), _names_of(category)
        skeletons[name] = skeletons.get(name) or skeleton_of(category)
        if len(joints) > len(named.get(name, ())):
            named[name] = joints
    most = np.zeros(len(data.category_names), np.int64)
    for each in (data, *(() if data.repeats is None else (data.repeats.sessions,))):
        points = each.annotations.keypoints
        if points is not None:
            np.maximum.at(most, each.annotations.category, points.stop - points.start)
    joint_names = []
    for name, number in zip(data.category_names, most.tolist(), strict=True):
        joints = named.get(name, ())
        joints += tuple(str(place) for place in range(len(joints) + 1, number + 1))
        # The names of joints that no annotation has are dropped.
        joint_names.append(joints if number else ())
    known = tuple(joint_names)
    limbs = []
    for name, joints in zip(data.category_names, known, strict=True):
        drawn = skeletons.get(name, ())
        are_there = bool(drawn) and max(map(max, drawn)) < len(joints)
        limbs.append(drawn if are_there else limbs_of(joints))
    annotations = _completed(data.annotations, known)
    data = replace(data, annotations=annotations, joint_names=known, limbs=tuple(limbs))
    repeats = data.repeats
    if repeats is None:
        return data
    annotations = _completed(repeats.sessions.annotations, known)
    sessions = replace(
        repeats.sessions, annotations=annotations, joint_names=known, limbs=data.limbs
    )
    return replace(data, repeats=replace(repeats, sessions=sessions))


def _completed(annotations: Annotations, joint_names: tuple[_Names, ...]) -> Annotations:
    """Return annotations with unlabelled joints in place of omitted joints."""
    keypoints = annotations.keypoints
    if keypoints is None:
        return annotations
    expected = np.array([len(names) for names in joint_names], np.int64)[annotations.category]
    held = keypoints.stop - keypoints.start
    short = held < expected
    _check_omitted(int(expected[short].sum()), int(held.sum()), int(short.sum()))
    for number in np.unique(expected[short]).tolist():
        rows = np.flatnonzero(short & (expected == number))
        keypoints = _placed(keypoints, rows, np.arange(number), number)
    return replace(annotations, keypoints=keypoints)


def _check_omitted(n_points: int, n_given: int, n_lists: int) -> None:
    """Refuse to add very many omitted joints, which a few names of a category stand for."""
    most = most_joints(n_given)
    if n_points > most:
        have = f"{count(n_lists, 'list')} of key points with fewer than the category names"
        found = f"{have} would have {n_points:,} points"
        raise DatasetError(
            [f"{found}; expected at most {most:,} where {n_given:,} are given"],
            "Leave out names of key points that no annotation has.",
        )


def _placed(keypoints: Keypoints, rows: IndexArray, place: IndexArray, n_joints: int) -> Keypoints:
    """Return key points with the joints of some rows moved to new places among `n_joints`."""
    taken = keypoints.take(rows).packed()
    xy = np.zeros((len(rows) * n_joints, 2))
    visibility = np.zeros(len(xy), np.uint8)
    number = np.repeat(np.arange(len(rows)), taken.stop - taken.start)
    to = number * n_joints + place[np.arange(len(number)) - taken.start[number]]
    xy[to], visibility[to] = taken.xy, taken.visibility
    start, stop = keypoints.start.copy(), keypoints.stop.copy()
    start[rows] = len(keypoints.xy) + np.arange(len(rows)) * n_joints
    stop[rows] = start[rows] + n_joints
    return replace(
        keypoints,
        xy=np.concatenate([keypoints.xy, xy]),
        visibility=np.concatenate([keypoints.visibility, visibility]),
        start=start,
        stop=stop,
    )


def _names_of(category: Category) -> _Names:
    names = category.keypoints
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(map(clean, names))


def skeleton_of(category: Category) -> _Limbs:
    """Return the pairs of joint indices that a skeleton connects; empty if it is not as in COCO.

    Examples
    --------
    >>> skeleton_of(Category(1, "bird", None, ["head", "tail", "wing"], [[1, 3], [3, 2]]))
    ((0, 2), (2, 1))
    >>> skeleton_of(Category(1, "bird", None, ["head", "tail"], [[0, 1]]))
    ()
    """
    pairs = category.skeleton
    if not isinstance(pairs, list):
        return ()
    most = len(_names_of(category)) or np.inf
    limbs = []
    for pair in pairs:
        ends = [whole_number(end) or 0 for end in pair] if isinstance(pair, list) else []
        if len(ends) != 2 or min(ends) < 1 or max(ends) > most:
            return ()
        limbs.append((ends[0] - 1, ends[1] - 1))
    return tuple(limbs)
