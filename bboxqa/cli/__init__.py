"""The command line: one module per command."""

import io
import sys
from typing import Any

import click

from bboxqa.cli.agree import agree
from bboxqa.cli.batch import batch
from bboxqa.cli.compare import compare
from bboxqa.cli.example import example
from bboxqa.cli.explain import explain
from bboxqa.cli.failures import ReaderGone, exit_code_of
from bboxqa.cli.plan import plan
from bboxqa.cli.segments import segments
from bboxqa.cli.stats import stats
from bboxqa.cli.validate import validate
from bboxqa.core.interrupts import PLACED, raising_signals
from bboxqa.core.version import __version__


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # click would exit with 1, which says that findings were made.
            raise ReaderGone from error


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="bboxqa")
def cli() -> None:
    """Validate image annotations, and measure how far annotators agree.

    \b
      bboxqa validate export.json    find what is wrong with a COCO file
      bboxqa example fruits          walk through a small example
      bboxqa agree export.json       measure a COCO file with several annotators
      bboxqa agree ann.json bob.json one file per annotator
      bboxqa compare before.json after.json
                                     what changed between two versions
      bboxqa batch projects/         validate and measure many projects
      bboxqa plan export.json --target-width 0.05
                                     how many more images to annotate twice
      bboxqa stats labels.csv        measure a table of labels, scores or choices
      bboxqa segments ann.csv bob.csv
                                     measure segments of time
    """  # noqa: D301 - click reads the sign


cli.add_command(agree)
cli.add_command(compare)
cli.add_command(batch)
cli.add_command(plan)
cli.add_command(stats)
cli.add_command(segments)
cli.add_command(example)
cli.add_command(validate)
cli.add_command(explain)


def main() -> None:
    """Run the command line; errors are one line, their traceback is shown with BBOXQA_DEBUG=1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the encoding of the terminal lacks is shown as its number.
            stream.reconfigure(errors="backslashreplace")
    PLACED.clear()
    try:
        with raising_signals():
            code = cli.main(standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - tracebacks are for debugging
        code = exit_code_of(error, PLACED)
    sys.exit(code)
