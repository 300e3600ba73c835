"""Matching of annotations of two versions by similarity."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs

# Annotations that are at least so similar are nearly equal.
_NEARLY = 0.9

Pairs = tuple[IndexArray, IndexArray]


def similar_pairs(
    both: Dataset,
    rows: IndexArray,
    settings: AgreeSettings,
    progress: Progress | None,
    *,
    unlabelled: bool = False,
) -> Pairs:
    """Return the pairs that the matcher forms of some of the annotations.

    Pairs that are nearly equal come before others: the most similar pairs in total may contain two
    that are little similar in place of one that hardly changed.

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
        progress=None if progress is None else lambda *done: progress("matching", *done),
    )
    keypoints = part.annotations.keypoints
    if unlabelled and keypoints is not None:
        _, n_labelled = keypoints.packed().labelled()
        pairs = pairs.take((n_labelled[pairs.left] == 0) | (n_labelled[pairs.right] == 0))
    near = _matched(part.annotations, pairs.take(pairs.similarity >= _NEARLY), settings)
    taken = np.zeros(len(rows), np.bool_)
    taken[np.concatenate(near)] = True
    rest = pairs.take(~(taken[pairs.left] | taken[pairs.right]))
    left, right = map(
        np.concatenate, zip(near, _matched(part.annotations, rest, settings), strict=True)
    )
    return rows[left], rows[right]


def _matched(annotations: Annotations, pairs: CandidatePairs, settings: AgreeSettings) -> Pairs:
    """Return the pairs that the matcher chooses among candidates."""
    units = match(
        annotations,
        pairs,
        settings.matcher,
        min(settings.iou_threshold),
        category_lenient=settings.category_lenient,
    )
    order = np.argsort(units.unit, kind="stable")
    first = np.flatnonzero(np.diff(units.unit[order]) == 0)
    return order[first], order[first + 1]
