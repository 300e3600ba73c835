"""What the user states about files that lack it, such as the size of images."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from bboxqa.model.shapes.rotated_boxes import FiveNumbers

MissingTxt = Literal["asked", "not-asked"]
BoxFormat = Literal["xywh", "xyxy", "cxcywh"]
GivenSize = tuple[int, int] | None
COLUMNS = (
    "image", "annotator", "category", "x", "y", "width", "height", "x1", "y1", "x2", "y2", "cx",
    "cy", "rotation", "bbox", "objects", "image_id", "image_width", "image_height", "id", "score",
    "iscrowd", "created_at", "track",
)  # fmt: skip
"""What columns of tables may hold."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user says about files.

    Attributes
    ----------
    image_size : tuple of int, mapping or None
        Width and height in pixels of images whose size is not known otherwise; of each image, as
        `bboxqa.formats.translation.given_sizes.by_ends` returns it.
    missing_txt : {"asked", "not-asked"} or None
        Whether annotators were asked about images without a label file.
    voc_base : {0, 1} or None
        The number of the first pixel in Pascal VOC files.
    columns : mapping of str to str
        The columns of tables by what they hold, such as ``{"image": "file"}``.
    box_format : {"xywh", "xyxy", "cxcywh"} or None
        The form of boxes in tables.
    rotated : str or None
        What boxes of five numbers hold, one of `FiveNumbers`.
    """

    image_size: tuple[int, int] | Mapping[str, GivenSize] | None = None
    missing_txt: MissingTxt | None = None
    voc_base: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    box_format: BoxFormat | None = None
    rotated: FiveNumbers | None = None


_NOTHING = Choices()
_CHOSEN: ContextVar[Choices] = ContextVar("chosen", default=_NOTHING)


def choices() -> Choices:
    """Return what the user says about files."""
    return _CHOSEN.get()


@contextmanager
def chosen(said: Choices) -> Iterator[None]:
    """Take what the user said, in a process or thread that does not know it."""
    token = _CHOSEN.set(said)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
