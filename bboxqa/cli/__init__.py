"""The command line: one module per command, and no logic of its own."""

import io
import os
import sys
import traceback

import click

from bboxqa.cli.agree import agree
from bboxqa.cli.batch import batch
from bboxqa.cli.example import example
from bboxqa.cli.explain import explain
from bboxqa.cli.plan import plan
from bboxqa.cli.segments import segments
from bboxqa.cli.stats import stats
from bboxqa.cli.validate import validate
from bboxqa.core.errors import BboxqaError
from bboxqa.core.text import clean
from bboxqa.core.version import __version__

__all__ = ["main"]

# What a shell gives a command that ctrl-C has ended.
_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="bboxqa")
def cli() -> None:
    """Quality of image annotations: is the file sound, and how far do annotators agree.

    \b
      bboxqa validate export.json    find what is wrong with a COCO file
      bboxqa example fruits          see how it works, on a small example
      bboxqa agree export.json       measure a COCO file with several annotators
      bboxqa agree ann.json bob.json one file per annotator
      bboxqa batch projects/         all of it for many projects, every night
      bboxqa plan export.json --target-width 0.05
                                     how many more images to annotate twice
      bboxqa stats labels.csv        measure a table of labels, scores or choices
      bboxqa segments ann.csv bob.csv
                                     measure segments of time
    """  # noqa: D301 - click reads the sign


cli.add_command(agree)
cli.add_command(batch)
cli.add_command(plan)
cli.add_command(stats)
cli.add_command(segments)
cli.add_command(example)
cli.add_command(validate)
cli.add_command(explain)


def main() -> None:
    """Run the command line; never show a traceback for bad input."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that does not know a sign shows its number.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = 2
    except BboxqaError as error:
        click.echo(f"Error: {clean(str(error))}", err=True)
        code = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted; nothing was written.", err=True)
        code = _INTERRUPTED
    except MemoryError:
        click.echo("Error: not enough memory for this input", err=True)
        code = 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; python must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        click.echo(f"Error: {error.filename or 'output'}: {error.strerror}", err=True)
        code = 2
    except Exception as error:  # noqa: BLE001 - a traceback helps nobody who did not write this
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {clean(str(error))}"
        click.echo(f"Error: bboxqa failed in {place.name}, line {place.lineno}: {what}", err=True)
        click.echo("This is a defect of bboxqa; please report it with this line.", err=True)
        code = 2
    sys.exit(code)
