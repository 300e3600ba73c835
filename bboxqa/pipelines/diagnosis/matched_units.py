"""Annotations joined to units and objects: the input of all diagnostics."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    connected_components,
    frozen_arrays,
    overlapping_boxes,
    run_starts,
)
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.core.types import Progress
from bboxqa.diagnostics.object_cells import edges_of
from bboxqa.diagnostics.offsets import edge_differences, medians, of_others
from bboxqa.diagnostics.parts import drawn_objects, parts, with_second_boxes_apart
from bboxqa.diagnostics.rates import rows_to_rematch
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.geometry.kernels.boxes import rotated_iou
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.matching.matchers import match, matcher
from bboxqa.matching.objects import loose_objects, without_repetitions
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.rotated_boxes import smallest_angle
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable
from bboxqa.pipelines.counting import ImagePart, reliability_of
from bboxqa.pipelines.diagnosis.sentences import said

# With fewer objects, a displacement may come from single boxes.
_FEWEST = 10
# Boxes with a higher IoU show one object.
_SAME_BOX = 0.5


def with_displaced_joined(matched: MatchedUnits, least: float) -> MatchedUnits:
    """Return units in which displaced boxes belong to the objects that they show.

    A box that is 5 px too far to the right does not overlap an object of 4 px at all. It is a badly
    placed box, not a miss and an extra. The displacement of each annotator is estimated from larger
    objects; if the IoU without it is at least `least`, the box is joined to the others' object.
    Objects that all annotators drew, second boxes and parts are not changed.
    """
    matched = _with_misread_joined(matched)
    shift = _displacements(matched)
    # Larger boxes overlap their objects even if both annotators are displaced.
    sides = matched.data.annotations.bbox[:, 2:]
    small = (sides <= 4 * np.abs(shift).max(0)).any(1)
    open_boxes = np.flatnonzero(small & _may_show_another(matched))
    if not len(open_boxes):
        return matched
    annotations = matched.data.annotations.take(open_boxes)
    bbox = annotations.bbox.copy()
    bbox[:, :2] -= shift[annotations.annotator]
    moved = replace(matched.data, annotations=replace(annotations, bbox=bbox))
    pairs, _ = candidate_pairs(moved, "bbox", least)
    return _with_pairs_joined(matched, open_boxes, pairs)


def _with_misread_joined(matched: MatchedUnits) -> MatchedUnits:
    """Return units in which people in the same box, and boxes about the same centre, are joined."""
    boxes = matched.data.annotations.rotated_box if matched.compared == "rotated boxes" else None
    if boxes is None and matched.compared != "keypoints":
        return matched
    rows = np.flatnonzero(_may_show_another(matched))
    annotations = matched.data.annotations.take(rows)
    if boxes is not None:
        # Squares around boxes with a common centre are the same for any angle.
        boxes = boxes[rows]
        sides = np.repeat(boxes[:, 2:4].max(1, initial=0)[:, None], 2, axis=1)
        bbox = np.hstack([boxes[:, :2] - sides / 2, sides])
        annotations = replace(annotations, bbox=bbox)
    data = replace(matched.data, annotations=annotations)
    pairs, _ = candidate_pairs(data, "bbox", _SAME_BOX)
    if boxes is not None:
        pairs = pairs.take(_iou_if_turned(boxes[pairs.left], boxes[pairs.right]) >= _SAME_BOX)
    return _with_pairs_joined(matched, rows, pairs)


def _iou_if_turned(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the IoU of each pair after one box is turned so that the long sides are parallel."""
    long_first = []
    for boxes in (left, right):
        is_high = boxes[:, 2] < boxes[:, 3]
        turned = boxes.copy()
        turned[is_high, 2:4] = boxes[is_high][:, [3, 2]]
        turned[is_high, 4] += 90
        long_first.append(turned)
    found = []
    for angle in (long_first[0][:, 4], long_first[1][:, 4]):
        one, two = (np.column_stack([boxes[:, :4], angle]) for boxes in long_first)
        found.append(rotated_iou(smallest_angle(one), smallest_angle(two)))
    return np.minimum(*found)


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


