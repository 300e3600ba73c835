"""`bboxqa segments`: agreement on segments of time."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import print_or_write, refuse_inputs
from bboxqa.cli.options import (
    COMPARE,
    READ,
    Command,
    check_bootstrap,
    choice_option,
    files_argument,
    format_option,
    option,
    options,
    resampling_options,
)

if TYPE_CHECKING:
    from bboxqa.model.ratings import TaskEstimates
    from bboxqa.pipelines.ratings.timeline import TierAgreement

_LONGEST_MS = 10**12


@click.command(cls=Command)
@files_argument("FILE…")
@choice_option(
    "--unit",
    ("auto", "ms", "s"),
    "Unit of times without a colon; auto decides by the names of columns and the numbers",
    "auto",
    group=READ,
)
@option(
    "--duration",
    "duration_ms",
    type=click.IntRange(1, _LONGEST_MS),
    metavar="MS",
    help="Length of the recordings in milliseconds; default up to the last segment.",
    group=READ,
)
@option(
    "--resolution",
    "resolution_ms",
    type=click.IntRange(1, _LONGEST_MS),
    default=1,
    metavar="MS",
    help="Compare one point in time every so many milliseconds; default 1.",
    group=COMPARE,
)
@choice_option(
    "--support",
    ("all", "marked"),
    "Compare all of the time, or only where somebody marked something",
    "all",
    group=COMPARE,
)
@choice_option(
    "--overlaps",
    ("refuse", "first", "last", "longest"),
    "Which of overlapping segments of one annotator counts",
    "refuse",
    group=COMPARE,
)
@resampling_options(", drawn from recordings")
@format_option("text", "json", "csv")
@options("raw_csv", "written")
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

    \b
    Exit code 0: measured. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.console import tracking
    from bboxqa.formats.recordings.reader import read_segments
    from bboxqa.pipelines.ratings.timeline import measure_segments

    if not paths:
        raise click.UsageError("no file given; try: bboxqa segments ann.csv bob.csv")
    refuse_inputs([output], paths)
    check_bootstrap(given["bootstrap"])
    with tracking() as progress:
        found = measure_segments(
            read_segments(paths, unit=unit, duration_ms=duration_ms), progress=progress, **given
        )
    print_or_write(_formatted(found, output_format, raw_csv), output)
    return 0


def _formatted(tiers: "list[TierAgreement]", output_format: str, raw_csv: bool) -> str:
    from bboxqa.cli.stats import scale_label
    from bboxqa.report.encodings import json_text
    from bboxqa.report.stats_views import as_csv, as_json, label_lines, labels_json, text_lines

    estimates = [tier.estimates for tier in tiers]
    if output_format == "csv":
        return as_csv([_with_labels(tier) for tier in tiers], raw=raw_csv)
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
    """Return the coefficients of a tier, followed by the agreement on each label."""
    from dataclasses import replace

    labels = {f"label {label.label}": label.agreement for label in tier.labels}
    return replace(tier.estimates, coefficients={**tier.estimates.coefficients, **labels})
