"""The story and the diagnosis of a result."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bboxqa.core.types import Progress
from bboxqa.diagnostics import registry
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.diagnosis import OF_KEYPOINTS, REPEATS, Diagnosis, Line, ReadShapes, Story
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.counting import ImagePart
from bboxqa.pipelines.diagnosis.matched_units import check_crowds, matched_units
from bboxqa.pipelines.diagnosis.story import TABLES, named_in_words, story_of
from bboxqa.pipelines.diagnosis.warnings import warnings_of

# The diagnostics that the story uses; only those of the compared shapes are computed.
_OF_STORY = {
    *TABLES,
    "work",
    *registry.OF_EDGES,
    *registry.OF_ROTATED_BOXES,
    *OF_KEYPOINTS,
    *registry.OF_TRACKS,
}


def told_story(images: ImagePart, result: MeasuredAgreement, *, progress: Progress | None) -> Story:
    """Return sentences on what lowers agreement at the first threshold; see `ImageDiagnoser`."""
    matched = _matched(images, result, progress)
    names = [name for name in _names(images.data, result) if name in _OF_STORY]
    tables = _tables(matched, names, progress)
    return Story(**_story_parts(images, result, matched, tables))


def diagnosed(
    images: ImagePart,
    result: MeasuredAgreement,
    n_images: int,
    *,
    read_shapes: ReadShapes | None,
    by_others: bool,
    progress: Progress | None,
) -> Diagnosis:
    """Return the diagnosis, with `n_images` of the worst images at most; see `ImageDiagnoser`."""
    from bboxqa.diagnostics.review import review_queue
    from bboxqa.pipelines.diagnosis.review_document import review_document, worst_images
    from bboxqa.pipelines.diagnosis.sensitivity import (
        SENSITIVITY,
        SUGGESTED,
        in_words,
        sensitivity,
        suggested_thresholds,
    )

    matched = _matched(images, result, progress)
    tables = _tables(matched, _names(images.data, result), progress)
    queue = review_queue(matched)
    of_thresholds = sensitivity(
        images,
        result.settings,
        by_chance={each.iou_threshold: each.existence.chance for each in result.thresholds},
        progress=progress,
    )
    suggested = suggested_thresholds(
        images,
        of_thresholds,
        result.settings,
        read_shapes=read_shapes,
        by_others=by_others,
        progress=progress,
    )
    parts = _story_parts(images, result, matched, tables)
    text = of_thresholds.text + in_words(suggested)
    repeats = result.thresholds[0].repeats
    return Diagnosis(
        **{**parts, "lines": (*parts["lines"], Line(text))},
        tables={
            **tables,
            SENSITIVITY: of_thresholds.table,
            SUGGESTED: suggested,
            **({} if repeats is None else {REPEATS: repeats}),
            "review_images": queue.images,
        },
        review=queue.objects,
        review_document=review_document(images.data, queue),
        worst_images=worst_images(result.thresholds[0], matched, n_images),
    )


def _names(data: Dataset, result: MeasuredAgreement) -> tuple[str, ...]:
    """Return the names of the diagnostics that the data and the compared shapes allow."""
    of = data.annotations
    return registry.names(
        with_times=of.times is not None,
        with_keypoints=of.keypoints is not None and bool(data.joint_sigmas),
        with_tracks=of.track is not None,
        compared=similarity(result.settings.similarity).needs,
    )


def _matched(
    images: ImagePart, result: MeasuredAgreement, progress: Progress | None
) -> MatchedUnits:
    check_crowds(images.data)
    threshold = result.thresholds[0].iou_threshold
    settings = msgspec.structs.replace(result.settings, iou_threshold=(threshold,))
    return matched_units(images, settings, progress=progress)


def _tables(
    matched: MatchedUnits, names: Sequence[str], progress: Progress | None
) -> dict[str, Table]:
    tables = {}
    for done, name in enumerate(names):
        if progress is not None:
            progress("diagnosing", done, len(names))
        tables[name] = registry.diagnostic(name)(matched)
    return tables


def _story_parts(
    images: ImagePart,
    result: MeasuredAgreement,
    matched: MatchedUnits,
    tables: dict[str, Table],
) -> dict[str, Any]:
    part, matched, named = named_in_words(result.thresholds[0], matched, tables)
    told = story_of(part, matched, named)
    names = dict(zip(matched.data.annotator_names, images.data.annotator_names, strict=True))
    return {
        "threshold_label": part.threshold_label,
        "lines": tuple(
            line._replace(annotators=tuple(names[name] for name in line.annotators))
            for line in told.lines
        ),
        "warnings": (
            *result.headlines,
            *images.data.cautions,
            *warnings_of(part, images, matched, named, result.settings, told.repeater),
        ),
    }
