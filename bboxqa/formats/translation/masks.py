"""Converting masks of annotation tools to COCO boxes and run lengths, within bounds."""

import base64
import io
import warnings
import zlib
from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.image_opening import opened
from bboxqa.formats.document import Record
from bboxqa.formats.translation.shapes import EmptyMaskProblemError, MaskProblemError
from bboxqa.model.masks import (
    MAX_MASK_PIXELS,
    compress_counts,
    decode_counts,
    joined,
    runs_of_spans,
    span_bounds,
    spans_of_pixels,
    spans_of_runs,
    turned,
)

Size = tuple[int, int]
MOST_RUNS = 1 << 21
"""Runs of pixels that a mask may have column by column, as COCO holds masks."""

_FIRST = 1_000_000
MOST_PIXELS = 1 << 27
"""Pixels that a picture of a mask may have."""
_MOST_UNPACKED = 1 << 26
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LONGEST = 1 << 14
"""Pixels in one run of the longest that Label Studio writes."""


class RowMask(msgspec.Struct, frozen=True, eq=False):
    """A mask that is given row by row, for a part of an image."""

    spans: IndexArray
    """(N, 2) int64. Begins and ends of runs among the pixels of the part, row by row."""
    width: int
    height: int
    left: int = 0
    top: int = 0
    n_characters: int = 0
    """Length of the text that gives the mask."""

    def bounds(self) -> list[float]:
        """Return the box around the pixels; raises EmptyMaskProblemError if there are none."""
        if not len(self.spans):
            raise EmptyMaskProblemError("has no pixels")
        top, left, bottom, right = span_bounds(self.spans, self.width)
        return [self.left + left, self.top + top, right - left, bottom - top]


def _moved(spans: IndexArray, length: int, to: int, line: int, place: int) -> IndexArray:
    """Return spans in lines of `length` pixels as moved spans in lines of `to` pixels."""
    lines, places = np.divmod(spans[:, :1], length)
    starts = (lines + line) * to + places + place
    return joined(np.concatenate([starts, starts + np.diff(spans)], 1))


class Allowance:
    """Bounds the sum of what the masks of a source have, by the length of their texts.

    It is `least`, however short these are; each character adds one of `rates`: the first million
    less, so that a small file is read in a few seconds.
    """

    def __init__(self, what: str, least: int, rates: tuple[int, int]) -> None:
        self._what, self._least, self._rates = what, least, rates
        self._n = self._n_characters = 0

    def take(self, n: int, n_characters: int) -> None:
        """Count what a text stands for; raises MaskProblemError if it is too much."""
        self._n_characters += n_characters
        first = min(self._n_characters, _FIRST)
        more = self._rates[0] * first + self._rates[1] * (self._n_characters - first)
        if self._n + n > self._least + more:
            some = f"{self._n + n:,} {self._what} in {self._n_characters:,} characters"
            expected = f"expected at most {self._least + more:,} in so short a text"
            raise MaskProblemError(f"would bring the masks to {some}; {expected}: split the source")
        self._n += n


class Masks:
    """Converts the masks of a source; with `outlines`, masks are requested besides boxes."""

    def __init__(self, *, outlines: bool) -> None:
        self.outlines = outlines
        # One value of a grey pixel, four with colour and opacity.
        self.pictures = Allowance("values of pixels", 3 << 27, (64, 4096))
        self._runs = Allowance("runs of pixels", 1 << 23, (2, 32))

    def record(self, mask: RowMask, size: Size | None) -> Record:
        """Return the box of a mask, and if requested the mask in an image of a known size."""
        bbox = mask.bounds()
        if size is None:
            return {"bbox": bbox}
        width, height = checked_size(size)
        right, bottom = mask.left + mask.width, mask.top + mask.height
        if min(mask.left, mask.top) < 0 or right > width or bottom > height:
            found = f"is {mask.width} × {mask.height} at {mask.left}, {mask.top}"
            raise MaskProblemError(f"{found}, beyond the image of {width} × {height}")
        if not self.outlines:
            return {"bbox": bbox}

        def check(n_runs: int) -> None:
            if n_runs > MOST_RUNS:
                problem = f"has {n_runs:,} runs of pixels column by column"
                raise MaskProblemError(f"{problem}; expected at most {MOST_RUNS:,}")
            self._runs.take(n_runs, mask.n_characters)

        # `check` is called before memory is taken for the runs of columns.
        spans = turned(mask.spans, mask.height, mask.width, check)
        spans = _moved(spans, mask.height, height, mask.left, mask.top)
        runs = runs_of_spans(spans, width * height)
        counts = compress_counts(runs, height, width).decode()
        return {"bbox": bbox, "segmentation": {"size": [height, width], "counts": counts}}


def checked_size(size: Size) -> Size:
    """Return the size of an image; raises MaskProblemError if COCO has no masks of that size."""
    if size[0] * size[1] >= MAX_MASK_PIXELS:
        problem = f"is of an image of {size[0]:,} × {size[1]:,} pixels"
        raise MaskProblemError(f"{problem}; expected fewer than {MAX_MASK_PIXELS:,} in all")
    return size


