"""Statistical evidence for the layout of boxes if nothing proves it."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import rows_where
from bboxqa.rules.facts.boxes import Boxes, inside, sized_boxes
from bboxqa.rules.facts.image_bounds import row_max, row_min
from bboxqa.rules.facts.layouts.box_readings import SIZE_FIRST, Layout, Numbers
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH, Evidence

_CENTRE = Layout(Numbers.CENTRE)

# Correlations and overlaps are compared from so many boxes, images and pairs of boxes on,
_BOXES, _IMAGES, _PAIRS = 30, ENOUGH, 2 * ENOUGH
# and of at most so many boxes.
_SAMPLE = 20_000
# Each box is compared with this many subsequent boxes of its image.
_NEXT = 3
# Sizes that are read as positions make boxes overlap: at least this share of the pairs,
_MOST_OVERLAP = 0.5
# and less by this share if they are read as sizes.
_FEWER = 0.3
# If at least this share of the images between the first and the last is affected, all are.
_MOST_BETWEEN = 0.5
# Width and height of objects are correlated, positions are not. The first two numbers may be sizes
# if their rank correlation is at least this,
_OF_SIZES = 0.3
# and exceeds that of the last two by this much, and by so many standard errors.
_ABOVE, _ERRORS = 0.3, 3.0
# The least number of boxes that extend beyond their images, and the largest probability that all
# others fit by chance.
_BEYOND, _CHANCE = 2 * ENOUGH, 0.01
# The least share of the side by which half of them do; for boxes that start at their centre, it is
# 0.25.
_FAR = 0.1
# The largest shift of positions compared with objects of other images, relative to the image.
_SHIFT = 0.1


def of_habits(boxes: Boxes) -> Iterator[Evidence]:
    """Yield the probable layouts of boxes by their overlaps and by how they leave their images."""
    sized = sized_boxes(boxes)
    yield from _of_overlaps(boxes, sized)
    yield from _of_centres(boxes, sized)


def _of_overlaps(boxes: Boxes, sized: BoolArray) -> Iterator[Evidence]:
    """Yield the layout width, height, x, y if boxes overlap much less when read that way.

    Sizes that are read as positions are small, so that all boxes seem to start in the upper left
    corner. Also, width correlates with height, but x does not correlate with y.
    """
    overlaps = _overlaps(boxes, sized, _SAMPLE)
    if not _start_in_corner(*overlaps).any():
        return
    # Sizes of 0 may be positions at the edge.
    sized = sized | (row_min(boxes.bbox) >= 0) & np.isfinite(boxes.size).all(axis=1)
    overlaps = _overlaps(boxes, sized)
    is_all = _are_all(*overlaps)
    images = np.ones(boxes.n_images, np.bool_) if is_all else _in_corner(*overlaps)
    sized &= np.append(images, False)[boxes.image]
    rows = np.flatnonzero(sized)
    if len(rows) < _BOXES or not (is_all or images.sum() >= _IMAGES):
        return
    of_places, of_sizes = _correlations(boxes, rows)
    enough = max(_ABOVE, _ERRORS / np.sqrt(len(rows)))
    if not (of_places >= _OF_SIZES and of_places - of_sizes >= enough):
        return
    n_pairs, n_plain, n_read = (int(each[images].sum()) for each in overlaps)

    def text(_concerned: BoolArray) -> str:
        return (
            f"as x, y, width, height, boxes overlap in {n_plain / n_pairs:.0%} of {n_pairs:,} "
            f"pairs, and x goes with y (rank correlation {of_places:.2f}) more than width with "
            f"height ({of_sizes:.2f}); read this way, {n_read / n_pairs:.0%} overlap"
        )

    none = np.zeros(len(boxes), np.bool_)
    yield Evidence(
        SIZE_FIRST, sized, none, sized, none, is_all, text,
        other_cause="their objects overlap in the upper left corner",
        images=None if is_all else images,
    )  # fmt: skip


def _in_corner(n_pairs: IndexArray, n_plain: IndexArray, n_read: IndexArray) -> BoolArray:
    """Return the images whose boxes seem to start in one corner, (I,) bool.

    Images between them in the file are included if they are fewer and do not contradict it.
    """
    images = _start_in_corner(n_pairs, n_plain, n_read)
    if images.any():
        first, last = np.flatnonzero(images)[[0, -1]]
        between = slice(first, last + 1)
        if images[between].mean() > _MOST_BETWEEN:
            images[between] |= n_plain[between] >= n_read[between]
    return images


def _are_all(*overlaps: IndexArray) -> bool:
    """Return whether the boxes of all images together seem to start in one corner."""
    total = [each.sum(keepdims=True) for each in overlaps]
    return bool(_start_in_corner(*total).all()) and int(total[0][0]) >= _PAIRS


def _overlaps(
    boxes: Boxes, some: BoolArray, at_most: int | None = None
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the number of pairs of boxes per image, and of overlaps in both readings, each (I,).

    A sample of the images is used if they have more than `at_most` boxes.
    """
    every = 1 if at_most is None else max(1, len(boxes) // at_most)
    rows = np.flatnonzero(some & (boxes.image % every == 0) & (boxes.image >= 0))
    rows = rows[np.argsort(boxes.image[rows], kind="stable")]
    image, numbers = boxes.image[rows], boxes.bbox[rows]
    n_pairs, n_plain, n_read = (np.zeros(boxes.n_images, np.int64) for _ in range(3))
    turned = numbers[:, [2, 3, 0, 1]]
    for step in range(1, _NEXT + 1):
        same = image[step:] == image[:-step]
        of = image[step:][same]
        n_pairs += np.bincount(of, minlength=boxes.n_images)
        plain = _overlap(numbers[:-step][same], numbers[step:][same])
        read = _overlap(turned[:-step][same], turned[step:][same])
        n_plain += np.bincount(of[plain], minlength=boxes.n_images)
        n_read += np.bincount(of[read], minlength=boxes.n_images)
    return n_pairs, n_plain, n_read


def _start_in_corner(n_pairs: IndexArray, n_plain: IndexArray, n_read: IndexArray) -> BoolArray:
    """Return where most pairs of boxes overlap, and much fewer in the other reading."""
    result: BoolArray = (n_plain > _MOST_OVERLAP * n_pairs) & (n_plain - n_read > _FEWER * n_pairs)
    return result


def _overlap(one: FloatArray, other: FloatArray) -> BoolArray:
    start = np.maximum(one[:, :2], other[:, :2])
    stop = np.minimum(one[:, :2] + one[:, 2:], other[:, :2] + other[:, 2:])
    result: BoolArray = row_min(stop - start) > 0
    return result


def _correlations(boxes: Boxes, rows: IndexArray) -> tuple[float, float]:
    """Return the rank correlations of the first two numbers and of the last two."""
    rows = rows[:: max(1, len(rows) // _SAMPLE)]
    # Varying image sizes cause correlations, in pixels or relative to the image.
    in_pixels, sides = boxes.bbox[rows], np.hstack([boxes.size[rows]] * 2)
    of = [
        np.corrcoef([_ranks(column) for column in numbers.T])
        for numbers in (in_pixels, in_pixels / sides)
    ]
    return float(np.min(of, axis=0)[0, 1]), float(np.max(of, axis=0)[2, 3])


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value; ties get their mean rank."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values)
    ranks: FloatArray = (below + np.searchsorted(ordered, values, "right")) / 2
    return ranks


def _of_centres(boxes: Boxes, sized: BoolArray) -> Iterator[Evidence]:
    """Yield images in which all boxes lie inside only if they start at their centre.

    This must not be by chance: boxes of other images would often not lie inside. No box may extend
    beyond the left or upper edge, as boxes of cut-off objects would.
    """
    bbox, size = boxes.bbox, boxes.size
    beyond = sized & ~rows_where(len(bbox), lambda rows: inside(bbox[rows], size[rows]))
    if beyond.sum() < _BEYOND:
        return
    images = np.bincount(boxes.image[beyond], minlength=boxes.n_images) > 0
    concerned: BoolArray = sized & np.append(images, False)[boxes.image]
    fits = sized & rows_where(
        len(bbox), lambda rows: inside(_CENTRE.read(bbox[rows], size[rows]), size[rows])
    )
    others = sized & ~concerned
    share = (int((fits & others).sum()) + 1) / (int(others.sum()) + 2)
    n_boxes, n_beyond = int(concerned.sum()), int(beyond.sum())
    by_chance = share ** (n_boxes - n_beyond) > _CHANCE
    if images.sum() < _IMAGES or by_chance or not fits[concerned].all():
        return
    far = row_max((bbox[beyond, :2] + bbox[beyond, 2:] - size[beyond]) / bbox[beyond, 2:])
    if np.median(far) < _FAR or _shift(boxes, concerned, others) > _SHIFT:
        return

    def text(_concerned: BoolArray) -> str:
        return (
            f"as x, y, width, height, {n_beyond:,} of {n_boxes:,} extend beyond their image; read "
            f"this way, all {n_boxes:,} lie inside, as {share:.0%} of the others would"
        )

    none = np.zeros(len(boxes), np.bool_)
    yield Evidence(
        _CENTRE, beyond, none, concerned, none, False, text,
        other_cause="the sizes of the images are wrong",
        images=images | _with_little(boxes, sized, fits),
    )  # fmt: skip


def _with_little(boxes: Boxes, sized: BoolArray, fits: BoolArray) -> BoolArray:
    """Return the images that boxes extend beyond, even slightly, and where all fit, (I,) bool."""
    beyond = sized & (boxes.bbox[:, :2] + boxes.bbox[:, 2:] > boxes.size).any(axis=1)
    n_beyond, n_unfit = (
        np.bincount(boxes.image[rows], minlength=boxes.n_images) for rows in (beyond, sized & ~fits)
    )
    result: BoolArray = (n_beyond > 0) & (n_unfit == 0)
    return result


def _shift(boxes: Boxes, concerned: BoolArray, others: BoolArray) -> float:
    """Return the mean distance of the first two numbers of boxes from other boxes' centres."""
    at = (boxes.bbox[concerned, :2] / boxes.size[concerned]).mean(axis=0)
    centre = boxes.bbox[others, :2] + boxes.bbox[others, 2:] / 2
    return float(np.abs(at - (centre / boxes.size[others]).mean(axis=0)).max())
