"""`bboxqa segments`: agreement on segments of time."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import print_result, refuse_inputs
from bboxqa.cli.options import (
    COMPARE,
    READ,
    Command,
    files_argument,
    format_option,
    option,
    options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bboxqa.pipelines.ratings.timeline import TierAgreement

_LONGEST_MS = 10**12


_OPTIONS = options(
    option("--unit", READ,
        "Unit of times without a colon; auto decides by the names of columns and the numbers; "
        "default auto.", type=click.Choice(("auto", "ms", "s")), default="auto"),
    option("--duration MS", READ,
        "Length of the recordings in milliseconds; default up to the last segment.",
        to="duration_ms", type=click.IntRange(1, _LONGEST_MS)),
    option("--resolution MS", COMPARE,
        "Compare one point in time every so many milliseconds; default 1.",
        to="resolution_ms", type=click.IntRange(1, _LONGEST_MS), default=1),
    option("--support", COMPARE,
        "Compare all of the time, or only where somebody marked something; default all.",
        type=click.Choice(("all", "marked")), default="all"),
    option("--overlaps", COMPARE,
        "Which of overlapping segments of one annotator counts; default refuse.",
        type=click.Choice(("refuse", "first", "last", "longest")), default="refuse"),
    "bootstrap", "seed", "interval",
    format_option("text", "json", "csv"),
    "raw_csv", "written",
)  # fmt: skip


@click.command(cls=Command)
@files_argument("FILE…")
@_OPTIONS
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
    given = {name: value for name, value in given.items() if value is not None}
    with tracking() as progress:
        found = measure_segments(
            read_segments(paths, unit=unit, duration_ms=duration_ms), progress=progress, **given
        )
    views: dict[str, Any] = {"csv": partial(_csv, raw=raw_csv), "json": _json, "text": _lines}
    print_result(found, views, output_format, output)
    return 0


def _csv(tiers: "list[TierAgreement]", *, raw: bool) -> str:
    """Return the coefficients of each tier, followed by the agreement on each label."""
    from msgspec.structs import replace

    from bboxqa.report.stats_views import as_csv

    estimates = []
    for tier in tiers:
        labels = {f"label {label.label}": label.agreement for label in tier.labels}
        coefficients = {**tier.estimates.coefficients, **labels}
        estimates.append(replace(tier.estimates, coefficients=coefficients))
    return as_csv(estimates, raw=raw)


def _json(tiers: "list[TierAgreement]") -> list[dict[str, Any]]:
    from bboxqa.report.stats_views import as_json, labels_json

    shown = as_json([tier.estimates for tier in tiers])
    labels = ({"labels": labels_json(tier.labels)} for tier in tiers)
    return [each | more for each, more in zip(shown, labels, strict=True)]


def _lines(tiers: "list[TierAgreement]") -> "Iterator[str]":
    from bboxqa.cli.stats import scale_label
    from bboxqa.pipelines.ratings.timeline import shown_in_text
    from bboxqa.report.stats_views import label_lines, text_lines

    yield from text_lines([shown_in_text(tier.estimates) for tier in tiers], scale_label)
    yield from label_lines([(tier.estimates.task or "", tier.labels) for tier in tiers])
