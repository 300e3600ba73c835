"""Files that commands write, and the messages and exit codes of commands that end early."""

import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from signal import SIGINT
from typing import Any

import click

from bboxqa.cli.options import file_of_sizes
from bboxqa.core.arrays import AnyPath
from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError
from bboxqa.core.interrupts import signal_of, signal_words
from bboxqa.core.text import clean, first_few, one_line

_FAILED, _INTERRUPTED = 2, 128
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
_NAME_FIRST = (
    "Name the files of each annotator, and use what this writes: bboxqa convert "
    "--annotator NAME=FOLDER --annotator NAME=FILE named.json --to coco"
)
_PACKAGE = Path(__file__).parents[1]
_MOST_NAMES = 10
# Most characters of a path in a message.
_LONG = 400


def write_output(path: Path, text: str) -> None:
    """Write the output of a command to a file, and print its path."""
    from bboxqa.core.files import write_atomically

    write_atomically(path, text.encode("utf-8", "surrogateescape"))
    click.echo(f"Written: {path}", err=True)


def print_result(
    found: Any, views: Mapping[str, Callable[[Any], Any]], output_format: str, path: Path | None
) -> None:
    """Print a result, or write it to a file if there is a path, by one of its views.

    They return csv as a text, JSON as a value, and text as lines.
    """
    shown = views[output_format](found)
    if output_format == "json":
        from bboxqa.report.numbers import json_text

        shown = json_text(shown)
    elif output_format == "text":
        shown = "".join(f"{line}\n" for line in shown)
    if path is None:
        click.echo(shown, nl=False)
    else:
        write_output(path, shown)


def refuse_options(*cases: tuple[object, str]) -> None:
    """Refuse options with the reason of the first case that is true."""
    for is_wrong, reason in cases:
        if is_wrong:
            raise click.UsageError(reason)


def refuse_inputs(
    outputs: Iterable[Path | None],
    inputs: Iterable[AnyPath | None],
    images: Iterable[Path] | None = None,
) -> None:
    """Refuse to replace a file that is read, before anything is read.

    `inputs` are files, folders of annotations, or None; `images` are folders of images. The file of
    --image-size is an input as well.
    """
    from bboxqa.core.files import refuse_replacing
    from bboxqa.formats.sources import files_read

    refuse_replacing(outputs, files_read([*inputs, file_of_sizes()], images or ()))


def exit_code_of(
    error: BaseException, written: Sequence[Path], command: click.Command | None = None
) -> int:
    """Print the error that ended a command to standard error; return its exit code.

    Advice on options that the command does not have is left out. With ``BBOXQA_DEBUG=1`` in the
    environment the traceback comes first.
    """
    if isinstance(error, click.ClickException):
        error.show()
        return _FAILED
    if os.environ.get("BBOXQA_DEBUG", "0") not in {"", "0"}:
        # The traceback includes the original cause of an error for users.
        error.__suppress_context__ = False
        click.echo("".join(traceback.format_exception(error)), nl=False, err=True)
    number = signal_of(error)
    if number is None and isinstance(error, click.Abort):
        number = SIGINT
    if number is not None:
        click.echo(f"{signal_words(number)}; {_written(written)}", err=True)
        return _INTERRUPTED + number
    if isinstance(error, DatasetError) and command is not None:
        error.advice = _possible(error.advice, command)
    click.echo(_message(error), err=True)
    return _FAILED


def _possible(advice: str, command: click.Command) -> str:
    """Return the lines of an advice that a command can follow, or that name another command."""
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    lines = {line: {*_OPTION.findall(line)} - known for line in advice.splitlines()}
    possible = [line for line, unknown in lines.items() if "bboxqa " in line or not unknown]
    left_out = set().union(*(lines[line] for line in lines if line not in possible))
    if "--annotator" in left_out:
        possible = [_NAME_FIRST, *(line for line in possible if not line.endswith("NAME):"))]
    return "\n".join(possible)


def _written(written: Sequence[Path]) -> str:
    if not written:
        return "nothing was written."
    names = first_few(written, _MOST_NAMES, lambda path: clean(str(path)))
    return f"written before that ({len(written)}): {names}"


def _message(error: BaseException) -> str:
    if isinstance(error, ConfigError) and error.setting:
        option = f"--{error.setting.replace('_', '-')}"
        return f"Error: {option}{clean(str(error).removeprefix(error.setting))}"
    if isinstance(error, BboxqaError):
        return f"Error: {clean(str(error))}"
    if isinstance(error, MemoryError):
        return "Error: not enough memory for this input"
    if isinstance(error, OSError) and error.strerror:
        return f"Error: {_short(str(error.filename or 'output'))}: {error.strerror}"
    return (
        f"internal error: {type(error).__name__}: {clean(str(error))} ({_place(error)}); please "
        "report this line, the command and the version; BBOXQA_DEBUG=1 shows the traceback"
    )


def _short(path: str) -> str:
    shown = one_line(path)
    return shown if len(shown) <= _LONG else f"{shown[: _LONG // 2]}…{shown[-_LONG // 2 :]}"


def _place(error: BaseException) -> str:
    """Return the innermost file and line of this package in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    last = (ours or frames)[-1]
    path = Path(last.filename)
    shown = path.relative_to(_PACKAGE.parent).as_posix() if ours else path.name
    return f"{shown}:{last.lineno}"
