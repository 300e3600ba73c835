"""Agreement of each annotator with a reference."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, pairs_within, rows, run_starts
from bboxqa.core.types import Progress
from bboxqa.diagnostics.against_reference import (
    against_reference,
    reference_confusion_matrix,
    reference_confusions,
    reference_offsets,
    reference_rotations,
)
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.matching.matchers import match, matcher
from bboxqa.matching.objects import loose_objects
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ReferenceAgreement
from bboxqa.model.units import CandidatePairs, ReferenceMatches
from bboxqa.pipelines.diagnosis.matched_units import lower_threshold
from bboxqa.pipelines.image_parts import ImagePart, split_images
from bboxqa.pipelines.reference.joined import Compared
from bboxqa.report.agreement_result import AgreementResult

# Optimal for two annotators: the matching with the largest total similarity.
_MATCHER = "hungarian"
# Annotations compared at a time; those of the reference count once per annotator.
_AT_ONCE = 200_000


class _Pairs(NamedTuple):
    """Pairs of an annotation and an object of the reference at one threshold."""

    matched: CandidatePairs
    placed: IndexArray
    """(P, 2) int64. Well placed or badly placed pairs."""
    beside: CandidatePairs
    is_twice: BoolArray
    """(Q,). Further annotations of objects, and which of them match."""


def with_reference(
    result: AgreementResult, found: Compared, matches: tuple[ReferenceMatches, ...]
) -> AgreementResult:
    """Return a result with the agreement of each annotator with the reference."""
    of_both = found.both.annotations
    is_reference = of_both.annotator == len(found.team.annotator_names)
    drawn = np.bincount(of_both.image[is_reference], minlength=len(found.both.image_names))
    thresholds = tuple(
        replace(
            part,
            reference=ReferenceAgreement(
                name=found.name,
                n_images=len(drawn),
                n_reference_images=found.n_images,
                n_empty_images=int((drawn == 0).sum()),
                n_annotations=int(drawn.sum()),
                annotators=against_reference(matched),
                offsets=_offsets(matched),
                confusions=reference_confusions(matched),
                confusion_matrix=reference_confusion_matrix(matched),
            ),
        )
        for part, matched in zip(result.thresholds, matches, strict=True)
    )
    headlines = (*result.headlines, *found.headlines)
    return replace(
        result,
        thresholds=thresholds,
        headlines=headlines,
        sources=(
            *result.sources,
            *(replace(source, role="reference") for source in found.sources),
        ),
        notes=(*headlines, *result.notes[len(result.headlines) :], *found.notes),
    )


def _offsets(matched: ReferenceMatches) -> Table:
    """Return the offsets of boxes from the reference; an empty table for key points."""
    if matched.compared == "rotated boxes":
        return reference_rotations(matched)
    found = reference_offsets(matched)
    return found.take(np.zeros(0, np.int64)) if matched.compared == "keypoints" else found


def reference_matches(
    both: Dataset, settings: AgreeSettings, *, progress: Progress | None = None
) -> tuple[ReferenceMatches, ...]:
    """Match the annotations of each annotator with those of the last one, at each threshold.

    Each annotator is matched separately, whatever the matcher of the settings, so that the others
    have no effect. Raises DatasetError if annotations lack what the similarity compares.
    """
    n_copies = _copies(both).sum() + len(both.annotations)
    parts = split_images(ImagePart(both, np.zeros(0, np.int32)), int(-(-n_copies // _AT_ONCE)))
    pairs: list[list[_Pairs]] = []
    before = 0
    for part in parts:
        apart, origin = _side_by_side(part.data)
        pairs.append([*_pairs_of(apart, origin + before, settings)])
        before += len(part.data.annotations)
        if progress is not None:
            progress("comparing with the reference", before, len(both.annotations))
    return tuple(
        ReferenceMatches(
            data=both,
            matched=_joined([each.matched for each in found]),
            placed=np.concatenate([each.placed for each in found]),
            beside=_joined([each.beside for each in found]),
            is_twice=np.concatenate([each.is_twice for each in found]),
            compared=similarity(settings.similarity).needs,
            bootstrap=settings.bootstrap,
            seed=settings.seed,
        )
        for found in zip(*pairs, strict=True)
    )


def _copies(both: Dataset) -> IndexArray:
    """Return the number of annotators that each annotation is compared with, (N,)."""
    of, n_annotators = both.annotations, len(both.annotator_names) - 1
    asked = both.assigned[:, :-1].sum(1)
    return np.where(of.annotator == n_annotators, asked[of.image], 0)


def _side_by_side(both: Dataset) -> tuple[Dataset, IndexArray]:
    """Return a data set of two annotators with an image for each pair of image and annotator.

    The second annotator is the reference, whose annotations are repeated. Also return the index of
    the original annotation of each, (M,).
    """
    of, n_annotators = both.annotations, len(both.annotator_names) - 1
    image, annotator = np.nonzero(both.assigned[:, :-1])
    cells = image * n_annotators + annotator
    own, reference = (
        np.flatnonzero(mask) for mask in (of.annotator < n_annotators, of.annotator == n_annotators)
    )
    cell = np.searchsorted(cells, of.image[own].astype(np.int64) * n_annotators + of.annotator[own])
    starts, stops = (
        np.searchsorted(image, of.image[reference], side=side) for side in ("left", "right")
    )
    copies, _ = rows(starts, stops)
    origin = np.concatenate([own, np.repeat(reference, stops - starts)])
    place = np.concatenate([cell, copies])
    side = np.repeat([0, 1], [len(own), len(copies)])
    order = np.lexsort((side, place))
    sides: IntArray = side[order].astype(np.int32)
    apart = replace(
        select_annotations(of, origin[order]), image=place[order].astype(np.int32), annotator=sides
    )
    names = both.image_names
    data = replace(
        both,
        image_names=tuple(names[each] for each in image.tolist()),
        image_size=both.image_size[image],
        annotator_names=("annotator", "reference"),
        annotations=apart,
        assigned=np.ones((len(image), 2), np.bool_),
    )
    return data, origin[order]


def _pairs_of(apart: Dataset, origin: IndexArray, settings: AgreeSettings) -> Iterator[_Pairs]:
    """Yield the pairs of each threshold."""
    of = apart.annotations
    thresholds = settings.iou_threshold
    near, _ = candidate_pairs(
        apart,
        settings.similarity,
        min(map(lower_threshold, thresholds)),
        all_touched=settings.all_touched,
        pair_bytes=matcher(_MATCHER).pair_bytes,
    )
    for threshold in thresholds:
        pairs = near.take(near.similarity >= threshold - TOLERANCE)
        lenient = settings.category_lenient
        units = match(of, pairs, _MATCHER, threshold, category_lenient=lenient)
        matched = pairs.take(units.unit[pairs.left] == units.unit[pairs.right])
        loose = near.take(near.similarity >= lower_threshold(threshold) - TOLERANCE)
        objects = loose_objects(of, units, loose)[units.unit]
        placed = _both_drew(of, objects)
        beside = _beside(loose, placed)
        yield _Pairs(
            _moved(matched, origin),
            origin[placed],
            _moved(beside, origin),
            beside.similarity >= threshold - TOLERANCE,
        )


def _moved(pairs: CandidatePairs, origin: IndexArray) -> CandidatePairs:
    return CandidatePairs(origin[pairs.left], origin[pairs.right], pairs.similarity)


def _beside(loose: CandidatePairs, placed: IndexArray) -> CandidatePairs:
    """Return pairs of an unmatched annotation and the most similar object that has a match."""
    rest = loose.take(np.flatnonzero(~np.isin(loose.left, placed[:, 0])))
    rest = rest.take(np.lexsort((rest.right, -rest.similarity, rest.left)))
    return rest.take(run_starts(rest.left))


def _both_drew(of: Annotations, objects: IndexArray) -> IndexArray:
    """Return the pair of annotations of each object that both drew, (P, 2)."""
    order = np.lexsort((of.annotator, objects))
    left, right = pairs_within(objects[order])
    return np.column_stack([order[left], order[right]])


def _joined(parts: list[CandidatePairs]) -> CandidatePairs:
    columns = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("left", "right", "similarity")
    )
    return CandidatePairs(*columns)