def _displacements(matched: MatchedUnits) -> FloatArray:
    """Return how far the boxes of each annotator are displaced to the right and down, (A, 2)."""
    found = edge_differences(matched)
    offset = of_others(found, medians, -1)
    near, far = offset[:, :2], offset[:, 2:]
    least = np.where(np.abs(near) < np.abs(far), near, far)
    n_others = np.bincount(found.annotator, minlength=len(offset))
    shift = np.where(near * far > 0, least, 0) / np.where(n_others == 1, 2, 1)[:, None]
    return np.where(found.n_shared[:, None] >= _FEWEST, shift, 0)


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return (N,) bool: annotations of objects that some left out, without second boxes, parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some


_LEAST_GAIN = 0.01


@frozen_arrays
class _Places:
    """Places where several annotators drew two matching boxes with the same two categories."""

    place: IndexArray
    """(N,) int64. Index of the place of each annotation, -1 for none."""
    first: IndexArray
    second: IndexArray
    """(P,) int64. The two categories of each place; a place with more has several rows."""


def with_labels_matched(
    annotations: Annotations, units: UnitTable, pairs: CandidatePairs, own: CandidatePairs,
    settings: AgreeSettings,
) -> UnitTable:  # fmt: skip
    """Return units in which boxes of objects with two labels are matched by their categories.

    Boxes in one place overlap each other about equally, whatever their categories. Where two
    annotators drew both labels, a pair of different labels is an artefact of matching and not a
    confusion.
    """
    found = _labelled_places(annotations, pairs, own)
    there = found.place >= 0
    if settings.category_lenient or not there.any():
        return units
    by_label = match(
        annotations,
        pairs.take(there[pairs.left]),
        settings.matcher,
        settings.iou_threshold[0],
        category_lenient=True,
    )
    unit = np.where(there, len(units) + by_label.unit, units.unit)
    # Numbered by image, then by the annotator and the id of the first annotation.
    order = np.lexsort((annotations.id, annotations.annotator, annotations.image))
    _, first, number = np.unique(unit[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    result = np.empty(len(unit), np.int64)
    result[order] = rank[number]
    return UnitTable(result, annotations.image[order][np.sort(first)])


def label_warnings(
    images: ImagePart, matched: MatchedUnits, settings: AgreeSettings, value: float
) -> Iterator[str]:
    """Yield the number of places with two labels, and alpha if equal categories were matched."""
    of, threshold = matched.data, matched.threshold
    pairs = matched.near.take(matched.near.similarity >= threshold - TOLERANCE)
    found = _labelled_places(of.annotations, pairs, matched.own)
    if settings.category_lenient or not len(found.first):
        return
    units = match(of.annotations, pairs, matched.matcher, threshold, category_lenient=True)
    data = reliability_of(images, units, settings)
    by_label = alpha(unit_counts(data, settings.missing)).value
    if not by_label - value >= _LEAST_GAIN:
        return
    n_categories = len(of.category_names)
    keys, n = np.unique(found.first * n_categories + found.second, return_counts=True)
    first, second = divmod(int(keys[n.argmax()]), n_categories)
    most = f"{of.category_names[first]} and {of.category_names[second]}"
    where = "," if len(keys) == 1 else ", most often"
    n_places = len(np.unique(found.place[found.place >= 0]))
    yield said(
        "two labels",
        places=f"{count(n_places, 'place')} {'has' if n_places == 1 else 'have'}",
        where=where,
        most=most,
        by_label=by_label,
        value=value,
    )


def _labelled_places(
    annotations: Annotations, pairs: CandidatePairs, own: CandidatePairs
) -> _Places:
    """Return the places where two annotators or more drew the same two labels."""
    category = annotations.category.astype(np.int64)
    place = np.full(len(annotations), -1)
    own = own.take(np.flatnonzero(category[own.left] != category[own.right]))
    none = np.zeros(0, np.int64)
    if not len(own):
        return _Places(place, none, none)
    left, right = np.append(own.left, pairs.left), np.append(own.right, pairs.right)
    component = connected_components(left, right)
    ends = np.sort([category[own.left], category[own.right]], axis=0)
    author = annotations.annotator[own.left].astype(np.int64)
    rows = np.unique(np.column_stack([component[: len(own)], *ends, author]), axis=0)
    labels, n_authors = np.unique(rows[:, :3], axis=0, return_counts=True)
    labels = labels[n_authors > 1]
    chosen: BoolArray = np.isin(component, labels[:, 0])
    place[left[chosen]] = component[chosen]
    place[right[chosen]] = component[chosen]
    return _Places(place, labels[:, 1], labels[:, 2])


# Pairs that are diagnosed in a few seconds, and further ones for each annotation: in real data,
# few annotations overlap as many others.
_PAIRS = 1 << 18
_OF_ANNOTATION = 25
# Rows of images that are matched again in a few seconds, and further ones for each annotation.
_ROWS = 1 << 25
_ROWS_OF_ANNOTATION = 1000


def check_crowds(data: Dataset) -> None:
    """Raise DatasetError if too many pairs of annotations overlap.

    A diagnosis compares all pairs of annotations of an image whose boxes overlap, also those of one
    annotator. A quarter of a million pairs, and 25 for each annotation, are allowed.
    """
    image = data.annotations.image
    n_drawn = np.bincount(image, minlength=len(data.image_names))
    most = _PAIRS + _OF_ANNOTATION * len(image)
    # Images of few annotations cannot have more pairs than the allowance per annotation.
    large = n_drawn > 2 * _OF_ANNOTATION
    possible = np.where(large, n_drawn * (n_drawn - 1) // 2, 0)
    if possible.sum() <= most:
        return
    some = np.flatnonzero(large[image])
    of, edges = image[some].astype(np.int64), _edges(data)[some]
    n_pairs = np.zeros(len(n_drawn), np.int64)
    for one, other in overlapping_boxes(of, edges, of, edges):
        n_pairs += np.bincount(of[one[one < other]], minlength=len(n_pairs))
        if n_pairs.sum() > most:
            raise _refused(data, int(n_pairs.argmax()), most)


def check_rematching(matched: MatchedUnits) -> None:
    """Raise DatasetError if matching images without each of their annotators takes too long."""
    n_rows = rows_to_rematch(matched)
    of_annotations = _ROWS_OF_ANNOTATION * len(matched.data.annotations)
    most = max(_ROWS, of_annotations)
    total = int(n_rows.sum())
    if total <= most:
        return
    worst = int(n_rows.argmax())
    problem = (
        f"image {matched.data.image_names[worst]!r}: "
        f"{int(matched.data.assigned[worst].sum()):,} annotators: a diagnosis matches images "
        f"without each of their annotators, which takes long ({total:,} rows in all images; "
        f"expected {most:,} at most)"
    )
    advice = "Look whether annotator keys name persons, and not annotations."
    raise DatasetError([problem], advice)


def _edges(data: Dataset) -> FloatArray:
    """Return the edges of boxes, or of boxes and key points together if there are key points."""
    edges, keypoints = edges_of(data.annotations.bbox), data.annotations.keypoints
    if keypoints is None:
        return edges
    of = edges_of(keypoints.extent())
    low, high = np.fmin(edges[:, :2], of[:, :2]), np.fmax(edges[:, 2:], of[:, 2:])
    return np.concatenate([low, high], axis=1)


def _refused(data: Dataset, image: int, most: int) -> DatasetError:
    """Return the error, which names the most crowded image and the remedies."""
    n_drawn = int((data.annotations.image == image).sum())
    problem = (
        f"image {data.image_names[image]!r}: too many of its {n_drawn:,} annotations overlap: a "
        f"diagnosis compares up to {n_drawn * (n_drawn - 1) // 2:,} pairs of them, which takes "
        f"minutes; expected {most:,} pairs in all images at most"
    )
    return DatasetError([problem], "Look for repeated annotations with: bboxqa validate")


# Two boxes with a lower IoU show different objects.
_LOOSE = 0.1


def lower_threshold(threshold: float) -> float:
    """Return the lowest similarity of two annotations of one object, if one is badly placed."""
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
    # The pairs between annotators and within annotators, from the lower threshold on.
    annotator = part.data.annotations.annotator
    # Each annotation of an image becomes an annotator of its own, so that all pairs are compared.
    everyone = replace(part.data.annotations, annotator=_places(part.data.annotations))
    pairs, _ = candidate_pairs(
        replace(part.data, annotations=everyone),
        settings.similarity,
        lower_threshold(settings.iou_threshold[0]),
        all_touched=settings.all_touched,
        pair_bytes=matcher(settings.matcher).pair_bytes,
        progress=None if progress is None else lambda *done: progress("comparing", *done),
    )
    same = annotator[pairs.left] == annotator[pairs.right]
    near, own = pairs.take(~same), pairs.take(same)
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


def _places(annotations: Annotations) -> IntArray:
    """Return the rank of each annotation in its image, (N,) int32."""
    starts = run_starts(annotations.image)
    place = np.arange(len(annotations))
    place -= np.repeat(starts, np.diff(starts, append=len(place)))
    return place.astype(np.int32)
