"""Images in parts: each part is matched for itself, wherever, and the parts join to the whole."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from bboxqa.config import AgreeSettings
from bboxqa.geometry.similarity import TOLERANCE, candidate_pairs
from bboxqa.matching import match
from bboxqa.model import Dataset, UnitTable

__all__ = ["Matched", "join_matched", "match_images", "split_images"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Which annotations show one object, at each threshold.

    Attributes
    ----------
    units : tuple of UnitTable
        One per threshold.
    greedy : tuple of UnitTable
        The same by the greedy matcher, where it was asked for.
    n_images : int
        Of the part, or of the whole.
    counts : Counter
        What was noticed about the annotations, as `candidate_pairs` tells it.
    """

    units: tuple[UnitTable, ...]
    greedy: tuple[UnitTable, ...]
    n_images: int
    counts: Counter[str] = field(default_factory=Counter)


def split_images(data: Dataset, n_parts: int) -> list[Dataset]:
    """Return the data set in parts of whole images, with about as many annotations in each.

    Parameters
    ----------
    data : Dataset
    n_parts : int
        How many there may be. A part can be without annotations.

    Returns
    -------
    list of Dataset
        In the order of the images; each with its own images and outlines only.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> from bboxqa.io.coco import read_coco
    >>> [len(part.annotations) for part in split_images(read_coco(example_file("fruits")), 4)]
    [9]
    """
    image = data.annotations.image
    n_images = len(data.image_names)
    ends = np.linspace(0, len(image), max(n_parts, 1) + 1).astype(np.int64)[1:-1]
    cuts = np.unique(image[ends]) if len(image) else np.zeros(0, np.int64)
    bounds = [0, *(int(cut) for cut in cuts if cut > 0), n_images]
    parts = []
    for low, high in pairwise(bounds):
        start, stop = np.searchsorted(image, [low, high])
        taken = data.annotations.take(np.arange(start, stop))
        outlines = taken.segmentation
        own = replace(
            taken,
            image=taken.image - np.int32(low),
            segmentation=None if outlines is None else outlines.packed(),
        )
        parts.append(
            replace(
                data,
                image_names=data.image_names[low:high],
                image_size=data.image_size[low:high],
                annotations=own,
                assigned=data.assigned[low:high],
            )
        )
    return parts


def match_images(
    data: Dataset, settings: AgreeSettings, *, greedy: bool, progress: Progress | None = None
) -> Matched:
    """Compare and match the annotations of all images.

    Parameters
    ----------
    data : Dataset
        The whole, or a part.
    settings : AgreeSettings
    greedy : bool
        Match by the greedy matcher as well.
    progress : callable, optional
        Is told a stage, and how much of how much of it is done.

    Returns
    -------
    Matched
    """
    pairs, counts = candidate_pairs(
        data,
        settings.similarity,
        min(settings.iou_threshold),
        all_touched=settings.all_touched,
        progress=None if progress is None else lambda *done: progress("comparing", *done),
    )
    found: dict[str, list[UnitTable]] = {settings.matcher: []}
    if greedy:
        found["greedy"] = []
    for index, threshold in enumerate(settings.iou_threshold):
        admissible = pairs.take(np.flatnonzero(pairs.iou >= threshold - TOLERANCE))
        for matcher, tables in found.items():
            lenient = settings.category_lenient
            tables.append(
                match(data.annotations, admissible, matcher, threshold, category_lenient=lenient)
            )
        if progress is not None:
            progress("matching", index + 1, len(settings.iou_threshold))
    return Matched(
        units=tuple(found[settings.matcher]),
        greedy=tuple(found["greedy"]) if greedy else (),
        n_images=len(data.image_names),
        counts=counts,
    )


def join_matched(parts: Sequence[Matched]) -> Matched:
    """Return the whole of parts; joining is associative, so that any tree gives the same.

    Parameters
    ----------
    parts : sequence of Matched
        In the order of their images, one at least.

    Returns
    -------
    Matched
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts += part.counts
    before = np.cumsum([0, *(part.n_images for part in parts)])[:-1]
    return Matched(
        units=_joined([part.units for part in parts], before.tolist()),
        greedy=_joined([part.greedy for part in parts], before.tolist()),
        n_images=sum(part.n_images for part in parts),
        counts=counts,
    )


def _joined(parts: Sequence[tuple[UnitTable, ...]], before: list[int]) -> tuple[UnitTable, ...]:
    joined = []
    for tables in zip(*parts, strict=True):
        offsets = np.cumsum([0, *(len(table) for table in tables)])[:-1].tolist()
        joined.append(
            UnitTable(
                np.concatenate(
                    [table.unit + offset for table, offset in zip(tables, offsets, strict=True)]
                ),
                np.concatenate(
                    [
                        table.image + np.int32(images)
                        for table, images in zip(tables, before, strict=True)
                    ]
                ),
            )
        )
    return tuple(joined)
