"""Areas that rings explain although the sum of the rings is another."""

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
    """Return (K,) bool: areas between that of the largest ring and that of all, which may overlap.

    Rectangles that are cut at the border of the image, or written twice, have such areas, which
    are width x height of their boxes as well.

    Parameters
    ----------
    document : Document
    rows : (K,) int64
        The annotations, sorted.
    outline, ring_area : (N,) and (R,) float64
        Areas of outlines and of rings, inside their images.
    settings : ValidateSettings
        With the tolerance of areas.
    """
    rings = document.annotations.rings
    ring = np.flatnonzero(np.isin(rings.row, rows))
    largest = np.zeros(len(rows))
    np.maximum.at(largest, np.searchsorted(rows, rings.row[ring]), ring_area[ring])
    given, total = document.annotations.area[rows], outline[rows]
    tolerance = settings.area_tolerance
    fits: BoolArray = (largest > 0) & (given >= (1 - tolerance) * largest - 1)
    return fits & (given <= (1 + tolerance) * total + 1)
