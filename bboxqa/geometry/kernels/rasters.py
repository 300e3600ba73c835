"""Rasterising polygons by the rules of Pillow and of rasterio, and counting common pixels."""

from collections.abc import Callable

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.pixel_runs import pixel_runs, runs_of, shared_pixels

Ring = FloatArray
Draw = Callable[[list[Ring], int, int], BoolArray]
"""Called as ``draw(rings, width, height)``; returns the drawn pixels, (height, width) bool."""


def draw_inclusive(rings: list[Ring], width: int, height: int) -> BoolArray:
    """Draw rings with Pillow, including boundaries, as (height, width) bool.

    Each ring is (V, 2) float64 in pixels of the canvas.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0], [3, 0], [3, 3], [0, 3]])
    >>> int(draw_inclusive([square], 5, 5).sum())
    16
    """
    from PIL import Image, ImageDraw

    canvas = Image.new("1", (width, height))
    draw = ImageDraw.Draw(canvas)
    for ring in rings:
        draw.polygon(ring.ravel().tolist(), fill=1, outline=1)
    return np.asarray(canvas, np.bool_)


def burn(rings: list[Ring], width: int, height: int, *, all_touched: bool = False) -> BoolArray:
    """Burn rings with rasterio, as (height, width) bool.

    These are the pixels whose centre is inside a ring, or with `all_touched` all pixels that a ring
    touches. If an edge lies exactly on the grid, the touched pixels depend on the canvas.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0], [3, 0], [3, 3], [0, 3]])
    >>> int(burn([square], 5, 5).sum())
    9
    """
    from rasterio.features import rasterize

    shapes = [
        ({"type": "Polygon", "coordinates": [np.concatenate([ring, ring[:1]]).tolist()]}, 1)
        for ring in rings
    ]
    burnt = rasterize(shapes, (height, width), all_touched=all_touched, dtype="uint8")
    return np.asarray(burnt, np.bool_)


def drawn_runs(
    rings: list[Ring], size: tuple[int, int], draw: Draw
) -> tuple[IndexArray, IndexArray]:
    """Draw an annotation on its own extent, and return the runs of its pixels; see `runs_of`.

    It is clipped to the image. `size` is its width and height, or (0, 0) if unknown.
    """
    vertices = np.concatenate(rings)
    first = np.floor(vertices.min(0)) - 1
    last = np.ceil(vertices.max(0)) + 2
    if size != (0, 0):
        first, last = np.maximum(first, 0), np.minimum(last, size)
    width, height = np.maximum(last - first, 0).astype(int).tolist()
    if width == 0 or height == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    canvas = draw([ring - first for ring in rings], width, height)
    return runs_of(canvas, *first.astype(int).tolist())


def raster_areas(
    left: list[Ring], right: list[Ring], size: tuple[int, int], draw: Draw
) -> tuple[int, int]:
    """Return the numbers of pixels of the intersection and the union of two annotations.

    Both are clipped to the image. `size` is its width and height, or (0, 0) if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0], [3, 0], [3, 3], [0, 3]])
    >>> kite = np.array([[0.0, 0], [3, 0], [5, 2], [0, 3]])
    >>> raster_areas([square], [kite], (0, 0), draw_inclusive)
    (13, 19)
    """
    runs = pixel_runs([drawn_runs(rings, size, draw) for rings in (left, right)])
    shared = int(shared_pixels(runs, np.zeros(1, np.int64), np.ones(1, np.int64))[0])
    return shared, int(runs.area.sum()) - shared
