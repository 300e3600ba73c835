"""Counting of agreement: the images that are compared, part by part."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.nominal import alpha_per_group, pooled_alpha, value_sums
from bboxqa.agreement.object_counts import ObjectSums, count_objects, paired_annotators
from bboxqa.agreement.objects import ThresholdSums, has_meaning
from bboxqa.agreement.unit_counts import coincidences, from_units
from bboxqa.core.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    Progress,
    distinct,
    overlapping_boxes,
    remembered,
    sum_by,
)
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.geometry.boxes import corners
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, possible_pairs, unit_pairs
from bboxqa.matching.linkage import author_ranks
from bboxqa.matching.matchers import match, match_pairwise, pair_weights
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, Coincidences, ReliabilityData, UnitTable, join_units

# An image with more pairs is a part of its own, so that two crowded images are never in memory
# together.
_CROWDED = 1 << 20


class ImagePart(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Images and the annotations that are compared in them."""

    data: Dataset
    """The whole data set, or some of its images."""
    empty: IntArray
    """(K,) int32. Images that two annotators or more were asked about and all left empty."""
    paired: BoolArray | None = None
    """(A,) bool. The annotators whose pairs are counted, if not all."""


def compared_images(data: Dataset) -> ImagePart:
    """Return a data set without crowds and without annotations in images of one annotator."""
    lonely = data.assigned.sum(1) < 2
    drawn = np.bincount(data.annotations.image, minlength=len(lonely)) > 0
    empty = np.flatnonzero(~drawn & ~lonely).astype(np.int32)
    kept = np.flatnonzero(~data.annotations.iscrowd & ~lonely[data.annotations.image])
    if len(kept) < len(data.annotations):
        data = replace(data, annotations=data.annotations.take(kept))
    paired = paired_annotators(data.annotations.annotator, data.assigned)
    return ImagePart(replace(data, repeats=None), empty, paired)


def of_images(data: Dataset, images: IndexArray) -> Dataset:
    """Return some images of a data set, in this order, with their annotations."""
    if np.array_equal(images, np.arange(len(data.image_names))):
        return replace(data, unlisted=None, repeats=None)
    number = np.full(len(data.image_names), -1, np.int32)
    number[images] = np.arange(len(images))
    kept = np.flatnonzero(number[data.annotations.image] >= 0)
    annotations = data.annotations.take(kept)
    return replace(
        data,
        image_names=tuple(data.image_names[each] for each in images.tolist()),
        image_size=data.image_size[images],
        annotations=replace(annotations, image=number[annotations.image]),
        assigned=data.assigned[images],
        unlisted=None,
        repeats=None,
    )


def with_images(data: Dataset, names: Sequence[str]) -> Dataset:
    """Return a data set with further images, about which all annotators were asked in vain."""
    more = (0, len(names)), (0, 0)
    return replace(
        data,
        image_names=(*data.image_names, *names),
        image_size=np.pad(data.image_size, more),
        assigned=np.pad(data.assigned, more, constant_values=True),
    )


def split_images(data: Dataset, n_parts: int) -> Iterator[Dataset]:
    """Yield about `n_parts` parts of whole images, each with about as many annotations."""
    image = data.annotations.image
    n_images = len(data.image_names)
    ends = np.linspace(0, len(image), max(n_parts, 1) + 1).astype(np.int64)[1:-1]
    cuts = distinct(image[ends]) if len(image) else np.zeros(0, np.int64)
    crowded = np.flatnonzero(possible_pairs(data.annotations, n_images) > _CROWDED)
    cuts = distinct(np.concatenate([cuts, crowded, crowded + 1]))
    bounds = [0, *(int(cut) for cut in cuts if 0 < cut < n_images), n_images]
    for low, high in pairwise(bounds):
        start, stop = np.searchsorted(image, [low, high])
        taken = data.annotations.take(np.arange(start, stop))
        outlines, joints = taken.segmentation, taken.keypoints
        annotations = replace(
            taken,
            image=taken.image - np.int32(low),
            segmentation=None if outlines is None else outlines.packed(),
            keypoints=None if joints is None else joints.packed(),
        )
        yield replace(
            data,
            image_names=data.image_names[low:high],
            image_size=data.image_size[low:high],
            annotations=annotations,
            assigned=data.assigned[low:high],
        )


