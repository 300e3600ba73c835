"""`bboxqa stats`: coefficients of agreement of a table of ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import print_or_write, refuse_input_as_output
from bboxqa.cli.options import (
    check_bootstrap,
    choice_option,
    completed,
    format_option,
    raw_csv_option,
    resampling_options,
    written_option,
)

if TYPE_CHECKING:
    from bboxqa.model.estimates import TaskEstimates


@click.command()
@click.argument("table", metavar="TABLE", type=click.Path(path_type=Path))
@choice_option(
    "--layout",
    ("long", "raters-x-units", "units-x-raters", "counts"),
    "What a row is: one rating (long), one annotator (raters-x-units), one unit "
    "(units-x-raters), or one unit with the number of times each value was chosen (counts); "
    "default found from the header.",
)
@click.option(
    "--unit",
    default="unit",
    metavar="COLUMN",
    help="Column of units, in long tables; default unit.",
)
@click.option(
    "--annotator",
    default="annotator",
    metavar="COLUMN",
    help="Column of annotators, in long tables; default annotator.",
)
@click.option(
    "--value",
    default="value",
    metavar="COLUMN",
    help="Column of ratings, in long tables; default value.",
)
@click.option("--by", metavar="COLUMN", help="Column of tasks, which are measured separately.")
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column of clusters that intervals draw, such as the image of a unit; default the units.",
)
@click.option(
    "--n-options",
    metavar="COLUMN",
    help="For tasks of choice: column with the number of objects to choose from.",
)
@click.option(
    "--coefficient",
    "coefficients",
    multiple=True,
    metavar="NAME",
    shell_complete=completed("bboxqa.agreement.registry:names"),
    help="Such as krippendorff_alpha, or all; default those that suit the table. Can be given "
    "several times.",
)
@choice_option(
    "--level",
    ("nominal", "ordinal", "interval", "ratio"),
    "Level of measurement, for alpha",
    "nominal",
)
@choice_option(
    "--weights",
    ("identity", "linear", "quadratic"),
    "Partial agreement of close values, for weighted coefficients; identity counts none",
    "identity",
)
@resampling_options()
@format_option("text", "json", "csv")
@raw_csv_option()
@written_option()
def stats(
    *, table: Path, output_format: str, output: Path | None, raw_csv: bool, **options: Any
) -> int:
    """Measure agreement on labels, numbers and choices.

    \b
      bboxqa stats labels.csv                      columns unit, annotator, value
      bboxqa stats labels.csv --by task            one result per task
      bboxqa stats scores.csv --level ordinal --coefficient krippendorff_alpha
      bboxqa stats matrix.csv --layout raters-x-units

    TABLE is CSV, TSV, json lines or Parquet. Cells that are empty, NA, NaN, null or - are missing
    ratings.

    \b
    Exit code 0: measured. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    refuse_input_as_output(output, [table])
    check_bootstrap(options["bootstrap"])
    print_or_write(_formatted(_measured(table, options), output_format, raw_csv), output)
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


def _formatted(tasks: "list[TaskEstimates]", output_format: str, raw_csv: bool) -> str:
    from bboxqa.report.coefficient_text import text_lines
    from bboxqa.report.coefficients import as_csv, as_json
    from bboxqa.report.json_text import json_text

    if output_format == "csv":
        return as_csv(tasks, raw=raw_csv)
    if output_format == "json":
        return json_text(as_json(tasks))
    from bboxqa.stats import totals

    return "".join(f"{line}\n" for line in text_lines(tasks, scale_label, totals(tasks)))


def scale_label(name: str, value: float) -> str:
    """Return the label of a value on the scale of a coefficient."""
    from bboxqa.agreement.registry import coefficient
    from bboxqa.agreement.scales import SCALES, label

    scale = SCALES.get(coefficient(name).scale)
    return "" if scale is None else f"{label(scale, value)} ({scale.name})"
