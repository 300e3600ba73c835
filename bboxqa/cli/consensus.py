"""`bboxqa consensus`: one data set from the opinions of several annotators."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli import options as shared
from bboxqa.cli.agree import reading_words, targets_of

if TYPE_CHECKING:
    from bboxqa.model.consensus import ConsensusResult
    from bboxqa.pipelines.convert import Target


@click.command(cls=shared.Command)
@shared.files_argument()
@shared.options(
    "annotator", *shared.READING, "similarity",
    shared.option("--quorum NUMBER", shared.COMPARE,
        "Votes that keep an object, such as 3, or a share of those asked, such as 0.5; default 1 "
        "of 2, else a third, at least 2.", type=float),
    shared.option("--iou NUMBER", shared.COMPARE,
        "Least IoU of two boxes of one object; default 0.3.", type=float, default=0.3),
    shared.option("-o --out FILE", shared.OUT, "The output; dropped.csv is written beside it.",
        type=shared.A_PATH),
    "report", "images", "split", "top", "send_back",
    shared.option("--to FORMAT", shared.OUT,
        "Format of the files of --send-back, such as cvat, label-studio or csv; without it, format "
        "of the output, as in `bboxqa convert`; default coco."),
    shared.option("--lossy", shared.OUT, "Leave out what the format of --to cannot hold.",
        is_flag=True),
    "force", "pseudonyms",
)  # fmt: skip
def consensus(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    quorum: float | None,
    iou: float,
    out: Path | None,
    top: int | None,
    lossy: bool,
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
    from msgspec.structs import replace

    from bboxqa.cli.console import show_notes, tracking
    from bboxqa.core.pseudonyms import check_key
    from bboxqa.pipelines.consensus.consensus import consensus_of_files
    from bboxqa.pipelines.consensus.written import (
        check_output_of,
        send_objects,
        write_consensus,
        write_consensus_page,
    )
    from bboxqa.pipelines.convert import Target
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.consensus import text_lines

    if out is None or not (paths or named):
        words = shlex.join(sys.argv[1:] if paths or named else ["consensus", "export.json"])
        raise click.UsageError(f"expected FILE and -o OUT; try: bboxqa {words} -o merged.json")
    choices, source = shared.reading_of(None, given), shared.source_of(paths, named)
    if given["report"] is None and top is not None:
        raise click.UsageError("--top is for --report FILE, which is missing")
    # Without objects to send, --to is the format of the output.
    to = (given.pop("to") if given["send_back"] is None else None) or "coco"
    target = Target(out, to, lossy, given["force"])
    check_output_of(target, source)
    targets = targets_of(given, source, top=top)
    settings, page, send_back = shared.agree_settings(None, given), targets.page, targets.send_back
    if targets.key is not None:
        check_key(targets.key, (out,))
    with tracking() as progress:
        reading = replace(AS_COMPARED, pseudonyms=targets.key, choices=choices, progress=progress)
        result, known = consensus_of_files(source, settings, reading, quorum, iou)
        written, notes = write_consensus(result, known, target)
        if send_back is not None:
            notes += send_objects(result, known, send_back, targets.to)
            written.append(send_back)
        files = shlex.join([*map(str, paths), *(f"--annotator={pair}" for pair in named)])
        files = f"{files} {reading_words(result.data.reading, settings)}".rstrip()
        next_step = _next(result, files, target, send_back)
        if page is not None:
            notes += write_consensus_page(result, page, next_step, progress)
            written.append(page.page)
    lines = (f"Written: {', '.join(map(str, written))}", f"Next: {next_step}")
    click.echo("\n".join((*text_lines(result), *lines)))
    show_notes((*result.notes, *notes))
    return 0


def _next(result: "ConsensusResult", files: str, target: "Target", sent: Path | None) -> str:
    """Return what to type next: send objects back, accept them, or score the annotators."""
    out = shlex.quote(str(target.path))
    if target.to != "coco":
        return f"bboxqa validate {out}"
    if sent is not None:
        return f"bboxqa accept {out} {shlex.quote(str(sent))} -o NEW.json, when that is done"
    if len(result.found.to_review):
        typed = shlex.join(each for each in sys.argv[1:] if each != "--force")
        return f"bboxqa {typed} --send-back review/ --to cvat --force"
    return f"bboxqa agree {files} --reference {out}"
