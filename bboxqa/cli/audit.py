"""`bboxqa audit`: labels of one annotator that a model contradicts."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from bboxqa.cli import options as shared
from bboxqa.cli.agree import how_to_accept, targets_of
from bboxqa.core.text import count
from bboxqa.report.registry import AUDIT_VIEWS


@click.command(cls=shared.Command)
@shared.files_argument("LABELS…|DIR")
@shared.options(
    shared.option("--predictions FILE|DIR", shared.READ,
        "The model: COCO results (ids are those of the labels), or a data set with scores, such "
        "as YOLO labels with a confidence, whose images and categories are joined by name. Several "
        "annotators in it count as votes. Without it, geometry alone is looked at.",
        type=shared.A_PATH),
    *shared.READING, "config",
    shared.option("--top NUMBER", shared.OUT, "Keep this many of the most suspicious places.",
        type=click.IntRange(min=1)),
    "report", "images", "split", "out", "send_back", "to", "force", "raw_csv",
    shared.option("--folds NUMBER", shared.OUT,
        "Write lists of images to --out instead, to train a model on all but one and predict that "
        "one: a model repeats the errors of labels that it was trained on.", rare=True,
        type=click.IntRange(min=2)),
    shared.format_option(*AUDIT_VIEWS),
)  # fmt: skip
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

    \b
    Exit code 0: audited. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import replace

    from bboxqa.cli.console import show, show_notes, tracking
    from bboxqa.formats.sources import files_read
    from bboxqa.pipelines.audit import audit_files
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.audit import write_audit

    if not paths:
        raise click.UsageError(
            "no labels given; try: bboxqa audit labels.json --predictions results.json"
        )
    if predictions is not None and predictions.resolve() in {each.resolve() for each in paths}:
        problem = f"{predictions} is given as labels and as predictions"
        raise click.UsageError(f"{problem}; name the file of a model with --predictions")
    inputs = (*paths, *filter(None, (predictions,)))
    choices, targets = shared.reading_of(config, given), targets_of(given, inputs)
    settings, page = shared.agree_settings(config, given), targets.page
    out, send_back = targets.out, targets.send_back
    with tracking() as progress:
        reading = replace(AS_COMPARED, digest=bool(out or page), choices=choices, progress=progress)
        if folds is not None:
            return _write_folds(paths, folds, out, reading)
        result = audit_files(paths, predictions, settings, reading)
        result = result if top is None else result.head(top)
        written, notes = list[Path](), list[str]()
        if page is not None:
            from bboxqa.pipelines.result_pages import write_audit_page

            typed = shlex.join(["bboxqa", *sys.argv[1:]])
            notes += write_audit_page(result, page, typed, progress)
            written.append(page.page)
    if out is not None:
        write_audit(result, out, raw_csv=raw_csv, kept=files_read([*inputs, config]))
        written.append(out)
    if send_back is not None:
        from bboxqa.pipelines.audit_review import review_of
        from bboxqa.pipelines.send_back import send

        notes += send(*review_of(result), settings, result.labels.reading, send_back, targets.to)
        notes.append(how_to_accept(result.labels, (paths, ()), send_back, None))
        written.append(send_back)
    next_step = "" if send_back else _next_step(predictions, out)
    show(AUDIT_VIEWS, result, output_format, written, next_step=next_step)
    show_notes(notes)
    return 0


def _next_step(predictions: Path | None, out: Path | None) -> str:
    """Return what to type next: the same command, and more."""
    more = "--send-back review/ --to cvat" if out else "--out audit/"
    typed = shlex.join(each for each in sys.argv[1:] if each != "--force")
    return f"bboxqa {typed} {more if predictions else '--predictions RESULTS'}" + " --force" * bool(
        out
    )


def _write_folds(paths: tuple[Path, ...], folds: int, out: Path | None, reading: Any) -> int:
    """Write the lists of images of all folds."""
    from bboxqa.pipelines.audit import write_folds

    if out is None:
        raise click.UsageError("--folds goes with --out, such as: --folds 5 --out folds/")
    for path, n in write_folds(paths, folds, out, reading).items():
        click.echo(f"Written: {path}: {count(n, 'image')}")
    click.echo("Next: train on train-1.txt, predict the images of test-1.txt, and so on")
    return 0
