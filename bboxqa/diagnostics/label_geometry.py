"""Labels to look at again by their geometry alone."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IntArray, rows
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
    places,
    ranked,
    repeated,
)
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.annotations import Dataset

# A category with fewer labels has no usual size.
_FEW = 20
# Deviations count from so many spreads on; a spread is at least so many natural units.
_USUAL, _LEAST_SPREAD = 3.5, 0.1


def geometric_suspects(data: Dataset) -> Suspects:
    """Return what is suspicious about labels by their geometry, without a model.

    - place: the size, within its image, or the shape of a label is far from the median of its
      category; the score is 1 - 3.5 / z with z the distance in robust standard deviations. Or all
      n > 1 labels of an image are those of the image before: n / (n + 1)
    - twice: 2 IoU - 1 of another label of the category
    - missing: an image without labels, where most have some: 1 - 2 times the share without
    """
    of = data.annotations
    again = repeated(of, np.flatnonzero(~of.iscrowd), ~of.iscrowd)
    label = np.flatnonzero(again)
    reason, figures = np.full(len(label), REPEATED), np.stack([again, again], axis=1)[label]
    score = 2 * again[label] - 1
    twice = places(of, TWICE, score, label=label, reason=reason, figures=figures)
    return ranked([*_outliers(data), twice, _copies(data), _empty(data)])


def _outliers(data: Dataset) -> list[Suspects]:
    """Return labels whose size or shape is far from what is usual for the category."""
    labels = np.flatnonzero(~data.annotations.iscrowd)
    of = data.annotations.take(labels)
    width, height = of.bbox[:, 2:].clip(1e-6).T
    size = data.image_size[of.image].astype(np.float64)
    # Unless the size of all images is known, sizes are those in pixels.
    scale = size.prod(1) if (size > 0).all() else np.ones(len(labels))
    found = []
    for reason, values in ((SIZE, width * height / scale), (SHAPE, (width / height) ** 2)):
        z = _deviations(np.log(values) / 2, of.category)
        far = np.flatnonzero(z > _USUAL)
        figures = np.stack([z, z], axis=1)[far]
        found.append(places(data.annotations, PLACE, 1 - _USUAL / z[far], label=labels[far],
                            reason=np.full(len(far), reason), figures=figures))  # fmt: skip
    return found


def _deviations(value: FloatArray, category: IntArray) -> FloatArray:
    """Return how many robust standard deviations values are from the median of their category."""
    result = np.zeros(len(value))
    order = np.argsort(category, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(category[order])) + 1):
        if len(own) >= _FEW:
            apart = np.abs(value[own] - np.median(value[own]))
            result[own] = apart / max(1.4826 * float(np.median(apart)), _LEAST_SPREAD)
    return result


def _copies(data: Dataset) -> Suspects:
    """Return images whose labels, two or more, are exactly those of the image before."""
    of = data.annotations
    number = np.bincount(of.image, minlength=len(data.image_names))
    start, stop = np.cumsum(number) - number, np.cumsum(number)
    later = np.flatnonzero((number[1:] == number[:-1]) & (number[1:] > 1)) + 1
    at, _ = rows(start[later], stop[later])
    before, _ = rows(start[later - 1], stop[later - 1])
    differs = (of.bbox[at] != of.bbox[before]).any(1) | (of.category[at] != of.category[before])
    image = later[~np.isin(later, of.image[at[differs]])]
    edges = corners(of.bbox)
    spans = [edges[start[each] : stop[each]] for each in image.tolist()]
    around = [np.concatenate([each[:, :2].min(0), each[:, 2:].max(0)]) for each in spans]
    n = number[image].astype(np.float64)
    return places(
        of, PLACE, n / (n + 1), image=image, bbox=from_corners(np.reshape(around, (-1, 4))),
        reason=np.full(len(n), COPIED), figures=np.stack([n, n], axis=1),
    )  # fmt: skip


def _empty(data: Dataset) -> Suspects:
    """Return images without labels, if most images have some."""
    number = np.bincount(data.annotations.image, minlength=len(data.image_names))
    image = np.flatnonzero(number == 0)
    share = np.full(len(image), len(image) / max(len(number), 1))
    whole = np.concatenate([np.zeros((len(image), 2)), data.image_size[image]], axis=1)
    return places(
        data.annotations, MISSING, 1 - 2 * share, image=image, bbox=whole,
        reason=np.full(len(image), EMPTY), figures=np.stack([1 - share, share], axis=1),
    )  # fmt: skip
