"""What goes to the terminal: tables on standard output, progress and errors beside it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bboxqa.model.results import AgreementResult

__all__ = ["show", "tracking"]


@contextmanager
def tracking() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield what is to be told of progress; None where nobody watches."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=None)
        current = "reading"

        def tell(stage: str, done: int, total: int) -> None:
            nonlocal current
            if stage != current:
                current = stage
                progress.reset(task, description=stage, total=total)
            progress.update(task, completed=done, total=total)

        yield tell


def show(result: "AgreementResult", output_format: str, written: list[Path]) -> None:
    """Print a result, and where it was written."""
    from bboxqa.report.registry import view

    if output_format == "text" and sys.stdout and sys.stdout.isatty():
        from bboxqa.report.agreement_text import text_lines

        lines = text_lines(result, width=get_terminal_size().columns)
    else:
        lines = view(output_format)(result)
    for line in lines:
        click.echo(line)
    if written:
        click.echo(f"Written: {written[0].parent}", err=output_format == "json")
