"""`bboxqa explain`: the page of a rule."""

import click

__all__ = ["explain"]


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE…]")
def explain(codes: tuple[str, ...]) -> int:
    """Explain the rules of validate.

    What a rule looks for, what goes wrong because of it, and how to mend it; without a CODE, the
    list of all rules.
    """
    from bboxqa.rules.pages import list_lines, page_lines
    from bboxqa.rules.registry import rule

    pages = [page_lines(rule(code)) for code in codes] or [list_lines()]
    for number, lines in enumerate(pages):
        if number:
            click.echo()
        for line in lines:
            click.echo(line)
    return 0
