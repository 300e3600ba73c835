"""`bboxqa cite`: what a paper says about a saved result."""

from pathlib import Path

import click

from bboxqa.cli.options import A_PATH, Command


@click.command(cls=Command)
@click.argument("result", metavar="RESULT", type=A_PATH)
def cite(result: Path) -> int:
    """Write a paragraph on a result for a paper, with BibTeX.

    \b
      bboxqa agree export.json --out result/
      bboxqa cite result/

    RESULT is a folder that `bboxqa agree --out` wrote. The paragraph has the figures at the first
    threshold, and every choice on which they depend: similarity, threshold, matcher, missing
    annotations, intervals and versions. Below it are the works that it cites.
    """  # noqa: D301 - click reads the sign
    from bboxqa.formats.saved_results import read_saved
    from bboxqa.report.reproduction import methods

    found = read_saved(result)
    click.echo(methods(found["summary"], found["manifest"]))
    return 0
