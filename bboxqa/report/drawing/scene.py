"""An image and its annotations, to be drawn."""

from dataclasses import dataclass
from typing import Literal

from bboxqa.core.arrays import ByteArray, FloatArray
from bboxqa.model.findings import Severity

By = Literal["annotator", "category", "unit", "finding"]
"""What colours and labels of a drawing stand for."""

Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """An annotation of an image."""

    bbox: Box
    rings: tuple[FloatArray, ...] = ()
    """Each (V, 2) in pixels; without them the box is drawn."""
    annotator: str = ""
    category: str = ""
    unit: int = 0
    """Number of the unit in this image, from 1; 0 for none."""
    codes: tuple[str, ...] = ()
    """Codes of the rules that found something, the most severe first."""
    points: FloatArray | None = None
    """(K, 3) x, y and visibility of its key points; None where they were not read."""
    limbs: tuple[tuple[int, int], ...] = ()
    """The key points that lines join."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An image with its annotations."""

    name: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    pixels: ByteArray | None = None
    """(H, W, 3) uint8. The whole image, perhaps reduced; None for a blank canvas."""
    annotators: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """All names of the data set; their order determines the colours."""
    asked: tuple[str, ...] = ()
    """The annotators who were asked about this image."""
    rules: tuple[tuple[str, Severity, str], ...] = ()
    """Code, severity and title of each rule that found something, the most severe first."""
