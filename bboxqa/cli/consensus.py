"""`bboxqa consensus`: one data set from the opinions of several annotators."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import refuse_inputs
from bboxqa.cli.options import (
    COMPARE,
    READING,
    Command,
    agree_settings,
    completed,
    files_argument,
    option,
    options,
    path_option,
    reading_of,
    source_of,
)

if TYPE_CHECKING:
    from bboxqa.model.consensus import ConsensusResult
    from bboxqa.pipelines.convert import Target


@click.command(cls=Command)
@files_argument()
@options("annotator", *READING, "similarity")
@option(
    "--quorum",
    group=COMPARE,
    type=float,
    metavar="NUMBER",
    help="Votes that keep an object, such as 3, or a share of those asked, such as 0.5; default 1 "
    "of 2, else a third, at least 2.",
)
@option(
    "--iou",
    group=COMPARE,
    type=float,
    default=0.3,
    metavar="NUMBER",
    help="Least IoU of two boxes of one object; default 0.3.",
)
@path_option("--out", "The file or folder to write; dropped.csv is written beside it.",
             required=True)  # fmt: skip
@options("report", "images", "top", "send_back")
@option(
    "--to",
    metavar="FORMAT",
    shell_complete=completed("bboxqa.formats.writers:names"),
    help="Format of the files of --send-back, such as cvat, label-studio or csv; without it, "
    "format of the output, as in `bboxqa convert`; default coco.",
)
@option("--lossy", is_flag=True, help="Leave out what the format of --to cannot hold.")
@options("force", "pseudonyms")
def consensus(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    quorum: float | None,
    iou: float,
    out: Path,
    report: Path | None,
    images: tuple[Path, ...],
    top: int | None,
    send_back: Path | None,
    to: str | None,
    lossy: bool,
    force: bool,
    pseudonyms: Path | None,
    **given: Any,
) -> int:
    """Merge the opinions of several annotators into one data set.

    \b
      bboxqa consensus export.json -o merged.json
      bboxqa consensus ann.json bob.json cid.json -o labels/ --to yolo
      bboxqa consensus export.json -o merged.json --send-back review/ --to cvat
                                                what a person should decide

    One annotation for each object that enough annotators drew: the median of each edge, and the
    most frequent category. COCO (default) has who drew it, their ids, the votes of how many asked,
    and how far the edges are apart. All other annotations are in dropped.csv, with the reason.
    FILE is what `bboxqa agree` reads.

    \b
    Exit code 0: written. 2: could not write or run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from dataclasses import replace

    from bboxqa.cli.console import show_notes, tracking
    from bboxqa.core.pseudonyms import check_key
    from bboxqa.formats.sources import paths_in
    from bboxqa.pipelines.consensus.consensus import consensus_of_files
    from bboxqa.pipelines.consensus.page import write_consensus_page
    from bboxqa.pipelines.consensus.review import send_objects
    from bboxqa.pipelines.consensus.written import check_targets, write_consensus
    from bboxqa.pipelines.convert import Target
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.pipelines.send_back import check_send_back
    from bboxqa.report.consensus import text_lines
    from bboxqa.report.pages.page_file import PageTarget

    choices, settings = reading_of(None, given), agree_settings(None, given)
    source = source_of(paths, named)
    if send_back is not None and to is None:
        raise click.UsageError("--send-back goes with --to, such as: --send-back review/ --to cvat")
    target = Target(out, to if send_back is None and to else "coco", lossy, force)
    check_targets(target, source)
    if send_back is not None:
        check_send_back(send_back, str(to), [*paths_in(source)], force=force)
    if report is None and (images or top is not None):
        raise click.UsageError("--images and --top are for --report FILE, which is missing")
    page = None if report is None else PageTarget(report, images, n_images=top)
    if page is not None:
        refuse_inputs([report], [*paths_in(source)], images)
        page.check(force=force)
    if pseudonyms is not None:
        check_key(pseudonyms, [each for each in (out, send_back) if each is not None])
    with tracking() as progress:
        reading = replace(AS_COMPARED, pseudonyms=pseudonyms, choices=choices, progress=progress)
        result, ids = consensus_of_files(
            source, settings, reading, quorum=quorum, iou_threshold=iou
        )
        written, notes = write_consensus(result, ids, target)
        if send_back is not None:
            notes += send_objects(result, ids, send_back, str(to))
            written.append(send_back)
        next_step = _next(result, (paths, named), target, send_back)
        if page is not None:
            notes += write_consensus_page(result, page, next_step, progress)
            written.append(page.page)
    for line in text_lines(result):
        click.echo(line)
    click.echo(f"Written: {', '.join(map(str, written))}")
    click.echo(f"Next: {next_step}")
    show_notes((*result.notes, *notes))
    return 0


def _next(
    result: "ConsensusResult",
    given: tuple[tuple[Path, ...], tuple[str, ...]],
    target: "Target",
    sent: Path | None,
) -> str:
    """Return what to type next: send objects back, accept them, or score the annotators."""
    (paths, named), out = given, shlex.quote(str(target.path))
    if target.to != "coco":
        return f"bboxqa validate {out}"
    if sent is not None:
        folder = shlex.quote(str(sent))
        return f"bboxqa accept {out} {folder} -o NEW.json, when that is done"
    read = shlex.join([*map(str, paths), *(e for pair in named for e in ("--annotator", pair))])
    if len(result.found.to_review):
        return f"bboxqa consensus {read} -o {out} --send-back review/ --to cvat --force"
    return f"bboxqa agree {read} --reference {out}"
