"""`bboxqa audit`, `consensus` and `accept`: labels that a person should look at."""

import re
import shlex
import sys
from os.path import realpath
from pathlib import Path
from typing import Any

import click

from bboxqa.cli import options as shared
from bboxqa.cli.agree import how_to_accept, new_path, targets_of
from bboxqa.cli.console import refuse_inputs, refuse_options, show, show_notes, tracking
from bboxqa.cli.options import A_PATH, COMPARE, OUT, READ, READING, Option, params
from bboxqa.report import AUDIT_VIEWS

_OF_AUDIT = params(
    Option("--predictions FILE|DIR", READ,
        "The model: COCO results (ids are those of the labels), or a data set with scores, such "
        "as YOLO labels with a confidence, whose images and categories are joined by name. Several "
        "annotators in it count as votes. Without it, geometry alone is looked at.", type=A_PATH),
    *READING, "config",
    Option("--top NUMBER", OUT, "Keep this many of the most suspicious places.",
        type=click.IntRange(min=1)),
    "report", "images", "split", "out", "send_back", "to", "force", "raw_csv",
    Option("--folds NUMBER", OUT,
        "Write lists of images to --out instead, to train a model on all but one and predict that "
        "one: a model repeats the errors of labels that it was trained on.", rare=True,
        type=click.IntRange(min=2)),
    shared.format_option(*AUDIT_VIEWS),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_AUDIT)
