"""What the annotations must have before a similarity can compare them."""

import numpy as np

from bboxqa.errors import DatasetError
from bboxqa.model import BoolArray, Dataset, SegmentationKind, Segmentations

__all__ = ["check_shapes", "describe", "needs_segmentation"]

_BOXES = ("bbox", "giou", "centroid")
_POLYGONS_ONLY = ("pixel", "raster")


def needs_segmentation(similarity: str) -> bool:
    """Return whether a similarity compares outlines rather than boxes."""
    return similarity not in _BOXES


def describe(dataset: Dataset, index: int) -> str:
    """Return how to call an annotation in a message."""
    annotations = dataset.annotations
    image = dataset.image_names[annotations.image[index]]
    annotator = dataset.annotator_names[annotations.annotator[index]]
    return f"annotation {annotations.id[index]} of {annotator!r} in image {image!r}"


def check_shapes(dataset: Dataset, similarity: str) -> None:
    """Refuse annotations that a similarity cannot compare.

    Parameters
    ----------
    dataset : Dataset
        N annotations.
    similarity : str
        The name of a similarity.

    Raises
    ------
    DatasetError
        With every annotation without an outline, or with one of the wrong kind or size, and every
        image whose size is needed and not known.
    """
    if not needs_segmentation(similarity):
        return
    segmentation = _require_outlines(dataset, similarity)
    is_mask = segmentation.kind == SegmentationKind.RLE
    if similarity == "mask":
        _require_size(dataset, ~is_mask, similarity)
    elif is_mask.any():
        # Polygons are drawn as masks where there is a mask in their image to compare with.
        beside = np.isin(dataset.annotations.image, dataset.annotations.image[is_mask])
        _require_size(dataset, beside & ~is_mask, similarity)
    _check_mask_sizes(dataset, segmentation)


def _require_size(dataset: Dataset, needed: BoolArray, similarity: str) -> None:
    unknown = (dataset.image_size[dataset.annotations.image] == 0).any(1) & needed
    images = np.unique(dataset.annotations.image[unknown]).tolist()
    if images:
        raise DatasetError(
            [
                f"image {dataset.image_names[image]!r} has no width and height; "
                f"similarity {similarity!r} needs them"
                for image in images
            ],
            "Add `width` and `height` to the image records, or compare with --similarity bbox.",
        )


def _require_outlines(dataset: Dataset, similarity: str) -> Segmentations:
    """Return the outlines if they are all there and of the right kind."""
    segmentation = dataset.annotations.segmentation
    if segmentation is None:
        raise DatasetError(
            [f"the segmentations were not read; similarity {similarity!r} needs them"],
            "Read the file with `bboxqa.read_coco(path, segmentation=True)`.",
        )
    absent = np.flatnonzero(segmentation.kind == SegmentationKind.NONE)
    problems = [f"{describe(dataset, index)} has no segmentation" for index in absent.tolist()]
    polygons_only = similarity in _POLYGONS_ONLY
    if polygons_only:
        rle = np.flatnonzero(segmentation.kind == SegmentationKind.RLE)
        problems += [f"{describe(dataset, index)} is RLE, not polygons" for index in rle.tolist()]
    if problems:
        raise DatasetError(
            problems,
            f"Similarity {similarity!r} needs {'polygons' if polygons_only else 'outlines'} on "
            "every annotation; compare with --similarity "
            + ("mask, polygon or bbox." if polygons_only else "bbox."),
        )
    return segmentation


def _check_mask_sizes(dataset: Dataset, segmentation: Segmentations) -> None:
    """Refuse masks that are not as large as their image, or as the other masks of it."""
    rle = np.flatnonzero(segmentation.kind == SegmentationKind.RLE)
    image = dataset.annotations.image[rle]
    expected = dataset.image_size[image][:, ::-1].copy()
    unknown = (expected == 0).any(1)
    first = rle[np.searchsorted(image, image)]
    expected[unknown] = segmentation.size[first][unknown]
    wrong = np.flatnonzero((segmentation.size[rle] != expected).any(1)).tolist()
    if wrong:
        raise DatasetError(
            [
                f"{describe(dataset, int(rle[place]))}: the mask is "
                f"{' × '.join(map(str, segmentation.size[rle[place]].tolist()))} (height × width);"
                f" expected {' × '.join(map(str, expected[place].tolist()))}, as the image"
                for place in wrong
            ],
            "Export the masks at the size of their image.",
        )
