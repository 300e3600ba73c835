"""What goes to the terminal: tables on standard output, progress and errors beside it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bboxqa.core.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from bboxqa.model.results import AgreementResult
    from bboxqa.report.agreement_text import ShownTable

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
    if output_format == "json":
        import msgspec

        from bboxqa.report.agreement_summary import summary

        click.echo(msgspec.json.format(msgspec.json.encode(summary(result)), indent=2))
    else:
        _show_text(result)
    if written:
        click.echo(f"Written: {written[0].parent}", err=output_format == "json")


def _show_text(result: "AgreementResult") -> None:
    from rich.console import Console

    from bboxqa.report.agreement_text import summary_lines, tables_to_show

    # Lines are not broken where nobody sees them on a terminal.
    console = Console(highlight=False, width=None if sys.stdout and sys.stdout.isatty() else 200)
    for line in summary_lines(result):
        click.echo(line)
    for shown in tables_to_show(result.thresholds[0]):
        _print_table(console, shown)
    lowest = result.settings.min_alpha
    if lowest is not None:
        for part in result.thresholds:
            at = f"\nIoU {part.iou_threshold:g}: alpha"
            if isnan(part.alpha):
                click.echo(f"{at} is undefined, which does not reach {lowest:g}")
            else:
                verdict = "reaches" if part.alpha >= lowest else "below threshold:"
                click.echo(f"{at} {part.alpha:.4f} {verdict} {lowest:g}")


def _print_table(console: "Console", shown: "ShownTable") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for name, column in shown.table.columns.items():
        if hasattr(column, "dtype"):
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    rows = list(shown.table.rows())
    for row in rows:
        # Names come from a file: they are text, never markup.
        table.add_row(*(Text(_cell(value)) for value in row))
    with console.capture() as text:
        console.print(table)
    click.echo(f"\n{shown.title}\n{text.get()}", nl=False)
    if any(None in row for row in rows):
        click.echo(" –: undefined, or in too few images for an interval")
    if shown.left_out:
        click.echo(f" … and {shown.left_out:,} more (all of them with --out DIR)")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "below threshold" if value else ""
    return f"{value:.4f}" if isinstance(value, float) else one_line(str(value))
