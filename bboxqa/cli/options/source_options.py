"""Options for information that files of annotation tools lack."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from bboxqa.formats.translation.choices import Choices

_Command = TypeVar("_Command", bound=Callable[..., Any])
FILE_OF_SIZES = "bboxqa.file_of_sizes"
"""The key of the file of --image-size in the meta data of a click context."""


def _say(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Apply the option to all files that the command reads."""
    if value is None:
        return
    from bboxqa.formats.stating import reading

    context.with_resource(reading(**{str(parameter.name): value}))


def _say_size(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    if text is None:
        return
    from bboxqa.formats.stating import SIZE

    found = SIZE.fullmatch(text.strip())
    if found is None and not Path(text).exists():
        expected = "expected such as 1920x1080, or a file that has the size of each image"
        raise click.UsageError(f"--image-size is {text!r}, which is no file; {expected}")
    if found is None:
        context.meta[FILE_OF_SIZES] = text
    _say(context, parameter, text if found is None else (int(found[1]), int(found[2])))


def _say_number(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    _say(context, parameter, None if text is None else int(text))


def _say_columns(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    if text is None:
        return
    pairs = [each.partition("=") for each in text.split(",")]
    wrong = next((f"{key}{sign}{name}" for key, sign, name in pairs if not key or not name), None)
    if wrong is not None:
        raise click.UsageError(f"--columns: {wrong!r}; expected such as image=file,x=left")
    _say(context, parameter, {key.strip(): name.strip() for key, _, name in pairs})


_OF_FOLDERS = (
    click.option(
        "--image-size",
        metavar="WIDTHxHEIGHT|FILE",
        expose_value=False,
        callback=_say_size,
        help="The size of images of unknown size, in formats that need it: such as 1920x1080, or a "
        "table or annotations with the size of each image.",
    ),
    click.option(
        "--missing-txt",
        type=click.Choice(["asked", "not-asked"]),
        expose_value=False,
        callback=_say,
        help="YOLO, VOC, LabelMe, DOTA: whether an image without a label file was annotated, and "
        "nothing found in it (asked), or not annotated (not-asked, default).",
    ),
    click.option(
        "--voc-base",
        type=click.Choice(["0", "1"]),
        expose_value=False,
        callback=_say_number,
        help="Pascal VOC: the number of the first pixel in files that do not state it; by default "
        "inferred from their values.",
    ),
)
_OF_BOXES = (
    click.option(
        "--rotated",
        metavar="FORM",
        expose_value=False,
        callback=_say,
        help="COCO: what boxes of five numbers hold, such as cxcywh-ccw-degrees: cxcywh or xywh, "
        "cw or ccw (counter-clockwise), degrees or radians; by default found from outlines beside "
        "them, else from the angles.",
    ),
)
_BOX_FORMS, _UNITS = ("xywh", "xyxy", "cxcywh"), ("-shares", "-pixels")
_OF_TABLES = (
    click.option(
        "--columns",
        metavar="WHAT=NAME,…",
        expose_value=False,
        callback=_say_columns,
        help="Tables: what columns hold, such as image=file,annotator=who,x=left; by default found "
        "from their names (docs/formats.md). Label Studio: image=KEY of data.",
    ),
    click.option(
        "--box-format",
        type=click.Choice([*_BOX_FORMS, *(form + unit for unit in _UNITS for form in _BOX_FORMS)]),
        metavar="FORM[-UNIT]",
        expose_value=False,
        callback=_say,
        help="Tables: whether a box is left, top, width and height (xywh), two corners (xyxy), or "
        "centre, width and height (cxcywh), and in which unit: xyxy-shares of the image or "
        "xyxy-pixels; by default inferred from names and numbers.",
    ),
)


def say_as_before(saved: Mapping[str, str]) -> None:
    """Apply the options of a saved result that the command line does not give.

    `saved` are texts by option, as `bboxqa.formats.translation.choices.as_options` returns them.
    """
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name in saved and context.get_parameter_source(name) is ParameterSource.DEFAULT:
            option.process_value(context, saved[name])


def say_settings(config: str | None) -> None:
    """Apply the table ``[reading]`` of a settings file where no option says otherwise."""
    from bboxqa.formats.translation.choices import choices, chosen, completed

    if config is not None:
        said = completed(choices(), reading_of(config))
        click.get_current_context().with_resource(chosen(said))


def reading_of(config: str) -> "Choices":
    """Return what a settings file says of the files to read."""
    from bboxqa.formats.stating import choices_from
    from bboxqa.model.settings_files import read_reading_settings

    return choices_from(read_reading_settings(config), Path(config))


def source_options(command: _Command) -> _Command:
    """Add the options for information that files of annotation tools lack."""
    # click shows options in the reverse order of decoration.
    for option in reversed((*_OF_FOLDERS, *_OF_BOXES, *_OF_TABLES)):
        command = option(command)
    return command
