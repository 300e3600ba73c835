"""The command line: one module per command."""

import sys
from importlib import import_module

import click

from bboxqa.cli.console import robust
from bboxqa.cli.failures import exit_code_of
from bboxqa.core.interrupts import PLACED, raising_signals
from bboxqa.core.version import __version__

_NAMES = (
    "accept", "agree", "batch", "compare", "convert", "draw", "example", "explain", "plan",
    "report", "segments", "simulate", "stats", "validate",
)  # fmt: skip


class _Commands(click.Group):
    """Commands whose modules are imported when they are run or listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(_NAMES)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _NAMES:
            return None
        found: click.Command = getattr(import_module(f"bboxqa.cli.{name}"), name)
        return self.commands.setdefault(name, found)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="bboxqa")
def cli() -> None:
    """Validate image annotations, and measure how far annotators agree.

    \b
      bboxqa validate export.json    find what is wrong with annotations
      bboxqa example fruits          walk through a small example
      bboxqa agree export.json       measure a file with several annotators
      bboxqa agree ann.json bob.json one file per annotator
      bboxqa accept export.json review/ -o export-2.json
                                     take over what annotators reviewed
      bboxqa report results/         a page of a result, with its worst images
      bboxqa compare before.json after.json
                                     what changed between two versions
      bboxqa convert export.json out.json --to label-studio
                                     write annotations for another tool
      bboxqa batch projects/         validate and measure many projects
      bboxqa plan export.json --target-width 0.05
                                     how many more images to annotate twice
      bboxqa stats labels.csv        measure a table of labels, scores or choices
      bboxqa segments ann.csv bob.csv
                                     measure segments of time
      bboxqa draw export.json --image street.jpg
                                     draw an image with its annotations
      bboxqa simulate --out trial.json
                                     make annotations whose errors are known
    """  # noqa: D301 - click reads the sign


def main() -> None:
    """Run the command line; errors are one line, their traceback is shown with BBOXQA_DEBUG=1."""
    sys.stdout, sys.stderr = robust(sys.stdout), robust(sys.stderr)
    PLACED.clear()
    try:
        with raising_signals():
            code = cli.main(standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - tracebacks are for debugging
        command = next((cli.commands[each] for each in sys.argv[1:] if each in cli.commands), None)
        code = exit_code_of(error, PLACED, command)
    sys.exit(code)
