"""Sentences about joints: who exchanges left and right, leaves joints out, or moves them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.text import joined
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.about_places import Explained
from bboxqa.pipelines.diagnosis.sentences.sentence import LEAST_SHARE, Sentence, most_named
from bboxqa.pipelines.diagnosis.sentences.significance import (
    KINDS_OF_ERRORS,
    LEAST_IMAGES,
    Bounds,
    above_others,
    bounds,
    median_of_others,
)

_LEAST_OFFSET = 0.5
_MOST_JOINTS = 3
_AXES = (("offset_x_px", ("left", "right")), ("offset_y_px", ("up", "down")))


def joint_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield significant errors of joints, with their annotators; nothing without key points."""
    if "joints" not in tables:
        return
    joints, people = tables["joints"], tables["joint_annotators"]
    n_people = len(people) // max(len(joints), 1)
    labels = _labels(joints)
    if n_people == 2:
        yield from _swapped(joints, labels)
    else:
        yield from _erring(people, labels, "swapped_share", _swap_words)
    yield from _erring(people, labels, "missing_share", _missing_words)
    yield from _moved(people, labels, n_people)


def _labels(joints: Table) -> list[str]:
    """Return the names of joints in sentences, with the category if there are several."""
    several = len(np.unique(joints["category"].astype(str))) > 1
    rows = zip(joints["joint"].astype(str), joints["category"].astype(str), strict=True)
    return [f"{joint} of {category}" if several else joint for joint, category in rows]


def _listed(rows: Sequence[int], labels: Sequence[str], n_known: int) -> str:
    """Return joints in words; `n_known` is the number of joints that were judged."""
    if len(rows) == n_known > _MOST_JOINTS:
        return f"all {n_known} joints that can be judged"
    names = [labels[row] for row in rows[:_MOST_JOINTS]]
    more = len(rows) - len(names)
    return joined([*names, f"{more} more"] if more else names)


def _swapped(joints: Table, labels: Sequence[str]) -> Iterator[Sentence]:
    """Yield joints whose left and right one of two annotators exchanges; it is unknown who."""
    found = bounds(joints, "swapped_share")
    rows = np.flatnonzero(found.low >= LEAST_SHARE)
    rows = rows[np.argsort(-found.value[rows], kind="stable")]
    if len(rows):
        first, n_known = int(rows[0]), int((~np.isnan(found.value)).sum())
        text = (
            f"left and right are exchanged by one of the two annotators in up to "
            f"{found.percent(first)} of the objects: {_listed(rows.tolist(), labels, n_known)}"
        )
        yield Sentence(float(found.value[first]), text)


def _swap_words(name: str, figure: str, listed: str, other: str) -> str:
    return f"{name} exchanges left and right in up to {figure} of the objects{other}: {listed}"


def _missing_words(name: str, figure: str, listed: str, other: str) -> str:
    return (
        f"{name} leaves out joints that others label, in up to {figure} of the objects{other}: "
        f"{listed}"
    )


def _erring(
    people: Table, labels: Sequence[str], column: str, words: Callable[[str, str, str, str], str]
) -> Iterator[Sentence]:
    """Yield who exchanges, or leaves out, significantly more joints than the others."""
    found = bounds(people, column)
    names = people["annotator"].astype(str)
    n_joints = len(labels)
    by_name: dict[int, list[int]] = {}
    for joint in range(n_joints):
        rows = np.arange(joint, len(people), n_joints)
        part = Bounds(*(each[rows] for each in found))
        # A joint counts as exchanged only if its likelihood ratio is above 100, so that rates above
        # 1 % are not due to chance.
        above = np.flatnonzero(part.low > median_of_others(part.value[:, None])[:, 0])
        if column != "swapped_share":
            n_kinds = KINDS_OF_ERRORS * n_joints
            above = above_others(part, people["n_images"][rows], None, n_kinds)
        for place in above.tolist():
            if part.low[place] >= LEAST_SHARE:
                by_name.setdefault(place, []).append(int(rows[place]))
    largest = {place: max(found.value[rows]) for place, rows in by_name.items()}
    order = sorted(by_name, key=lambda place: -largest[place])
    for place, more, see in most_named(order, "joint_annotators"):
        worst = sorted(by_name[place], key=lambda row: -found.value[row])
        first = worst[0]
        same = np.arange(first % n_joints, len(people), n_joints)
        rest = found.value[same[same != first]]
        who = "the other one" if len(rest) == 1 else "the others"
        other = f" ({who}: {100 * float(np.nanmedian(rest)):.1f} %)"
        n_known = int((~np.isnan(found.value[:n_joints])).sum())
        listed = _listed([row % n_joints for row in worst], labels, n_known)
        text = words(names[first], found.percent(first), listed, other) + more
        yield Sentence(float(found.value[first]), text, annotators=(names[first],), see=see)


