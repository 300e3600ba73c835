"""The pixels of masks: their values in an image file, and the regions of equal values."""

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray
from bboxqa.core.image_opening import RASTERS, block_problem, opened, opened_raster, reason_of
from bboxqa.formats.translation.masks import MOST_PIXELS, Allowance
from bboxqa.formats.translation.untrusted import MaskProblemError
from bboxqa.model.shapes.masks import joined

Values = NDArray[Any]
"""(H, W) whole numbers, or bool of a file with one bit per pixel."""

_MOST_BYTES, _MOST_ROWS = 1 << 28, 1 << 16
_MODES = ("1", "L", "P", "I;16", "I;16B", "I", "RGB", "RGBA", "LA")
# Pillow scales grey values of two and four bits to 255.
_STEPS = {2: 85, 4: 17}


def values_in(data: bytes, pictures: Allowance, *, in_colours: bool = False) -> Values:
    """Return the values of a mask in an image file.

    The size is checked, and counted in `pictures`, before the image is decoded. If `in_colours`,
    values are colours, ``red << 16 | green << 8 | blue``; else those of a palette are its indices.
    Raises MaskProblemError if the file has no such values.
    """
    read = _of_tiff if RASTERS.get(data[:4]) == "GTiff" else _of_picture
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, palette = read(data, pictures)
    except MaskProblemError:
        raise
    # Decoders raise any error for a broken file.
    except Exception as error:  # noqa: BLE001
        raise MaskProblemError(f"cannot be decoded: {reason_of(error)}") from None
    if in_colours:
        return _packed(found if palette is None else palette[found])
    if found.ndim == 3:
        raise MaskProblemError(
            "has colours; expected one channel, or with --mask classes a labelmap.txt with a line "
            "NAME:RED,GREEN,BLUE for each"
        )
    return found


def _packed(colours: Values) -> Values:
    """Return colours, (H, W, 3), or grey values, (H, W), as one number each."""
    if colours.ndim == 2:
        return colours.astype(np.uint32) * np.uint32(0x010101)
    found: Values = colours[..., 0].astype(np.uint32) << 16
    found |= colours[..., 1].astype(np.uint32) << 8
    return found | colours[..., 2]


def _check(pictures: Allowance, size: tuple[int, int], n_bytes: int, data: bytes) -> None:
    """Refuse an image that would take more than `n_bytes` per pixel allow."""
    width, height = size
    if width * height > MOST_PIXELS or width * height * n_bytes > _MOST_BYTES:
        problem = f"has {width:,} × {height:,} pixels of {n_bytes} bytes"
        raise MaskProblemError(f"{problem}; expected at most {_MOST_BYTES:,} bytes: cut it")
    pictures.take(width * height * n_bytes, len(data))


def _of_tiff(data: bytes, pictures: Allowance) -> tuple[Values, None]:
    with opened_raster(io.BytesIO(data), "GTiff") as raster:
        if raster is None:
            raise MaskProblemError("cannot be decoded: no TIFF that rasterio reads")
        if raster.count != 1 or raster.subdatasets:
            raise MaskProblemError("has several bands or pages; expected a file for each")
        kind = np.dtype(raster.dtypes[0])
        if kind.kind not in "ui" or (problem := block_problem(raster)):
            problem = f"of type {kind}" if kind.kind not in "ui" else problem
            raise MaskProblemError(f"has values {problem}; expected whole numbers")
        _check(pictures, (raster.width, raster.height), kind.itemsize, data)
        values: Values = raster.read(1)
    if values.min() < 0:
        raise MaskProblemError("has values below 0; expected 0 for the background")
    return values, None


