"""`bboxqa stats`: coefficients of agreement of a table of ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import note_written
from bboxqa.cli.options import check_bootstrap

if TYPE_CHECKING:
    from bboxqa.model.estimates import TaskEstimates

__all__ = ["scale_label", "stats"]


@click.command()
@click.argument("table", metavar="TABLE", type=click.Path(path_type=Path))
@click.option(
    "--layout",
    type=click.Choice(["long", "raters-x-units", "units-x-raters", "counts"]),
    help="What a row is: one rating (long), one annotator (raters-x-units), one unit "
    "(units-x-raters), or one unit with how often each value was chosen (counts); by default what "
    "the header makes certain.",
)
@click.option("--unit", default="unit", metavar="COLUMN", help="Of long tables; default unit.")
@click.option("--annotator", default="annotator", metavar="COLUMN", help="Default annotator.")
@click.option("--value", default="value", metavar="COLUMN", help="Default value.")
@click.option("--by", metavar="COLUMN", help="Column of tasks; each is measured for itself.")
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column of what intervals draw, such as the image of a unit; default the units.",
)
@click.option(
    "--n-options",
    metavar="COLUMN",
    help="Of choice tasks: column of how many objects there were to choose from.",
)
@click.option(
    "--coefficient",
    "coefficients",
    multiple=True,
    metavar="NAME",
    help="Such as krippendorff_alpha, or all; default those that suit the table. Can be given "
    "several times.",
)
@click.option(
    "--level",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    help="What differences of values mean, for alpha; default nominal.",
)
@click.option(
    "--weights",
    type=click.Choice(["identity", "linear", "quadratic"]),
    default="identity",
    help="How near misses count in weighted coefficients; default identity: not at all.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    default=1000,
    metavar="NUMBER",
    help="Replicates for the intervals; default 1000, 0 for none.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="NUMBER",
    help="Of the replicates; default 0.",
)
@click.option(
    "--interval",
    type=click.Choice(["percentile", "bca"]),
    default="percentile",
    help="How intervals are made of the replicates; default percentile.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "csv"]),
    default="text",
    help="What is printed; default text.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there instead of printing.",
)
def stats(*, table: Path, output_format: str, output: Path | None, **options: Any) -> int:
    """Measure agreement on labels, numbers and choices.

    \b
      bboxqa stats labels.csv                      columns unit, annotator, value
      bboxqa stats labels.csv --by task            one result per task
      bboxqa stats scores.csv --level ordinal --coefficient krippendorff_alpha
      bboxqa stats matrix.csv --layout raters-x-units

    TABLE is CSV, TSV, json lines or Parquet. A cell that is empty, NA, NaN, null or - is no
    rating.

    \b
    Exit code 0: measured. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    if output is not None and output.exists() and table.exists() and output.samefile(table):
        raise click.UsageError(f"{output} is the table itself")
    check_bootstrap(options["bootstrap"])
    text = _formatted(_measured(table, options), output_format)
    if output is None:
        click.echo(text, nl=False)
        return 0
    from bboxqa.core.files import write_atomically

    write_atomically(output, text.encode("utf-8", "surrogateescape"))
    note_written(output)
    click.echo(f"Written: {output}", err=True)
    return 0


def _measured(table: Path, options: dict[str, Any]) -> "list[TaskEstimates]":
    from bboxqa.cli.console import tracking
    from bboxqa.formats.ratings.rating_files import read_ratings
    from bboxqa.stats import measure

    columns = ("layout", "unit", "annotator", "value", "by", "cluster", "n_options")
    settings = ("level", "weights", "bootstrap", "seed", "interval")
    with tracking() as progress:
        tasks = read_ratings(table, **{name: options[name] for name in columns})
        return [
            measure(
                ratings,
                options["coefficients"] or None,
                task=task,
                progress=progress,
                **{name: options[name] for name in settings},
            )
            for task, ratings in tasks.items()
        ]


def _formatted(tasks: "list[TaskEstimates]", output_format: str) -> str:
    from bboxqa.report.coefficient_text import text_lines
    from bboxqa.report.coefficients import as_csv, as_json
    from bboxqa.report.json_text import json_text

    if output_format == "csv":
        return as_csv(tasks)
    if output_format == "json":
        return json_text(as_json(tasks))
    from bboxqa.stats import totals

    return "".join(f"{line}\n" for line in text_lines(tasks, scale_label, totals(tasks)))


def scale_label(name: str, value: float) -> str:
    """Return what the scale that goes with a coefficient calls a value."""
    from bboxqa.agreement.registry import coefficient
    from bboxqa.agreement.scales import SCALES, label

    scale = SCALES.get(coefficient(name).scale)
    return "" if scale is None else f"{label(scale, value)} ({scale.name})"
