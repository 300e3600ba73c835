"""Matching of annotations of two versions by similarity."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.match import match
from bboxqa.model.annotations import Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings

Pairs = tuple[IndexArray, IndexArray]


def similar_pairs(
    both: Dataset,
    rows: IndexArray,
    settings: AgreeSettings,
    memory: int | None,
    progress: Progress | None,
    *,
    unlabelled: bool = False,
) -> Pairs:
    """Return the pairs that the matcher forms of some of the annotations.

    With `unlabelled`, pairs of which at least one has no labelled key points are matched by boxes.
    """
    if not len(rows):
        return rows, rows
    part = replace(both, annotations=select_annotations(both.annotations, rows))
    threshold = min(settings.iou_threshold)
    pairs, _ = candidate_pairs(
        part,
        "bbox" if unlabelled else settings.similarity,
        threshold,
        all_touched=settings.all_touched,
        memory=memory,
        progress=None if progress is None else lambda *done: progress("matching", *done),
    )
    keypoints = part.annotations.keypoints
    if unlabelled and keypoints is not None:
        _, n_labelled = keypoints.packed().labelled()
        pairs = pairs.take((n_labelled[pairs.left] == 0) | (n_labelled[pairs.right] == 0))
    lenient = settings.category_lenient
    units = match(part.annotations, pairs, settings.matcher, threshold, category_lenient=lenient)
    order = np.argsort(units.unit, kind="stable")
    first = np.flatnonzero(np.diff(units.unit[order]) == 0)
    return rows[order[first]], rows[order[first + 1]]
