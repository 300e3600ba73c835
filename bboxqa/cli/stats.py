"""`bboxqa stats`: coefficients of agreement of a table of ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import print_or_write, refuse_inputs
from bboxqa.cli.options import (
    A_PATH,
    COMPARE,
    READ,
    Command,
    check_bootstrap,
    choice_option,
    completed,
    format_option,
    option,
    options,
    resampling_options,
)

if TYPE_CHECKING:
    from bboxqa.model.ratings import Ratings, TaskEstimates


@click.command(cls=Command)
@click.argument("table", metavar="TABLE", type=A_PATH)
@choice_option(
    "--layout",
    ("long", "raters-x-units", "units-x-raters", "counts"),
    "What a row is: one rating (long), one annotator (raters-x-units), one unit "
    "(units-x-raters), or one unit with the number of times each value was chosen (counts); "
    "default found from the header.",
    group=READ,
)
@option(
    "--unit",
    default="unit",
    metavar="COLUMN",
    help="Column of units, in long tables; default unit.",
    group=READ,
)
@option(
    "--annotator",
    default="annotator",
    metavar="COLUMN",
    help="Column of annotators, in long tables; default annotator.",
    group=READ,
)
@option(
    "--value",
    default="value",
    metavar="COLUMN",
    help="Column of ratings, in long tables; default value.",
    group=READ,
)
@option(
    "--by", metavar="COLUMN", help="Column of tasks, which are measured separately.", group=READ
)
@option(
    "--cluster",
    metavar="COLUMN",
    help="Column of clusters that intervals draw, such as the image of a unit; default the units.",
    group=READ,
)
@option(
    "--n-options",
    metavar="COLUMN",
    help="For tasks of choice: column with the number of objects to choose from.",
    group=READ,
)
@option(
    "--coefficient",
    "coefficients",
    multiple=True,
    metavar="NAME",
    shell_complete=completed("bboxqa.agreement.registry:names"),
    help="Such as krippendorff_alpha, or all; default those that suit the table. Can be given "
    "several times.",
    group=COMPARE,
)
@choice_option(
    "--level",
    ("nominal", "ordinal", "interval", "ratio"),
    "Level of measurement, for alpha",
    "nominal",
    group=COMPARE,
)
@choice_option(
    "--weights",
    ("identity", "linear", "quadratic"),
    "Partial agreement of close values, for weighted coefficients; none with identity",
    "identity",
    group=COMPARE,
)
@option(
    "--annotators",
    is_flag=True,
    help="Show which annotators answer alike instead: the share of equal answers, the cosine of "
    "numbers, and groups by k-means and by a tree.",
    group=COMPARE,
)
@option(
    "--association",
    nargs=2,
    metavar="COLUMN COLUMN",
    help="Show whether two columns go together instead: chi-square and Cramér's V.",
    group=COMPARE,
)
@resampling_options()
@format_option("text", "json", "csv")
@options("raw_csv", "written")
def stats(
    *, table: Path, output_format: str, output: Path | None, raw_csv: bool, **given: Any
) -> int:
    """Measure agreement on labels, numbers and choices.

    \b
      bboxqa stats labels.csv                      columns unit, annotator, value
      bboxqa stats labels.csv --by task            one result per task
      bboxqa stats scores.csv --level ordinal --coefficient krippendorff_alpha
      bboxqa stats matrix.csv --layout raters-x-units
      bboxqa stats labels.csv --annotators         who answers like whom
      bboxqa stats units.csv --association category annotator

    TABLE is CSV, TSV, JSON lines or Parquet. Cells that are empty, NA, NaN, null or - are missing
    ratings.

    \b
    Exit code 0: measured. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    refuse_inputs([output], [table])
    check_bootstrap(given["bootstrap"])
    if given["annotators"] and given["association"]:
        raise click.UsageError("--annotators and --association show different things; give one")
    if given["association"]:
        text = _associated(table, given["association"], output_format, raw_csv)
    elif given["annotators"]:
        text = _similar(table, given, output_format, raw_csv)
    else:
        text = _formatted(_measured(table, given), output_format, raw_csv)
    print_or_write(text, output)
    return 0


def _similar(table: Path, options: dict[str, Any], output_format: str, raw_csv: bool) -> str:
    """Return the similarity of annotators as text."""
    from bboxqa.pipelines.answers import similar_annotators
    from bboxqa.report.encodings import json_text
    from bboxqa.report.stats_views import similar_csv, similar_json, similar_lines

    tasks = [
        similar_annotators(ratings, task=task, seed=options["seed"])
        for task, ratings in _ratings(table, options).items()
    ]
    if output_format == "csv":
        return similar_csv(tasks, raw=raw_csv)
    if output_format == "json":
        return json_text(similar_json(tasks))
    return "".join(f"{line}\n" for line in similar_lines(tasks))


def _associated(table: Path, columns: tuple[str, str], output_format: str, raw_csv: bool) -> str:
    """Return the association of two columns as text."""
    from bboxqa.pipelines.answers import column_association
    from bboxqa.report.encodings import json_text
    from bboxqa.report.stats_views import association_csv, association_json, association_lines

    found = column_association(table, *columns)
    if output_format == "csv":
        return association_csv(found, raw=raw_csv)
    if output_format == "json":
        return json_text(association_json(found))
    return "".join(f"{line}\n" for line in association_lines(found))


def _ratings(table: Path, options: dict[str, Any]) -> "dict[str | None, Ratings]":
    from bboxqa.formats.ratings.reader import read_ratings

    columns = ("layout", "unit", "annotator", "value", "by", "cluster", "n_options")
    return read_ratings(table, **{name: options[name] for name in columns})


def _measured(table: Path, options: dict[str, Any]) -> "list[TaskEstimates]":
    from bboxqa.agreement.registry import named_coefficients
    from bboxqa.cli.console import tracking
    from bboxqa.stats import measure

    named_coefficients(options["coefficients"], "--coefficient")
    settings = ("level", "weights", "bootstrap", "seed", "interval")
    with tracking() as progress:
        return [
            measure(
                ratings,
                options["coefficients"] or None,
                task=task,
                progress=progress,
                **{name: options[name] for name in settings},
            )
            for task, ratings in _ratings(table, options).items()
        ]


def _formatted(tasks: "list[TaskEstimates]", output_format: str, raw_csv: bool) -> str:
    from bboxqa.report.encodings import json_text
    from bboxqa.report.stats_views import as_csv, as_json, text_lines

    if output_format == "csv":
        return as_csv(tasks, raw=raw_csv)
    if output_format == "json":
        return json_text(as_json(tasks))
    from bboxqa.stats import totals

    return "".join(f"{line}\n" for line in text_lines(tasks, scale_label, totals(tasks)))


def scale_label(name: str, value: float) -> str:
    """Return the label of a value on the scale of a coefficient."""
    from bboxqa.agreement.registry import SCALES, coefficient, label

    scale = SCALES.get(coefficient(name).scale)
    return "" if scale is None else f"{label(scale, value)} ({scale.name})"
