"""What files lack, such as image sizes, as a user supplies it: checked, and as a `with` block."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from bboxqa.core.arrays import AnyPath
from bboxqa.core.errors import ConfigError, naming
from bboxqa.model.annotations import (
    NO_CHOICES,
    BoxFormat,
    Choices,
    GivenSize,
    MissingTxt,
    completed,
)
from bboxqa.model.rotated_boxes import FiveNumbers

SIZE = re.compile(r"([1-9]\d{0,6})\s*[x×X]\s*([1-9]\d{0,6})")
"""The pattern of one size of all images."""


_MASK = re.compile(r"instances|classes|(?:binary|objects)(?::[1-9]\d{0,9})?")
_ALLOWED: dict[str, tuple[object, ...]] = {
    "missing_txt": get_args(MissingTxt),
    "box_format": get_args(BoxFormat),
    "rotated": get_args(FiveNumbers),
    "voc_base": (0, 1),
}


_block = threading.local()


def given() -> Choices:
    """Return the choices of the `with` block around a call, which public functions hand on."""
    found: Choices = getattr(_block, "choices", NO_CHOICES)
    return found


@contextmanager
def reading(
    *,
    image_size: tuple[int, int] | AnyPath | Mapping[str, tuple[int, int]] | None = None,
    missing_txt: MissingTxt | None = None,
    voc_base: int | None = None,
    columns: Mapping[str, str] | None = None,
    box_format: BoxFormat | None = None,
    rotated: FiveNumbers | None = None,
    from_format: str | None = None,
    mask: str | None = None,
) -> Iterator[None]:
    """Supply what the files of annotation tools lack, for all files read inside the `with` block.

    Parameters
    ----------
    image_size : tuple of int, path or mapping, optional
        Width and height in pixels of images whose size is otherwise unknown; or a table or
        annotations with the size of each image; or sizes by image name.
    missing_txt : {"asked", "not-asked"}, optional
        Whether annotators were asked about images without a label file; by default, they were not.
    voc_base : {0, 1}, optional
        The coordinate of the first pixel in Pascal VOC files that do not state it; by default 1.
    columns : mapping of str to str, optional
        The columns of tables by content: image, image_id, annotator, category, id, score,
        image_width, image_height, created_at, iscrowd, rotation, track; and for boxes x, y, width
        and height, or x1, y1, x2 and y2, or cx, cy, width and height, or bbox, or the objects of an
        image. Columns that are not given are recognised by name.
    box_format : str, optional
        The layout of boxes in tables: top left corner and size ("xywh"), two corners ("xyxy"), or
        centre and size ("cxcywh"). The unit may follow, "-shares" of the image or "-pixels". Both
        are inferred by default, from the column names or the numbers.
    rotated : str, optional
        The layout of boxes of five numbers in COCO files, such as "cxcywh-ccw-degrees": "cxcywh"
        for the centre, "xywh" for the top left corner before rotation; "cw" or "ccw"; "degrees" or
        "radians". Without it, such files are refused.
    from_format : str, optional
        The format to read of a folder or archive that holds several, such as "coco".
    mask : str, optional
        Read pictures as masks: "instances", each value an object; "binary", each file an object;
        "objects", each file an object in the folder of its image; or "classes", each connected
        region of a value an object of a class. "binary:1" says that objects have the value 1; the
        value is 255 by default.

    Examples
    --------
    >>> import bboxqa
    >>> with bboxqa.reading(image_size={"a.jpg": (1920, 1080), "b.jpg": (640, 480)}):
    ...     pass  # data = bboxqa.read(["ann", "bob"])
    """
    values, before = locals(), given()
    _block.choices = completed(choices_of(values), before)
    try:
        yield
    finally:
        _block.choices = before


def choices_of(values: Mapping[str, Any]) -> Choices:
    """Return the values of `reading`, checked, without those that are None."""
    values = {name: value for name, value in values.items() if value is not None}
    known = _ALLOWED
    if "from_format" in values:
        from bboxqa.formats.registry import names

        known = {**_ALLOWED, "from_format": names()}
    for name, allowed in known.items():
        value = values.get(name)
        if value is not None and (isinstance(value, bool) or value not in allowed):
            forms = ", ".join(map(repr, allowed))
            raise ConfigError(f"is {value!r}; expected one of {forms}", name)
    mask, columns = values.get("mask"), values.get("columns")
    if mask is not None and not (isinstance(mask, str) and _MASK.fullmatch(mask)):
        raise ConfigError(
            f"mask is {mask!r}; expected 'instances', 'classes', or 'binary' or 'objects', with a "
            "value where it is not 255, such as 'binary:1'"
        )
    if columns is not None:
        from bboxqa.formats.box_tables.columns import NAMES

        if not isinstance(columns, Mapping):
            raise ConfigError(f"is {columns!r}; expected such as {{'image': 'file'}}", "columns")
        for each in (name for name in columns if name not in NAMES):
            raise ConfigError(f"{each!r} is none of {', '.join(NAMES)}", "columns:")
    size = values.get("image_size")
    if size is not None:
        is_file = isinstance(size, str | PathLike)
        values |= {"image_size": _sizes(size), "image_size_file": str(size) if is_file else None}
    return Choices(**values)


def choices_from(values: Mapping[str, Any], file: Path, *, inside: Path | None = None) -> Choices:
    """Return what the table ``[reading]`` of a settings file says, checked as by `reading`.

    A file of sizes is relative to the settings file, and `inside` a folder if one is given.
    """
    said = dict(values)
    size = said.get("image_size")
    if isinstance(size, str):
        found, path = SIZE.fullmatch(size.strip()), file.parent / size
        said["image_size"] = (int(found[1]), int(found[2])) if found else path
        is_there = inside is None or path.resolve().is_relative_to(inside.resolve())
        if not (found or is_there):
            raise ConfigError(
                f"{file}, [reading]: image_size is {size!r}, which leads out of {inside}; expected "
                "a size such as 1920x1080, or a file in the folder"
            )
    with naming(f"{file}, [reading]"):
        return choices_of(said)


def _sizes(given: object) -> tuple[int, int] | Mapping[str, GivenSize] | None:
    """Return sizes in the form for lookup; raises ConfigError for values that are not sizes."""
    if isinstance(given, str | PathLike):
        from bboxqa.formats.size_files import sizes_of

        given = sizes_of(Path(given))
    by_name = given if isinstance(given, Mapping) else {"": given}
    for size in by_name.values():
        sides = size if isinstance(size, tuple) and len(size) == 2 else (0,)
        if not all(type(side) is int and 0 < side < 1 << 31 for side in sides):
            raise ConfigError(f"image_size is {size!r}; expected width and height in pixels")
    if not isinstance(given, Mapping):
        return given  # type: ignore[return-value]
    from bboxqa.formats.images import by_ends
    from bboxqa.formats.writing.names import safe_name

    # Formats of one file per image write safe names.
    return by_ends({safe_name(name): size for name, size in given.items()} | {**given})
