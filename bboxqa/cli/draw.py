"""`bboxqa draw`: a picture of an image with its annotations."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli.console import refuse_inputs, show_notes, tracking
from bboxqa.cli.options import (
    A_PATH,
    OUT,
    READ,
    READING,
    Command,
    agree_settings,
    files_argument,
    option,
    options,
    reading_of,
)

_OPTIONS = options(
    option("--image NAME|ID", READ, "File name or id of the image to draw.", required=True),
    option("--images DIR", OUT,
        "Folder of the images; without it, annotations are drawn on a blank canvas. Can be given "
        "several times.", multiple=True, type=A_PATH),
    option("--by", OUT,
        "What colours stand for: annotator (default), category (default where the file names fewer "
        "than two annotators), unit (what `agree` matches), or finding (what `validate` finds; "
        "other annotations are left out).",
        type=click.Choice(("annotator", "category", "unit", "finding"))),
    option("--side-by-side", OUT, "Draw a panel for each annotator.", is_flag=True),
    "similarity", "sigmas", "iou", "threshold", *READING, "config", "pseudonyms",
    option("-o --out FILE", OUT,
        "PNG (300 dots per inch), SVG or PDF to write; default IMAGE_BY.png in this folder.",
        type=A_PATH),
    option("--force", OUT, "Replace an existing file.", is_flag=True),
)  # fmt: skip


@click.command(cls=Command)
@files_argument()
@_OPTIONS
def draw(
    *,
    paths: tuple[Path, ...],
    image: str,
    images: tuple[Path, ...],
    by: Any,
    side_by_side: bool,
    config: str | None,
    pseudonyms: Path | None,
    out: Path | None,
    force: bool,
    **given: Any,
) -> int:
    """Draw an image with its annotations.

    \b
      bboxqa draw export.json --image street.jpg --images photos/
      bboxqa draw export.json --image 17 --by unit --out street.pdf
      bboxqa draw export.json --image 17 --by finding

    Labels name the category; with --by category they name the annotator, with unit its number, and
    with finding the rules. FILE is the same as for `bboxqa agree`, but may have one annotator, or
    name none.
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.draw import draw_with
    from bboxqa.report.drawing import check_target

    if not paths:
        raise click.UsageError("no file given; try: bboxqa draw export.json --image NAME")
    if out is not None:
        refuse_inputs([out], [*paths, config, pseudonyms])
        check_target(out, force=force)
    choices = reading_of(config, given)
    settings = agree_settings(config, given, choices=choices)
    with tracking() as progress:
        drawing = draw_with(
            paths, image, settings, images=images or None, by=by, side_by_side=side_by_side,
            pseudonyms=pseudonyms, choices=choices, progress=progress,
        )  # fmt: skip
    path = drawing.save(out or drawing.default_path(), force=force)
    show_notes(drawing.notes)
    click.echo(f"Written: {path}")
    return 0
