"""`bboxqa accept`: what annotators changed of the objects that were sent back to them."""

from typing import Any

import click

from bboxqa.cli.options import A_PATH, OUT, Command, option, options

_MOST_SHOWN = 5


@click.command(cls=Command)
@click.argument("original", metavar="ORIGINAL", type=A_PATH)
@click.argument("reviewed", metavar="REVIEWED", type=A_PATH)
@options(
    option("-o --out FILE", OUT, "The file to write.", type=A_PATH, required=True),
    option("--sent DIR", OUT,
        "The folder that was sent; by default sent.json is beside REVIEWED.", type=A_PATH),
    option("--add-proposed", OUT,
        "Add also the boxes that audit and consensus propose and that are as they were sent; "
        "otherwise they are not decided.", is_flag=True),
    option("--force", OUT, "Replace FILE.", is_flag=True),
    option("--pseudonyms FILE", OUT,
        "The key, if annotators had pseudonyms when objects were sent.", type=A_PATH),
)  # fmt: skip
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
    from bboxqa.cli.console import show_notes
    from bboxqa.pipelines.accept import accept as accepted

    found = accepted(**given)
    for change in found.changes[:_MOST_SHOWN]:
        click.echo(str(change))
    if n_more := max(len(found.changes) - _MOST_SHOWN, 0):
        click.echo(f"… and {n_more:,} more")
    show_notes(found.notes)
    click.echo(f"Written: {found.path}: {found.in_words()}")
    return 0
