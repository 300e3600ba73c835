"""Results on standard output, progress on standard error, and streams that do not fail."""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from bboxqa.core.arrays import Progress

# Lines that are printed together, as printing single lines takes longer than making them.
_AT_ONCE = 1000


@contextmanager
def tracking(*, counted: bool = False) -> Iterator[Progress | None]:
    """Yield a function that shows progress; None if standard error is not a terminal.

    With `counted` the bar also shows the number done of all, the elapsed time, and the rate.
    """
    if not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    counts = (
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeElapsedColumn(),
    )
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *(counts if counted else ()),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        current = "projects" if counted else "reading"
        task = bar.add_task(current, total=None, rate="")

        def show_progress(stage: str, done: int, total: int) -> None:
            nonlocal current
            if stage != current:
                current = stage
                bar.reset(task, description=stage, total=total)
            seconds = max(bar.tasks[0].elapsed or 0, 1e-3)
            bar.update(task, completed=done, total=total, rate=f"{done / seconds:.1f}/s")

        yield show_progress


def show_notes(notes: Iterable[str]) -> None:
    """Print notes on written files to standard error."""
    for note in notes:
        click.echo(f"Note: {note}", err=True)


def show(
    views: Mapping[str, str],
    result: object,
    output_format: str,
    written: list[Path],
    *,
    quiet: bool = False,
    **options: object,
) -> None:
    """Print a view of a result, and where the result was written; only its headline if `quiet`.

    The options are those of the view.
    """
    from bboxqa.report import view

    if output_format == "text" and sys.stdout and sys.stdout.isatty():
        options["width"] = get_terminal_size().columns
    if quiet:
        options["quiet"] = True
    lines = iter(view(views, output_format)(result, **options))
    while some := list(islice(lines, _AT_ONCE)):
        click.echo("\n".join(some))
    for path in written:
        click.echo(f"Written: {path}", err=output_format == "json")


class _Discarding(io.RawIOBase):
    """A stream that discards text after its reader has ended, as `head` does."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw.isatty()

    def fileno(self) -> int:
        return self._raw.fileno()

    def write(self, data: Any) -> int | None:
        try:
            return self._raw.write(data)
        except OSError as error:
            # Python flushes the rest at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                return len(data)
            raise


def robust(stream: Any) -> Any:
    """Return a text stream that escapes characters that it cannot encode.

    If it is a pipe that is closed at the other end, text is discarded.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Discarding(raw)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
