"""`bboxqa report`: a saved result as a page."""

from pathlib import Path

import click

from bboxqa.cli.options import page_options, path_option


@click.command()
@click.argument("run", metavar="RUN_DIR", type=click.Path(path_type=Path))
@page_options
@path_option("--out", "Write the page to this file; default RUN_DIR/report.html.")
@click.option("--force", is_flag=True, help="Replace a file that is no page of bboxqa.")
def report(*, run: Path, images: tuple[Path, ...], top: int, out: Path | None, force: bool) -> int:
    """Make a page of a result that `bboxqa agree --out RUN_DIR` saved.

    \b
      bboxqa agree export.json --diagnose --out results/
      bboxqa report results/ --images images/

    The page is one file that opens offline: the verdict, where agreement is lost, the annotators,
    the categories, and the images that cost most agreement with the boxes of each annotator.
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.result_pages import saved_page
    from bboxqa.report.pages.page_file import check_page, write_page

    target = run / "report.html" if out is None else out
    if out is not None or run.is_dir():
        check_page(target, force=force)
    write_page(target, saved_page(run, images, top=top))
    click.echo(f"Written: {target}")
    return 0