@click.argument("paths", nargs=-1, metavar="LABELS…|DIR", type=A_PATH)
def audit(
    *,
    paths: tuple[Path, ...],
    predictions: Path | None,
    config: str | None,
    top: int | None,
    folds: int | None,
    raw_csv: bool,
    output_format: str,
    **given: Any,
) -> int:
    """List labels to look at again: one annotator and a model.

    \b
      bboxqa audit labels.json --predictions results.json
      bboxqa audit data/ --predictions runs/detect/predict/labels/ --missing-txt asked

    An object without a label (missing), a label without an object (spurious), of another category
    (class), badly drawn (place) or repeated (twice), the most suspicious first. A model that was
    trained on these labels repeats their errors: let it predict images that it was not trained on
    (--folds).
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import replace

    from bboxqa.formats.sources import files_read
    from bboxqa.pipelines.audit import audit_files, review_of, write_audit_page, write_folds
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.audit import summary
    from bboxqa.report.result_files import manifest, write_tables

    model = [] if predictions is None else [predictions]
    again = "is given as labels and as predictions; name the file of a model with --predictions"
    refuse_options(
        (not paths, "no labels given; try: bboxqa audit labels.json --predictions results.json"),
        ({*map(realpath, model)} & {*map(realpath, paths)}, f"{predictions} {again}"),
        (folds and not given["out"], "--folds goes with --out, such as: --folds 5 --out folds/"),
    )
    choices, to = shared.reading_of(config, given), targets_of(given, [*paths, *model], [config])
    settings = shared.agree_settings(config, given)
    typed = shlex.join(["bboxqa", *(each for each in sys.argv[1:] if each != "--force")])
    with tracking() as progress:
        digest = bool(to.out or to.page)
        reading = replace(AS_COMPARED, digest=digest, choices=choices, progress=progress)
        if folds is not None and to.out is not None:
            write_folds(paths, folds, to.out, reading)
            click.echo(f"Written: {to.out}\nNext: train on train-1.txt, predict test-1.txt, etc.")
            return 0
        result, notes = audit_files(paths, predictions, settings, reading).head(top), list[str]()
        if to.page is not None:
            notes += write_audit_page(result, to.page, typed, progress)
    if to.out is not None:
        said = manifest(settings, result.sources, result.labels.reading)
        files, kept = {"summary": summary(result), "manifest": said}, files_read(to.inputs)
        write_tables(to.out, files, {"audit": result.suspects}, raw_csv=raw_csv, kept=kept)
    if to.send_back is not None:
        from bboxqa.pipelines.send_back import send

        notes += send(*review_of(result), settings, result.labels.reading, to.send_back, to.to)
        notes.append(how_to_accept(result.labels, (paths, ()), to.send_back, None))
    written = [each for each in (to.page and to.page.page, to.out, to.send_back) if each]
    more = f"--send-back {new_path('review', paths)}/ --to cvat" if to.out else "--out audit/"
    more = (more if model else "--predictions RESULTS") + " --force" * bool(to.out)
    next_step = "" if to.send_back else f"{typed} {more}"
    show(AUDIT_VIEWS, result, output_format, written, next_step=next_step)
    show_notes(notes)
    return 0


def _quorum(text: str) -> float:
    """Return votes, or a share below 1; 1.0 may be meant as one vote or as all."""
    if not re.fullmatch(r"\d*\.?\d+", text) or (float(text) == 1 and text != "1"):
        raise ValueError(
            f"is {text!r}; expected votes (1 for one, the number of annotators for all) or a share "
            "below 1, such as 0.5"
        )
    return float(text)


_OF_CONSENSUS = params(
    shared.FILES,
    "annotator", *READING, "similarity", "sigmas",
    Option("--quorum NUMBER", COMPARE,
        "Votes that keep an object, such as 3, or a share below 1 of those asked, such as 0.5; "
        "default 1 of 2, else a third, at least 2.", parse=_quorum),
    Option("--iou NUMBER", COMPARE,
        "Least IoU of two boxes of one object; default 0.3.", type=float, default=0.3),
    Option("-o --out FILE", OUT,
        "The output; dropped.csv is written beside it, or FILE_dropped.csv beside another output.",
        type=A_PATH),
    "report", "images", "split", "top", "send_back",
    Option("--to FORMAT", OUT,
        "Format of the files of --send-back, such as cvat, label-studio or csv; without it, format "
        "of the output, as in `bboxqa convert`; default coco."),
    Option("--lossy", OUT, "Leave out what the format of --to cannot hold.", is_flag=True),
    "force", "pseudonyms",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_CONSENSUS)
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
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import replace

    from bboxqa.core.pseudonyms import check_key
    from bboxqa.formats.sources import as_paths
    from bboxqa.pipelines import consensus as merging
    from bboxqa.pipelines.convert import Target
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.consensus import text_lines

    if out is None or not (paths or named):
        words = shlex.join(sys.argv[1:] if paths or named else ["consensus", "export.json"])
        raise click.UsageError(f"expected FILE and -o OUT; try: bboxqa {words} -o merged.json")
    choices, source = shared.reading_of(None, given), shared.source_of(paths, named)
    # Without objects to send, --to is the format of the output.
    to = (given.pop("to") if given["send_back"] is None else None) or "coco"
    target = Target(out, to, lossy, given["force"])
    dropped = merging.check_output_of(target, source)
    refuse_inputs([out, dropped, given["report"], given["send_back"]], ())
    targets = targets_of(given, source, top=top)
    settings, page, send_back = shared.agree_settings(None, given), targets.page, targets.send_back
    if targets.key is not None:
        check_key(targets.key, (out,))
    with tracking() as progress:
        reading = replace(AS_COMPARED, pseudonyms=targets.key, choices=choices, progress=progress)
        result, known = merging.consensus_of_files(source, settings, reading, quorum, iou)
        written, notes = [out, dropped], merging.write_consensus(result, known, target, dropped)
        if send_back is not None:
            notes += merging.send_objects(result, known, send_back, targets.to)
            written.append(send_back)
        typed = shlex.join(each for each in sys.argv[1:] if each != "--force")
        merged, again = shlex.quote(str(out)), new_path("review", as_paths(source))
        next_step = f"bboxqa validate {merged}"
        if target.to == "coco" and send_back is not None:
            sent = shlex.quote(str(send_back))
            next_step = f"bboxqa accept {merged} {sent} -o NEW.json, when that is done"
        elif target.to == "coco" and len(result.found.to_review):
            to_cvat = "" if " --to" in typed else " --to cvat"
            next_step = f"bboxqa {typed} --send-back {again}/{to_cvat} --force"
        elif target.to != "coco" and page is None:
            # To be validated, most formats need the pictures, or the sizes of images.
            next_step = f"bboxqa {typed} --report {new_path('page.html', [])} --force"
        if page is not None:
            notes += merging.write_consensus_page(result, page, next_step, progress)
            written.append(page.page)
    lines = (f"Written: {', '.join(map(str, written))}", f"Next: {next_step}")
    click.echo("\n".join((*text_lines(result), *lines)))
    show_notes((*result.notes, *notes))
    return 0


_MOST_SHOWN = 5


_OF_ACCEPT = params(
    Option("-o --out FILE", OUT, "The file to write.", type=A_PATH, required=True),
    Option("--sent DIR", OUT,
        "The folder that was sent; by default sent.json is beside REVIEWED.", type=A_PATH),
    Option("--add-proposed", OUT,
        "Add also the boxes that audit and consensus propose and that are as they were sent; "
        "otherwise they are not decided.", is_flag=True),
    Option("--force", OUT, "Replace FILE.", is_flag=True),
    Option("--pseudonyms FILE", OUT,
        "The key, if annotators had pseudonyms when objects were sent.", type=A_PATH),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_ACCEPT)
@click.argument("original", metavar="ORIGINAL", type=A_PATH)
@click.argument("reviewed", metavar="REVIEWED", type=A_PATH)
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
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.accept import accept as accepted

    found = accepted(**given)
    for change in found.changes[:_MOST_SHOWN]:
        click.echo(str(change))
    if n_more := max(len(found.changes) - _MOST_SHOWN, 0):
        click.echo(f"… and {n_more:,} more")
    show_notes(found.notes)
    click.echo(f"Written: {found.path}: {found.in_words()}")
    return 0
