"""`bboxqa stats` and `segments`: agreement on ratings, and on segments of time."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, COMPARE, READ, Option, params

_OPTIONS = params(
    Option("--layout", READ,
        "What a row is: one rating (long), one annotator, one unit, or one unit with the number of "
        "times each value was chosen (counts); default found from the header.",
        type=click.Choice(("long", "raters-x-units", "units-x-raters", "counts"))),
    Option("--unit COLUMN", READ, "Column of units, in long tables; default unit.", default="unit"),
    Option("--annotator COLUMN", READ,
        "Column of annotators, in long tables; default annotator.", default="annotator"),
    Option("--value COLUMN", READ, "Column of ratings, in long tables; default value.",
        default="value"),
    Option("--by COLUMN", READ, "Column of tasks, which are measured separately."),
    Option("--cluster COLUMN", READ,
        "Column of clusters that intervals draw, such as the image of a unit; default the units."),
    Option("--n-options COLUMN", READ,
        "For tasks of choice: column with the number of objects to choose from."),
    Option("--coefficient NAME", COMPARE,
        "Such as krippendorff_alpha, or all; default those that suit the table. Can be given "
        "several times.", to="coefficients", multiple=True),
    Option("--level", COMPARE,
        "Level of measurement, for alpha; masi and jaccard are of sets of labels; default nominal.",
        type=click.Choice(("nominal", "ordinal", "interval", "ratio", "masi", "jaccard")),
        default="nominal"),
    Option("--weights", COMPARE,
        "Partial agreement of close values, for weighted coefficients; none with identity; default "
        "identity.", type=click.Choice(("identity", "linear", "quadratic")), default="identity"),
    Option("--annotators", COMPARE,
        "Show who answers alike instead: equal answers, cosine, and groups.", is_flag=True),
    Option("--association COLUMN COLUMN", COMPARE,
        "Show whether two columns go together instead: chi-square and Cramér's V.", nargs=2),
    "bootstrap", "seed", "interval",
    shared.format_option("text", "json", "csv"),
    "raw_csv", "written",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
@click.argument("table", metavar="TABLE", type=A_PATH)
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
    """  # noqa: D301 - click reads the sign
    console.refuse_inputs([output], [table])
    if given["annotators"] and given["association"]:
        raise click.UsageError("--annotators and --association show different things; give one")
    from bboxqa.formats.ratings import read_ratings
    from bboxqa.report import stats_views as shown

    columns = ("layout", "unit", "annotator", "value", "by", "cluster", "n_options")
    read = partial(read_ratings, table, **{name: given[name] for name in columns})
    found: Any
    views: list[Any]
    if given["association"]:
        from bboxqa.pipelines.ratings import column_association

        found = column_association(table, *given["association"])
        views = [shown.association_csv, shown.association_json, shown.association_lines]
    elif given["annotators"]:
        from bboxqa.pipelines.ratings import similar_annotators

        seed = given["seed"] or 0
        found = [similar_annotators(of, task=task, seed=seed) for task, of in read().items()]
        views = [shown.similar_csv, shown.similar_json, shown.similar_lines]
    else:
        from bboxqa.agreement.intervals import totals
        from bboxqa.agreement.registry import named_coefficients
        from bboxqa.pipelines.ratings import measure

        named_coefficients(given["coefficients"], "--coefficient")
        of_measure = ("level", "weights", "bootstrap", "seed", "interval")
        settings = {name: given[name] for name in of_measure if given[name] is not None}
        settings["coefficients"] = given["coefficients"] or None
        with console.tracking() as progress:
            found = [
                measure(ratings, task=task, progress=progress, **settings)
                for task, ratings in read().items()
            ]
        lines = partial(shown.text_lines, label=scale_label, totals=totals(found))
        views = [shown.as_csv, shown.as_json, lines]
    csv, json, text = views
    by_format = {"csv": partial(csv, raw=raw_csv), "json": json, "text": text}
    console.print_result(found, by_format, output_format, output)
    return 0


def scale_label(name: str, value: float) -> str:
    """Return the label of a value on the scale of a coefficient."""
    from bboxqa.agreement.registry import SCALES, coefficient, label

    scale = SCALES.get(coefficient(name).scale)
    return "" if scale is None else f"{label(scale, value)} ({scale.name})"


_LONGEST_MS = 10**12


_OF_SEGMENTS = params(
    Option("--unit", READ,
        "Unit of times without a colon; auto decides by the names of columns and the numbers; "
        "default auto.", type=click.Choice(("auto", "ms", "s")), default="auto"),
    Option("--duration MS", READ,
        "Length of the recordings in milliseconds; default up to the last segment.",
        to="duration_ms", type=click.IntRange(1, _LONGEST_MS)),
    Option("--resolution MS", COMPARE,
        "Compare one point in time every so many milliseconds; default 1.",
        to="resolution_ms", type=click.IntRange(1, _LONGEST_MS), default=1),
    Option("--support", COMPARE,
        "Compare all of the time, or only where somebody marked something; default all.",
        type=click.Choice(("all", "marked")), default="all"),
    Option("--overlaps", COMPARE,
        "Which of overlapping segments of one annotator counts; default refuse.",
        type=click.Choice(("refuse", "first", "last", "longest")), default="refuse"),
    "bootstrap", "seed", "interval",
    shared.format_option("text", "json", "csv"),
    "raw_csv", "written",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_SEGMENTS)
@click.argument("paths", nargs=-1, metavar="FILE…", type=A_PATH)
def segments(
    *,
    paths: tuple[Path, ...],
    unit: Any,
    duration_ms: int | None,
    output_format: str,
    raw_csv: bool,
    output: Path | None,
    **given: Any,
) -> int:
    """Measure agreement on segments of time in recordings.

    \b
      bboxqa segments ann.csv bob.csv               columns start, end, label
      bboxqa segments ann.txt bob.txt               ELAN's tab-delimited export
      bboxqa segments all.csv --support marked      columns annotator, recording, tier too

    Annotators are compared between all boundaries of their segments, to the millisecond. Time
    that an annotator did not mark counts as a label of its own.
    """  # noqa: D301 - click reads the sign
    from bboxqa.formats.recordings import read_segments
    from bboxqa.pipelines.segments import measure_segments, shown_in_text
    from bboxqa.report import stats_views as shown

    if not paths:
        raise click.UsageError("no file given; try: bboxqa segments ann.csv bob.csv")
    console.refuse_inputs([output], paths)
    given = {name: value for name, value in given.items() if value is not None}
    with console.tracking() as progress:
        found = measure_segments(
            read_segments(paths, unit=unit, duration_ms=duration_ms), progress=progress, **given
        )
    views: dict[str, Any] = {
        "csv": partial(shown.as_csv, raw=raw_csv),
        "json": shown.as_json,
        "text": lambda tiers: shown.text_lines([*map(shown_in_text, tiers)], scale_label),
    }
    console.print_result(found, views, output_format, output)
    return 0