# Memory in bytes of an object and an annotator who was asked, and of two annotations of an object;
# and the most of one image.
_BYTES = 100
_MEMORY = 10**9
# Memory in bytes of a pair of annotators, and of an annotator and an image. Crowds of people who
# have few images each need many of these, but not so many for each annotation.
_BYTES_OF_TABLES = 40
_CELLS_OF_ANNOTATION = 1000
# Pairs of annotations that all are of one object take more: 250 bytes. A file of 1 MB has 10,000
# annotations, and takes 1 GB.
_PAIRS_OF_ANNOTATION, _ANNOTATIONS = 350, 10_000
_ADVICE = "Look whether annotator keys name persons, and not annotations."


def check_number(data: Dataset) -> None:
    """Raise DatasetError if there are too many annotators for so few annotations."""
    n_images, n_annotators = data.assigned.shape
    n_annotations = len(data.annotations)
    n_cells = n_annotators * (n_annotators + n_images)
    most = max(_MEMORY // _BYTES_OF_TABLES, _CELLS_OF_ANNOTATION * n_annotations)
    if n_cells > most:
        problem = (
            f"{n_annotators:,} annotators of {count(n_annotations, 'annotation')} in "
            f"{count(n_images, 'image')} give {n_cells:,} pairs of two annotators, or of one and "
            f"an image; expected {most:,} at most"
        )
        raise DatasetError([problem], _ADVICE)


def check_annotators(data: Dataset, units: UnitTable) -> None:
    """Raise DatasetError if an image has too many annotators for its objects."""
    n_asked, most_answers = data.assigned.sum(1), _MEMORY // _BYTES
    most_pairs = min(most_answers, _PAIRS_OF_ANNOTATION * max(len(data.annotations), _ANNOTATIONS))
    n_units = np.bincount(units.image, minlength=len(n_asked))
    size = np.bincount(units.unit, minlength=len(units))
    pairs = sum_by(units.image, size * (size - 1) // 2, len(n_asked)).astype(np.int64)
    for n_rows, what, most in (
        (n_units * n_asked, "answers on", most_answers),
        (pairs, "pairs of annotations of", most_pairs),
    ):
        if n_rows.max(initial=0) > most:
            worst = int(n_rows.argmax())
            problem = (
                f"image {data.image_names[worst]!r}: {int(n_asked[worst]):,} annotators give "
                f"{n_rows[worst]:,} {what} {count(int(n_units[worst]), 'object')}; "
                f"expected {most:,} at most"
            )
            raise DatasetError([problem], _ADVICE)


# Pairs that are diagnosed in a few seconds, and further ones for each annotation: in real data,
# few annotations overlap as many others.
_PAIRS = 1 << 18
_OF_ANNOTATION = 25


@remembered
def too_crowded(images: ImagePart) -> str:
    """Return in which image too many pairs of annotations overlap; "" if it is nowhere."""
    data, of = images.data, images.data.annotations
    n_drawn = np.bincount(of.image, minlength=len(data.image_names))
    most = _PAIRS + _OF_ANNOTATION * len(of)
    # Images of few annotations cannot have more pairs than the allowance per annotation.
    large = n_drawn > 2 * _OF_ANNOTATION
    if (np.where(large, n_drawn * (n_drawn - 1) // 2, 0)).sum() <= most:
        return ""
    some = of.take(np.flatnonzero(large[of.image]))
    image, edges = some.image.astype(np.int64), corners(some.bbox)
    if some.keypoints is not None:
        extent = corners(some.keypoints.extent())
        low, high = np.fmin(edges[:, :2], extent[:, :2]), np.fmax(edges[:, 2:], extent[:, 2:])
        edges = np.concatenate([low, high], axis=1)
    n_pairs = np.zeros(len(n_drawn), np.int64)
    for one, other in overlapping_boxes(image, edges, image, edges):
        n_pairs += np.bincount(image[one[one < other]], minlength=len(n_pairs))
        if n_pairs.sum() > most:
            worst = int(n_pairs.argmax())
            return (
                f"image {data.image_names[worst]!r}: too many of its {n_drawn[worst]:,} "
                "annotations overlap: a diagnosis compares all pairs of them, which takes minutes; "
                f"expected {most:,} pairs in all images at most"
            )
    return ""


# Annotations of a part: 2 kB each while they are compared and matched.
_PART = 500_000


class ThresholdCounts(msgspec.Struct, frozen=True, eq=False):
    """Units and counts of agreement at one threshold."""

    units: UnitTable
    reliability: ReliabilityData
    """The value that each annotator gave each unit, and empty images if they count."""
    sums: ThresholdSums
    """Sums by image, without pairs that match by chance."""
    greedy: Coincidences | None
    """Coincidences by image of the greedy matcher, if requested."""
    categories: ObjectSums
    """By category; a pair counts for the categories of both annotations."""
    matched: CandidatePairs
    """All pairs of annotations of one unit."""
    alone: IndexArray
    """The annotations of pairs of two annotators who are matched without the others, (2, M)."""


class AgreementCounts(msgspec.Struct, frozen=True, eq=False):
    """Units and counts of agreement at each threshold."""

    thresholds: tuple[ThresholdCounts, ...]
    counts: Counter[str]
    """Numbers of flat and repaired annotations and of short rings; see `candidate_pairs`."""


def similar_pairs(
    data: Dataset,
    settings: AgreeSettings,
    threshold: float,
    progress: Progress | None = None,
    stage: str = "comparing",
) -> tuple[CandidatePairs, Counter[str]]:
    """Return `candidate_pairs` by the similarity of settings."""
    steps = None if progress is None else partial(progress, stage)
    touched = settings.all_touched
    return candidate_pairs(
        data, settings.similarity, threshold, all_touched=touched, progress=steps
    )


def units_of(
    annotations: Annotations, pairs: CandidatePairs, settings: AgreeSettings, threshold: float
) -> UnitTable:
    """Return the units of pairs that reach a threshold, by the matcher of settings."""
    lenient = settings.category_lenient
    return match(annotations, pairs, settings.matcher, threshold, category_lenient=lenient)


def reliability_of(part: ImagePart, units: UnitTable, settings: AgreeSettings) -> ReliabilityData:
    """Return the value that each annotator gave each unit, and empty images if they count."""
    data = part.data
    extra = part.empty if settings.empty_images == "unit" else None
    n_categories = len(data.category_names)
    return from_units(data.annotations, units, data.assigned, n_categories, extra)


def count_agreement(
    whole: ImagePart,
    settings: AgreeSettings,
    *,
    greedy: bool = False,
    progress: Progress | None = None,
) -> AgreementCounts:
    """Compare and match the annotations of all images, and count agreement.

    With `greedy`, they are matched by the greedy matcher as well. Large data sets are compared part
    by part, so that memory does not grow with the pairs of all images. A crowded image whose pairs,
    or whose objects and annotators, do not fit in memory is refused.
    """
    data = whole.data
    n, n_images = len(data.annotations), len(data.image_names)
    n_parts = -(-n // _PART)
    is_crowded = possible_pairs(data.annotations, n_images) > _CROWDED
    if n_images < 2 or (n_parts < 2 and not is_crowded.any()):
        matchings, counts = _match(data, settings, greedy=greedy, progress=progress)
    else:
        parts, counts, bounds = [], Counter[str](), [(0, 0)]
        for part in split_images(data, min(n_parts, n_images)):
            found, more = _match(part, settings, greedy=greedy)
            parts.append(found)
            counts += more
            image, row = bounds[-1]
            bounds.append((image + len(part.image_names), row + len(part.annotations)))
            if progress is not None:
                progress("comparing", bounds[-1][1], n)
        matchings = [_joined(each, bounds) for each in zip(*parts, strict=True)]
    thresholds = []
    for (units, matched, alone), threshold in zip(matchings, settings.iou_threshold, strict=True):
        reliability, *others = (reliability_of(whole, each, settings) for each in units)
        n_names, least = len(data.category_names), threshold - TOLERANCE
        images, categories = count_objects(
            data.annotations, matched, alone, data.assigned, n_names, least
        )
        thresholds.append(
            ThresholdCounts(
                units=units[0],
                reliability=reliability,
                sums=_sums(whole, settings, reliability, images),
                greedy=coincidences(others[0], settings.missing) if greedy else None,
                categories=categories,
                matched=matched,
                alone=alone,
            )
        )
    return AgreementCounts(tuple(thresholds), counts)


def _sums(
    whole: ImagePart, settings: AgreeSettings, reliability: ReliabilityData, objects: ObjectSums
) -> ThresholdSums:
    """Return the sums over images from which the figures at a threshold are computed."""
    classes, missing = coincidences(reliability, "ignore"), settings.missing
    found = classes if missing == "ignore" else coincidences(reliability, missing)
    alpha, has_objects = alpha_per_group(found), np.ones(found.n_groups, np.bool_)
    has_objects[whole.empty] = False
    if settings.empty_images != "skip":
        alpha[whole.empty] = 1.0
    # Without pairable annotations in an image, no category dominates there.
    drawn = found.group[(found.value < found.n_values - 1) & (found.marginal > 0)]
    has_categories = np.bincount(drawn, minlength=found.n_groups) != 1
    has_categories |= missing == "ignore"
    return ThresholdSums(
        coincidences=found,
        classes=classes,
        image_alpha=alpha,
        has_meaning=has_categories,
        meaningful_alpha=np.where(has_categories & has_objects, alpha, nan),
        objects=objects,
        chance=np.zeros((found.n_groups, 2)),
    )


class _Matching(NamedTuple):
    """What was matched at one threshold."""

    units: list[UnitTable]
    """Those of the matcher, and of the greedy matcher if that is requested."""
    matched: CandidatePairs
    """All pairs of annotations of one unit."""
    alone: IndexArray
    """(2, M). The annotations of pairs of two annotators who are matched without the others."""


def _match(
    data: Dataset, settings: AgreeSettings, *, greedy: bool, progress: Progress | None = None
) -> tuple[list[_Matching], Counter[str]]:
    """Return what is matched at each threshold, and the counts of `candidate_pairs`."""
    pairs, counts = similar_pairs(data, settings, min(settings.iou_threshold), progress)
    found, annotations = [], data.annotations
    for done, threshold in enumerate(settings.iou_threshold, 1):
        reaches = pairs.similarity >= threshold - TOLERANCE
        admissible = pairs if reaches.all() else pairs.take(np.flatnonzero(reaches))
        of_matchers = []
        for by in (settings, *[replace(settings, matcher="greedy")] * greedy):
            of_matchers.append(units_of(annotations, admissible, by, threshold))
            check_annotators(data, of_matchers[-1])
        units = of_matchers[0]
        inside = units.unit[admissible.left] == units.unit[admissible.right]
        known = admissible.take(np.flatnonzero(inside))
        matched = unit_pairs(
            data, units, known, settings.similarity, all_touched=settings.all_touched
        )
        alone = matched_alone(annotations, admissible, inside, settings, threshold)
        found.append(_Matching(of_matchers, matched, alone))
        if progress is not None:
            progress("matching", done, len(settings.iou_threshold))
    return found, counts


def _joined(parts: Sequence[_Matching], bounds: Sequence[tuple[int, int]]) -> _Matching:
    """Return what was matched in all parts; `bounds` are the first image and row of each."""
    images, rows = zip(*bounds[:-1], strict=True)
    every = [*zip(parts, rows, strict=True)]
    matched = (
        (each.matched.left + row, each.matched.right + row, each.matched.similarity)
        for each, row in every
    )
    of_matchers = zip(*(each.units for each in parts), strict=True)
    return _Matching(
        [join_units(tables, images) for tables in of_matchers],
        CandidatePairs(*map(np.concatenate, zip(*matched, strict=True))),
        np.hstack([each.alone + row for each, row in every]),
    )


def matched_alone(
    annotations: Annotations,
    pairs: CandidatePairs,
    inside: BoolArray,
    settings: AgreeSettings,
    threshold: float,
) -> IndexArray:
    """Return the annotations of the pairs if each two annotators are matched alone, (2, M).

    `inside`, (P,), says which pairs are inside a unit: the same in images of two annotators, but
    for matchers that do not maximise the total.
    """
    chosen = inside.copy()
    others = np.ones(len(pairs), np.bool_)
    if settings.matcher in ("auto", "hungarian", "recursive"):
        third = distinct(annotations.image[author_ranks(annotations) > 1])
        others = np.isin(annotations.image[pairs.left], third)
    if others.any():
        rows = np.flatnonzero(others)
        part = pairs.take(rows)
        lenient = settings.category_lenient
        weight = pair_weights(part, annotations.category, threshold, category_lenient=lenient)
        chosen[rows] = False
        chosen[rows[match_pairwise(annotations, part, weight)]] = True
    return np.stack([pairs.left[chosen], pairs.right[chosen]])


# Cells of the units × annotators table per annotation. With more, most cells would be empty, as
# most annotators were not asked.
_MOST_CELLS = 100


def with_all_asked(
    results: tuple[ThresholdResult, ...],
    data: Dataset,
    unlisted: BoolArray,
    counted: AgreementCounts,
    settings: AgreeSettings,
) -> tuple[tuple[ThresholdResult, ...], list[str]]:
    """Return results with F1, and alpha where it has a meaning, as if all were asked, and notes."""
    is_partly = np.zeros(len(data.image_names), np.bool_)
    is_partly[data.annotations.image[~data.annotations.iscrowd]] = True
    is_partly &= unlisted & ~data.assigned.all(1)
    is_large = len(data.annotator_names) > _MOST_CELLS
    if is_large or settings.missing == "ignore" or not is_partly.any():
        return results, []
    annotations = replace(data.annotations, segmentation=None, keypoints=None, rotated_box=None)
    assigned = data.assigned | unlisted[:, None]
    whole = compared_images(replace(data, annotations=annotations, assigned=assigned))
    annotations = whole.data.annotations
    is_matched = (data.assigned.sum(1) >= 2)[annotations.image]
    alone = annotations.image[~is_matched]
    possible = float((assigned.sum(1)[annotations.image] - 1).sum()) / 2
    found, notes = [], []
    for result, counts in zip(results, counted.thresholds, strict=True):
        unit = np.zeros(len(annotations), np.int64)
        unit[is_matched] = counts.units.unit
        unit[~is_matched] = len(counts.units) + np.arange(len(alone))
        table = UnitTable(unit, np.concatenate([counts.units.image, alone]))
        sums = coincidences(reliability_of(whole, table, settings), settings.missing)
        is_meant = has_meaning(value_sums(sums)[0][:-1], settings.missing)
        alpha = nan if result.alpha_has_no_meaning or not is_meant else pooled_alpha(sums).value
        # In images of one annotator, no annotation has a match.
        f1 = float(counts.sums.objects.alone.sum()) / possible
        found.append(replace(result, all_asked_alpha=alpha, all_asked_f1=f1))
        figures = [
            f"{name} at {result.threshold_label} is {value:z.4f}"
            + ("" if isnan(usual) else f" ({value - usual:+z.4f})")
            for name, value, usual in (
                ("alpha", alpha, result.alpha), ("F1", f1, result.existence.f1)
            )
            if not isnan(value)
        ]  # fmt: skip
        if figures:
            notes.append(
                f"{is_partly.sum():,} of {count(len(data.image_names), 'image')} annotated by some "
                "annotators only, without a list of who was asked: the others count as not asked. "
                f"If all were asked, {' and '.join(figures)}: --asked all"
            )
    return tuple(found), notes
