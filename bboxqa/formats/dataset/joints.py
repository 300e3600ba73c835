"""The joints of categories: their names, and those that annotations leave out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import clean
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import Category
from bboxqa.model.annotations import Annotations, Dataset

_SHOWN = 3


def other_joints(files: Sequence[AnnotationFile]) -> Iterator[str]:
    """Yield a problem for each category whose joints have other names or another order in files."""
    known: dict[str, tuple[str, tuple[str, ...]]] = {}
    for file in (each for each in files if each.columns.keypoints is not None):
        for category in file.categories:
            names = _names_of(category)
            source, before = known.setdefault(clean(category.name), (file.source.name, names))
            if names and not before:
                known[clean(category.name)] = file.source.name, names
            elif names and names != before:
                yield (
                    f"category {clean(category.name)!r}: its key points are {_shown(names)} in "
                    f"{file.source.name}, but {_shown(before)} in {source}; expected the same "
                    "names in the same order"
                )


def with_joints(data: Dataset, files: Sequence[AnnotationFile]) -> Dataset:
    """Return a data set with the names of joints, and each annotation with all of its category.

    Joints that files do not name are numbered. Those that an annotation leaves out at the end of
    its list are not labelled.
    """
    if data.annotations.keypoints is None:
        return data
    named = {
        clean(category.name): names
        for file in files
        for category in file.categories
        if (names := _names_of(category))
    }
    most = np.zeros(len(data.category_names), np.int64)
    for each in (data, *(() if data.repeats is None else (data.repeats.sessions,))):
        joints = each.annotations.keypoints
        if joints is not None:
            np.maximum.at(most, each.annotations.category, joints.stop - joints.start)
    joint_names = []
    for category, number in zip(data.category_names, most.tolist(), strict=True):
        names = named.get(category, ())
        # Names of joints that nobody has are not of interest.
        names += tuple(str(place) for place in range(len(names) + 1, number + 1))
        joint_names.append(names if number else ())
    n_joints = np.array([len(names) for names in joint_names], np.int64)
    known = tuple(joint_names)
    repeats = data.repeats
    if repeats is not None:
        sessions = repeats.sessions
        sessions = replace(
            sessions,
            annotations=_completed(sessions.annotations, n_joints),
            joint_names=known,
        )
        repeats = replace(repeats, sessions=sessions)
    annotations = _completed(data.annotations, n_joints)
    return replace(data, annotations=annotations, joint_names=known, repeats=repeats)


def _completed(annotations: Annotations, n_joints: IndexArray) -> Annotations:
    """Return annotations with unlabelled joints in place of those that they leave out."""
    keypoints = annotations.keypoints
    if keypoints is None:
        return annotations
    held = keypoints.stop - keypoints.start
    expected = n_joints[annotations.category]
    short = np.flatnonzero(held < expected)
    if not len(short):
        return annotations
    of_short = keypoints.take(short).packed()
    stop = np.cumsum(expected[short])
    start = stop - expected[short]
    xy = np.zeros((int(stop[-1]), 2))
    visibility = np.zeros(len(xy), np.uint8)
    number = np.repeat(np.arange(len(short)), held[short])
    place = start[number] + np.arange(len(number)) - of_short.start[number]
    xy[place], visibility[place] = of_short.xy, of_short.visibility
    starts, stops = keypoints.start.copy(), keypoints.stop.copy()
    starts[short], stops[short] = start + len(keypoints.xy), stop + len(keypoints.xy)
    return replace(
        annotations,
        keypoints=replace(
            keypoints,
            xy=np.concatenate([keypoints.xy, xy]),
            visibility=np.concatenate([keypoints.visibility, visibility]),
            start=starts,
            stop=stops,
        ),
    )


def _names_of(category: Category) -> tuple[str, ...]:
    names = category.keypoints
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(map(clean, names))


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_SHOWN]) + " …" * (len(names) > _SHOWN)
