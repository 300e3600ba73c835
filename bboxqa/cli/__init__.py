"""The command line: commands, each imported when it is used."""

import sys
import warnings
from importlib import import_module

import click

from bboxqa.cli.console import exit_code_of, robust
from bboxqa.core.interrupts import PLACED, raising_signals
from bboxqa.core.text import nearest
from bboxqa.core.version import __version__

_FIRST = (
    "validate", "agree", "audit", "consensus", "compare", "convert", "draw", "report", "batch",
    "plan",
)  # fmt: skip
_ALSO = (
    "accept", "cite", "stats", "segments", "simulate", "example", "explain",
)  # fmt: skip
# The modules of commands that share one.
_HOME = {
    "compare": "agree", "audit": "review", "consensus": "review", "accept": "review",
    "cite": "report", "draw": "report", "plan": "simulate", "segments": "stats",
    "example": "simulate", "explain": "validate",
}  # fmt: skip


class _Commands(click.Group):
    """Commands whose modules are imported when they are run or listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [*_FIRST, *_ALSO]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        if name not in (names := self.list_commands(ctx)):
            raise click.UsageError(f"No such command {name!r}{nearest(name, names)}", ctx)
        module = import_module(f"bboxqa.cli.{_HOME.get(name, name)}")
        found: click.Command = getattr(module, name)
        return self.commands.setdefault(name, found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what most people need, and below it the rest."""
        most = formatter.width - 4 - max(map(len, self.list_commands(ctx)))
        for title, names in (("Commands", _FIRST), ("Also", _ALSO)):
            rows = [(name, self.get_command(ctx, name).get_short_help_str(most)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="bboxqa COMMAND --help shows the options of a command.",
)
@click.version_option(__version__, "-V", "--version", prog_name="bboxqa")
def cli() -> None:
    """Validate image annotations, and measure how far annotators agree.

    \b
      bboxqa validate export.json             what is wrong with a file
      bboxqa agree export.json                how far the annotators that it names agree
      bboxqa agree ann.json bob.json          how far two annotators agree, with a file each
      bboxqa audit labels.json --predictions results.json
                                              one annotator and a model: labels to look at
    """  # noqa: D301 - click reads the sign


def main() -> None:
    """Run the command line; errors are one line, their traceback is shown with BBOXQA_DEBUG=1."""
    sys.stdout, sys.stderr = robust(sys.stdout), robust(sys.stderr)
    PLACED.clear()
    # What overflows is infinite or NaN, which findings name. Filters of users come first.
    warnings.simplefilter("ignore", RuntimeWarning, append=True)
    try:
        with raising_signals():
            code = cli.main(standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - tracebacks are for debugging
        command = next((cli.commands[each] for each in sys.argv[1:] if each in cli.commands), None)
        code = exit_code_of(error, PLACED, command)
    sys.exit(code)
