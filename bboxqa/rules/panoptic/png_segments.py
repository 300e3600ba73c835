"""Reading the segments in the PNG files of panoptic annotations once for all rules."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray
from bboxqa.core.parallel import threads
from bboxqa.core.text import clean
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_places import ImageState, Place, find_files

_COLOUR = ("RGB", "RGBA")


@dataclass(frozen=True, slots=True, eq=False)
class PngSegments:
    """The segments in one PNG."""

    problem: str = ""
    """Why the PNG cannot be compared with the annotation; "" if it can."""
    id: IndexArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(S,) int64. The ids of the segments, ascending, without 0 for unlabelled pixels."""
    area: IndexArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(S,) int64. The number of pixels of each segment."""
    bounds: IndexArray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    """(S, 4) int64. Left, top, right and bottom of each segment in pixels; right and bottom are
    exclusive.
    """


def png_segments(document: Document) -> Sequence[PngSegments | None]:
    """Return the content of the PNG of each annotation; None for annotations without a file name.

    They are searched in the folders of the images and of the document, and in folders there with
    the name of the document.
    """
    return document.once(_read_all)


def _read_all(document: Document) -> list[PngSegments | None]:
    if document.disk is None:
        return [None] * len(document.annotations)
    found = [document.record(row).get("file_name") for row in range(len(document.annotations))]
    names = [name if isinstance(name, str) and name.strip() else None for name in found]
    file = Path(document.name)
    beside = [file.resolve().parent] if file.is_file() else []
    roots = [
        folder for root in (*document.disk.roots, *beside) for folder in (root / file.stem, root)
    ]
    places = find_files(names, [root for root in dict.fromkeys(roots) if root.is_dir()])
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(_of_place, places, document.size))


def _of_place(place: Place, size: Any) -> PngSegments | None:
    if place.state == ImageState.NOT_ASKED:
        return None
    if place.state != ImageState.FOUND:
        why = "is not found in the folders of the images and beside the file"
        return PngSegments(place.problem or why)
    return read_segments(Path(place.file), tuple(size.tolist()))


def read_segments(path: Path, size: tuple[float, float]) -> PngSegments:
    """Return the segments of a PNG; `size` is the size of its image in pixels."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            width, height = image.size
            if (width, height) != size and not np.isnan(size).any():
                expected = f"{size[0]:g} x {size[1]:g}"
                return PngSegments(f"has {width} x {height} px; its image has {expected}")
            if image.mode not in _COLOUR:
                return PngSegments(f"has mode {image.mode}; expected RGB, the colours of segments")
            colours = np.asarray(image)
    # Decoders may raise any exception for broken files.
    except Exception as error:  # noqa: BLE001
        return PngSegments(f"cannot be read: {clean(str(error).partition(chr(10))[0])}")
    red, green, blue = (colours[..., part].ravel() for part in range(3))
    return _counted(red | green.astype(np.uint32) << 8 | blue.astype(np.uint32) << 16, width)


def _counted(pixels: NDArray[np.uint32], width: int) -> PngSegments:
    """Return the segments in flat pixels; runs of equal pixels are counted at once."""
    is_start = np.ones(len(pixels), np.bool_)
    np.not_equal(pixels[1:], pixels[:-1], out=is_start[1:])
    is_start[::width] = True
    starts = np.flatnonzero(is_start)
    ids, of_run = np.unique(pixels[starts], return_inverse=True)
    lengths = np.diff(np.append(starts, len(pixels)))
    areas = np.bincount(of_run, lengths, minlength=len(ids)).astype(np.int64)
    top, left = np.divmod(starts, width)
    order = np.argsort(of_run, kind="stable")
    first = np.searchsorted(of_run[order], np.arange(len(ids)))
    edges = np.stack([-left, -top, left + lengths, top + 1], axis=1)[order]
    bounds = np.maximum.reduceat(edges, first) * [-1, -1, 1, 1]
    return PngSegments("", ids[ids > 0].astype(np.int64), areas[ids > 0], bounds[ids > 0])
