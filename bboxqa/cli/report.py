"""`bboxqa report`, `cite` and `draw`: a saved result as a page or a paragraph, an image drawn."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, OUT, READ, READING, Option, params

_OF_PAGE = params(
    "images", "split", "top",
    Option("-o --out FILE", OUT,
        "Write the page to this file; default RESULT/report.html, and RESULT/report with --split.",
        type=A_PATH),
    Option("--force", OUT,
        "Replace a file that is no page of bboxqa, or with --split an earlier folder of pages.",
        is_flag=True),
)  # fmt: skip


@click.command(params=_OF_PAGE)
@click.help_option("--help-all", hidden=True)
@click.argument("run", metavar="RESULT", type=A_PATH)
def report(
    *,
    run: Path,
    images: tuple[Path, ...],
    top: int | None,
    split: bool,
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
    from bboxqa.pipelines.pictures import write_saved
    from bboxqa.report.pages import PageTarget

    path = run / ("report" if split else "report.html") if out is None else out
    target = PageTarget(path, images, split, top)
    if out is not None or not folder_problem(run):
        console.refuse_inputs([path], [*run.glob("*.json"), *run.glob("*.csv")], images)
        target.check(force=force)
    with console.tracking() as progress:
        notes = write_saved(run, target, progress)
    console.show_notes(notes)
    click.echo(f"Written: {target.page}")
    return 0


@click.command(cls=shared.Command)
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
    from bboxqa.report.reproduction import methods
    from bboxqa.report.result_files import read_saved

    found = read_saved(result)
    click.echo(methods(found["summary"], found["manifest"]))
    return 0


def _colours(by: str) -> str:
    if by in ("annotator", "category", "unit"):
        return by
    raise ValueError(
        f"is {by!r}; expected annotator, category or unit; what rules find is drawn by: "
        "bboxqa validate FILE --report PAGE.html --images DIR"
    )


_OPTIONS = params(
    shared.FILES,
    Option("--image NAME|ID", READ, "File name or id of the image to draw.", required=True),
    Option("--images DIR", OUT,
        "Folder of the images; without it, annotations are drawn on a blank canvas. Can be given "
        "several times.", multiple=True, type=A_PATH),
    Option("--by [annotator|category|unit]", OUT,
        "What colours stand for: annotator (default), category (default where the file names fewer "
        "than two annotators), or unit (what `agree` matches).", parse=_colours),
    Option("--side-by-side", OUT, "Draw a panel for each annotator.", is_flag=True),
    "similarity", "sigmas", "iou", "threshold", *READING, "config", "pseudonyms",
    Option("-o --out FILE", OUT,
        "PNG (300 dots per inch), SVG or PDF to write; default IMAGE_BY.png in this folder.",
        type=A_PATH),
    Option("--force", OUT, "Replace an existing file.", is_flag=True),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
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

    Labels name the category; with --by category they name the annotator, and with unit its number.
    FILE is the same as for `bboxqa agree`, but may have one annotator, or name none. What rules
    find is drawn by `bboxqa validate FILE --report PAGE.html --images DIR`.
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.draw import draw_with
    from bboxqa.report.drawing import check_target

    if not paths:
        raise click.UsageError("no file given; try: bboxqa draw export.json --image NAME")
    if out is not None:
        console.refuse_inputs([out], [*paths, config, pseudonyms])
        check_target(out, force=force)
    choices = shared.reading_of(config, given)
    settings = shared.agree_settings(config, given, choices=choices)
    with console.tracking() as progress:
        drawing = draw_with(
            paths, image, settings, images=images or None, by=by, side_by_side=side_by_side,
            pseudonyms=pseudonyms, choices=choices, progress=progress,
        )  # fmt: skip
    path = drawing.save(out or drawing.default_path(), force=force)
    console.show_notes(drawing.notes)
    click.echo(f"Written: {path}")
    return 0
