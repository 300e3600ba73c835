"""Converting masks of annotation tools to COCO boxes and run lengths, within bounded memory.

A few characters can stand for a mask of very many pixels or runs. So that a small file does not
take all memory, a mask has a largest size, and all masks of a source may only have so many times
more than their characters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import EmptyMaskProblemError, MaskProblemError
from bboxqa.model.shapes.masks import (
    MAX_MASK_PIXELS,
    compress_counts,
    joined,
    runs_of_spans,
    span_bounds,
    turned,
)

Size = tuple[int, int]
"""Width and height in pixels."""
MOST_RUNS = 1 << 21
"""Runs of pixels that a mask may have column by column, as COCO holds masks."""

_FIRST = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class RowMask:
    """A mask that is given row by row, for a part of an image."""

    spans: IndexArray
    """(N, 2) int64. Begins and ends of runs among the pixels of the part, row by row."""
    width: int
    height: int
    """Size of the part in pixels."""
    left: int = 0
    top: int = 0
    """Position of the part in the image."""
    n_characters: int = 0
    """Length of the text that gives the mask."""

    def bounds(self) -> list[float]:
        """Return the box around the pixels; raises EmptyMaskProblemError if there are none."""
        if not len(self.spans):
            raise EmptyMaskProblemError("has no pixels")
        top, left, bottom, right = span_bounds(self.spans, self.width)
        return [self.left + left, self.top + top, right - left, bottom - top]

    def in_columns(self, size: Size, check: Callable[[int], None]) -> IndexArray:
        """Return the spans column by column in an image that contains the mask.

        `check` is called with their number in the part before memory is taken for them.
        """
        spans = turned(self.spans, self.height, self.width, check)
        columns, rows = spans[:, :1] // self.height, spans[:, :1] % self.height
        starts = (self.left + columns) * size[1] + self.top + rows
        return joined(np.concatenate([starts, starts + np.diff(spans)], 1))


class Allowance:
    """Bounds the sum of what the masks of a source have, by the length of their texts.

    Parameters
    ----------
    what : str
        What is counted, for messages.
    least : int
        What masks may have, however short their texts are.
    rates : tuple of int
        What each character adds: of the first million, so that a small file is read in a few
        seconds, and of the others.

    Examples
    --------
    >>> runs = Allowance("runs of pixels", least=1000, rates=(1, 16))
    >>> runs.take(900, 100)
    >>> runs.take(301, 100)
    Traceback (most recent call last):
    bboxqa.formats.translation.untrusted.MaskProblemError: would bring the masks to 1,201 runs of \
pixels in 200 characters; expected at most 1,200 in so short a text: split the source
    """

    def __init__(self, what: str, least: int, rates: tuple[int, int]) -> None:
        self._what = what
        self._least = least
        self._rates = rates
        self._n = 0
        self._n_characters = 0

    def take(self, n: int, n_characters: int) -> None:
        """Count what a text stands for; raises MaskProblemError if it is too much."""
        self._n_characters += n_characters
        first = min(self._n_characters, _FIRST)
        more = self._rates[0] * first + self._rates[1] * (self._n_characters - first)
        if self._n + n > self._least + more:
            raise MaskProblemError(
                f"would bring the masks to {self._n + n:,} {self._what} in "
                f"{self._n_characters:,} characters; expected at most {self._least + more:,} in "
                "so short a text: split the source"
            )
        self._n += n


class Masks:
    """Converts the masks of a source.

    Parameters
    ----------
    outlines : bool
        Whether masks are requested besides their boxes.
    """

    def __init__(self, *, outlines: bool) -> None:
        self.outlines = outlines
        self.pictures = Allowance("values of pixels", 3 << 27, (64, 4096))
        """The values of the pixels of pictures: one of a grey pixel, four with colour and opacity.
        """
        self._runs = Allowance("runs of pixels", 1 << 23, (2, 32))

    def record(self, mask: RowMask, size: Size | None) -> Record:
        """Return the box of a mask, and if requested the mask in an image that contains it.

        Raises MaskProblemError if it is empty, or has too many runs.

        Parameters
        ----------
        mask : RowMask
        size : tuple of int or None
            Size of the image; None if unknown, for the box alone.

        Examples
        --------
        >>> Masks(outlines=True).record(RowMask(np.array([[0, 2]]), 2, 1, left=1), (3, 2))
        {'bbox': [1.0, 0.0, 2.0, 1.0], 'segmentation': {'size': [2, 3], 'counts': '21100'}}
        """
        bbox = mask.bounds()
        if not self.outlines or size is None:
            return {"bbox": bbox}
        width, height = checked_size(size)

        def check(n_runs: int) -> None:
            if n_runs > MOST_RUNS:
                raise MaskProblemError(
                    f"has {n_runs:,} runs of pixels column by column; expected at most "
                    f"{MOST_RUNS:,}: draw it as a polygon"
                )
            self._runs.take(n_runs, mask.n_characters)

        spans = mask.in_columns(size, check)
        runs = runs_of_spans(spans, width * height)
        counts = compress_counts(runs, height, width).decode()
        return {"bbox": bbox, "segmentation": {"size": [height, width], "counts": counts}}


def checked_size(size: Size) -> Size:
    """Return the size of an image; raises MaskProblemError if COCO has no masks of that size."""
    width, height = size
    if width * height >= MAX_MASK_PIXELS:
        raise MaskProblemError(
            f"is of an image of {width:,} × {height:,} pixels; expected fewer than "
            f"{MAX_MASK_PIXELS:,} pixels in all: draw it on parts of the image"
        )
    return size
