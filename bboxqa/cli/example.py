"""`bboxqa example`: worked examples, step by step."""

from pathlib import Path

import click

from bboxqa.cli.options import A_PATH, OUT, Command, option

_NAMES = ("fruits", "smiling_fruits", "landscape", "matching", "iou", "krippendorff")


@click.command(cls=Command)
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@option(
    "-o --out DIR",
    OUT,
    "Folder of the pictures, the data and the text; default bboxqa-example-NAME.",
    type=A_PATH,
)
@click.option("--force", is_flag=True, help="Replace existing files in --out.")
def example(name: str, out: Path | None, force: bool) -> int:
    """Walk through a worked example, with pictures.

    NAME is fruits, smiling_fruits, landscape, matching, iou or krippendorff.

    From boxes to alpha, every number is computed and compared with its expected value.
    """
    from bboxqa.examples.lessons import EXAMPLES, write_example

    folder = out or Path(f"bboxqa-example-{name}")
    walk = EXAMPLES[name]()
    click.echo(walk.text())
    written = write_example(name, folder, force=force)
    for path in written:
        click.echo(f"Written: {path}")
    if not written:
        click.echo(f"Already there: {folder}")
    return 0 if walk.agrees else 1
