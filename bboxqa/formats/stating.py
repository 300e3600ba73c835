"""The context manager that supplies what files lack, such as image sizes."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from bboxqa.core.errors import ConfigError
from bboxqa.core.types import AnyPath
from bboxqa.formats.choices import (
    COLUMNS,
    BoxFormat,
    Choices,
    GivenSize,
    MissingTxt,
    choices,
    chosen,
)
from bboxqa.formats.images import by_ends
from bboxqa.model.shapes.rotated_boxes import FiveNumbers

SIZE = re.compile(r"([1-9]\d{0,6})\s*[x×X]\s*([1-9]\d{0,6})")
"""The pattern of one size of all images."""


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
) -> Iterator[None]:
    """Supply what the files of annotation tools lack, for all files read inside the `with` block.

    Raises ConfigError if a value is invalid, and DatasetError if a file of sizes cannot be read.

    Parameters
    ----------
    image_size : tuple of int, path or mapping, optional
        Width and height in pixels of images whose size is otherwise unknown; or a table or
        annotations with the size of each image; or sizes by image name. YOLO, for example, needs
        sizes, as it writes coordinates relative to the image.
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
        centre and size ("cxcywh"); by default, it is inferred from the column names, or else from
        the numbers. The unit may follow, "-shares" of the image or "-pixels"; by default, it is
        inferred from the numbers.
    rotated : str, optional
        The layout of boxes of five numbers in COCO files, such as "cxcywh-ccw-degrees": "cxcywh"
        for the centre, "xywh" for the top left corner before rotation; "cw" or "ccw" for clockwise
        or counter-clockwise angles; "degrees" or "radians". By default, it is inferred from
        outlines of the same annotations, or else from the angles.
    from_format : str, optional
        The format to read of a folder or archive that holds several, such as "coco".

    Examples
    --------
    >>> import bboxqa
    >>> with bboxqa.reading(image_size={"a.jpg": (1920, 1080), "b.jpg": (640, 480)}):
    ...     pass  # data = bboxqa.read_coco(["ann", "bob"])
    """
    if missing_txt is not None and missing_txt not in get_args(MissingTxt):
        raise ConfigError(f"missing_txt is {missing_txt!r}; expected 'asked' or 'not-asked'")
    if voc_base is not None and (isinstance(voc_base, bool) or voc_base not in (0, 1)):
        raise ConfigError(f"voc_base is {voc_base!r}; expected 0 or 1")
    if columns is not None and not isinstance(columns, Mapping):
        raise ConfigError(f"columns is {columns!r}; expected such as {{'image': 'file'}}")
    unknown = [key for key in columns or {} if key not in COLUMNS]
    if unknown:
        raise ConfigError(f"columns: {unknown[0]!r} is not one of {', '.join(COLUMNS)}")
    if box_format is not None and box_format not in get_args(BoxFormat):
        raise ConfigError(
            f"box_format is {box_format!r}; expected 'xywh', 'xyxy' or 'cxcywh', alone or "
            "with '-shares' or '-pixels'"
        )
    if rotated is not None and rotated not in get_args(FiveNumbers):
        forms = ", ".join(get_args(FiveNumbers))
        raise ConfigError(f"rotated is {rotated!r}; expected one of {forms}")
    if from_format is not None:
        from bboxqa.formats.registry import names

        if from_format not in names():
            raise ConfigError(
                f"from_format is {from_format!r}; expected one of {', '.join(names())}"
            )
    given = {
        "image_size": _sizes(image_size),
        "missing_txt": missing_txt,
        "voc_base": voc_base,
        "columns": columns,
        "box_format": box_format,
        "rotated": rotated,
        "from_format": from_format,
    }
    new: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if image_size is not None:
        is_file = isinstance(image_size, str | PathLike)
        new["image_size_file"] = str(image_size) if is_file else None
    with chosen(replace(choices(), **new)):
        yield


def choices_from(values: Mapping[str, Any], file: Path, *, inside: Path | None = None) -> Choices:
    """Return what the table ``[reading]`` of a settings file says, checked as by `reading`.

    Parameters
    ----------
    values : mapping
        The size of images may be a text such as "1920x1080", or the path of a file of sizes,
        relative to the settings file.
    file : Path
        The settings file.
    inside : Path, optional
        A folder that a file of sizes has to be in.

    Raises
    ------
    ConfigError
        If a value is invalid, or leads out of the folder.
    DatasetError
        If a file of sizes cannot be read.
    """
    given = dict(values)
    size = given.get("image_size")
    if isinstance(size, str):
        found = SIZE.fullmatch(size.strip())
        given["image_size"] = (
            (int(found[1]), int(found[2])) if found else _file_of_sizes(size, file, inside)
        )
    try:
        with chosen(Choices()), reading(**given):
            return choices()
    except ConfigError as error:
        raise ConfigError(f"{file}, [reading]: {error}") from None


def _file_of_sizes(name: str, file: Path, inside: Path | None) -> Path:
    path = file.parent / name
    if inside is not None and not path.resolve().is_relative_to(inside.resolve()):
        raise ConfigError(
            f"{file}, [reading]: image_size is {name!r}, which leads out of {inside}; expected a "
            "size such as 1920x1080, or a file in the folder"
        )
    return path


def _sizes(given: object) -> tuple[int, int] | Mapping[str, GivenSize] | None:
    """Return sizes in the form for lookup; raises ConfigError for values that are not sizes."""
    if isinstance(given, str | PathLike):
        from bboxqa.formats.size_files import sizes_of

        given = sizes_of(Path(given))
    by_name = given if isinstance(given, Mapping) else {"": given}
    wrong = next((size for size in by_name.values() if not _is_size(size)), None)
    if wrong is not None:
        raise ConfigError(f"image_size is {wrong!r}; expected width and height in pixels")
    if not isinstance(given, Mapping):
        return given  # type: ignore[return-value]
    from bboxqa.formats.writing.names import safe_name

    # Formats of one file per image write safe names.
    return by_ends({safe_name(name): size for name, size in given.items()} | {**given})


def _is_size(size: object) -> bool:
    return (
        isinstance(size, tuple)
        and len(size) == 2
        and all(type(side) is int and 0 < side < 1 << 31 for side in size)
    )
