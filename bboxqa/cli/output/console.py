"""Results on standard output, and progress on standard error."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size

import click

from bboxqa.core.text import from_the_left
from bboxqa.core.types import Progress

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
    from bboxqa.report.registry import view

    in_terminal = output_format == "text" and sys.stdout and sys.stdout.isatty()
    if in_terminal:
        options["width"] = get_terminal_size().columns
    if quiet:
        options["quiet"] = True
    lines = iter(view(views, output_format)(result, **options))
    if in_terminal:
        lines = map(from_the_left, lines)
    while some := list(islice(lines, _AT_ONCE)):
        click.echo("\n".join(some))
    for path in written:
        click.echo(f"Written: {path}", err=output_format == "json")
