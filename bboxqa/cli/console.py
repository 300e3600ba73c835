"""Output and errors of commands: results, progress, files, messages and exit codes."""

import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import permutations
from os.path import realpath
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any

import click

from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError, OutputError
from bboxqa.core.interrupts import signal_of, signal_words
from bboxqa.core.text import clean, first_few, one_line

if TYPE_CHECKING:
    from bboxqa.core.arrays import AnyPath, Progress


@contextmanager
def tracking(*, counted: bool = False) -> "Iterator[Progress | None]":
    """Yield what shows progress, or None; if `counted`, with the number done, and the time."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    counts = (progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    columns = ("{task.description}", progress.BarColumn(), *(counts if counted else ()),
               progress.TimeRemainingColumn())  # fmt: skip
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("projects" if counted else "reading", total=None)

        def show_progress(stage: str, done: int, total: int) -> None:
            if stage != bar.tasks[0].description:
                bar.reset(task, description=stage, total=total)
            bar.update(task, completed=done, total=total)

        yield show_progress


def show_notes(notes: Iterable[str]) -> None:
    """Print notes on written files to standard error."""
    for note in notes:
        click.echo(f"Note: {note}", err=True)


def show(
    views: Mapping[str, str], result: object, output_format: str, written: list[Path],
    **options: object,
) -> None:  # fmt: skip
    """Print a view of a result, and where the result was written; options are those of the view."""
    from bboxqa.report import view

    click.echo("\n".join(view(views, output_format)(result, **options)))
    for path in written:
        click.echo(f"Written: {path}", err=output_format == "json")


class _Discarding(io.FileIO):
    """A stream that discards text after its reader has ended, as `head` does."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # Python flushes the rest at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                return len(data)
            raise


def robust(stream: Any) -> Any:
    """Return a text stream that escapes characters that it cannot encode."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Discarding(raw.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


_FAILED, _INTERRUPTED = 2, 128
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
_NAME_FIRST = (
    "Name the files of each annotator, and use what this writes: bboxqa convert "
    "--annotator NAME=FOLDER --annotator NAME=FILE named.json --to coco"
)
# The options of settings that have another name.
_TYPED = {"from_format": "from", "iou_threshold": "iou", "category_map": "map", "filter": "pattern"}
_PACKAGE = Path(__file__).parents[1]
_MOST_NAMES = 10


def refuse_annotations(path: Path) -> None:
    """Refuse to replace a file that holds annotations."""
    from bboxqa.formats.coco.reader import is_surely_coco

    if is_surely_coco(path):
        raise OutputError(f"{path}: holds annotations, which are not replaced; name another file")


def write_output(path: Path, text: str) -> None:
    """Write the output of a command to a file, and print its path; annotations are not replaced."""
    from bboxqa.core.files import write_atomically

    refuse_annotations(path)
    write_atomically(path, text.encode("utf-8", "surrogateescape"))
    click.echo(f"Written: {path}", err=True)


def print_result(
    found: Any, views: Mapping[str, Callable[[Any], Any]], output_format: str, path: Path | None
) -> None:
    """Print a result, or write it to a file if there is a path, by one of its views."""
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
    outputs: Sequence[Path | None],
    inputs: "Iterable[AnyPath | None]",
    images: Iterable[Path] | None = None,
    kept: Path | None = None,
) -> None:
    """Refuse outputs inside a file, or that replace what is read or another one, before reading.

    An output may lie in the folder `kept`, which is not replaced as a whole.
    """
    from bboxqa.core.files import refuse_replacing
    from bboxqa.formats.sources import files_read

    written = [*filter(None, outputs)]
    if not written:
        return
    for one, other in permutations((*written, *filter(None, [kept])), 2):
        at, around = Path(realpath(one)), Path(realpath(other))
        if at == around or (around in at.parents and other is not kept):
            raise click.UsageError(f"{one}: another output is written to {other}")
    for each in written:
        if any(place.exists() and not place.is_dir() for place in each.absolute().parents):
            raise OutputError(f"{each}: cannot be written: Not a directory")
    size = click.get_current_context().params.get("image_size")
    of_sizes = size if isinstance(size, str) else None
    refuse_replacing(written, files_read([*inputs, of_sizes], images or ()))


def exit_code_of(
    error: BaseException, written: Sequence[Path], command: click.Command | None = None
) -> int:
    """Print the error that ended a command to standard error; return its exit code."""
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
        names = first_few(written, _MOST_NAMES, lambda path: clean(str(path)))
        done = f"written before that ({len(written)}): {names}" if names else "nothing was written."
        click.echo(f"{signal_words(number)}; {done}", err=True)
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


def _message(error: BaseException) -> str:
    if isinstance(error, ConfigError) and error.setting:
        option = f"--{_TYPED.get(error.setting, error.setting).replace('_', '-')}"
        return f"Error: {option}{clean(str(error).removeprefix(error.setting))}"
    if isinstance(error, BboxqaError):
        return f"Error: {clean(str(error))}"
    if isinstance(error, MemoryError):
        return "Error: not enough memory for this input"
    if isinstance(error, OSError) and error.strerror:
        return f"Error: {one_line(str(error.filename or 'output'))}: {error.strerror}"
    # The innermost line of this package.
    frames = traceback.extract_tb(error.__traceback__)
    last = [each for each in frames if Path(each.filename).is_relative_to(_PACKAGE)] or frames
    place = f"{'/'.join(Path(last[-1].filename).parts[-3:])}:{last[-1].lineno}"
    return (
        f"internal error: {type(error).__name__}: {clean(str(error))} ({place}); "
        "please report this line, the command and the version; BBOXQA_DEBUG=1 shows the traceback"
    )
