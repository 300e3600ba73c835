"""Areas that overlapping rings explain although they differ from the sum of the rings."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.facts.document import Document


def fits_rings(
    document: Document,
    rows: IndexArray,
    outline: FloatArray,
    ring_area: FloatArray,
    settings: ValidateSettings,
) -> BoolArray:
    """Return which areas lie between the largest ring and the sum of all rings, (K,) bool.

    Such areas are correct if rings overlap. Rectangles that are cut at the border of the image, or
    written twice, also have such areas, which equal width x height of their boxes.

    Parameters
    ----------
    document : Document
    rows : (K,) int64
        The annotations, sorted.
    outline, ring_area : (N,) and (R,) float64
        Areas of outlines and of rings, clipped to their images.
    settings : ValidateSettings
        Settings with the tolerance of areas.
    """
    rings = document.annotations.rings
    ring = np.flatnonzero(np.isin(rings.row, rows))
    largest = np.zeros(len(rows))
    np.maximum.at(largest, np.searchsorted(rows, rings.row[ring]), ring_area[ring])
    given, total = document.annotations.area[rows], outline[rows]
    tolerance = settings.area_tolerance
    fits: BoolArray = (largest > 0) & (given >= (1 - tolerance) * largest - 1)
    return fits & (given <= (1 + tolerance) * total + 1)
