"""`bboxqa example`: worked examples, step by step."""

from pathlib import Path

import click

from bboxqa.cli.failures import note_written

__all__ = ["example"]

_NAMES = ("fruits", "smiling_fruits", "landscape", "matching", "iou", "krippendorff")


@click.command()
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the picture, the data and the text go; default bboxqa-example-NAME.",
)
@click.option("--force", is_flag=True, help="Replace files in --out.")
def example(name: str, out: Path | None, force: bool) -> int:
    """Walk through a worked example, with pictures.

    NAME is fruits, smiling_fruits, landscape, matching, iou or krippendorff.

    Boxes, IoUs, matching, units, alpha: every number is computed here and compared with its
    expected value.
    """
    from bboxqa.examples.write_example import EXAMPLES, write_example
    from bboxqa.report.result_files import check_folder

    folder = out or Path(f"bboxqa-example-{name}")
    check_folder(folder, force=force)
    walk = EXAMPLES[name]()
    click.echo(walk.text())
    for path in write_example(name, folder):
        note_written(path)
        click.echo(f"Written: {path}")
    return 0 if walk.agrees else 1
