"""Labels to look at again by their geometry alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, rows
from bboxqa.diagnostics.audit import (
    COPIED,
    EMPTY,
    MISSING,
    PLACE,
    REPEATED,
    SHAPE,
    SIZE,
    TWICE,
    Suspects,
    edges_of,
    ranked,
    repeated,
)
from bboxqa.model.annotations import Dataset

# A category with fewer labels has no usual size.
_FEW = 20
# Deviations count from so many spreads on; a spread is at least so many natural units.
_USUAL, _LEAST_SPREAD = 3.5, 0.1
# An image without labels is suspicious if fewer images than this share are.
_MOST_EMPTY = 0.5


def geometric_suspects(data: Dataset) -> Suspects:
    """Return what is suspicious about labels by their geometry, without a model.

    - place: the size, within its image, or the shape of a label is far from the median of its
      category; the score is 1 - 3.5 / z with z the distance in robust standard deviations. Or all
      n > 1 labels of an image are those of the image before: n / (n + 1)
    - twice: 2 IoU - 1 of another label of the category
    - missing: an image without labels, where most have some: 1 - 2 times the share without
    """
    one = data.annotations
    labels = np.flatnonzero(~one.iscrowd)
    return ranked([_outliers(data, labels), _repeated(data), _copies(data), _empty(data)])


def _suspects(
    image: NDArray[Any], label: IndexArray, bbox: FloatArray, score: FloatArray, **more: object
) -> Suspects:
    n = len(image)
    columns = {name: np.broadcast_to(np.asarray(more[name]), n) for name in ("kind", "reason")}
    figures = np.broadcast_to(np.asarray(more["figure"], np.float64)[:, None], (n, 2))
    return Suspects(
        kind=columns["kind"].astype(np.int32),
        image=image.astype(np.int32),
        label=label,
        prediction=np.full(n, -1),
        bbox=bbox,
        suggested=np.full(n, -1, np.int32),
        score=score,
        reason=columns["reason"].astype(np.int32),
        figures=figures.copy(),
    )


def _outliers(data: Dataset, labels: IndexArray) -> Suspects:
    """Return labels whose size or shape is far from what is usual for the category."""
    of = data.annotations.take(labels)
    width, height = of.bbox[:, 2:].clip(1e-6).T
    size = data.image_size[of.image].astype(np.float64)
    known = (size > 0).all(1)
    # Without the size of images, sizes are those in pixels.
    scale = np.where(known, size.prod(1), 1.0) if known.all() else np.ones(len(labels))
    deviation = np.stack(
        [_deviations(each, of.category) for each in (np.log(width * height / scale) / 2,
                                                     np.log(width / height))]
    )  # fmt: skip
    larger = deviation.argmax(0)
    most = deviation.max(0, initial=0) if len(labels) else np.zeros(0)
    far = np.flatnonzero(most > _USUAL)
    return _suspects(
        of.image[far], labels[far], of.bbox[far], 1 - _USUAL / most[far],
        kind=PLACE, reason=np.where(larger[far] == 0, SIZE, SHAPE), figure=most[far],
    )  # fmt: skip


def _deviations(value: FloatArray, category: IntArray) -> FloatArray:
    """Return how many robust standard deviations values are from the median of their category."""
    result = np.zeros(len(value))
    order = np.argsort(category, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(category[order])) + 1):
        if len(own) >= _FEW:
            apart = np.abs(value[own] - np.median(value[own]))
            result[own] = apart / max(1.4826 * float(np.median(apart)), _LEAST_SPREAD)
    return result


def _repeated(data: Dataset) -> Suspects:
    """Return labels that repeat another one of their category."""
    of = data.annotations
    iou = repeated(of, np.flatnonzero(~of.iscrowd), ~of.iscrowd)
    found = np.flatnonzero(iou)
    return _suspects(
        of.image[found], found, of.bbox[found], 2 * iou[found] - 1,
        kind=TWICE, reason=REPEATED, figure=iou[found],
    )  # fmt: skip


def _copies(data: Dataset) -> Suspects:
    """Return images whose labels, two or more, are exactly those of the image before."""
    of, n_images = data.annotations, len(data.image_names)
    number = np.bincount(of.image, minlength=n_images)
    stop = np.cumsum(number)
    later = np.flatnonzero((number[1:] == number[:-1]) & (number[1:] > 1)) + 1
    start = stop - number
    at, offsets = rows(start[later], stop[later])
    before, _ = rows(start[later - 1], stop[later - 1])
    differs = (of.bbox[at] != of.bbox[before]).any(1) | (of.category[at] != of.category[before])
    n_other = np.add.reduceat(np.append(differs, False).astype(np.int64), offsets[:-1])
    copied = later[n_other[: len(later)] == 0] if len(later) else later
    edges = edges_of(of.bbox)
    low = np.array([edges[a:b, :2].min(0) for a, b in _spans(start, stop, copied)]).reshape(-1, 2)
    high = np.array([edges[a:b, 2:].max(0) for a, b in _spans(start, stop, copied)]).reshape(-1, 2)
    n = number[copied].astype(np.float64)
    return _suspects(
        copied, np.full(len(copied), -1), np.concatenate([low, high - low], axis=1), n / (n + 1),
        kind=PLACE, reason=COPIED, figure=n,
    )  # fmt: skip


def _spans(start: IndexArray, stop: IndexArray, some: IndexArray) -> list[tuple[int, int]]:
    return [*zip(start[some].tolist(), stop[some].tolist(), strict=True)]


def _empty(data: Dataset) -> Suspects:
    """Return images without labels, if most images have some."""
    number = np.bincount(data.annotations.image, minlength=len(data.image_names))
    empty = np.flatnonzero(number == 0)
    share = len(empty) / max(len(number), 1)
    empty = empty if share < _MOST_EMPTY else empty[:0]
    whole = np.concatenate([np.zeros((len(empty), 2)), data.image_size[empty]], axis=1)
    return _suspects(
        empty, np.full(len(empty), -1), whole, np.full(len(empty), 1 - 2 * share),
        kind=MISSING, reason=EMPTY, figure=np.full(len(empty), 1 - share),
    )  # fmt: skip
