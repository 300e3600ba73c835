"""Chance agreement on existence: annotations matched with those of other images."""

from itertools import pairwise, starmap

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.objects import chance_slots
from bboxqa.core.arrays import (
    FloatArray,
    FrozenArrays,
    IndexArray,
    Progress,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.geometry.candidates import TOLERANCE, neighbours, possible_pairs
from bboxqa.geometry.polygons import polygon_bounds
from bboxqa.geometry.registry import similarity
from bboxqa.geometry.similarity import OUTLINES
from bboxqa.matching.matchers import match_pairwise, pair_weights
from bboxqa.model.annotations import Dataset
from bboxqa.model.masks import SegmentationKind
from bboxqa.model.rotated_boxes import scaled
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import ImagePart, similar_pairs

# Images are exchanged if their ratios of width to height differ by less than this factor.
_RATIO = 1.2
# Work, in annotations plus (image, annotator) cells: small data sets are repeated up to it, and
# large ones are sampled down to it.
_ENOUGH = 50_000
# An outline takes as long as 10 boxes, and 100 pairs in crowded images as long as one box.
_OUTLINE, _PAIRS = 10, 100
# More passes hardly make the F1 more precise: its variance is mostly that between images.
_MOST_PASSES = 100
# Annotations that are compared at a time, to limit memory.
_AT_ONCE = 1 << 15
# Weighted sums of the boxes' edges order images and annotators independently of their names.
_WEIGHTS = np.sqrt([2.0, 3.0, 5.0, 7.0])

_TOO_MANY = "too many annotations of different images overlap"


class ChanceCounts(FrozenArrays, frozen=True, eq=False):
    """Pairs of annotations that match by chance, at T thresholds in I images."""

    sums: FloatArray
    """(T, I, 2) float64. By image: the pairs that match, and the pairs that could match. The ratio
    of their sums over images is the F1 by chance."""
    reason: str = ""
    """Why nothing was counted; empty if pairs were counted."""


def chance_existence(
    part: ImagePart, settings: AgreeSettings, *, progress: Progress | None = None
) -> ChanceCounts:
    """Count the pairs that match if annotators draw in one image what they drew in another.

    Disagreement is expected as between annotations of different items (Braylan, Alonso and Lease
    2022, doi:10.1145/3485447.3512242). Annotations are scaled to the size of the other image, and
    compared and matched as usual. Only images of a similar ratio of width to height are exchanged;
    with masks, only images of the same size. Small data sets are repeated several times, large ones
    are sampled. Random numbers are assigned to images and annotators in an order that depends on
    the boxes alone, not on names and the order of records.
    """
    data, n_images = part.data, len(part.data.image_names)
    sums = np.zeros((len(settings.iou_threshold), n_images, 2))
    # Images of one kind are exchanged.
    outlines, image_size = data.annotations.segmentation, data.image_size
    known = (image_size > 0).all(1) & (data.assigned.sum(1) >= 2)
    has_outlines = similarity(settings.similarity).needs in OUTLINES
    if has_outlines and outlines is not None and (outlines.kind == SegmentationKind.RLE).any():
        kinds = np.unique(image_size[known], axis=0, return_inverse=True)[1]
    else:
        ratio = np.log(image_size[known, 0] / image_size[known, 1]) / np.log(_RATIO)
        kinds = np.unique(np.rint(ratio), return_inverse=True)[1]
    kind = np.full(n_images, -1)
    kind[known] = kinds
    # (I,) bool: images with an annotator who was asked about another image of the kind.
    image, annotator = np.nonzero(data.assigned & known[:, None])
    of_annotator = kind[image] * data.assigned.shape[1] + annotator
    _, circle, size = np.unique(of_annotator, return_inverse=True, return_counts=True)
    exchanged = np.bincount(image[size[circle] > 1], minlength=len(kind)) > 0
    reason = _reason(int((data.assigned.sum(1) >= 2).sum()), int(exchanged.sum()), int(known.sum()))
    if reason:
        return ChanceCounts(sums, reason)
    # Which image takes which place, in as many passes as the size of the data allows.
    generator = np.random.default_rng(settings.seed)
    ranks = _ranks(data)
    # The cost of comparing each image, in annotations.
    n_drawn = np.bincount(data.annotations.image, minlength=n_images)
    work = n_drawn + data.assigned.sum(1) + possible_pairs(data.annotations, n_images) // _PAIRS
    work = work * exchanged * (_OUTLINE if has_outlines else 1)
    n_passes = _ENOUGH // (int(work.sum()) * len(settings.iou_threshold))
    if work.sum() > _ENOUGH:
        order = np.argsort(generator.random(len(kind))[ranks[0]])
        order = order[exchanged[order]]
        taken = np.cumsum(work[order]) <= _ENOUGH
        exchanged[order[~taken][max(0, 2 - taken.sum()) :]] = False
    image, annotator = np.nonzero(data.assigned & exchanged[:, None])
    n_passes = min(max(n_passes, 1), _MOST_PASSES)
    slots = chance_slots(image, annotator, kind[image], ranks, n_passes, generator)
    # The start and stop of the annotations of each row of the slots.
    n_annotators = len(data.annotator_names)
    author = data.annotations.image.astype(np.int64) * n_annotators + data.annotations.annotator
    wanted = slots[2] * n_annotators + slots[1]
    start, stop = np.searchsorted(author, wanted), np.searchsorted(author, wanted, side="right")
    # Whole places, with a limited number of annotations at a time.
    ends = np.append(run_starts(slots[0])[1:], slots.shape[1])
    chunk = np.cumsum(1 + stop - start)[ends - 1] // _AT_ONCE
    ends = ends[np.diff(chunk, append=chunk[-1] + 1) > 0]
    for part_of in starmap(slice, pairwise([0, *ends.tolist()])):
        laid, places = _laid_over(data, slots[:, part_of], start[part_of], stop[part_of], settings)
        try:
            found = matched_pairs(laid, settings)
        except DatasetError:
            return ChanceCounts(np.zeros_like(sums), _TOO_MANY)
        np.add.at(sums.swapaxes(0, 1), places, found.swapaxes(0, 1))
        if progress is not None:
            progress("comparing with other images", part_of.stop, len(start))
    return ChanceCounts(sums)


def _reason(n_compared: int, n_exchanged: int, n_known: int) -> str:
    """Return why chance agreement is not measured; "" if most images can be exchanged."""
    images, n_alone = count(n_compared, "image"), n_compared - n_exchanged
    if 2 * n_alone <= n_compared and n_exchanged:
        return ""
    if n_compared < 2:
        return f"{images}, and agreement by chance needs others"
    if 2 * n_known < n_compared:
        return f"the size of {n_compared - n_known:,} of {images} is not known"
    return f"{n_alone:,} of {images} have no other of a similar shape and the same annotators"


def _ranks(data: Dataset) -> tuple[IndexArray, IndexArray]:
    """Return the rank of each image, (I,), and annotator, (A,), by their boxes."""
    of = data.annotations
    n_images, n_annotators = data.assigned.shape
    drawn = np.zeros(len(of))
    for side, weight in enumerate(_WEIGHTS):
        # As shares of the sides of images, relative to the least edges, so that moving all boxes
        # alike changes no rank.
        shares = of.bbox[:, side] / np.maximum(data.image_size[of.image, side % 2], 1)
        drawn += weight * (shares - shares.min(initial=np.inf))
    of_images = sum_by(of.image, drawn, n_images)
    of_annotators = sum_by(of.annotator, drawn, n_annotators)
    annotator_ranks: IndexArray = np.argsort(np.argsort(of_annotators))
    # Empty images have no boxes: they differ in who was asked, and in the ratio of their sides.
    codes: IndexArray = np.random.default_rng(0).integers(1 << 32, size=(n_annotators,))
    # Unlike a product of matrices, this does not copy `assigned` as integers of eight bytes.
    asked = np.einsum("ia,a->i", data.assigned, codes[annotator_ranks])
    width, height = np.maximum(data.image_size, 1).T
    return np.argsort(np.lexsort((width / height, asked, of_images))), annotator_ranks


def _laid_over(
    data: Dataset, slots: IndexArray, start: IndexArray, stop: IndexArray, settings: AgreeSettings
) -> tuple[Dataset, IndexArray]:
    """Return the annotations start:stop of the slots, scaled to the images of their places."""
    place, annotator, source = slots
    first = run_starts(place)
    image = place[first] % len(data.image_names)
    number = np.repeat(np.arange(len(first)), np.diff(first, append=len(start)))
    size = data.image_size[image]
    scale = np.repeat(size[number] / data.image_size[source], stop - start, axis=0)
    annotations, needs = data.annotations, similarity(settings.similarity).needs
    if needs not in OUTLINES:
        annotations = replace(annotations, segmentation=None)
    if needs != "rotated boxes":
        annotations = replace(annotations, rotated_box=None)
    annotations = annotations.take(rows(start, stop)[0])
    outlines, joints = annotations.segmentation, annotations.keypoints
    boxes = annotations.rotated_box
    assigned = np.zeros((len(first), len(data.annotator_names)), np.bool_)
    assigned[number, annotator] = True
    return replace(
        data,
        image_names=tuple(data.image_names[each] for each in image.tolist()),
        image_size=size,
        annotations=replace(
            annotations,
            image=np.repeat(number, stop - start).astype(np.int32),
            bbox=annotations.bbox * np.tile(scale, 2),
            segmentation=None if outlines is None else outlines.scaled(scale),
            keypoints=None if joints is None else joints.scaled(scale),
            rotated_box=None if boxes is None else scaled(boxes, scale),
        ),
        assigned=assigned,
        unlisted=None,
    ), image


def matched_pairs(data: Dataset, settings: AgreeSettings) -> FloatArray:
    """Return the pairs that match, and those that could, by threshold and image, (T, I, 2)."""
    n_images = len(data.image_names)
    n_drawn = np.bincount(data.annotations.image, minlength=n_images)
    possible = n_drawn * (data.assigned.sum(1) - 1) / 2
    outlines = data.annotations.segmentation if settings.similarity == "polygon" else None
    if outlines is not None and (outlines.kind == SegmentationKind.POLYGON).all():
        # Polygons whose bounds overlap no others match none, and need no repair.
        touched = np.zeros(len(outlines), np.bool_)
        for left, right in neighbours(data.annotations, polygon_bounds(outlines)):
            touched[left] = touched[right] = True
        data = replace(data, annotations=data.annotations.take(np.flatnonzero(touched)))
    pairs, _ = similar_pairs(data, settings, min(settings.iou_threshold))
    sums = np.empty((len(settings.iou_threshold), n_images, 2))
    for index, threshold in enumerate(settings.iou_threshold):
        admissible = pairs.take(pairs.similarity >= threshold - TOLERANCE)
        lenient, category = settings.category_lenient, data.annotations.category
        weight = pair_weights(admissible, category, threshold, category_lenient=lenient)
        chosen = match_pairwise(data.annotations, admissible, weight)
        of_image = data.annotations.image[admissible.left[chosen]]
        matched = np.bincount(of_image, minlength=n_images)
        sums[index] = np.column_stack([matched, possible])
    return sums