def picture_mask(
    text: object, masks: Masks, *, within: Size | None = None, packed: bool = False
) -> RowMask:
    """Return the mask in a base64 PNG: the pixels that are not transparent, or not black.

    The size is checked before decoding, also against that of the image if it is given as `within`.
    If `packed`, the PNG is compressed with zlib.
    """
    if not isinstance(text, str):
        raise MaskProblemError("is missing")
    try:
        data = base64.b64decode(text, validate=False)
        if packed:
            data = zlib.decompressobj().decompress(data, _MOST_UNPACKED)
        # Other decoders are not tried.
        data = data if data.startswith(_SIGNATURE) else b""
        with warnings.catch_warnings(action="ignore"), opened(io.BytesIO(data)) as picture:
            pixels = _visible(picture, masks, within, len(text))
    except MaskProblemError:
        raise
    except (OSError, SyntaxError, ValueError, zlib.error):
        raise MaskProblemError("is not a PNG in base64") from None
    height, width = pixels.shape
    return RowMask(spans_of_pixels(pixels), width, height, n_characters=len(text))


def _visible(picture: Any, masks: Masks, within: Size | None, n_characters: int) -> BoolArray:
    width, height = picture.size
    if within is not None and (width > within[0] or height > within[1]):
        image = f"its image has {within[0]} × {within[1]}"
        raise MaskProblemError(f"has {width} × {height} pixels; {image}")
    if width * height > MOST_PIXELS:
        found = f"has {width:,} × {height:,} pixels"
        raise MaskProblemError(f"{found}; expected at most {MOST_PIXELS:,} in all")
    # Colours of a palette may have opacity.
    n_values = 4 if picture.mode == "P" else len(picture.getbands())
    masks.pictures.take(width * height * n_values, n_characters)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA").getchannel("A")
    return np.asarray(picture.convert("L")) > 0


def png_of(pixels: NDArray[Any]) -> bytes:
    """Return (H, W) pixels as a PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def runs_of(annotation: Record) -> tuple[IndexArray, int, int]:
    """Return the run lengths of a mask, column by column, and its height and width."""
    given = annotation["segmentation"]
    height, width = map(int, given["size"])
    counts = given["counts"]
    runs = decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)
    return runs, height, width


class RowMasks:
    """Converts the masks of a content; refuses those with too many runs or pixels in their text."""

    def __init__(self) -> None:
        self._runs = Allowance("runs of pixels", 1 << 22, (2, 32))
        # Pictures of masks are painted twice, to find what they cannot hold.
        self._pixels = Allowance("pixels", 1 << 30, (128, 8192))

    def cropped(self, annotation: Record) -> RowMask:
        """Return a mask inside its bounds; if it is empty, one pixel outside the mask."""
        mask = self._rows(annotation)
        return replace(mask, spans=joined(mask.spans))

    def runs_in_image(self, annotation: Record) -> IndexArray:
        """Return run lengths in the whole image, which begin with a run outside the mask."""
        mask = self._rows(annotation)
        _, height, width = runs_of(annotation)
        self._take(self._runs, height * width // _LONGEST, annotation)
        spans = _moved(mask.spans, mask.width, width, mask.top, mask.left)
        return runs_of_spans(spans, height * width)

    def _rows(self, annotation: Record) -> RowMask:
        """Return a mask inside its bounds, whose runs in neighbouring rows are not joined."""
        runs, height, _ = runs_of(annotation)
        spans = spans_of_runs(runs)
        if not len(spans):
            return RowMask(spans, 1, 1)
        left, top, right, bottom = map(int, span_bounds(spans, height))
        width, height_inside = right - left, bottom - top
        inside = _moved(spans, height, height_inside, -left, -top)
        take = partial(self._take, self._runs, annotation=annotation)
        return RowMask(turned(inside, width, height_inside, take), width, height_inside, left, top)

    def picture(self, annotation: Record) -> tuple[BoolArray, int, int]:
        """Return the pixels of a mask inside its bounds, and the left and top of the bounds."""
        mask = self.cropped(annotation)
        n_pixels = mask.width * mask.height
        self._take(self._pixels, n_pixels, annotation)
        runs = runs_of_spans(mask.spans, n_pixels)
        pixels = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
        return pixels.reshape(mask.height, mask.width), mask.left, mask.top

    def _take(self, of: Allowance, n: int, annotation: Record) -> None:
        counts = annotation["segmentation"]["counts"]
        try:
            of.take(n, len(counts) if isinstance(counts, str) else 2 * len(counts))
        except MaskProblemError as error:
            raise DatasetError(
                [f"annotation {annotation.get('own_id') or annotation['id']}: the mask {error}"],
                "Look at its mask: bboxqa draw. COCO holds masks of any size: --to coco",
            ) from None
