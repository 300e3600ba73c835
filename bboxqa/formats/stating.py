"""Stating what files lack, such as the size of images, for all that is read meanwhile."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import get_args

from bboxqa.core.errors import ConfigError
from bboxqa.formats.translation.choices import (
    COLUMNS,
    BoxFormat,
    MissingTxt,
    choices,
    chosen,
)
from bboxqa.model.shapes.rotated_boxes import FiveNumbers


@contextmanager
def reading(
    *,
    image_size: tuple[int, int] | None = None,
    missing_txt: MissingTxt | None = None,
    voc_base: int | None = None,
    columns: Mapping[str, str] | None = None,
    box_format: BoxFormat | None = None,
    rotated: FiveNumbers | None = None,
) -> Iterator[None]:
    """Supply what the files of annotation tools lack, for everything that is read inside.

    Raises ConfigError if a value is none of those below.

    Parameters
    ----------
    image_size : tuple of int, optional
        Width and height in pixels of images whose size is not known otherwise. YOLO writes shares
        of the image.
    missing_txt : {"asked", "not-asked"}, optional
        Whether annotators were asked about images without a label file; by default they
        were not.
    voc_base : {0, 1}, optional
        The number of the first pixel in Pascal VOC files; by default inferred from their values.
    columns : mapping of str to str, optional
        The columns of tables by what they hold: any of image, image_id, annotator, category, id,
        score, image_width, image_height, created_at, iscrowd, rotation, track; and of a box x, y,
        width and height, or x1, y1, x2 and y2, or cx, cy, width and height, or bbox, or the objects
        of an image. Others are told from their names.
    box_format : {"xywh", "xyxy", "cxcywh"}, optional
        The form of boxes in tables: left top corner and size, two corners, or centre and size; by
        default it is told from the names of the columns, else from the numbers.
    rotated : str, optional
        What boxes of five numbers hold in COCO files, such as "cxcywh-ccw-degrees": "cxcywh" for
        the middle, "xywh" for the left top corner before turning; "cw" or "ccw" for angles
        clockwise or counter-clockwise; "degrees" or "radians". By default it is told from outlines
        beside them, else from the angles.

    Examples
    --------
    >>> import bboxqa
    >>> with bboxqa.reading(image_size=(1920, 1080)):
    ...     pass  # data = bboxqa.read_coco(["ann", "bob"])
    """
    if image_size is not None and not _is_size(image_size):
        raise ConfigError(f"image_size is {image_size!r}; expected width and height in pixels")
    if missing_txt is not None and missing_txt not in get_args(MissingTxt):
        raise ConfigError(f"missing_txt is {missing_txt!r}; expected 'asked' or 'not-asked'")
    if voc_base is not None and voc_base not in (0, 1):
        raise ConfigError(f"voc_base is {voc_base!r}; expected 0 or 1")
    unknown = [key for key in columns or {} if key not in COLUMNS]
    if unknown:
        raise ConfigError(f"columns: {unknown[0]!r} is none of {', '.join(COLUMNS)}")
    if box_format is not None and box_format not in get_args(BoxFormat):
        raise ConfigError(f"box_format is {box_format!r}; expected 'xywh', 'xyxy' or 'cxcywh'")
    if rotated is not None and rotated not in get_args(FiveNumbers):
        forms = ", ".join(get_args(FiveNumbers))
        raise ConfigError(f"rotated is {rotated!r}; expected one of {forms}")
    given = {
        "image_size": image_size,
        "missing_txt": missing_txt,
        "voc_base": voc_base,
        "columns": columns,
        "box_format": box_format,
        "rotated": rotated,
    }
    new = {name: value for name, value in given.items() if value is not None}
    with chosen(replace(choices(), **new)):  # type: ignore[arg-type]
        yield


def _is_size(size: object) -> bool:
    return (
        isinstance(size, tuple)
        and len(size) == 2
        and all(type(side) is int and 0 < side < 1 << 31 for side in size)
    )
