"""`bboxqa segments`: agreement on segments of time."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.options import check_bootstrap

if TYPE_CHECKING:
    from bboxqa.model.estimates import TaskEstimates
    from bboxqa.pipelines.timeline import TierAgreement

__all__ = ["segments"]


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE…", type=click.Path(path_type=Path))
@click.option(
    "--unit",
    type=click.Choice(["auto", "ms", "s"]),
    default="auto",
    help="What times without a colon count; default auto: what columns and numbers tell.",
)
@click.option(
    "--duration",
    "duration_ms",
    type=click.IntRange(min=1, max=10**12),
    metavar="MS",
    help="Length of the recordings in milliseconds; default up to the last segment.",
)
@click.option(
    "--resolution",
    "resolution_ms",
    type=click.IntRange(min=1, max=10**12),
    default=1,
    metavar="MS",
    help="One point is compared in every so many milliseconds; default 1.",
)
@click.option(
    "--support",
    type=click.Choice(["all", "marked"]),
    default="all",
    help="All of the time (default), or only where somebody marked something.",
)
@click.option(
    "--overlaps",
    type=click.Choice(["refuse", "first", "last", "longest"]),
    default="refuse",
    help="Which segment of an annotator counts where several overlap; default refuse.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    default=1000,
    metavar="NUMBER",
    help="Replicates for the intervals, which draw recordings; default 1000, 0 for none.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="NUMBER", help="Default 0.")
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
def segments(
    *,
    paths: tuple[Path, ...],
    unit: Any,
    duration_ms: int | None,
    output_format: str,
    **options: Any,
) -> int:
    """Measure agreement on what happens when in a recording.

    \b
      bboxqa segments ann.csv bob.csv               columns start, end, label
      bboxqa segments ann.txt bob.txt               ELAN's tab-delimited export
      bboxqa segments all.csv --support marked      columns annotator, recording, tier too

    Time is compared to the millisecond, in whole stretches between boundaries; where an annotator
    marked nothing is an answer of its own.

    \b
    Exit code 0: measured. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.console import tracking
    from bboxqa.formats.recordings.segment_files import read_segments
    from bboxqa.pipelines.timeline import measure_segments

    if not paths:
        raise click.UsageError("no file given; try: bboxqa segments ann.csv bob.csv")
    check_bootstrap(options["bootstrap"])
    with tracking() as progress:
        found = measure_segments(
            read_segments(paths, unit=unit, duration_ms=duration_ms), progress=progress, **options
        )
    click.echo(_formatted(found, output_format), nl=False)
    return 0


def _formatted(tiers: "list[TierAgreement]", output_format: str) -> str:
    from bboxqa.cli.stats import scale_label
    from bboxqa.report.coefficient_text import label_lines, text_lines
    from bboxqa.report.coefficients import as_csv, as_json, labels_json
    from bboxqa.report.json_text import json_text

    estimates = [tier.estimates for tier in tiers]
    if output_format == "csv":
        return as_csv([_with_labels(tier) for tier in tiers])
    if output_format == "json":
        values = [
            {**shown, "labels": labels_json(tier.labels)}
            for shown, tier in zip(as_json(estimates), tiers, strict=True)
        ]
        return json_text(values)
    lines = [
        *text_lines(estimates, scale_label),
        *label_lines([(tier.estimates.task or "", tier.labels) for tier in tiers]),
    ]
    return "".join(f"{line}\n" for line in lines)


def _with_labels(tier: "TierAgreement") -> "TaskEstimates":
    """Return the coefficients of a tier with the agreement on each label behind them."""
    from dataclasses import replace

    labels = {f"label {label.label}": label.agreement for label in tier.labels}
    return replace(tier.estimates, coefficients={**tier.estimates.coefficients, **labels})
