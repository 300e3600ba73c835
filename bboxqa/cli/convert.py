"""`bboxqa convert`: annotations in the format of another tool."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli.options.agree_options import named_files_option, reading_options, source_of
from bboxqa.cli.options.shared_options import A_PATH, completed, pseudonyms_option


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE…|DIR OUT", type=A_PATH)
@click.option(
    "--to",
    required=True,
    metavar="NAME",
    shell_complete=completed("bboxqa.formats.writers:names"),
    help="Format of OUT: coco, label-studio, cvat, yolo, yolo-segment, yolo-obb, yolo-pose, dota, "
    "voc, labelme, csv or parquet.",
)
@click.option(
    "--lossy", is_flag=True, help="Leave out what the format cannot hold; by default it is refused."
)
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option(
    "--as-predictions",
    is_flag=True,
    help="For Label Studio: write predictions, each annotator as a model, to be corrected there.",
)
@named_files_option
@reading_options
@pseudonyms_option
def convert(*, paths: tuple[Path, ...], named: tuple[str, ...], to: str, **options: Any) -> int:
    """Write annotations in the format of another tool.

    \b
      bboxqa convert export.json out.json --to label-studio
      bboxqa convert ann.json bob.json all.json --to coco

    FILE is what `bboxqa agree` reads. Who drew what, and who was asked about which image, are kept.
    What the format cannot hold is listed, and refused without --lossy. A review queue
    (review.json of `bboxqa agree --out`) needs no --lossy, as the measured files stay as they are.

    \b
    Exit code 0: written. 2: could not write or run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.output.console import tracking
    from bboxqa.pipelines.convert import convert as converted

    if not paths or (len(paths) == 1 and not named):
        raise click.UsageError("expected FILE and OUT; try: bboxqa convert export.json out.json")
    *files, out = paths
    given = {key: value for key, value in options.items() if value is not None}
    given["pattern"] = given.pop("filter", None)
    with tracking() as progress:
        found = converted(source_of(tuple(files), named), out, to=to, progress=progress, **given)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    for loss in found.losses:
        click.echo(f"{loss.how}: {loss}", err=True)
    click.echo(f"Written: {found.path}: {found.in_words()}")
    return 0
