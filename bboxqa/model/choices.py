"""Information that the user supplies about files, such as image sizes."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from bboxqa.model.shapes.rotated_boxes import FiveNumbers

MissingTxt = Literal["asked", "not-asked"]
BoxFormat = Literal[
    "xywh", "xyxy", "cxcywh", "xywh-shares", "xyxy-shares", "cxcywh-shares",
    "xywh-pixels", "xyxy-pixels", "cxcywh-pixels",
]  # fmt: skip
GivenSize = tuple[int, int] | None
COLUMNS = (
    "image", "annotator", "category", "x", "y", "width", "height", "x1", "y1", "x2", "y2", "cx",
    "cy", "rotation", "bbox", "objects", "image_id", "image_width", "image_height", "id", "score",
    "iscrowd", "created_at", "track",
)  # fmt: skip
"""The possible contents of table columns."""


class Choices(msgspec.Struct, frozen=True):
    """Information that the user supplies about files."""

    image_size: tuple[int, int] | Mapping[str, GivenSize] | None = None
    """Width and height in pixels of images whose size is otherwise unknown: one size for all, or a
    mapping made by `bboxqa.formats.images.by_ends`."""
    missing_txt: MissingTxt | None = None
    """Whether annotators were asked about images without a label file."""
    voc_base: int | None = None
    """The coordinate of the first pixel, 0 or 1, in Pascal VOC files that do not state it."""
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The columns of tables by content, such as ``{"image": "file"}``."""
    box_format: BoxFormat | None = None
    """The layout of boxes in tables, one of `BoxFormat`, and their unit, such as "xyxy-shares"."""
    rotated: FiveNumbers | None = None
    """The layout of boxes of five numbers, one of `FiveNumbers`."""
    image_size_file: str | None = None
    """The file that the sizes of `image_size` were read from."""
    from_format: str | None = None
    """The format to read of a path that holds several, such as "coco"."""
    mask: str | None = None
    """What the values of masks stand for, in pictures that are masks: "instances", "classes", or
    "binary" or "objects", alone or with the value of objects, such as "binary:1"."""


NO_CHOICES = Choices()
"""The choices of a user who supplies nothing."""


def as_options(said: Choices) -> dict[str, str]:
    """Return choices by option, as a user writes them on the command line.

    Sizes that a Python program gave by image have no such text, and are named in words.

    Examples
    --------
    >>> as_options(Choices(image_size=(64, 48), columns={"image": "file", "x": "left"}))
    {'image_size': '64x48', 'columns': 'image=file,x=left'}
    """
    found = {}
    for option in said.__struct_fields__:
        value = getattr(said, option)
        if option == "image_size_file" or value in (None, {}):
            continue
        if isinstance(value, tuple):
            value = "x".join(map(str, value))
        elif option == "image_size":
            value = said.image_size_file or "sizes by image"
        elif isinstance(value, Mapping):
            value = ",".join(f"{what}={name}" for what, name in value.items())
        found[option] = str(value)
    return found


def completed(given: Choices, others: Choices) -> Choices:
    """Return choices, with those of others where nothing is given.

    Examples
    --------
    >>> completed(Choices(voc_base=0), Choices(voc_base=1, box_format="xyxy"))
    Choices(image_size=None, missing_txt=None, voc_base=0, columns={}, box_format='xyxy', \
rotated=None, image_size_file=None, from_format=None, mask=None)
    """
    new = {
        each: getattr(given, each)
        for each in given.__struct_fields__
        if getattr(given, each) not in (None, {})
    }
    if given.image_size is not None:
        new["image_size_file"] = given.image_size_file
    return replace(others, **new)
