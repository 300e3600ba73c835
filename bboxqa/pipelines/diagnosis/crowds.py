"""Images in which more annotations overlap than a diagnosis can compare."""

import numpy as np

from bboxqa.core.arrays import overlapping_boxes
from bboxqa.core.remembered import remembered
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.pipelines.counting import ImagePart

# Pairs that are diagnosed in a few seconds, and further ones for each annotation: in real data,
# few annotations overlap as many others.
_PAIRS = 1 << 18
_OF_ANNOTATION = 25


@remembered
def too_crowded(images: ImagePart) -> str:
    """Return in which image too many pairs of annotations overlap; "" if it is nowhere.

    A diagnosis compares all pairs of annotations of an image whose boxes overlap, also those of one
    annotator. A quarter of a million pairs, and 25 for each annotation, are allowed.
    """
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