def _of_picture(data: bytes, pictures: Allowance) -> tuple[Values, Values | None]:
    """Return the values of a picture, (H, W) or (H, W, 3), and its palette, (256, 3)."""
    with opened(io.BytesIO(data)) as picture:
        mode, n_bands = picture.mode, len(picture.getbands())
        if picture.format not in ("PNG", "BMP", "GIF", "PPM"):
            loss = ", whose compression changes values" if picture.format == "JPEG" else ""
            raise MaskProblemError(f"is {picture.format}{loss}; expected PNG or TIFF")
        bits, kind = data[24:26] if picture.format == "PNG" else (8, 0)
        if mode not in _MODES or (bits == 16 and kind != 0):
            raise MaskProblemError(f"has pixels of the kind {mode}; expected one channel")
        if getattr(picture, "n_frames", 1) > 1:
            raise MaskProblemError("has several frames; expected a file for each")
        # Colours are copied, and put together.
        _check(pictures, picture.size, 4 if mode[0] == "I" or n_bands > 1 else 1, data)
        values, palette = np.asarray(picture), None
        if mode == "P":
            given = picture.getpalette("RGB")
            palette = np.array([*given, *[0] * (768 - len(given))], np.uint8).reshape(-1, 3)
    if mode[-1] == "A":
        if values[..., -1].min() < 255:
            raise MaskProblemError("has transparent pixels; save it without opacity")
        values = values[..., :-1]
    if values.ndim == 3 and all(
        (values[..., 0] == values[..., n]).all() for n in (values.shape[2] // 2, -1)
    ):
        values = values[..., 0]
    return values // _STEPS[bits] if mode == "L" and bits in _STEPS else values, palette


class Runs(NamedTuple):
    """The runs of equal values in the rows of a mask, without the background."""

    spans: IndexArray
    """(R, 2) int64. Begin and end among all pixels, row by row."""
    value: NDArray[Any]
    """(R,) The value of each run."""
    piece: IndexArray
    """(R,) int64. The piece that each run is in: pixels of one value that touch, also at corners.
    """

    def groups(self, key: NDArray[Any]) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the runs of each value of a key, in ascending order, and their spans, joined."""
        order = np.argsort(key, kind="stable")
        ends = np.flatnonzero(np.diff(key[order])) + 1
        for rows in np.split(order, ends) if len(order) else ():
            yield rows, joined(self.spans[rows])

    def sizes(self, rows: IndexArray) -> IndexArray:
        """Return the number of pixels of each piece of some runs."""
        _, piece = np.unique(self.piece[rows], return_inverse=True)
        lengths = np.diff(self.spans[rows], axis=1)[:, 0]
        return np.bincount(piece, lengths).astype(np.int64)


def runs_in(values: Values, check: Callable[[int], None] = lambda _: None) -> Runs:
    """Return the runs of a mask.

    `check` is called with their number, and that of runs of the background, before memory is taken.

    Examples
    --------
    >>> runs = runs_in(np.array([[7, 7, 0], [0, 0, 7], [7, 0, 0]]))
    >>> runs.spans.tolist(), runs.piece.tolist()
    ([[0, 2], [5, 6], [6, 7]], [0, 0, 1])
    """
    height, width = values.shape
    is_start = np.ones(values.shape, np.bool_)
    np.not_equal(values[:, 1:], values[:, :-1], out=is_start[:, 1:])
    # Each row begins a run, also where nothing is drawn.
    check(int(np.count_nonzero(is_start)) - min(height, _MOST_ROWS))
    start = np.flatnonzero(is_start)
    value = values.ravel()[start]
    kept = np.flatnonzero(value)
    stop = np.append(start[1:], height * width)[kept]
    start, value = start[kept], value[kept]
    return Runs(np.stack([start, stop], 1), value, _pieces(start, stop, value, width))


def _pieces(start: IndexArray, stop: IndexArray, value: NDArray[Any], width: int) -> IndexArray:
    """Return the piece of each run, numbered from 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Places in rows that are two pixels wider, so that ends of rows do not touch.
    row = start // width
    first, last = start + 2 * row, stop + 2 * row
    below = width + 2
    low = np.searchsorted(last, first + below, "left")
    n = np.maximum(np.searchsorted(first, last + below, "right") - low, 0)
    upper = np.repeat(np.arange(len(start)), n)
    lower = np.repeat(low - np.cumsum(n) + n, n) + np.arange(n.sum())
    same = value[upper] == value[lower]
    pairs = (np.ones(same.sum(), np.bool_), (upper[same], lower[same]))
    _, piece = connected_components(coo_array(pairs, (len(start), len(start))), directed=False)
    found: IndexArray = piece.astype(np.int64)
    return found
