"""Computing areas and bounds of the parts of outlines inside their images."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import swapped_images


def visible_ring_areas(document: Document, rows: IndexArray) -> tuple[IndexArray, FloatArray]:
    """Return the rings of annotations that extend beyond their images, and the areas inside.

    Images whose width and height look swapped are left out.

    Parameters
    ----------
    document : Document
    rows : (K,) int64
        The annotations, sorted.

    Returns
    -------
    rings : (R,) int64
        All rings of such annotations.
    areas : (R,) float64
        The areas in square pixels.
    """
    bounds, size = document.outline_bounds[rows], document.size[rows]
    with np.errstate(invalid="ignore"):
        beyond = (bounds[:, :2] < 0).any(axis=1) | (bounds[:, 2:] > size).any(axis=1)
    beyond &= ~np.isnan(size).any(axis=1)
    if beyond.any():
        swapped = np.append(document.once(swapped_images), False)
        beyond &= ~swapped[document.image[rows]]
    rings = document.annotations.rings
    which = np.flatnonzero(np.isin(rings.row, rows[beyond]))
    areas = [
        clipped_area(rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]], document.size[row])
        for ring, row in zip(which.tolist(), rings.row[which].tolist(), strict=True)
    ]
    return which, np.array(areas, np.float64)


def visible_areas(document: Document, suspects: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the areas of outlines and of rings, clipped to the image for the suspects.

    pycocotools also clips outlines to the image before measuring them.
    """
    outline, ring_area = document.outline_area, np.abs(document.ring_area)
    rings, areas = visible_ring_areas(document, suspects)
    if len(rings) == 0:
        return outline, ring_area
    ring_area[rings] = areas
    rows, place = np.unique(document.annotations.rings.row[rings], return_inverse=True)
    outline = outline.copy()
    outline[rows] = sum_by(place, areas, len(rows))
    return outline, ring_area


def visible_bounds(document: Document, rows: IndexArray) -> FloatArray:
    """Return left, top, right and bottom of outlines inside their images, (K, 4); NaN for none."""
    rings, result = document.annotations.rings, np.full((len(rows), 4), np.nan)
    for place, row in enumerate(rows.tolist()):
        of_row = np.flatnonzero(rings.row == row)
        parts = [rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]] for ring in of_row]
        xy = np.concatenate([_clipped(part, document.size[row]) for part in parts])
        if len(xy):
            result[place] = *xy.min(axis=0), *xy.max(axis=0)
    return result


def clipped_area(xy: FloatArray, size: FloatArray) -> float:
    """Return the area of a ring inside an image, in square pixels (shoelace formula).

    The ring is clipped at one edge of the image after another (Sutherland and Hodgman, 1974,
    doi:10.1145/360767.360802). If clipping leaves several parts, they are joined by edges along the
    border, which have no area.

    Parameters
    ----------
    xy : (V, 2) float64
    size : (2,) float64
        Width and height of the image in pixels.

    Examples
    --------
    >>> ring = np.array([[-5.0, 2], [5, 2], [5, 4], [-5, 4]])
    >>> clipped_area(ring, np.array([20.0, 10]))
    10.0
    """
    xy = _clipped(xy, size)
    x, y = (xy - xy[:1]).T
    return float(abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) / 2)


def _clipped(xy: FloatArray, size: FloatArray) -> FloatArray:
    for axis in (0, 1):
        xy = _cut(xy, xy[:, axis])
        xy = _cut(xy, size[axis] - xy[:, axis])
    return xy


def _cut(xy: FloatArray, depth: FloatArray) -> FloatArray:
    """Return the part of a ring where `depth` is not negative."""
    after, below = np.roll(xy, -1, axis=0), np.roll(depth, -1)
    crosses = (depth < 0) != (below < 0)
    share = np.divide(depth, depth - below, out=np.zeros(len(depth)), where=crosses)
    points = np.stack([xy, xy + share[:, None] * (after - xy)], axis=1)
    kept = np.stack([depth >= 0, crosses], axis=1)
    result: FloatArray = points[kept]
    return result
