"""`bboxqa plan`: how many more images must be annotated twice."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.console import print_result, refuse_inputs, show_notes, tracking
from bboxqa.cli.options import (
    OUT,
    READING,
    Command,
    agree_settings,
    files_argument,
    format_option,
    option,
    options,
    reading_of,
    source_of,
)
from bboxqa.core.text import count

if TYPE_CHECKING:
    from bboxqa.pipelines.plan import ImagePlan

_FEW = 50


@click.command(cls=Command)
@files_argument()
@option(
    "--target-width NUMBER",
    OUT,
    "Width of the 95 % confidence interval of alpha to reach, such as 0.05.",
    required=True,
    type=click.FloatRange(min=0.001, max=2),
)
@options("similarity", "sigmas", "iou", "threshold")
@options("missing", "annotator", *READING, "bootstrap", "seed", "checks", "config", "pseudonyms")
@format_option("text", "json")
@options("written")
def plan(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    target_width: float,
    config: str | None,
    pseudonyms: Path | None,
    output_format: str,
    output: Path | None,
    **given: Any,
) -> int:
    """Plan how many more images must be annotated twice.

    \b
      bboxqa plan export.json --target-width 0.05
      bboxqa plan ann.json bob.json --target-width 0.1 --similarity polygon --iou 0.75

    With the planned images, the 95 % interval of alpha (or of F1, with one category) is as narrow
    as --target-width. FILE is the same as for `bboxqa agree`. New images are assumed to be like the
    existing ones.
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import asdict, replace

    from bboxqa.pipelines.plan import plan_images
    from bboxqa.pipelines.read import AS_COMPARED, read_for

    if not paths and not named:
        raise click.UsageError("no file given; try: bboxqa plan export.json --target-width 0.05")
    source = source_of(paths, named)
    read = source.values() if isinstance(source, dict) else [source]
    refuse_inputs([output], [*chain.from_iterable(read), config, pseudonyms])
    choices = reading_of(config, given)
    settings = agree_settings(config, given, choices=choices)
    if given.get("bootstrap") == 0:
        raise click.UsageError("--bootstrap is 0; expected 40 to 100,000: a plan needs an interval")
    with tracking() as progress:
        reading = replace(
            AS_COMPARED, digest=False, pseudonyms=pseudonyms, choices=choices, progress=progress
        )
        data = read_for(source, settings, reading)
        planned = plan_images(data, target_width, settings, progress)
    show_notes((*data.left_out, *data.map_notes.values()))
    print_result(planned, {"json": asdict, "text": _lines}, output_format, output)
    return 2 if planned.n_needed is None else 0


def _lines(planned: "ImagePlan") -> list[str]:
    """Return the plan as lines of text."""
    images = count(planned.n_images, "image") + " annotated by two or more"
    warnings = [f"Warning: {line}" for line in planned.headlines]
    if planned.n_more is None or planned.n_needed is None or planned.needed_range is None:
        return [*warnings, f"{images}; cannot plan: {planned.status}"]
    what = (
        f"alpha {planned.alpha:z.4f}"
        if planned.f1 is None
        else f"F1 {planned.f1:.4f} (alpha has no meaning here)"
    )
    lines = [
        *warnings,
        f"{images}: {what}, 95 % interval {planned.width:.4f} wide",
        f"target: {planned.target_width:g} wide",
    ]
    if planned.n_more:
        times = "twice" if planned.n_annotators == 2 else f"by {planned.n_annotators}, as now"
        between = " to ".join(f"{each:,}" for each in planned.needed_range)
        more, needed = count(planned.n_more, "more image"), f"{planned.n_needed:,}"
        lines += [
            f"annotate {more} {times} ({needed} in all), if they are like these",
            f"95 % range: {between} in all; {needed} reach the target in half of the cases",
        ]
    else:
        lines.append(f"reached; {count(planned.n_needed, 'image')} would have been enough")
    if planned.n_images < _FEW:
        lines.append(f"Note: with {count(planned.n_images, 'image')} the width itself is uncertain")
    return lines