def _moved(people: Table, labels: Sequence[str], n_people: int) -> Iterator[Sentence]:
    """Yield who places joints significantly apart from the others."""
    n_joints = len(labels)
    sizes = people["offset_percent"]
    is_moved = people["systematic"] & (people["n_images"] >= LEAST_IMAGES)
    is_moved &= sizes >= 100 * LEAST_SHARE
    is_moved &= np.max([_lower_bound(people, axis) for axis, _ in _AXES], axis=0) >= _LEAST_OFFSET
    names = people["annotator"].astype(str)
    rows = np.flatnonzero(is_moved)
    # The offset of one of two annotators is that of the other in the opposite direction.
    by_name = {
        place: rows[rows // n_joints == place]
        for place in ([0] if n_people == 2 else range(n_people))
    }
    worst = {place: _worst(sizes, each) for place, each in by_name.items() if len(each)}
    order = sorted(worst, key=lambda place: -sizes[worst[place]])
    for place, more, see in most_named(order, "joint_annotators"):
        row = worst[place]
        others = names[(1 - place) * n_joints] if n_people == 2 else "the others"
        words = joined([*_directions(people, row)])
        text = f"{names[row]} places {labels[row % n_joints]} {words} than {others}"
        n_more = len(by_name[place]) - 1
        if n_more:
            text += f", and {n_more} more joint{'s' * (n_more > 1)} elsewhere"
        weight = float(sizes[row]) / 100
        yield Sentence(weight, text + more, annotators=(names[row],), see=see)


def _worst(sizes: FloatArray, rows: IndexArray) -> int:
    return int(rows[np.argmax(sizes[rows])])


def _lower_bound(people: Table, column: str) -> FloatArray:
    """Return the lower bound of the size of an offset; 0 where its interval contains 0."""
    found = bounds(people, column)
    bound: FloatArray = np.nan_to_num(np.maximum(np.maximum(found.low, -found.high), 0))
    return bound


def _directions(people: Table, row: int) -> Iterator[str]:
    for column, words in _AXES:
        found = bounds(people, column)
        if _lower_bound(people, column)[row] > 0:
            low, high = sorted((abs(found.low[row]), abs(found.high[row])))
            size = f"{abs(found.value[row]):.1f} px [{low:.1f}, {high:.1f}]"
            yield f"{size} further {words[int(found.value[row] > 0)]}"


def joints_explain(tables: Mapping[str, Table], sigmas: Sequence[Sequence[float]]) -> Explained:
    """Return how much joints that are systematically moved or left out lower the similarity."""
    people = tables["joint_annotators"]
    k = 2 * np.concatenate([np.asarray(each, np.float64) for each in sigmas])
    shape = -1, len(k)
    moved = np.where(people["systematic"], people["offset_percent"], 0).reshape(shape) / 100
    of_joints = 1 - np.exp(-(moved**2) / (2 * k**2))
    of_joints += np.nan_to_num(people["missing_share"].reshape(shape))
    n = people["n"].reshape(shape)
    lost = (np.nan_to_num(of_joints) * n).sum(1) / np.maximum(n.sum(1), 1)
    nothing = "no joint is significantly moved in one direction by as much"
    return Explained(lost, "key points", "similarity (OKS) to matched ones", nothing)
