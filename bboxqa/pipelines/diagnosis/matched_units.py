"""Annotations joined to units and objects: the input of all diagnostics."""

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, Progress, run_starts
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics.offsets import confirmed_medians, edge_differences
from bboxqa.diagnostics.parts import drawn_objects, parts, with_second_boxes_apart
from bboxqa.diagnostics.rates import check_rematching
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.geometry.registry import similarity
from bboxqa.matching.linkage import loose_objects
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable
from bboxqa.pipelines.counting import ImagePart, reliability_of, similar_pairs, units_of

# With fewer objects, a displacement may come from single boxes.
_FEWEST = 10
# Boxes with a higher IoU show one object.
_SAME_BOX = 0.5


def with_displaced_joined(matched: MatchedUnits, least: float) -> MatchedUnits:
    """Return units in which displaced boxes belong to the objects that they show.

    A box that is 5 px too far to the right does not overlap an object of 4 px at all. Without the
    displacement of its annotator, estimated from larger objects, it is joined to an object with an
    IoU of at least `least`, unless all annotators drew this.
    """
    if matched.compared in ("rotated boxes", "keypoints"):
        matched = _with_misread_joined(matched)
    of = matched.data.annotations
    if np.bincount(of.annotator, minlength=1).max() < _FEWEST:
        return matched
    found = edge_differences(matched)
    offset, _ = confirmed_medians(found, found.differences)
    near, far = offset[:, :2], offset[:, 2:]
    least_of = np.where(np.abs(near) < np.abs(far), near, far)
    n_others = np.bincount(found.annotator, minlength=len(offset))
    shift = np.where(near * far > 0, least_of, 0) / np.where(n_others == 1, 2, 1)[:, None]
    shift = np.where(found.n_shared[:, None] >= _FEWEST, shift, 0)
    # Larger boxes overlap their objects even if both annotators are displaced.
    small = (of.bbox[:, 2:] <= 4 * np.abs(shift).max(0)).any(1)
    open_boxes = np.flatnonzero(small & _may_show_another(matched))
    bbox = of.bbox[open_boxes]
    bbox[:, :2] -= shift[of.annotator[open_boxes]]
    return _with_pairs_joined(matched, open_boxes, _pairs(matched, open_boxes, bbox, least))


def _with_misread_joined(matched: MatchedUnits) -> MatchedUnits:
    """Return units in which people in the same box, and boxes about the same centre, are joined."""
    boxes = matched.data.annotations.rotated_box if matched.compared == "rotated boxes" else None
    rows = np.flatnonzero(_may_show_another(matched))
    bbox = matched.data.annotations.bbox[rows]
    if boxes is not None:
        # Squares around boxes with a common centre are the same for any angle.
        sides = np.repeat(boxes[rows, 2:4].max(1, initial=0)[:, None], 2, axis=1)
        bbox = np.hstack([boxes[rows, :2] - sides / 2, sides])
    return _with_pairs_joined(matched, rows, _pairs(matched, rows, bbox, _SAME_BOX))


def _pairs(
    matched: MatchedUnits, rows: IndexArray, bbox: FloatArray, least: float
) -> CandidatePairs:
    """Return the pairs of annotations with other boxes; their indices are those of `rows`."""
    annotations = replace(matched.data.annotations.take(rows), bbox=bbox)
    return candidate_pairs(replace(matched.data, annotations=annotations), "bbox", least)[0]


def _with_pairs_joined(
    matched: MatchedUnits, rows: IndexArray, pairs: CandidatePairs
) -> MatchedUnits:
    """Return units in which the two annotations of each pair of `rows` belong to one object."""
    if not len(pairs):
        return matched
    pairs = CandidatePairs(rows[pairs.left], rows[pairs.right], pairs.similarity)
    objects = drawn_objects(matched)
    as_units = UnitTable(objects.of, objects.image.astype(np.int32))
    joined = loose_objects(matched.data.annotations, as_units, pairs)
    return replace(matched, objects=joined[objects.of])


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return (N,) bool: annotations of objects that some left out, without second boxes, parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some


# Two boxes with a lower IoU show different objects.
_LOOSE = 0.1


def lower_threshold(threshold: float) -> float:
    """Return the lowest similarity of two annotations of one object, if one is badly placed."""
    return min(_LOOSE, threshold / 2, threshold)


def matched_units(
    part: ImagePart, settings: AgreeSettings, *, progress: Progress | None = None
) -> MatchedUnits:
    """Compare annotations down to the lower threshold, and join them to units and objects."""
    if len(settings.iou_threshold) != 1:
        raise ConfigError(f"iou_threshold has {len(settings.iou_threshold)} numbers; expected one")
    threshold = settings.iou_threshold[0]
    annotations = part.data.annotations
    # Each annotation of an image becomes an annotator of its own, so that all pairs are compared.
    starts = run_starts(annotations.image)
    place = np.arange(len(annotations))
    place -= np.repeat(starts, np.diff(starts, append=len(place)))
    everyone = replace(annotations, annotator=place.astype(np.int32))
    compared, least = replace(part.data, annotations=everyone), lower_threshold(threshold)
    pairs, _ = similar_pairs(compared, settings, least, progress)
    same = annotations.annotator[pairs.left] == annotations.annotator[pairs.right]
    near, own = pairs.take(~same), pairs.take(same)
    pairs = near.take(near.similarity >= threshold - TOLERANCE)
    units = units_of(annotations, pairs, settings, threshold)
    models = {source.annotator for source in part.data.sources if source.role == "predictions"}
    found = MatchedUnits(
        data=part.data,
        units=units,
        reliability=reliability_of(part, units, settings),
        pairs=pairs.take(units.unit[pairs.left] == units.unit[pairs.right]),
        objects=loose_objects(annotations, units, near)[units.unit],
        near=near,
        own=own.take(own.similarity >= threshold - TOLERANCE),
        n_neighbours=np.bincount(np.append(own.left, own.right), minlength=len(annotations)),
        is_model=np.array([name in models for name in part.data.annotator_names], np.bool_),
        compared=similarity(settings.similarity).needs,
        matcher=settings.matcher,
        threshold=threshold,
        category_lenient=settings.category_lenient,
        missing=settings.missing,
        bootstrap=settings.bootstrap,
        seed=settings.seed,
    )
    check_rematching(found)
    return with_displaced_joined(with_second_boxes_apart(found), least)
