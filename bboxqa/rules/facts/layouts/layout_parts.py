"""Finding the annotators or images that a layout affects, if not all boxes have it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray
from bboxqa.core.json_values import shortened
from bboxqa.core.text import count
from bboxqa.rules.facts.boxes import Boxes
from bboxqa.rules.facts.layouts.layout_evidence import FEW, Evidence

ENOUGH_IMAGES = 3
"""The least number of images that show a layout of part of them, unless boxes fit exactly."""

# The largest share of the supporting boxes that may be elsewhere.
_MANY = 0.2
# A layout is accepted if the boxes have at most this probability by chance, and if at least this
# share of them supports it.
_CHANCE = 0.01
_SUPPORT = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Boxes by annotator, or by image.

    Attributes
    ----------
    of : (N,) integers
        The group of each box; -1 for none.
    n : int
        The number of groups.
    names : tuple of str or None
        The names of the annotators; None for images.
    """

    of: IndexArray | IntArray
    n: int
    names: tuple[str, ...] | None = None

    def number(self, rows: BoolArray) -> IndexArray:
        """Return the number of these boxes in each group, (n,) int64."""
        return np.bincount(self.of[rows & (self.of >= 0)], minlength=self.n)

    def rows(self, groups: BoolArray) -> BoolArray:
        """Return the boxes of some groups, (N,) bool."""
        result: BoolArray = np.append(groups, False)[self.of]
        return result

    def where(self, groups: BoolArray) -> str:
        """Return a phrase for some groups."""
        n_groups = int(groups.sum())
        if self.names is None:
            return f"in {n_groups:,} of {count(self.n, 'image')}"
        if n_groups == 1:
            return f"by annotator {shortened(self.names[int(groups.argmax())])}"
        return f"by {n_groups:,} of {count(len(np.unique(self.of[self.of >= 0])), 'annotator')}"


def groupings(boxes: Boxes) -> Iterator[Grouping]:
    """Yield the grouping by annotator, if there are several, and the grouping by image."""
    if len(boxes.names) > 1:
        yield Grouping(boxes.author, len(boxes.names), boxes.names)
    yield Grouping(boxes.image, boxes.n_images)


def parts_of(boxes: Boxes, evidence: Evidence) -> Iterator[tuple[Grouping, BoolArray]]:
    """Yield the annotators and the images whose boxes have the layout of the evidence."""
    if evidence.is_enough:
        return
    if evidence.images is not None:
        yield Grouping(boxes.image, boxes.n_images), evidence.images
        return
    for grouping in groupings(boxes):
        part = None
        if evidence.may_be_part:
            part = _part(grouping, evidence)
        elif evidence.may_be_of_authors and grouping.names is not None:
            part = _authors(boxes, evidence)
        if part is not None:
            yield grouping, part


def _part(grouping: Grouping, evidence: Evidence) -> BoolArray | None:
    """Return the groups whose boxes support the layout, (n,) bool; None if there are few.

    In such a group, most boxes support the layout, and for images, none contradicts it, or few do
    where people draw boxes beyond the edge. One or two images are enough if all their boxes fit
    exactly, or if many leave the image as they are. If images are the evidence, images between
    them in the file are included unless they contradict the layout.
    """
    speaks, against = grouping.number(evidence.speaks), grouping.number(evidence.against)
    known = grouping.number(evidence.known)
    if grouping.names is None:
        few = FEW if evidence.fills_gaps else 0
        groups: BoolArray = (speaks > 0) & (against <= few * speaks)
        if groups.sum() < ENOUGH_IMAGES:
            groups &= _is_alone(evidence, speaks, against, known)
            if not groups.any():
                return None
    else:
        groups = (2 * speaks > known) & (against <= FEW * speaks)
        if (groups | (known == 0)).all():
            return None
    n_speaks = int(speaks[groups].sum())
    if n_speaks < evidence.least or 2 * n_speaks <= int(known[groups].sum()):
        return None
    if n_speaks < (1 - _MANY) * speaks.sum() or evidence.n_unexplained > _MANY * n_speaks:
        return None
    if evidence.fills_gaps and grouping.names is None:
        first, last = np.flatnonzero(groups)[[0, -1]]
        between = slice(first, last + 1)
        if groups[between].mean() > 1 - _MANY and not against[between].any():
            groups[between] = True
    return groups


def _is_alone(
    evidence: Evidence, speaks: IndexArray, against: IndexArray, known: IndexArray
) -> BoolArray:
    """Return the images that show the layout without others, (n,) bool."""
    is_clear = (against == 0) & (2 * speaks > known) if evidence.fills_gaps else speaks == known
    result: BoolArray = (speaks >= evidence.least) & is_clear
    return result


def _authors(boxes: Boxes, evidence: Evidence) -> BoolArray | None:
    """Return annotators whose boxes support a layout that others' boxes contradict, (K,) bool.

    If a layout brings nearly all boxes inside, support alone proves little. But as annotators drew
    the same images, it must not be by chance that the layout is never wrong for some of them.
    """
    pairs = np.unique(np.stack([boxes.image, boxes.author]), axis=1)
    pairs = pairs[:, (pairs >= 0).all(axis=0)]
    shared = np.append(np.bincount(pairs[0], minlength=boxes.n_images) > 1, False)[boxes.image]
    grouping = Grouping(boxes.author, len(boxes.names), boxes.names)
    speaks, against, known = (
        grouping.number(rows & shared)
        for rows in (evidence.speaks, evidence.against, evidence.known)
    )
    support = speaks >= np.maximum(evidence.least, _SUPPORT * known)
    groups: BoolArray = (known > 0) & (against == 0) & support
    rest = known[~groups].sum()
    share = (against[~groups].sum() + 1) / (rest + 2)
    groups &= (1 - share) ** known <= _CHANCE
    return groups if rest and groups.any() else None


def improbable_run(holds: BoolArray, drawn: BoolArray) -> BoolArray:
    """Return the longest run of images in which `holds` is True, (n,) bool; none if by chance.

    Images without annotations are part of a run.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds | ~drawn, [False]])))
    before = np.concatenate([[0], np.cumsum(drawn)])
    lengths = before[edges[1::2]] - before[edges[::2]]
    run = np.zeros(len(holds), np.bool_)
    if len(lengths):
        longest = int(lengths.argmax())
        run[edges[2 * longest] : edges[2 * longest + 1]] = True
    rest = drawn & ~run
    share = ((holds & rest).sum() + 1) / (rest.sum() + 2)
    by_chance = drawn.sum() * share ** (run & drawn).sum() > _CHANCE
    return np.zeros(len(holds), np.bool_) if by_chance else run & drawn
