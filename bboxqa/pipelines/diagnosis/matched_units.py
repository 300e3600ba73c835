"""Annotations joined to units and objects: the input of all diagnostics."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, IntArray, run_starts
from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Progress
from bboxqa.diagnostics.parts import with_second_boxes_apart
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.matching.matchers import match, matcher
from bboxqa.matching.objects import loose_objects, without_repetitions
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, MatchedUnits
from bboxqa.pipelines.counting import reliability_of
from bboxqa.pipelines.diagnosis.crowds import check_rematching
from bboxqa.pipelines.diagnosis.displaced import with_displaced_joined
from bboxqa.pipelines.diagnosis.two_labels import with_labels_matched
from bboxqa.pipelines.image_parts import ImagePart

# Two boxes with a lower IoU show different objects.
_LOOSE = 0.1


def lower_threshold(threshold: float) -> float:
    """Return the lowest similarity of two annotations of one object, if one is badly placed.

    Examples
    --------
    >>> lower_threshold(0.5), lower_threshold(0.1)
    (0.1, 0.05)
    """
    return min(_LOOSE, threshold / 2, threshold)


def matched_units(
    part: ImagePart, settings: AgreeSettings, *, progress: Progress | None = None
) -> MatchedUnits:
    """Compare annotations down to the lower threshold, and join them to units and objects.

    Raises ConfigError if there are several thresholds, and DatasetError if the annotations do not
    have what the similarity compares, or images have too many annotators.
    """
    if len(settings.iou_threshold) != 1:
        raise ConfigError(f"iou_threshold has {len(settings.iou_threshold)} numbers; expected one")
    threshold = settings.iou_threshold[0]
    annotations = part.data.annotations
    near, own = _compared(part.data, settings, progress)
    pairs = near.take(near.similarity >= threshold - TOLERANCE)
    lenient = settings.category_lenient
    units = match(annotations, pairs, settings.matcher, threshold, category_lenient=lenient)
    twice = own.take(own.similarity >= threshold - TOLERANCE)
    units = with_labels_matched(annotations, units, pairs, twice, settings)
    home = loose_objects(annotations, units, near)[units.unit]
    found = MatchedUnits(
        data=part.data,
        units=units,
        reliability=reliability_of(part, units, settings),
        pairs=pairs.take(units.unit[pairs.left] == units.unit[pairs.right]),
        objects=without_repetitions(annotations, home, near, twice),
        near=near,
        own=twice,
        n_neighbours=np.bincount(np.append(own.left, own.right), minlength=len(annotations)),
        is_model=_are_models(part.data),
        compared=similarity(settings.similarity).needs,
        matcher=settings.matcher,
        threshold=threshold,
        category_lenient=lenient,
        missing=settings.missing,
        bootstrap=settings.bootstrap,
        seed=settings.seed,
    )
    check_rematching(found)
    least = lower_threshold(threshold)
    return with_displaced_joined(with_second_boxes_apart(found), least)


def _are_models(data: Dataset) -> BoolArray:
    """Return (A,) bool: annotators that are the results of a model."""
    models = [source.annotator for source in data.sources if source.role == "predictions"]
    return np.array([name in models for name in data.annotator_names], np.bool_)


def _compared(
    data: Dataset, settings: AgreeSettings, progress: Progress | None
) -> tuple[CandidatePairs, CandidatePairs]:
    """Return the pairs between annotators and within annotators, from the lower threshold on."""
    annotator = data.annotations.annotator
    # Each annotation of an image becomes an annotator of its own, so that all pairs are compared.
    everyone = replace(data.annotations, annotator=_places(data.annotations))
    pairs, _ = candidate_pairs(
        replace(data, annotations=everyone),
        settings.similarity,
        lower_threshold(settings.iou_threshold[0]),
        all_touched=settings.all_touched,
        pair_bytes=matcher(settings.matcher).pair_bytes,
        progress=None if progress is None else lambda *done: progress("comparing", *done),
    )
    same = annotator[pairs.left] == annotator[pairs.right]
    return pairs.take(~same), pairs.take(same)


def _places(annotations: Annotations) -> IntArray:
    """Return the rank of each annotation in its image, (N,) int32."""
    starts = run_starts(annotations.image)
    place = np.arange(len(annotations))
    place -= np.repeat(starts, np.diff(starts, append=len(place)))
    return place.astype(np.int32)
