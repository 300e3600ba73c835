"""Converting boxes rotated about their centre to keys of COCO annotations."""

from collections.abc import Iterable

from bboxqa.formats.document.origin import WRITTEN_ANGLE
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import LARGEST


def turned_box(box: Iterable[float], degrees: float) -> Record:
    """Return the COCO geometry keys of a box rotated clockwise about its centre.

    Examples
    --------
    >>> [round(side, 9) for side in turned_box([0, 0, 4, 2], 90)["bbox"]]
    [1.0, -1.0, 2.0, 4.0]
    """
    x, y, width, height = box
    centre = (x + width / 2, y + height / 2)
    points = shapes.rotated(shapes.corners(x, y, width, height), centre, degrees)
    turned = {"attributes": {"rotation": degrees}, WRITTEN_ANGLE: degrees}
    return {**shapes.outlined(points), **turned}


def angle_in(cell: object) -> float:
    """Return the angle in degrees in a cell of a table; 0 if the cell is empty.

    Examples
    --------
    >>> angle_in("12.5"), angle_in(""), angle_in(None)
    (12.5, 0.0, 0.0)
    """
    try:
        degrees = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return degrees if abs(degrees) < LARGEST else 0.0
