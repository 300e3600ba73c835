"""`bboxqa draw`: a picture of an image with its annotations."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli.failures import refuse_inputs
from bboxqa.cli.options.agree_options import reading_options, sigmas_option, similarity_option
from bboxqa.cli.options.shared_options import (
    A_PATH,
    agree_settings,
    choice_option,
    completed_configs,
    files_argument,
    path_option,
    pseudonyms_option,
    threshold_options,
)


@click.command()
@files_argument()
@click.option(
    "--image", required=True, metavar="NAME|ID", help="File name or id of the image to draw."
)
@click.option(
    "--images",
    multiple=True,
    type=A_PATH,
    metavar="DIR",
    help="Folder of the images; without it, annotations are drawn on a blank canvas. Can be given "
    "several times.",
)
@choice_option(
    "--by",
    ("annotator", "category", "unit", "finding"),
    "What colours stand for: annotator (default), category (default where the file names fewer "
    "than two annotators), unit (what `agree` matches), or finding (what `validate` finds; other "
    "annotations are left out).",
)
@click.option("--side-by-side", is_flag=True, help="Draw a panel for each annotator.")
@similarity_option
@sigmas_option
@threshold_options()
@reading_options
@click.option(
    "--config",
    shell_complete=completed_configs,
    metavar="FILE",
    help="Settings of `agree` in TOML, or a bundled name.",
)
@pseudonyms_option
@path_option(
    "--out", "PNG (300 dots per inch), SVG or PDF to write; default IMAGE_BY.png in this folder."
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
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
    **options: Any,
) -> int:
    """Draw an image with its annotations.

    \b
      bboxqa draw export.json --image street.jpg --images photos/
      bboxqa draw export.json --image 17 --by unit --out street.pdf
      bboxqa draw export.json --image 17 --by finding

    Labels name the category; with --by category they name the annotator, with unit its number, and
    with finding the rules. FILE is the same as for `bboxqa agree`, but may have one annotator, or
    name none.

    \b
    Exit code 0: drawn. 2: could not draw or run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.output.console import show_notes, tracking
    from bboxqa.pipelines.drawing.draw import draw_with
    from bboxqa.report.drawing.drawing import check_target

    if not paths:
        raise click.UsageError("no file given; try: bboxqa draw export.json --image NAME")
    if out is not None:
        refuse_inputs([out], [*paths, config, pseudonyms])
        check_target(out, force=force)
    settings = agree_settings(config, options)
    with tracking() as progress:
        drawing = draw_with(
            paths,
            image,
            settings,
            images=images or None,
            by=by,
            side_by_side=side_by_side,
            pseudonyms=pseudonyms,
            progress=progress,
        )
    path = drawing.save(out or drawing.default_path(), force=force)
    show_notes(drawing.notes)
    click.echo(f"Written: {path}")
    return 0
