"""Images of so many annotations, or annotators, that a diagnosis would take minutes."""

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.overlaps import overlapping_boxes
from bboxqa.diagnostics.object_cells import edges_of
from bboxqa.diagnostics.vitality import rows_to_rematch
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import MatchedUnits

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
