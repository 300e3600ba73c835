"""`bboxqa report` and `cite`: a saved result as a page, and as a paragraph for a paper."""

from pathlib import Path

import click

from bboxqa.cli.console import refuse_inputs, show_notes, tracking
from bboxqa.cli.options import A_PATH, OUT, Command, option, options


@click.command()
@click.argument("run", metavar="RESULT", type=A_PATH)
@options("images", "split", "top", "pseudonyms")
@options(
    option("-o --out FILE", OUT,
        "Write the page to this file; default RESULT/report.html, and RESULT/report with --split.",
        type=A_PATH),
    option("--force", OUT,
        "Replace a file that is no page of bboxqa, or with --split an earlier folder of pages.",
        is_flag=True),
)  # fmt: skip
def report(
    *,
    run: Path,
    images: tuple[Path, ...],
    top: int | None,
    split: bool,
    pseudonyms: Path | None,
    out: Path | None,
    force: bool,
) -> int:
    """Make a page of a result that `bboxqa agree --out RESULT` saved.

    \b
      bboxqa agree export.json --details --out results/
      bboxqa report results/ --images images/
      bboxqa report results/ --images images/ --split   a folder with all images

    The page is one file that opens offline: the verdict, where agreement is lost, the annotators,
    the categories, and the images that cost most agreement with the boxes of each annotator.
    """  # noqa: D301 - click reads the sign
    from bboxqa.core.file_names import folder_problem
    from bboxqa.core.pseudonyms import check_key
    from bboxqa.formats.unreadable import refuse_address
    from bboxqa.pipelines.pictures import write_saved
    from bboxqa.report.pages import PageTarget

    refuse_address(run)
    path = run / ("report" if split else "report.html") if out is None else out
    target = PageTarget(path, images, split, top)
    refuse_inputs([path], [*run.glob("*.json"), *run.glob("*.csv")], images)
    if out is not None or not folder_problem(run):
        target.check(force=force)
    if pseudonyms is not None:
        check_key(pseudonyms, (run, path))
    with tracking() as progress:
        notes = write_saved(run, target, progress, pseudonyms)
    show_notes(notes)
    click.echo(f"Written: {target.page}")
    return 0


@click.command(cls=Command)
@click.argument("result", metavar="RESULT", type=A_PATH)
def cite(result: Path) -> int:
    """Write a paragraph on a result for a paper, with BibTeX.

    \b
      bboxqa agree export.json --out result/
      bboxqa cite result/

    RESULT is a folder that `bboxqa agree --out` wrote. The paragraph has the figures at the first
    threshold, and every choice on which they depend: similarity, threshold, matcher, missing
    annotations, intervals and versions. Below it are the works that it cites.
    """  # noqa: D301 - click reads the sign
    from bboxqa.formats.saved_results import read_saved
    from bboxqa.report.reproduction import methods

    found = read_saved(result)
    click.echo(methods(found["summary"], found["manifest"]))
    return 0
