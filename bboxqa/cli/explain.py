"""`bboxqa explain`: the page of a rule."""

import shlex
from pathlib import Path

import click

from bboxqa.cli.options import Command


@click.command(cls=Command)
@click.argument(
    "codes",
    nargs=-1,
    metavar="[CODE…]",
)
def explain(codes: tuple[str, ...]) -> int:
    """Explain the rules of validate.

    Print what a rule checks, what breaks because of it, and how to fix it. CODE may be the
    beginning of several codes, such as B; without CODE all rules are listed.
    """
    from bboxqa.core.errors import DatasetError
    from bboxqa.rules.pages import list_lines, page_lines
    from bboxqa.rules.registry import select

    for code in codes:
        if Path(code).is_file():
            raise DatasetError(
                [f"{code}: is a file; expected the code of a rule, such as B005"],
                f"To check the file: bboxqa validate {shlex.quote(code)}",
            )
    pages = [page_lines(rule) for code in codes for rule in select([code], [])] or [list_lines()]
    for number, lines in enumerate(pages):
        if number:
            click.echo()
        for line in lines:
            click.echo(line)
    return 0
