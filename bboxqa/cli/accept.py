"""`bboxqa accept`: what annotators changed of the objects that were sent back to them."""

from typing import Any

import click

from bboxqa.cli.options import A_PATH, Command, option, path_option

_MOST_SHOWN = 5


@click.command(cls=Command)
@click.argument("original", metavar="ORIGINAL", type=A_PATH)
@click.argument("reviewed", metavar="REVIEWED", type=A_PATH)
@path_option("--out", "The file to write.", required=True)
@path_option(
    "--sent", "The folder that was sent; by default sent.json is beside REVIEWED.", "DIR", to=""
)
@option(
    "--add-proposed",
    is_flag=True,
    help="Add also the boxes that audit and consensus propose "
    "and that are as they were sent; otherwise they are not decided.",
)
@option("--force", is_flag=True, help="Replace FILE.")
@path_option("--pseudonyms", "The key, if annotators had pseudonyms when objects were sent.", to="")
def accept(**given: Any) -> int:
    """Take over what annotators changed in a review.

    \b
      bboxqa agree export.json --send-back review/ --to cvat
      bboxqa accept export.json review/ -o export-2.json

    ORIGINAL is the COCO file that was measured. REVIEWED is the file of one annotator, or the
    folder of all, as exported from the annotation tool, in any format that is read; each file is
    named like the one that was sent. Moved, renamed, deleted and added objects are taken over; all
    else in ORIGINAL stays byte by byte. Boxes that audit or consensus propose are added if they
    were changed; delete those that are none, then --add-proposed adds the others. Images that
    REVIEWED lacks are not reviewed yet.

    \b
    Exit code 0: written. 2: could not write or run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.accept import accept as accepted

    found = accepted(**given)
    for change in found.changes[:_MOST_SHOWN]:
        click.echo(str(change))
    if n_more := max(len(found.changes) - _MOST_SHOWN, 0):
        click.echo(f"… and {n_more:,} more")
    for note in found.notes:
        click.echo(f"Note: {note}", err=True)
    click.echo(f"Written: {found.path}: {found.in_words()}")
    return 0
